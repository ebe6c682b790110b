"""Which numbers a setting can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wordstill.errors import UsageError


class Range(NamedTuple):
    """Numbers between two bounds, both of them included unless said otherwise."""

    low: float
    high: float
    above: bool = False
    """Leave the lower bound out."""

    def holds(self, value: Any) -> bool:
        """Whether a value is a number of this range; what is no number never is."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        return (self.low < value if self.above else self.low <= value) and value <= self.high

    def __str__(self) -> str:
        if self.above:
            return f"above {_text(self.low)} and at most {_text(self.high)}"
        return f"from {_text(self.low)} to {_text(self.high)}"


LARGEST = 3e38
"""Numbers beyond it are infinite to most machines."""
SEEDS = Range(0, 2**32 - 1)
"""What every generator of random numbers takes."""


def check_ranges(config: Any, ranges: Mapping[str, Range]) -> None:
    """Refuse settings that are outside their range; one that is None is not looked at.

    Raises:
        UsageError: One of them is.
    """
    for name, allowed in ranges.items():
        value = getattr(config, name)
        if value is not None and not allowed.holds(value):
            raise UsageError(f"{name} must be {allowed}; got {value!r}.")


def _text(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
