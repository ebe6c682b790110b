from __future__ import annotations

import re
import signal
import time
from itertools import pairwise

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.baselines import TrainConfig, Training
from wordstill.corpus import Corpus
from wordstill.evaluation import SimilarityTask

QUICK = ("--dim", "8", "--epochs", "1", "--device", "cpu")


def test_text_alone_does_the_sensible_thing(cli, text, tmp_path):
    out = tmp_path / "vectors"
    done = cli("train", text, "--out", out, *QUICK)
    assert done.code == 0, done.err
    table = WordVectors.load(out)
    assert table.provenance["method"]["name"] == "skipgram.v1"
    assert table.dim == 8 and table.provenance["method"]["epochs"] == 1
    assert "Trained 1 table in" in done.out
    assert f"{out}  {len(table):,} words x 8" in done.out
    assert f"wordstill evaluate {out}" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]


@pytest.mark.parametrize("method", ["cbow", "fasttext:buckets=100", "sent2vec:buckets=100", "glove"])
def test_every_method(cli, store, tmp_path, method):
    done = cli("train", store, "--method", method, "--out", tmp_path / "vectors", "--seed", "4", *QUICK)
    assert done.code == 0, done.err
    facts = WordVectors.load(tmp_path / "vectors").provenance
    assert facts["method"]["name"] == f"{method.partition(':')[0]}.v1"
    assert facts["seed"] == 4
    assert facts["corpus"]["hash"] == Corpus.open(store).hash


def test_several_methods_and_every_setting(cli, store, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("babar\n")
    out = tmp_path / "vectors"
    done = cli(
        "train", store, "--out", out, "-m", "cbow:window=2", "-m", "glove:window=3", "--dim", "6",
        "--epochs", "2", "--workers", "2", "--device", "cpu", "--min-count", "30", "--max-vocab", "20",
        "--key", "none", "--words", words,
    )  # fmt: skip
    assert done.code == 0, done.err
    labels = {"cbow-dim-6-epochs-2-window-2", "glove-dim-6-epochs-2-window-3"}
    assert {path.name for path in out.iterdir()} == labels
    for label in labels:
        table = WordVectors.load(out / label)
        assert len(table) in (20, 21) and "babar" in table
        assert table.provenance["training"] == {"workers": 2, "device": "cpu"}
        assert table.provenance["vocabulary"]["key"] == "none"


def test_text_options_reach_the_preparation(cli, text, tmp_path):
    out = tmp_path / "vectors"
    broken = tmp_path / "broken.txt"
    broken.write_bytes(text.read_bytes() + b"\xff\n")
    options = ("--sentences-per-line", "--filter", "sentences-10-40", "--errors", "replace")
    assert cli("train", broken, "--out", out, "-m", "cbow", *QUICK, *options).code == 0
    settings = WordVectors.load(out).provenance["corpus"]["settings"]
    assert settings["filter"] == "sentences-10-40" and settings["sentences_per_line"]


def test_overwrite(cli, store, tmp_path):
    arguments = ("train", store, "--out", tmp_path / "out", "-m", "cbow", *QUICK)
    assert cli(*arguments).code == 0
    refused = cli(*arguments)
    assert refused.code == 2 and "exists already" in refused.err
    assert cli(*arguments, "--overwrite").code == 0


def test_progress(cli, store, tmp_path):
    done = cli("train", store, "--out", tmp_path / "v", "-m", "glove", *QUICK, "--progress")
    assert re.search(r"glove: 100%.* cells/s.*loss \d", done.err)
    quiet = cli("train", store, "--out", tmp_path / "w", "-m", "glove", *QUICK)
    assert quiet.err == ""


WRONG = {
    "method": (("--method", "skipgran"), "Did you mean 'skipgram'"),
    "distilling method": (("--method", "ase"), "Unknown method 'ase'"),
    "setting": (("--method", "glove:windw=3"), "Did you mean 'window'"),
    "value": (("--method", "glove:window=wide"), "expected a whole number, got 'wide'"),
    "set twice": (("--method", "glove:dim=5", "--dim", "6"), "glove:dim is set twice"),
    "range": (("--method", "cbow:negatives=0"), "cbow: negatives must be from 1 to 10,000; got 0"),
    "device": (("--method", "glove", "--device", "tpu"), "cannot be used here"),
    "output": (("--out", ".."), "is not a new folder"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_settings_are_refused(cli, store, tmp_path, arguments, message):
    ended = cli("train", store, "--out", tmp_path / "out", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ") and message in ended.err
    assert list(tmp_path.iterdir()) == []


def test_divergence_says_what_to_change(cli, store, tmp_path):
    ended = cli("train", store, "--out", tmp_path / "out", "-m", "glove:rate=1e38", "--epochs", "3")
    assert ended.code == 1
    assert "smaller glove:rate" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_missing_text(cli, tmp_path):
    ended = cli("train", tmp_path / "nowhere.txt", "--out", tmp_path / "out")
    assert ended.code == 1 and "does not exist" in ended.err


def test_a_stopped_training_leaves_nothing(start, store, tmp_path):
    process = start("train", store, "--out", tmp_path / "out", "--epochs", "1000000", "--progress")
    assert process.stderr.read(1)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    _, err = process.communicate(timeout=90)
    assert time.monotonic() - asked < 5
    assert process.returncode == 130 and "Stopped." in err
    assert list(tmp_path.iterdir()) == []


def test_help_shows_an_example(cli):
    shown = cli("train", "--help")
    assert "Example: wordstill train " in " ".join(shown.out.split())


def test_defaults_are_those_of_the_library(monkeypatch, cli, tmp_path):
    given = []

    def train(inputs, out, *, config, overwrite):
        given.append((inputs, out, config, overwrite))
        return {"skipgram": WordVectors(["word"], np.ones((1, 2), dtype=np.float32))}

    monkeypatch.setattr("wordstill.baselines.train", train)
    assert cli("train", "text.txt", "--out", tmp_path / "vectors").code == 0
    assert given == [(["text.txt"], tmp_path / "vectors", TrainConfig(training=Training(progress=True)), False)]


def test_a_grid_is_ranked_on_development_pairs(cli, store, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    words = ["babar", "bador", "bafir", "bagur", "baker", "balor", "bamir", "banur"]
    pairs.write_text("\n".join(f"{one}\t{two}\t{(3 * place) % 7}" for place, (one, two) in enumerate(pairwise(words))))
    out = tmp_path / "search"
    grid = "cbow:window=1|3,negatives=2|4"
    done = cli("train", store, "-m", grid, "--development", pairs, "--out", out, "--min-count", "1", *QUICK)
    assert done.code == 0, done.err
    labels = {f"cbow-dim-8-epochs-1-window-{window}-negatives-{count}" for window in (1, 3) for count in (2, 4)}
    assert {path.name for path in out.iterdir()} == labels
    ranked = re.findall(r"^ +(-?[\d.]+)  (cbow\S+)$", done.out.partition("the best first:")[2], re.MULTILINE)
    assert {label for _, label in ranked} == labels
    values = [float(value) for value, _ in ranked]
    assert values == sorted(values, reverse=True)
    for value, label in ranked:
        score = SimilarityTask(pairs).run(WordVectors.load(out / label)).value
        assert float(value) == pytest.approx(score, abs=0.051)


def test_trees_come_from_conllu_files(cli, text, tmp_path):
    lines = [line.split() for line in text.read_text().splitlines()[:40]]
    parsed = tmp_path / "parsed.conllu"
    parsed.write_text("\n\n".join(
        "\n".join(f"{n + 1}\t{word.strip('.')}\t_\t_\t_\t_\t{n}\tdep\t_\t_" for n, word in enumerate(words))
        for words in lines
        if words
    ))  # fmt: skip
    done = cli("train", text, "--trees", parsed, "-m", "deps", "-m", "syngcn", "--out", tmp_path / "vectors", *QUICK)
    assert done.code == 0, done.err
    assert len(list((tmp_path / "vectors").iterdir())) == 2
    refused = cli("train", text, "-m", "deps", "--out", tmp_path / "other", *QUICK)
    assert refused.code == 2 and "No file named *.conllu" in refused.err
