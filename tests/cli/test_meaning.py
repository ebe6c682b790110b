"""``wordstill meaning`` from a text to a table of scores, with tiny models of random weights."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import sys
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest

from wordstill.cli.meaning.meaning_use import DEFAULT_KIND
from wordstill.core.resume import locked
from wordstill.meaning import Occurrence, OccurrenceStore, Triple
from wordstill.meaning import encoder as library
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.meaning.triples import write_triples
from wordstill.vectors import WordVectors

WORDS = ["river", "house", "still", "old", "small", "knows", "nobody", "grey", "turned", "stands", "why", "words"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:The distillers found a degenerate solution"),
    pytest.mark.filterwarnings("ignore:The training ended after"),
]
MAKING = "wordstill.meaning.make_encoder"
COMMANDS = ("make", "pairs", "train", "encode", "similar", "table", "evaluate")


@pytest.fixture(scope="module")
def world(tmp_path_factory, saved_masked_model):
    """A masked model, static vectors, a file of paraphrases and a text."""
    folder = tmp_path_factory.mktemp("world")
    shutil.copytree(saved_masked_model, folder / "masked")
    generator = np.random.default_rng(0)
    WordVectors(WORDS, generator.normal(size=(len(WORDS), 4)).astype(np.float32)).save(folder / "vectors")
    lines = [" ".join(generator.permutation(WORDS)[:8]) for _ in range(120)]
    shuffled = [" ".join(generator.permutation(line.split())) for line in lines]
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(lines, shuffled)))
    (folder / "text.txt").write_text("".join(f"{line.capitalize()}.\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def thresholds():
    return [
        *("--min-words", "5", "--vocabulary", "100", "--skip-frequent", "0"),
        *("--similarity", "0.3", "--probability", "0"),
    ]


@pytest.fixture(scope="module")
def triples(world):
    """A few triples that were not made with the masked model."""
    occurrences = [Occurrence.at(f"the {word} of {number}", 1) for number in range(2) for word in WORDS]
    made = [
        Triple(occurrence, Occurrence.at(f"so {occurrence.text}", 2), occurrence.replaced("trees"))
        for occurrence in occurrences
    ]
    header = {"triples": len(made), "mode": "given", "masked_model": {"name": str(world / "masked")}}
    write_triples(world / "given.jsonl", made, header)
    return world / "given.jsonl"


def test_every_command_shows_an_example(cli):
    shown = cli("meaning", "--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)
    for name in COMMANDS:
        assert f"wordstill meaning {name} " in " ".join(cli("meaning", name, "--help").out.split())


def test_the_whole_way(cli, world, thresholds, tmp_path, monkeypatch):
    triples, encoder, occurrences = tmp_path / "t.jsonl", tmp_path / "meaning", tmp_path / "uses"
    options = ("--masked", world / "masked", "--vectors", world / "vectors", "--device", "cpu", *thresholds)
    made = cli("meaning", "pairs", "--paraphrases", world / "pairs.tsv", *options, "--out", triples)
    assert made.code == 0, made.err
    assert "original  " in made.out and "positives " in made.out
    assert "Loading weights" not in made.err
    cheap = ("--heads", 4, "--max-epochs", 2, "--batch", 16, "--device", "cpu", "--dtype", "float32")
    trained = cli("meaning", "train", triples, *cheap, "--out", encoder)
    assert trained.code == 0, trained.err
    assert "validation loss" in trained.out
    again = cli("meaning", "train", triples, *cheap, "--out", encoder)
    assert again.code == 2 and "exists already" in again.err

    monkeypatch.setattr(sys, "stdin", StringIO("nobody knows the river\t17:22\nthe old river\t2\nthe still\n"))
    encoded = cli("meaning", "encode", encoder, "-", "--word", "still", "--out", occurrences, "--dtype", "float32")
    assert encoded.code == 0, encoded.err
    assert [occurrence.word for occurrence in OccurrenceStore.load(occurrences).occurrences] == [
        "river",
        "river",
        "still",
    ]
    found = cli("meaning", "similar", encoder, occurrences, "nobody knows the river", "3", "--dtype", "float32")
    assert found.out.startswith("  1.0000  nobody knows the [river]\n")

    store = tmp_path / "store"
    assert cli("prepare", world / "text.txt", "--out", store, "--workers", 1).code == 0
    table = cli("meaning", "table", encoder, store, "--min-count", 2, "--out", tmp_path / "table")
    assert table.code == 0, table.err
    assert "river" in WordVectors.load(tmp_path / "table")
    substituted = cli("meaning", "pairs", store, *options, "--targets", 50, "--out", tmp_path / "s.jsonl")
    assert substituted.code == 0, substituted.err
    assert "positives substituted" in substituted.out


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (("--workers", 10_000), "more than this machine has cores"),
        (("--ray", "127.0.0.1:1"), r"There is no Ray cluster at '127.0.0.1:1'|--ray needs .*ray"),
    ],
)
def test_workers_are_looked_for_before_a_model_is_loaded(cli, world, tmp_path, workers, message):
    out = ("--out", tmp_path / "out", *workers)
    models = ("--masked", tmp_path / "none", "--vectors", tmp_path / "none")
    for command in (("pairs", world / "text.txt", *models), ("encode", tmp_path / "none", world / "text.txt")):
        refused = cli("meaning", *command, *out)
        assert refused.code == 2
        assert re.search(message, refused.err)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), (2e-4, 1, "standardised")),
        (("--preset", "paper"), (4e-5, 4, "none")),
        (("--preset", "paper", "--scaling", "scaled", "--feedforward", 2), (4e-5, 2, "scaled")),
        (("--learning-rate", "1e-3"), (1e-3, 1, "standardised")),
    ],
)
def test_presets_of_training(cli, triples, tmp_path, options, expected):
    cheap = ("--other-teacher", "--heads", 4, "--max-epochs", 1, "--device", "cpu", "--dtype", "float32")
    trained = cli("meaning", "train", triples, *cheap, *options, "--out", tmp_path / "meaning")
    assert trained.code == 0, trained.err
    settings = json.loads((tmp_path / "meaning" / "config.json").read_text())["provenance"]["training"]
    shape = settings["distiller"]
    assert (settings["learning_rate"], shape["feedforward"], shape["scaling"]) == expected


def test_the_usual_kind_is_that_of_the_library():
    assert DEFAULT_KIND == library.DEFAULT_KIND


def test_evaluating(cli, triples, usim, tmp_path, monkeypatch):
    from wordstill.errors import DataError
    from wordstill.evaluation.report import tables

    cheap = ("--other-teacher", "--heads", 4, "--max-epochs", 1, "--device", "cpu", "--dtype", "float32")
    cli("meaning", "train", triples, *cheap, "--out", tmp_path / "meaning")
    command = ("meaning", "evaluate", tmp_path / "meaning", "--task", "usim")
    shown = cli(*command, "--out", tmp_path / "scores.json")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("| set | measure | raw | meaning | context |") and "6/6" in shown.out
    content = json.loads((tmp_path / "scores.json").read_text())
    (score,) = content["tables"]["raw-centred"]["scores"]
    assert (score["dataset"], score["coverage"]) == ("usim", {"used": 6, "total": 6})
    assert content["comparisons"][0]["second"] == "raw"
    WordVectors(["river", "bank"], np.eye(2, dtype=np.float32)).save(tmp_path / "static")
    beside = cli(*command, "--vectors", tmp_path / "static")
    assert beside.code == 0 and "| static |" in beside.out.splitlines()[0], beside.err
    alone = cli(*command, "--liu", tmp_path / "text.txt")
    assert alone.code == 2 and "add --vectors" in alone.err
    senses = cli(*command, "--senses")
    assert senses.code == 2 and "--senses are those of a table: add --vectors" in senses.err
    none = cli(*command, "--senses", "--vectors", tmp_path / "static")
    assert none.code == 2 and "keeps no occurrences" in none.err
    rates = cli("meaning", "train", triples, *cheap, "--find-rate", "--out", tmp_path / "none")
    assert rates.code == 0 and "The loss fell fastest at" in rates.out, rates.err
    assert not (tmp_path / "none").exists()

    def reader_gone(evaluation, published):
        assert (tmp_path / "again.json").exists()
        raise DataError("nobody reads this")

    monkeypatch.setattr(tables, "markdown", reader_gone)
    again = cli(*command, "--out", tmp_path / "again.json")
    assert (again.code, again.out) == (1, "") and "nobody reads this" in again.err


@pytest.fixture
def usim(tmp_path, monkeypatch):
    """Six made-up pairs in place of the published ones."""
    from wordstill.evaluation.data.catalog import DATASETS
    from wordstill.evaluation.data.context_sets import read_usim
    from wordstill.evaluation.data.registry import DatasetFile

    sentences = ("the old house", "the small old house", "nobody knows the house", "the house stands")
    pairs = [(one, other) for one in sentences for other in sentences if one < other]
    lines = [
        f"{text}\t{text.split().index('house')}\t{number % 4}\thouse.n {text}\n"
        for number, pair in enumerate(pairs)
        for text in pair
    ]
    (tmp_path / "usim.txt").write_text("".join(lines))
    checksum = hashlib.sha256("".join(lines).encode()).hexdigest()
    file = DatasetFile("usim.txt", read_usim, checksums={"usim.txt": checksum})
    monkeypatch.setitem(DATASETS, "usim", replace(DATASETS["usim"], copies=(file,)))
    monkeypatch.setenv("WORDSTILL_DATA", str(tmp_path))


@pytest.mark.filterwarnings("ignore:Liu et al. 2020 is not made")
def test_a_table_of_the_paper_by_one_command(cli, world, usim, tmp_path, monkeypatch):
    from wordstill.meaning.distiller import DistillerConfig
    from wordstill.meaning.distiller_training import TrainConfig
    from wordstill.meaning.targets import TargetConfig
    from wordstill.meaning.triple_builder import BuildConfig
    from wordstill.reproduction import meaning_tables

    cheap = TrainConfig(batch=16, max_epochs=1, distiller=DistillerConfig(heads=4))
    monkeypatch.setattr(meaning_tables, "PRESETS", {"paper": cheap})
    monkeypatch.setattr(meaning_tables, "TARGETS", TargetConfig(min_words=5, vocabulary=100, skipped=0))
    monkeypatch.setattr(meaning_tables, "BUILD", BuildConfig(similarity=0.3, probability=0))
    command = ["reproduce", "meaning:table3", "--text", world / "text.txt", "--teacher", world / "masked"]
    command += ["--vectors", world / "vectors", "--triples", 100, "--dtype", "float32", "--out", tmp_path / "table"]
    planned = cli(*command, "--dry-run")
    assert planned.code == 0 and "100 targets, positives by replaced words" in planned.out, planned.err
    assert "Making triples takes about" in planned.out and not (tmp_path / "table" / "triples.jsonl").exists()
    made = cli(*command)
    assert made.code == 0, made.err
    for name, printed in (
        ("raw (in the paper: BERT-large)", "59.7"),
        ("meaning (in the paper: meaning vectors)", "63.0"),
    ):
        assert name in " ".join(made.out.split()) and printed in made.out
    rows = json.loads((tmp_path / "table" / "table3.json").read_text())["rows"]
    assert {row["dataset"] for row in rows} == {"usim"} and all(row["used"] == 6 for row in rows)
    assert [row["system"] for row in rows] == [
        "raw", "meaning", "context", "meaning, without negatives", "context, without negatives", "static vectors",
    ]  # fmt: skip

    monkeypatch.setattr(meaning_tables, "train_encoder", lambda *_, **__: pytest.fail("trained again"))
    monkeypatch.setattr(meaning_tables, "make_triples", lambda *_, **__: pytest.fail("made again"))
    again = cli(*command)
    assert again.code == 0 and "Making triples is done" in again.out
    assert rows == json.loads((tmp_path / "table" / "table3.json").read_text())["rows"]
    other = cli(*command, "--preset", "default")
    assert other.code == 1 and "preset was 'paper', now 'default'" in other.err
    assert cli(*command, "--there", "x").code == 2


PAIRS = ("--masked", "{masked}", "--vectors", "{vectors}", "--out", "t")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pairs", *PAIRS), "either a prepared text"),
        (("pairs", "x", *PAIRS, "--masked", "nowhere/model"), "Cannot load the masked"),
        (("pairs", "x", *PAIRS, "--there", "y"), "--back"),
        (("pairs", "x", *PAIRS), "not a prepared corpus"),
        (("train", "{text}", "--out", "t"), "not a file of triples"),
        (("train", "{text}", "--out", "t", "--preset", "papers"), "Unknown preset 'papers'"),
        (("encode", "{vectors}", "{text}", "--out", "t"), "not a saved encoder"),
        (("similar", "{masked}", "x", "a river", "one"), "There is no word 'one' in 'a river'"),
        (("encode", "{masked}", "nowhere.txt", "--out", "t"), "No such file"),
    ],
)  # fmt: skip
def test_bad_input(cli, world, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = {name: world / name for name in ("masked", "vectors")} | {"text": world / "text.txt"}
    ended = cli("meaning", *(argument.format(**places) for argument in arguments))
    assert ended.code in (1, 2)
    assert message in ended.err and "Traceback" not in ended.err
    assert not list(tmp_path.iterdir())


def test_a_stopped_command_says_how_to_resume_and_does(cli, world, thresholds, tmp_path, monkeypatch):
    from wordstill.meaning.masked import MaskedModel

    options = ("--masked", world / "masked", "--vectors", world / "vectors", "--device", "cpu", *thresholds)
    pairs = ("meaning", "pairs", "--paraphrases", world / "pairs.tsv", *options, "--out", tmp_path / "t.jsonl")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MaskedModel, "predict", interrupted)
        stopped = cli(*pairs)
    assert stopped.code == 130
    assert stopped.err == "Stopped while making triples: 0 of 120 targets done and saved.\n"
    assert cli(*pairs).code == 0

    train = ("meaning", "train", tmp_path / "t.jsonl", "--heads", 4, "--max-epochs", 1, "--device", "cpu")
    train = (*train, "--dtype", "float32", "--out", tmp_path / "meaning")
    with monkeypatch.context() as patch:
        patch.setattr(f"{MAKING}.train", interrupted)
        stopped = cli(*train)
    assert stopped.code == 130
    command = shlex.split(stopped.err.splitlines()[-1])
    assert command == ["wordstill", *map(str, train)]
    with locked(tmp_path / "meaning.partial", tmp_path / "meaning"):
        refused = cli(*train)
    assert refused.code == 2 and "Another run is writing" in refused.err
    resumed = cli(*command[1:])
    assert resumed.code == 0, resumed.err
    assert "Resuming the run in" in resumed.err and "which has states." in resumed.err


def test_one_command_makes_an_encoder_and_resumes_only_its_own_work(cli, world, tmp_path, monkeypatch):
    out, other = tmp_path / "meaning", tmp_path / "other.txt"
    other.write_text((world / "text.txt").read_text().replace("river", "stream"))
    # A model of random weights predicts nothing with certainty, and its vectors are all alike.
    loose, vectors = BuildConfig(similarity=0.3, probability=0), WordVectors.load(world / "vectors")
    monkeypatch.setattr(f"{MAKING}.BuildConfig", lambda similarity: loose)
    monkeypatch.setattr(f"{MAKING}.distill_from_teacher", lambda *_, **__: {"still": vectors})
    settings = ("--masked", world / "masked", "--triples", 40, "--min-words", 5, "--epochs", 1, "--device", "cpu")

    def make(text, *more):
        return cli("meaning", "make", text, *settings, *more, "--dtype", "float32", "--out", out)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"{MAKING}.train", interrupted)
        stopped = make(world / "text.txt")
    assert stopped.code == 130 and "Resume with:" in stopped.err
    refused = make(other)
    assert refused.code == 1 and "was made with other settings" in refused.err and "other.txt is new" in refused.err
    refused = make(world / "text.txt", "--seed", 1)
    assert refused.code == 1 and "seed was 0, now 1" in refused.err
    with monkeypatch.context() as patch:
        # Triples and vectors are not made again.
        patch.setattr(f"{MAKING}.make_triples", interrupted)
        patch.setattr(f"{MAKING}.distill_from_teacher", interrupted)
        made = make(world / "text.txt")
    assert made.code == 0, made.err
    assert "validation loss" in made.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["meaning", "other.txt"]
    again = make(other, "--overwrite")
    assert again.code == 0, again.err


def test_a_model_that_cannot_predict_words_leaves_nothing_behind(cli, world, tmp_path):
    ended = cli("meaning", "make", world / "text.txt", "--masked", "all-MiniLM-L6-v2", "--out", tmp_path / "meaning")
    assert ended.code == 1 and "give a masked language model" in ended.err
    assert not list(tmp_path.iterdir())
