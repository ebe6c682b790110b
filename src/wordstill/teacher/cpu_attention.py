"""Attention on a CPU over texts that lie end to end, faster than torch's kernel for the usual lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

SHORT = 48
"""Texts of at most so many sub-words are left to torch, all of one length together."""
MOST_SCORES = 1 << 20
"""More scores of one text do not stay in the cache, and it is left to torch too."""
LEAST_SUM, LARGEST_SUM = 1e-30, 1e30


def attend_texts(query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int], scale: float) -> Tensor:
    """[P, heads, d] attention in which each text sees all of itself and nothing else.

    Args:
        query: [heads, P, d] float32, as are the others.
        key: Likewise.
        value: Likewise.
        lengths: Sub-words of each text, P together; it is best if those of equal length stand together.
        scale: Factor of the scores.
    """
    heads, rows, _ = query.shape
    result = torch.empty(rows, heads, value.shape[2])
    out = result.transpose(0, 1)
    usual = [n for n in lengths if n > SHORT and heads * n * n <= MOST_SCORES]
    buffer = torch.empty(heads * max(usual, default=0) ** 2)
    start = 0
    for n, count in _runs(lengths):
        place = slice(start, start + count * n)
        parts = (query[:, place], key[:, place], value[:, place])
        plain = n > SHORT and heads * n * n <= MOST_SCORES
        if not (plain and _plain(*parts, scale, buffer[: heads * n * n], out[:, place])):
            _left_to_torch(*parts, n, scale, out[:, place])
        start = place.stop
    return result


def _runs(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Length and number of texts that are read together: short ones of equal length, others alone."""
    for n, group in groupby(lengths):
        count = len(list(group))
        yield from [(n, count)] if n <= SHORT else [(n, 1)] * count


def _plain(query: Tensor, key: Tensor, value: Tensor, scale: float, buffer: Tensor, out: Tensor) -> bool:
    """Exponentials of the scores as they are; False where one is too large, or all of a row too small."""
    heads, n, _ = query.shape
    scores = torch.bmm(query * scale, key.transpose(1, 2), out=buffer.view(heads, n, n))
    sums = scores.exp_().sum(-1, keepdim=True)
    least, largest = torch.aminmax(sums)
    if not (float(least) > LEAST_SUM and float(largest) < LARGEST_SUM):
        return False
    torch.div(torch.bmm(scores, value), sums, out=out)
    return True


def _left_to_torch(query: Tensor, key: Tensor, value: Tensor, n: int, scale: float, out: Tensor) -> None:
    """Texts of ``n`` sub-words each [heads, texts x n, d]."""
    texts = [each.reshape(len(each), -1, n, each.shape[2]).transpose(0, 1) for each in (query, key, value)]
    attended = scaled_dot_product_attention(texts[0], texts[1], texts[2], scale=scale)
    out.copy_(attended.transpose(0, 1).flatten(1, 2))
