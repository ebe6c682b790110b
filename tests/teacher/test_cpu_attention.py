from __future__ import annotations

import pytest
import torch

from wordstill.teacher import cpu_attention
from wordstill.teacher.cpu_attention import attend_texts


def slowly(query, key, value, lengths, scale):
    """Softmax, text by text and head by head."""
    result, start = torch.empty(query.shape[1], query.shape[0], value.shape[2]), 0
    for n in lengths:
        place = slice(start, start + n)
        for head in range(len(query)):
            weights = torch.softmax(scale * query[head, place] @ key[head, place].T, dim=1)
            result[place, head] = weights @ value[head, place]
        start += n
    return result


def tensors(rows, heads=3, width=8, spread=1.0):
    torch.manual_seed(0)
    # As transformers gives them: heads lie side by side in a row.
    return [spread * torch.randn(rows, heads, width).transpose(0, 1) for _ in range(3)]


@pytest.mark.parametrize(
    "lengths",
    [[1], [3], [100], [3, 3, 3], [2, 2, 60, 60, 7], [48, 48, 49, 49], [5, 70, 5, 5, 150, 1]],
    ids=str,
)
def test_it_is_attention(lengths):
    given = tensors(sum(lengths))
    torch.testing.assert_close(attend_texts(*given, lengths, 0.3), slowly(*given, lengths, 0.3))


def test_texts_with_too_many_scores(monkeypatch):
    monkeypatch.setattr(cpu_attention, "MOST_SCORES", 3 * 60 * 60)
    given = tensors(200)
    torch.testing.assert_close(attend_texts(*given, [60, 61, 79], 0.3), slowly(*given, [60, 61, 79], 0.3))


@pytest.mark.parametrize("shift", [40.0, -40.0], ids=["too large", "too small"])
def test_scores_whose_exponentials_are_not_finite_or_vanish(shift):
    query, key, value = tensors(130)
    query[..., 0], key[..., 0] = 20.0, shift
    result = attend_texts(query, key, value, [60, 70], 1.0)
    torch.testing.assert_close(result, slowly(query, key, value, [60, 70], 1.0), rtol=1e-4, atol=1e-4)
    assert torch.isfinite(result).all()
