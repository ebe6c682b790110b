"""A teacher that is asked for int8: what it learns from, how it reads then, and where it refuses."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.nn.functional import cosine_similarity

from wordstill.crew import Crew
from wordstill.errors import TeacherError, UsageError
from wordstill.teacher import Teacher, TeacherConfig, teacher
from wordstill.teacher.batches.bare import trial_batch
from wordstill.teacher.precision.int8 import cpu_multiplies_int8
from wordstill.teacher.precision.int8 import model as int8

LINES = [
    f"The {word} still stands in house {word} by the river, and nobody has moved it since 19{number}0."
    for number, word in enumerate(["old", "small", "cold", "grey", "other", "well-known"])
]


@pytest.fixture
def works():
    if not cpu_multiplies_int8():
        pytest.skip("this processor has no working instructions for 8-bit products")


@pytest.fixture(scope="module")
def corpus(write_store):
    return write_store(*LINES)


@pytest.fixture
def make(tiny_model, tiny_tokenizer):
    def make_teacher(kind="bert-uncased", dtype="int8", **settings):
        return Teacher(
            tiny_model(kind), tiny_tokenizer(kind), TeacherConfig("tiny", "cpu", dtype, **settings)
        )

    return make_teacher


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "llama3"])
def test_it_reads_packed_texts_and_stays_close(works, make, corpus, kind):
    exact, quick = make(kind, "float32"), make(kind)
    weights = quick.parameters
    quick.learn_ranges(corpus)
    assert (quick.precision, quick.dtype, quick.packs) == ("int8", torch.float32, True)
    assert (quick.parameters, quick.fingerprint) == (weights, exact.fingerprint)
    batch = trial_batch(exact._probe(), exact.limit)
    layers = (1, exact.depth)
    one, other = (each.encode(batch, layers).hidden for each in (exact, quick))
    for layer in layers:
        assert float(cosine_similarity(one[layer], other[layer]).mean()) > 0.999
        assert not torch.allclose(one[layer], other[layer], atol=1e-5)


def test_every_text_gives_ranges_of_its_own(works, make, corpus, write_store):
    other = write_store(*(line.upper().replace("STILL", "1923!") for line in LINES[:4]))
    moved = make()
    moved.learn_ranges(other)
    first = moved.ranges
    moved.learn_ranges(corpus)
    fresh = make()
    fresh.learn_ranges(corpus)
    assert moved.ranges == fresh.ranges != first
    batch = trial_batch(fresh._probe(), fresh.limit)
    states = [each.encode(batch, (3,)).hidden[3] for each in (moved, fresh)]
    assert torch.equal(*states)


def test_several_threads_may_read_at_the_same_time(works, make, corpus):
    quick = make()
    quick.learn_ranges(corpus)
    batches = [trial_batch(quick._probe()[:length], 40) for length in range(2, 14)]
    with Crew(lambda batch: quick.encode(batch, (3,)).hidden[3], 3) as crew:
        together = [states for batch in batches for states in crew.do(batch)] + list(crew.rest())
    for batch, states in zip(batches, together, strict=True):
        torch.testing.assert_close(quick.encode(batch, (3,)).hidden[3], states)


def test_padded_texts_if_that_is_wanted(works, make, corpus):
    quick = make(attention="padded")
    quick.learn_ranges(corpus)
    assert (quick.precision, quick.packs) == ("int8", False)


@pytest.mark.parametrize("attention", ["auto", "packed"])
def test_a_teacher_that_int8_changes_stays_in_float32(works, make, corpus, monkeypatch, attention):
    monkeypatch.setattr(int8, "CLOSE_ENOUGH", 1.5)
    careful, exact = make(attention=attention), make(dtype="float32", attention="packed")
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"tiny stays in float32, .* mean cosine of only") as caught:
            careful.learn_ranges(corpus)
        assert len(caught) == 1
    assert (careful.precision, careful.ranges, careful.packs) == ("float32", None, True)
    batch = trial_batch(exact._probe(), exact.limit)
    assert torch.equal(*(each.encode(batch, (3,)).hidden[3] for each in (careful, exact)))


def test_other_precisions_learn_nothing(make, corpus):
    exact = make(dtype="float32")
    before = exact.model
    exact.learn_ranges(corpus)
    assert (exact.model is before, exact.precision, exact.ranges) == (True, "float32", None)


def test_without_a_text_it_reads_nothing(works, make):
    quick = make()
    with pytest.raises(UsageError, match="tiny can only be distilled in int8"):
        quick.encode(trial_batch(quick._probe(), quick.limit), (3,))


def test_a_gpu_is_refused(make, monkeypatch):
    monkeypatch.setattr(teacher, "choose_device", lambda wanted: torch.device("cuda"))
    with pytest.raises(UsageError, match="tiny cannot run in int8 on cuda: that is for CPUs"):
        make()


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        (False, r"lacks the instructions.* Use dtype float32"),
        (True, "Set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16"),
    ],
)
def test_a_processor_without_it_is_refused(make, monkeypatch, tiles, message):
    monkeypatch.setattr(int8, "cpu_multiplies_int8", lambda: False)
    monkeypatch.setattr(int8.device, "tiles_announced", lambda: tiles)
    monkeypatch.setattr(int8.device, "cpu_multiplies_bfloat16", lambda: False)
    with pytest.raises(TeacherError, match=f"tiny cannot run in int8: .*{message}"):
        make()


def test_auto_is_never_int8(make, corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = make(dtype="auto")
    usual.learn_ranges(corpus)
    assert usual.precision in ("float32", "bfloat16")
