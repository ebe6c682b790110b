"""Values of settings, read from what a user wrote."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from wordstill.errors import UsageError, unknown_name

KINDS = {int: "a whole number", float: "a number", str: "a text"}


def read_value(text: str, hint: Any, where: str) -> Any:
    """A value of the kind that a type hint asks for.

    Args:
        text: What the user wrote.
        hint: ``int``, ``float``, ``str``, ``bool``, a ``Literal`` of texts, or one of them or None.
        where: The setting, for messages.

    Raises:
        UsageError: The text is no such value.
    """
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise unknown_name(f"value of {where}", text, get_args(hint))
        return text
    if get_origin(hint) in (Union, types.UnionType):
        if text.lower() == "none":
            return None
        hint = next(option for option in get_args(hint) if option is not type(None))
    if hint is bool:
        return _boolean(text, where)
    try:
        return hint(text)
    except ValueError:
        raise UsageError(f"{where}: expected {KINDS[hint]}, got {text!r}.") from None


def _boolean(text: str, where: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise UsageError(f"{where}: expected true or false, got {text!r}.")
    return text.lower() == "true"


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
