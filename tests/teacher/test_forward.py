"""What happens where a GPU's memory is short; the shortage is made up, the rest is real."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from wordstill.errors import TeacherError
from wordstill.teacher import Teacher
from wordstill.teacher.gathering import bare_batch


@pytest.fixture(params=[True, False], ids=["packed", "padded"])
def teacher(request, tiny_teacher) -> Teacher:
    return tiny_teacher("bert-uncased", attention="packed" if request.param else "padded")


def batch(*lengths):
    rng = np.random.default_rng(0)
    return bare_batch([rng.integers(5, 40, length) for length in lengths])


@pytest.fixture
def reads(teacher, monkeypatch):
    """Subwords of each attempt of the model, which fails for more than ``reads.room`` of them."""

    class Reads(list):
        room = 10**9

    reads, name = Reads(), "_packed" if teacher.packs else "_padded"
    real = getattr(teacher.forward, name)

    def short(subwords, *rest):
        reads.append(len(subwords))
        if len(subwords) > reads.room:
            raise torch.cuda.OutOfMemoryError("made up")
        return real(subwords, *rest)

    monkeypatch.setattr(teacher.forward, name, short)
    monkeypatch.setattr(teacher.forward, "max_tokens", None)
    return reads


def states(teacher, given):
    return teacher.encode(given, (teacher.depth,)).hidden[teacher.depth]


def test_a_batch_that_does_not_fit_is_read_in_parts_with_the_same_states(teacher, reads):
    given = batch(9, 3, 7, 5, 8)
    whole = states(teacher, given)
    reads.room = 12
    with pytest.warns(UserWarning, match="too small for a batch of 32 subwords; from now on") as told:
        parts = states(teacher, given)
    assert len(told) == 1
    torch.testing.assert_close(parts, whole)


def test_later_batches_are_read_in_parts_at_once_and_nothing_more_is_said(teacher, reads):
    reads.room = 16
    with pytest.warns(UserWarning, match="from now on"):
        states(teacher, batch(8, 8, 8, 8))
    assert list(reads) == [32, 16, 16]
    reads.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        states(teacher, batch(8, 8, 8, 8, 4))
    assert max(reads) <= 16


def test_one_text_that_does_not_fit_is_refused(teacher, reads):
    reads.room = 5
    with (
        pytest.warns(UserWarning, match="from now on"),
        pytest.raises(TeacherError, match=r"too small for .* with one text of 9 subwords\. Free some"),
    ):
        states(teacher, batch(9, 3))


@pytest.mark.parametrize("kind", ["bert-uncased", "modernbert", "llama3", "t5"])
def test_states_between_blocks_are_seen_while_blocks_are_compiled(tiny_teacher, kind):
    """The compiler itself is told to do nothing, so that only its place in the model is tested."""
    teacher = tiny_teacher(kind)
    given, layers = batch(9, 3, 7), tuple(range(teacher.depth + 1))
    before = teacher.encode(given, layers).hidden
    with torch.compiler.set_stance("force_eager"):
        for wanted in (True, True, False):
            teacher.forward.compile(wanted)
            after = teacher.encode(given, layers).hidden
            assert all(torch.equal(before[layer], after[layer]) for layer in layers)
