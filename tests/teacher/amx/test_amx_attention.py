"""Attention by tiles is attention, for texts of every length."""

from __future__ import annotations

import pytest
import torch

from wordstill.teacher import device
from wordstill.teacher.amx import amx_layers, amx_library
from wordstill.teacher.amx.amx_layers import amx_can_attend, attend_with_amx

pytestmark = pytest.mark.usefixtures("tiles")
LENGTHS = [
    [1], [2], [15], [16], [17], [31], [32], [33], [63], [64], [65], [100], [512], [700],
    [1, 1, 1], [33, 5, 200, 1, 16, 32, 31, 7], [512, 3, 511],
]  # fmt: skip


def tensors(rows, heads=3, width=32):
    torch.manual_seed(0)
    # As transformers gives them: heads lie side by side in a row.
    return [torch.randn(rows, heads, width).bfloat16().transpose(0, 1) for _ in range(3)]


def slowly(query, key, value, lengths, scale):
    """Softmax, text by text, in float64."""
    query, key, value = (each.double() for each in (query, key, value))
    parts = zip(*(each.split(lengths, dim=1) for each in (query, key, value)))
    found = [torch.softmax(scale * q @ k.transpose(1, 2), dim=2) @ v for q, k, v in parts]
    return torch.cat(found, dim=1).transpose(0, 1)


def assert_close(result, expected):
    assert result.dtype is torch.bfloat16
    # Weights are rounded before they are multiplied, and the result after it.
    torch.testing.assert_close(result.double(), expected, rtol=2**-6, atol=2**-8)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_it_is_attention(lengths):
    given = tensors(sum(lengths))
    assert_close(attend_with_amx(*given, lengths, 0.3), slowly(*given, lengths, 0.3))


@pytest.mark.parametrize("width", [32, 64, 96, 128, 256])
def test_heads_of_every_width(width):
    given = tensors(100, heads=2, width=width)
    assert_close(attend_with_amx(*given, [60, 40], 0.1), slowly(*given, [60, 40], 0.1))


def test_heads_that_lie_anyhow():
    torch.manual_seed(0)
    together = torch.randn(70, 3, 4, 32).bfloat16()
    side_by_side = [each.transpose(0, 1) for each in together.unbind(1)]
    one_by_one = [each.contiguous() for each in side_by_side]
    expected = slowly(*side_by_side, [50, 20], 0.2)
    for given in (side_by_side, one_by_one):
        assert_close(attend_with_amx(*given, [50, 20], 0.2), expected)


def test_scores_far_apart():
    query, key, value = tensors(90)
    assert_close(attend_with_amx(query * 30, key, value, [90], 3.0), slowly(query * 30, key, value, [90], 3.0))


def test_a_text_does_not_depend_on_the_others():
    lengths = [40, 1, 65, 32]
    given = tensors(sum(lengths))
    parts = zip(*(each.split(lengths, dim=1) for each in given))
    alone = [attend_with_amx(*part, [length], 0.3) for part, length in zip(parts, lengths)]
    assert torch.equal(attend_with_amx(*given, lengths, 0.3), torch.cat(alone))


def test_several_threads_give_the_same():
    given = tensors(90, heads=13)
    alone = attend_with_amx(*given, [50, 40], 0.3)
    try:
        torch.set_num_threads(3)
        assert torch.equal(attend_with_amx(*given, [50, 40], 0.3), alone)
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("which", ["query", "key", "value"])
def test_what_is_not_finite_stays_so_and_in_its_text(which, bad):
    given = dict(zip(("query", "key", "value"), tensors(100)))
    given[which][1, 45, 3] = bad
    result = attend_with_amx(*given.values(), [40, 30, 30], 0.3)
    expected = slowly(*given.values(), [40, 30, 30], 0.3)
    assert torch.equal(torch.isfinite(result), torch.isfinite(expected))
    assert not torch.isfinite(result).all()


def test_scores_that_are_all_too_small():
    query, key, value = tensors(20)
    query[:], key[:] = 3e38, -3e38
    assert torch.isnan(attend_with_amx(query, key, value, [20], 1.0)).all()


def test_what_it_can_do(monkeypatch):
    query, key, value = tensors(20)
    assert amx_can_attend(query, key, value, 0.3)
    assert not amx_can_attend(query, key[:1], value[:1], 0.3)
    assert not amx_can_attend(query, key, value, -0.3)
    assert not amx_can_attend(*(each.float() for each in (query, key, value)), 0.3)
    assert not amx_can_attend(*(each[..., :8] for each in (query, key, value)), 0.3)
    assert not amx_can_attend(*(each.transpose(1, 2).contiguous().mT for each in (query, key, value)), 0.3)

    def none():
        raise amx_library.AmxUnavailable("none")

    monkeypatch.setattr(amx_layers, "kernel", none)
    assert not amx_can_attend(query, key, value, 0.3)


def test_lengths_that_are_wrong():
    with pytest.raises(ValueError, match="The texts have 21 subwords, but 20 were given"):
        attend_with_amx(*tensors(20), [20, 1], 0.3)


@pytest.mark.parametrize("lengths", [[1], [17], [33, 15]], ids=str)
def test_memory_beyond_its_own_is_not_touched(lengths, at_the_edge):
    # The last head of the last position is the last of the memory.
    given = [at_the_edge(each.transpose(0, 1).contiguous()).transpose(0, 1) for each in tensors(sum(lengths))]
    assert device.survives(lambda: attend_with_amx(*given, lengths, 0.3))
