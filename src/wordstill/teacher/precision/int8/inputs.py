"""Two ways to write the input of a linear layer in 8 bits, so that each row stands on its own."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

BALANCE = 0.7
"""Share of a channel's spread that the input takes; its weights take the rest."""
ONE_SIDED = 0.25
"""Inputs that reach less far below zero than this share of what they reach above it start at their least."""
FIXED_MARGIN, ROW_MARGIN = 1.1, 2.0
"""Codes reach so many times as far as the sample: other texts have larger numbers, and cutting them off costs
single words more than wider steps cost all. Steps of rows become wider only where such numbers come."""
SMALL = 1e-8
IN_CACHE = 1 << 18
"""Numbers that are handled together."""
ROUNDER = float(1 << 23)
"""Added to a float32 it rounds it, and leaves the whole number in the low bits."""


class InputCode(Protocol):
    """``x`` is nearly ``centre + factors * scale * rows * (code - zero)``, rows being 1 where there are none.

    Attributes:
        factors: Of each channel [K].
        centre: Of each channel [K].
        scale: Of all.
        zero: What stands for the centre.
    """

    factors: Tensor
    centre: Tensor
    scale: float
    zero: int

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """[n, K] uint8 codes of [n, K] float32, and the factors of rows [n, 1]."""
        ...


class FixedCode:
    """Every channel has its own range, learnt from a sample; what lies far outside is cut off.

    Good behind a normalisation, where no row is larger than another but some channels always are: their
    spread is shared between input and weights (Xiao et al. 2023, "SmoothQuant").

    Args:
        sample: Rows of the input [n, K].
        weight: Of the layer [N, K].
    """

    zero = 128

    def __init__(self, sample: Tensor, weight: Tensor) -> None:
        high, low = sample.amax(0), sample.amin(0)
        half = _not_zero((high - low) / 2 * FIXED_MARGIN)
        self.factors = half**BALANCE / _not_zero(weight.abs().amax(0)) ** (1 - BALANCE)
        self.scale = float((half / self.factors).max() / 127)
        self._slope = 1 / (self.factors * self.scale)
        # A whole number of steps, so that it can be added together with `ROUNDER`.
        shift = ((high + low) / 2 * self._slope).round()
        self.centre = shift / self._slope
        self._start = self.zero - shift + ROUNDER

    def __call__(self, x: Tensor) -> tuple[Tensor, None]:
        """Codes; rows have no factors."""
        return _codes(torch.addcmul(self._start, x, self._slope)), None


class RowCode:
    """Every row has its own step, up to a limit that a sample shows.

    Args:
        sample: Rows of the input [n, K], zeros in channels that are not coded.
    """

    def __init__(self, sample: Tensor) -> None:
        lowest, highest = float(sample.min()), max(float(sample.max()), SMALL)
        self._one_sided = -lowest < ONE_SIDED * highest
        self._limit = ROW_MARGIN * (highest if self._one_sided else max(highest, -lowest))
        if self._one_sided:
            usual = float(sample.amax(1).median())
            self.zero = round(255 * max(-lowest, 0.0) / (max(-lowest, 0.0) + max(usual, SMALL)))
        else:
            self.zero = 128
        self._least_step = max(-lowest / self.zero if self._one_sided and self.zero else 0.0, SMALL)
        self.factors = torch.ones(sample.shape[1])
        self.centre = torch.zeros(sample.shape[1])
        self.scale = 1.0

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Codes, and the size of a step in each row."""
        codes = torch.empty(x.shape, dtype=torch.uint8)
        steps = torch.empty(len(x), 1)
        # Several passes are made over a part of the rows while it is in the cache.
        size = max(1, IN_CACHE // x.shape[1])
        for start in range(0, len(x), size):
            rows = slice(start, start + size)
            part = x[rows]
            reach = part.amax(1, keepdim=True)
            if not self._one_sided:
                reach = torch.maximum(reach, -part.amin(1, keepdim=True))
            steps[rows] = (reach.clamp_(max=self._limit) / (255 - self.zero)).clamp_(min=self._least_step)
            codes[rows] = _codes((part * steps[rows].reciprocal()).add_(self.zero + ROUNDER))
        return codes, steps


def decoded(code: InputCode, x: Tensor) -> Tensor:
    """[n, K] what the codes of ``x`` stand for."""
    codes, rows = code(x)
    steps = (codes.float() - code.zero) * code.scale
    return code.centre + code.factors * (steps if rows is None else steps * rows)


def _codes(rounded: Tensor) -> Tensor:
    """Whole numbers from 0 to 255, of whole numbers that `ROUNDER` was added to."""
    return rounded.clamp_(ROUNDER, ROUNDER + 255).view(torch.int32).to(torch.uint8)


def _not_zero(values: Tensor) -> Tensor:
    return values.clamp(min=max(float(values.max()) * 1e-4, SMALL))
