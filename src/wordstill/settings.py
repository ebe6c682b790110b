"""Values of settings, read from what a user wrote."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

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
