"""The script that measures meanings: from a text through a file of targets to figures, with tiny models."""

import json
import shutil
import sys

import numpy as np
import pytest

pytest.importorskip("transformers")

from experiments.meaning import development as development_data
from experiments.meaning import distillers, measure
from experiments.meaning import tasks as task_running
from experiments.meaning import triples as triple_making
from wordstill.corpus import PrepareConfig, prepare
from wordstill.evaluation import Evaluation, Protocol, Score
from wordstill.evaluation.score import Coverage
from wordstill.evaluation.statistics import Interval
from wordstill.vectors import WordVectors

WORDS = (
    "river", "house", "still", "old", "small", "knows", "nobody", "grey", "turned", "stands", "why", "words",
    "newspapers", "wrote", "about", "moved",
)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory, saved_masked_model):
    """A masked model, static vectors and a text in a store."""
    folder = tmp_path_factory.mktemp("world")
    shutil.copytree(saved_masked_model, folder / "masked")
    generator = np.random.default_rng(0)
    WordVectors(WORDS, generator.normal(size=(len(WORDS), 4)).astype(np.float32)).save(folder / "vectors")
    lines = [" ".join(generator.permutation(WORDS)).capitalize() for _ in range(80)]
    (folder / "text.txt").write_text("".join(f"{line}.\n" for line in lines))
    prepare([folder / "text.txt"], folder / "store", PrepareConfig(), workers=1)
    return folder


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["measure.py", *map(str, arguments)])
    measure.main()


def stub_data(monkeypatch):
    """Development data and tasks without any data: the centred meanings of one variant are the best."""

    def development(reader, representations, sentences):
        assert len(next(iter(sentences)).split()) == len(WORDS)
        generator = np.random.default_rng(0)
        gold, noise = generator.normal(size=(2, 200))
        size = {name: 0.1 if name == "meaning-centred (narrow)" else 1.0 for name in representations}
        own = {name: generator.normal(size=200) for name in representations}
        cosines = {name: gold + size[name] * (noise + 0.1 * own[name]) for name in representations}
        return {"wic": development_data.Judged(gold, cosines)}

    def evaluate(encoder, tasks, *, unit, limit):
        rules, interval = Protocol("default"), Interval(49.0, 51.0)
        scores = {
            task: Score("toy", task, "accuracy", 50.0, interval, Coverage(9, 9), 9, rules, "test", "0")
            for task in tasks
        }
        return Evaluation(dict.fromkeys(encoder.names, scores), rules, 0)

    monkeypatch.setattr(distillers, "development", development)
    monkeypatch.setattr(task_running, "evaluate_in_context", evaluate)


@pytest.mark.filterwarnings("ignore:The distillers found a degenerate solution")
def test_from_a_text_to_figures(world, tmp_path, monkeypatch):
    stub_data(monkeypatch)
    targets, out = tmp_path / "targets.jsonl.xz", tmp_path / "meaning.json"
    common = (
        *("--masked", world / "masked", "--vectors", world / "vectors", "--work", tmp_path / "work"),
        *("--out", out, "--device", "cpu", "--dtype", "float32", "--similarity", 0.3, "--probability", 0),
        *("--max-epochs", 1, "--batch", 16, "--liu-sentences", 0, "--commit", "abc"),
        *("--variant", "narrow:feedforward=1,scaling=standardised", "--task", "usim", "--task", "paws-words"),
    )
    run(monkeypatch, world / "store", *common, "--only-targets", targets)
    assert targets.exists() and not out.exists()
    run(monkeypatch, targets, *common, "--stop-after-triples")
    assert list(json.loads(out.read_text())) == [
        "seconds", "command", "commit", "hardware", "translators", "triples",
    ]  # fmt: skip
    run(monkeypatch, targets, *common)
    found = json.loads(out.read_text())
    assert found["command"].startswith("python -m experiments.meaning.measure targets.jsonl.xz --masked masked")
    assert (found["commit"], found["chosen"], found["chosen kind"]) == ("abc", "narrow", "meaning-centred")
    ablations = ["paper, without negatives", "narrow, without negatives"]
    assert list(found["encoders"]) == ["paper", "narrow", *ablations]
    assert found["encoders"]["narrow"]["settings"]["distiller"]["feedforward"] == 1
    assert list(found["encoding, beside reading the states"]) == ["paper", "narrow"]
    assert {"raw", "raw-standardised", "context (narrow)"} <= found["figures"].keys()
    assert found["figures"]["meaning-centred (paper)"] == {"usim": 0.5}
    assert found["figures"]["meaning (narrow)"] == {"usim": 0.5, "paws-words": 0.5}
    assert found["development"]["gains"]["meaning-centred (narrow)"]["wic"] > 2


def test_variants():
    from wordstill.errors import UsageError
    from wordstill.meaning import TrainConfig

    variant = distillers.variant
    name, config = variant(TrainConfig(), "fast:scaling=scaled,learning_rate=2e-4,max_epochs=3")
    assert (name, config.distiller.scaling, config.learning_rate, config.max_epochs) == (
        "fast", "scaled", 2e-4, 3,
    )  # fmt: skip
    assert variant(TrainConfig(), "plain") == ("plain", TrainConfig())
    with pytest.raises(UsageError, match="there is no setting 'size'"):
        variant(TrainConfig(), "x:size=3")


class Swapped:
    """Says every sentence with its words the other way round."""

    name = "swapped"

    def paraphrase(self, sentences):
        return [" ".join(reversed(sentence.rstrip(".").split())) for sentence in sentences]


class Refused(Swapped):
    def paraphrase(self, sentences):
        from wordstill.errors import UsageError

        raise UsageError("Of the words of a sentence only 1% come back.")


@pytest.mark.parametrize(("trip", "seconds"), [(Swapped(), 0), (Refused(), 60)])
def test_what_round_trips_lack_is_substituted(world, tmp_path, monkeypatch, trip, seconds):
    from wordstill.meaning import Triples, make_triples

    monkeypatch.setattr(triple_making, "round_trip", lambda options: trip)
    monkeypatch.setattr(make_triples, "BLOCK", 16)
    out, work = tmp_path / "meaning.json", tmp_path / "work"
    arguments = (
        *(world / "store", "--masked", world / "masked", "--vectors", world / "vectors", "--work", work),
        *("--out", out, "--device", "cpu", "--dtype", "float32", "--similarity", 0.3, "--probability", 0),
        *("--there", "a/en-de", "--back", "a/de-en", "--enough", 10_000, "--fill-seconds", 60),
        *("--triples-seconds", seconds, "--commit", "abc", "--stop-after-triples"),
    )
    run(monkeypatch, *arguments)
    found = json.loads(out.read_text())
    triples = Triples.read(work / "triples.jsonl")
    assert len(triples) + sum(triples.header["dropped"].values()) == triples.header["targets"] == 80
    if isinstance(trip, Refused):
        assert found["triples"]["mode"] == "substituted" and found["translators"] == []
        assert [one["name"] for one in found["translators refused"]] == ["en-de", "de-en"]
    else:
        assert found["triples"]["mode"] == "round-trip and substituted"
        assert [part["targets"] for part in found["triples"]["parts"]] == [16, 64]
        assert len({triple.original for triple in triples}) == len(triples)
        assert found["seconds"]["triples per second, round-trip"] > 0
    run(monkeypatch, *arguments)
    assert json.loads(out.read_text()) == found
