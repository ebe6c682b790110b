"""Protocols as users write them: a name, and rules of it that are changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from wordstill.errors import UsageError, unknown_name
from wordstill.evaluate.protocol import Protocol, resolve

ALL_WORDS = "all"


def changed_protocol(name: str, rules: Sequence[str]) -> Protocol:
    """A named protocol with some rules changed; its own name then says which.

    Args:
        name: Of the protocol.
        rules: Texts such as ``oov=backoff`` or ``max_vocab=200000``.
    """
    known = [field.name for field in fields(Protocol) if field.name != "name"]
    changed: dict[str, Any] = {}
    for rule in rules:
        key, equals, value = rule.partition("=")
        if not equals:
            raise UsageError(f"--rule {rule!r} must be NAME=VALUE, for example oov=backoff.")
        if key not in known:
            raise unknown_name("rule", key, known)
        changed[key] = _number(value, key) if key.endswith("vocab") else value
    base = resolve(name)
    if not changed:
        return base
    label = ", ".join(f"{key}={ALL_WORDS if value is None else value}" for key, value in changed.items())
    return replace(base, name=f"{name} with {label}", **changed)


def _number(text: str, key: str) -> int | None:
    if text == ALL_WORDS:
        return None
    if not text.isdecimal():
        raise UsageError(f"{key} must be a number of words, or {ALL_WORDS}, but is {text!r}.")
    return int(text)
