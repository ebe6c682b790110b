"""What every baseline promises. A new one is covered by its row in the table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.baselines import BASELINES, Baseline, TrainConfig, Training, read_baselines, train, train_on_corpus
from wordstill.baselines.base import WordText
from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.errors import DataError, MissingExtra, TrainingError, UsageError

SETTINGS = {
    "skipgram": "dim=10,epochs=6,subsample=0",
    "cbow": "dim=10,epochs=6,subsample=0",
    "fasttext": "dim=10,epochs=6,subsample=0,buckets=500",
    "sent2vec": "dim=10,epochs=5,subsample=0,buckets=500",
    "glove": "dim=10,epochs=150,batch=32",
    "context2vec": "dim=10,epochs=4,rate=0.05,batch=50",
    "deps": "dim=10,epochs=4,rate=0.1,min_context_count=1",
    "syngcn": "dim=10,epochs=4,subsample=0,rate=0.05,negatives=5,batch=32",
}
"""Small and quick ones; a row for each method."""


def spec_of(name: str) -> str:
    return f"{name}:{SETTINGS[name]}"


def trained(text: WordText, spec: str, **training: object) -> WordVectors:
    (found,) = read_baselines([spec])
    return train_on_corpus(text.corpus, text.vocabulary, found, Training(device="cpu", **training), text.trees)


@pytest.fixture(scope="module", params=BASELINES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def table(planted, name) -> WordVectors:
    return trained(planted, spec_of(name))


def test_a_planted_structure_is_found(table, topics_apart):
    assert topics_apart(table) > 0.5


def test_words_counts_and_kind(planted, table):
    assert list(table.words) == planted.vocabulary.keys
    assert table.counts.tolist() == planted.vocabulary.counts.tolist()
    assert table.matrix.dtype == np.float32 and table.dim == table.provenance["method"]["dim"]


def test_the_same_seed_gives_the_same_bits_and_progress_shows_time_left_and_loss(planted, table, name, bars, capsys):
    again = trained(planted, spec_of(name), progress=True)
    assert again.words == table.words
    assert again.matrix.tobytes() == table.matrix.tobytes()
    shown = capsys.readouterr().err
    assert f"{name}: 100%" in shown
    if BASELINES[name].package == "torch":
        assert "loss 0." in shown or "loss " in shown


def test_another_seed_gives_other_vectors(planted, table, name, topics_apart):
    other = trained(planted, spec_of(name), seed=1)
    assert not np.allclose(other.matrix, table.matrix, atol=1e-3)
    assert topics_apart(other) > 0.5


def test_provenance_is_complete(planted, table, name):
    facts = json.loads(json.dumps(dict(table.provenance), allow_nan=False))
    assert facts == table.provenance
    assert facts["method"]["name"] == f"{name}.v1"
    assert facts["method"].keys() == {"name", *BASELINES[name].config_type.__dataclass_fields__}
    assert facts["method"]["dim"] == table.dim
    assert facts["corpus"]["hash"] == planted.corpus.hash
    assert facts["vocabulary"]["size"] == len(table)
    assert facts["training"] == {"workers": 1, "device": "cpu"}
    assert facts["seed"] == 0
    assert "not installed" not in facts["versions"].values() and len(facts["versions"]) == 3


def test_words_that_never_occur_have_no_vector_unless_spelling_gives_one(make_text, name):
    text = make_text(["Rivers run to the sea. The sea is wide."] * 30, words=("unheard", "the sea", "sea"))
    found = trained(text, spec_of(name))
    assert "sea" in found and "rivers" in found
    assert ("unheard" in found) == ("the sea" in found) == (name == "fasttext")


@pytest.mark.parametrize("name", [name for name, kind in BASELINES.items() if kind.package == "torch"])
def test_a_training_that_runs_away_is_stopped(planted, name):
    """gensim's own loops leave out pairs with large scores, so they do not run away."""
    with pytest.raises(TrainingError, match=rf"smaller {name}:rate \(it is 1e\+30\)"):
        trained(planted, f"{name}:dim=10,epochs=3,rate=1e30")


def test_bad_settings_are_refused(name):
    for setting in ("dim=0", "dim=2000000000", "epochs=0", "rate=0", "rate=nan", "rate=1e39"):
        with pytest.raises(UsageError, match=f"^{name}: ?{setting.partition('=')[0]} must be"):
            read_baselines([f"{name}:{setting}"])
    with pytest.raises(UsageError, match=f"Unknown setting of {name} 'colour'"):
        read_baselines([f"{name}:colour=red"])


def test_baselines_explain_themselves(name):
    baseline = BASELINES[name]
    assert issubclass(baseline, Baseline) and baseline.name == f"{name}.v1"
    for head in (".. math::", "Paper:", "Inputs:", "Cost:", "Relations:", "Deviations:", "Example:"):
        assert head in (baseline.__doc__ or ""), head


def test_a_text_of_single_words(make_text, name):
    """No word has company, so nothing can be learnt, and nothing breaks."""
    text = make_text(["one", "two", "one", "three"])
    if name in ("glove", "deps", "syngcn"):
        with pytest.raises(DataError, match=rf"{name}.*no word .* got a vector, because none has a neighbor"):
            trained(text, spec_of(name))
        return
    assert set(trained(text, spec_of(name)).words) == {"one", "two", "three"}


def test_several_methods_in_one_call(planted, tmp_path):
    config = TrainConfig((spec_of("cbow"), spec_of("glove")), training=Training(device="cpu"))
    tables = train(planted.corpus.path, tmp_path / "out", config=config)
    assert list(tables) == ["cbow-dim-10-epochs-6-subsample-0.0", "glove-dim-10-epochs-150-batch-32"]
    for label, table in tables.items():
        again = WordVectors.load(tmp_path / "out" / label)
        assert again.matrix.tobytes() == table.matrix.tobytes() and again.provenance == table.provenance


def test_an_output_that_exists_is_refused_before_any_work(planted, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.json").touch()
    with pytest.raises(UsageError, match="exists already"):
        train(tmp_path / "missing.txt", tmp_path / "out")


def test_a_device_that_cannot_be_used_is_refused_before_any_work(tmp_path):
    with pytest.raises(UsageError, match="'tpu' cannot be used here"):
        train(tmp_path / "missing.txt", config=TrainConfig(training=Training(device="tpu")))
    with pytest.raises(UsageError, match="methods= cannot be combined with config="):
        train(tmp_path / "missing.txt", methods="glove", config=TrainConfig())


def test_unknown_methods_are_named():
    with pytest.raises(UsageError, match="Did you mean 'skipgram'"):
        TrainConfig(("skipgran",))


def test_a_vocabulary_without_any_running_word(planted):
    vocabulary = Vocabulary.build(planted.corpus, VocabularyConfig(min_count=10**9, words=("unheard",)))
    (spec,) = read_baselines(["cbow"])
    with pytest.raises(DataError, match="nothing to train on"):
        train_on_corpus(planted.corpus, vocabulary, spec, Training())


def test_wrong_ways_to_train_are_refused():
    for wrong in ({"workers": 0}, {"seed": -1}, {"seed": 2**32}):
        with pytest.raises(UsageError, match=rf"{next(iter(wrong))} must be from \d to [\d,]+; got"):
            Training(**wrong)


def test_a_missing_package_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("wordstill.baselines.training.find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=r"baseline skipgram.v1 needs the package 'gensim'"):
        train(tmp_path / "missing.txt")


def test_without_gensim_it_says_what_to_install(planted, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "gensim.models", None)
    for name in ("skipgram", "fasttext"):
        with pytest.raises(MissingExtra, match=r"wordstill\[train\]"):
            trained(planted, spec_of(name))


def test_a_stopped_training_keeps_what_is_finished(planted, tmp_path, monkeypatch):
    config = TrainConfig(
        (spec_of("glove"), spec_of("sent2vec")),
        vocabulary=VocabularyConfig(min_count=1),
        training=Training(device="cpu"),
    )
    train(planted.corpus.path, tmp_path / "whole", config=config)
    with monkeypatch.context() as patch:
        patch.setattr(BASELINES["sent2vec"], "fit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train(planted.corpus.path, tmp_path / "out", config=config)
    with pytest.raises(DataError, match=r"training\.seed was 0, now 1"):
        train(planted.corpus.path, tmp_path / "out", config=replace(config, training=Training(seed=1, device="cpu")))
    monkeypatch.setattr(BASELINES["glove"], "fit", lambda *_: pytest.fail("trained again"))
    train(planted.corpus.path, tmp_path / "out", config=config)
    whole, resumed = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in sorted((tmp_path / name).glob("*/*"))}
        for name in ("whole", "out")
    )
    assert resumed == whole
    assert not (tmp_path / "out.partial").exists()
