"""Linear layers that are given the same tensor, as queries, keys and values are, in one product."""

from __future__ import annotations

from torch import Tensor, nn

from wordstill.teacher.int8_linear import Int8Linear


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
        self._given: Tensor | None = None
        self._result: Tensor | None = None
        self._asked = 0

    def part(self, x: Tensor, start: int, stop: int) -> Tensor:
        """[..., stop - start] some of the outputs."""
        if self._result is None or self._given is not x:
            self._given, self._result, self._asked = x, self.product(x), 0
        result = self._result[..., start:stop]
        self._asked += 1
        if self._asked == self.parts:
            self._given = self._result = None
        return result


class LinearPart(nn.Module):
    """One of the layers of a `SharedLinear`; its outputs are those from ``start`` to ``stop``."""

    def __init__(self, shared: SharedLinear, start: int, stop: int) -> None:
        super().__init__()
        self.shared, self.start, self.stop = shared, start, stop

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] of [..., K]."""
        return self.shared.part(x, self.start, self.stop)
