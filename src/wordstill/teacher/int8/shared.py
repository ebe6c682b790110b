"""Linear layers that are given the same tensor, as queries, keys and values are, in one product."""

from __future__ import annotations

import threading

from torch import Tensor, nn

from wordstill.teacher.int8.linear import Int8Linear


class SharedLinear(nn.Module):
    """Several linear layers as one product.

    Each of them asks for its part of the result, which is made for the first and let go with the last.

    Args:
        product: Gives the outputs of all, one after another.
        parts: How many there are.
    """

    def __init__(self, product: Int8Linear, parts: int) -> None:
        super().__init__()
        self.product, self.parts = product, parts
        self._last = _Last()

    def part(self, x: Tensor, start: int, stop: int) -> Tensor:
        """[..., stop - start] some of the outputs."""
        last = self._last
        if last.result is None or last.given is not x:
            last.given, last.result, last.asked = x, self.product(x), 0
        result = last.result[..., start:stop]
        last.asked += 1
        if last.asked == self.parts:
            last.given = last.result = None
        return result


class _Last(threading.local):
    """What was given and worked out last; each thread has its own."""

    given: Tensor | None = None
    result: Tensor | None = None
    asked: int = 0


class LinearPart(nn.Module):
    """One of the layers of a `SharedLinear`; its outputs are those from ``start`` to ``stop``."""

    def __init__(self, shared: SharedLinear, start: int, stop: int) -> None:
        super().__init__()
        self.shared, self.start, self.stop = shared, start, stop

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        return self.shared.part(x, self.start, self.stop)
