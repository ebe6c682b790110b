"""Attention by matrix tiles over texts that lie end to end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from wordstill.teacher.amx.amx_library import STEP, AmxUnavailable, kernel, share


def amx_can_attend(query: Tensor, key: Tensor, value: Tensor, scale: float) -> bool:
    """Whether this attention over [heads, P, width], which must not be causal, can be had from `attend_with_amx`."""
    given = (query, key, value)
    if any(tensor.dtype is not torch.bfloat16 or tensor.device.type != "cpu" for tensor in given):
        return False
    # The kernel finds its largest score before it multiplies by the factor.
    fits = query.shape == key.shape == value.shape and query.shape[2] % STEP == 0 and scale > 0
    if not fits or any(tensor.stride(2) != 1 for tensor in given):
        return False
    try:
        kernel()
    except AmxUnavailable:
        return False
    return True


def attend_with_amx(query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int], scale: float) -> Tensor:
    """[P, heads, width] attention in which each text sees itself and nothing else.

    Query, key and value are [heads, P, width], with a width in one block that is a multiple of 32.

    Raises:
        ValueError: The lengths are not P together.
    """
    heads, rows, width = query.shape
    if sum(lengths) != rows:
        raise ValueError(f"The texts have {sum(lengths)} subwords, but {rows} were passed.")
    result = torch.empty(rows, heads, width, dtype=query.dtype)
    out, sizes = result.transpose(0, 1), _as_tensor(tuple(lengths))

    def attend(part: slice) -> None:
        kernel().attend(query[part], key[part], value[part], out[part], sizes, scale)

    share(heads, 1, attend)
    return result


@lru_cache(maxsize=16)
def _as_tensor(lengths: tuple[int, ...]) -> Tensor:
    """The same in every layer of a model; several batches may be under way."""
    return torch.tensor(lengths, dtype=torch.int64)
