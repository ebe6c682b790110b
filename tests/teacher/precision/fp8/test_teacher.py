"""A teacher that is asked for fp8; on a CPU, which is as right as a GPU and slower."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity

from wordstill.corpus import VocabularyConfig
from wordstill.errors import TeacherError, UsageError
from wordstill.run import DistillConfig, Run
from wordstill.teacher import Teacher, TeacherConfig, teacher
from wordstill.teacher.batches.bare import trial_batch
from wordstill.teacher.precision import kinds
from wordstill.teacher.precision.fp8 import model as fp8
from wordstill.teacher.precision.fp8.linear import Fp8Linear


def with_large_weights(model):
    """A new model's states hardly depend on what its blocks do."""
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and "embed" not in name and "wte" not in name and "wpe" not in name:
            weight.data *= 5
    return model


@pytest.fixture
def anywhere(monkeypatch):
    monkeypatch.setattr(kinds, "refuse_without_fp8", lambda place, name: None)


@pytest.fixture
def make(tiny_model, tiny_tokenizer):
    def make_teacher(kind="bert-uncased", dtype="fp8", **settings):
        config = TeacherConfig("tiny", "cpu", dtype, **settings)
        return Teacher(with_large_weights(tiny_model(kind)), tiny_tokenizer(kind), config)

    return make_teacher


@pytest.mark.parametrize("attention", ["packed", "padded"])
@pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "llama3"])
def test_it_reads_texts_and_stays_close(anywhere, make, kind, attention):
    exact, quick = make(kind, "float32"), make(kind, attention=attention)
    assert (quick.precision, quick.dtype, quick.packs) == ("fp8", torch.bfloat16, attention == "packed")
    assert (quick.parameters, quick.fingerprint) == (exact.parameters, exact.fingerprint)
    assert any(isinstance(module, Fp8Linear) for module in quick.forward.model.modules())
    batch = trial_batch(exact._probe(), exact.limit)
    layers = (1, exact.depth)
    one, other = (each.encode(batch, layers).hidden for each in (exact, quick))
    for layer in layers:
        assert 0.99 < float(cosine_similarity(one[layer], other[layer].float()).mean()) < 0.99999


def test_what_is_made_says_so(anywhere, make, write_store):
    corpus = write_store("The old still stands in the small house by the river.")
    tables = Run(make(), corpus, DistillConfig(("ase",), vocabulary=VocabularyConfig(min_count=1))).tables()
    assert tables["ase"].provenance["teacher"]["dtype"] == "fp8"


def test_a_model_that_is_not_close(anywhere, make, monkeypatch):
    monkeypatch.setattr(fp8, "CLOSE_ENOUGH", 1.5)
    with pytest.warns(UserWarning, match="tiny stays in bfloat16"):
        teacher = make()
    assert (teacher.precision, teacher.packs) == ("bfloat16", True)
    assert torch.isfinite(teacher.encode(trial_batch(teacher._probe(), 64), (3,)).hidden[3]).all()


def test_broken_weights_are_found(anywhere, make):
    teacher = make()
    teacher.model.encoder.layer[1].output.dense.scales[0, 3] = float("nan")
    with pytest.raises(TeacherError, match=r"states that are not finite \(layer 3, fp8\)"):
        teacher.encode(trial_batch(teacher._probe(), 64), (3,))


def test_a_cpu_is_refused(make):
    with pytest.raises(UsageError, match="tiny cannot run in fp8 on cpu: that is for GPUs"):
        make()


def test_it_is_never_taken_unasked(make, monkeypatch):
    monkeypatch.setattr(teacher, "fp8_if_close", None)
    assert make(dtype="auto").precision in ("float32", "bfloat16")
