from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
import torch

from wordstill.core.resume import working_folder
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning import DistillerConfig, MeaningEncoder, TrainConfig, Triple, Triples, train_encoder
from wordstill.meaning.make_encoder import batch_for
from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.triples import write_triples
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.loading import fingerprint
from wordstill.teacher.spans import StateReader

# Random states have no meaning to be told from a context.
pytestmark = pytest.mark.filterwarnings("ignore:The distillers found a degenerate solution")
CONFIG = TrainConfig(batch=16, max_epochs=2, warm_up=5, distiller=DistillerConfig(heads=4))


@pytest.fixture(scope="module")
def teacher(masked, tiny_teachers, tiny_models, tiny_tokenizer):
    """The tiny masked model as a teacher, with a pooler of random weights as transformers makes it."""
    tokenizer = tiny_models.with_mask(tiny_tokenizer("bert-uncased"))
    model = tiny_models.masked_bert(tokenizer).base_model
    from transformers.models.bert.modeling_bert import BertPooler

    model.pooler = BertPooler(model.config)
    return Teacher(model, tokenizer, TeacherConfig("tiny-masked", "cpu", "float32"))


@pytest.fixture
def triples(tmp_path, masked):
    words = ["river", "house", "still", "old", "small", "knows"]
    made = []
    for number in range(60):
        one, two, three = (words[(number * step + step) % 6] for step in (1, 2, 5))
        text = f"the {one} by the {two} of number {number}"
        occurrence = Occurrence(text, 4, 4 + len(one))
        made.append(Triple(occurrence, Occurrence(f"so {text}", 7, 7 + len(one)), occurrence.replaced(three)))
    header = {
        "triples": 60,
        "masked_model": {"name": "tiny-masked", "fingerprint": masked.fingerprint},
        "mode": "given",
    }
    write_triples(tmp_path / "triples.jsonl", made, header)
    return Triples.read(tmp_path / "triples.jsonl")


def test_the_masked_model_and_the_teacher_are_known_as_the_same(masked, teacher):
    assert teacher.identity == masked.fingerprint


def test_the_identity_does_not_depend_on_the_precision_or_on_the_pooler(tiny_model, tiny_teacher):
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    whole = fingerprint(tiny_model("bert-uncased"), tokenizer.definition, exact=False)
    half = tiny_model("bert-uncased").to(torch.bfloat16)
    assert fingerprint(half, tokenizer.definition, exact=False) == whole
    torch.nn.init.normal_(half.pooler.dense.weight)
    assert fingerprint(half, tokenizer.definition, exact=False) == whole
    torch.nn.init.normal_(half.encoder.layer[0].attention.self.query.weight)
    assert fingerprint(half, tokenizer.definition, exact=False) != whole


def test_from_triples_to_an_encoder(triples, teacher, tmp_path):
    encoder, trained = train_encoder(triples, teacher, tmp_path / "meaning", CONFIG, states=tmp_path / "states")
    assert not (tmp_path / "meaning.partial").exists()
    assert (tmp_path / "states" / "states.npy").exists()
    again = MeaningEncoder.load(tmp_path / "meaning", teacher=teacher)
    assert again.fingerprint == encoder.fingerprint
    assert again.provenance["triples"]["count"] == 60
    assert again.provenance["result"]["validation_loss"] == round(trained.best, 6)
    np.testing.assert_array_equal(again.encode("the river", 1), encoder.encode("the river", 1))
    with pytest.raises(UsageError, match="exists already"):
        train_encoder(triples, teacher, tmp_path / "meaning", CONFIG)


def test_a_second_training_of_the_same_output_is_refused_at_once(triples, teacher, tmp_path):
    """D12: it learnt of the first one only at its end."""
    refused = pytest.raises(UsageError, match="Another run is writing")
    with working_folder(tmp_path / "meaning", "meaning train", {}), refused:
        train_encoder(triples, teacher, tmp_path / "meaning", CONFIG)


def test_triples_of_another_teacher(triples, tiny_teacher, tmp_path):
    other = tiny_teacher("bert-cased")
    with pytest.raises(DataError, match=r"made with the masked model 'tiny-masked'.*--other-teacher"):
        train_encoder(triples, other, tmp_path / "meaning", CONFIG)
    encoder, _ = train_encoder(triples, other, tmp_path / "meaning", CONFIG, other_teacher=True)
    assert encoder.provenance["triples"]["masked_model"]["name"] == "tiny-masked"


def test_words_that_the_tokenizer_drops_are_left_out(triples, teacher, tmp_path):
    bad = Occurrence("a \u200b b", 2, 3)
    lines = [*triples, Triple(bad, bad, bad)]
    write_triples(tmp_path / "more.jsonl", lines, {**triples.header, "triples": 61})
    encoder, _ = train_encoder(Triples.read(tmp_path / "more.jsonl"), teacher, tmp_path / "meaning", CONFIG)
    assert encoder.provenance["triples"]["dropped by the tokenizer"] == 1


def test_a_training_shorter_than_its_warm_up_says_so(teacher, triples, tmp_path):
    config = replace(CONFIG, warm_up=1000)
    with pytest.warns(UserWarning, match="ended after 8 steps, before the warm-up of 1000 steps was over"):
        train_encoder(triples, teacher, tmp_path / "encoder", config)


def test_a_stopped_training_is_resumed_to_the_same_weights(triples, teacher, tmp_path, monkeypatch, capsys, bars):
    whole, _ = train_encoder(triples, teacher, tmp_path / "whole", CONFIG)
    out, step = tmp_path / "meaning", torch.optim.AdamW.step

    def stopping(self, *arguments, **more):
        signal.raise_signal(signal.SIGINT)
        return step(self, *arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", stopping)
        with pytest.raises(Interrupted, match="training: 1 of 8 steps done and saved") as caught:
            train_encoder(triples, teacher, out, CONFIG)
    assert caught.value.kept_in == tmp_path / "meaning.partial"
    with pytest.raises(DataError, match=r"config\.seed was 0, now 1.*--overwrite"):
        train_encoder(triples, teacher, out, replace(CONFIG, seed=1))
    with pytest.raises(DataError, match=r"other settings: layers was .*--overwrite"):
        train_encoder(triples, teacher, out, CONFIG, layers="all")
    monkeypatch.setattr(StateReader, "states", lambda *_: pytest.fail("the states were read again"))
    resumed, _ = train_encoder(triples, teacher, out, CONFIG, progress=True)
    assert resumed.fingerprint == whole.fingerprint
    assert "training: 100%" in capsys.readouterr().err
    assert not (tmp_path / "meaning.partial").exists()


@pytest.mark.parametrize(("triples", "batch"), [(157, 16), (3_200, 50), (20_000, 128)])
def test_few_triples_make_small_batches(triples, batch):
    assert batch_for(triples) == batch
