"""Named rules for which paragraphs of a text are kept, applied after sentence splitting."""

from __future__ import annotations

from collections.abc import Callable

from wordstill.errors import unknown_name

Pieces = list[str]
"""The sentences of one paragraph, with their blanks: they concatenate to its text."""

Filter = Callable[[Pieces], list[Pieces]]
"""From the sentences of one paragraph to the paragraphs that are kept of it (none, one or several)."""


def keep_all(pieces: Pieces) -> list[Pieces]:
    """Keep every paragraph as it is."""
    return [pieces]


def x2static(pieces: Pieces) -> list[Pieces]:
    """Keep paragraphs of at least 3 sentences and 140 characters (the preparation of the X2Static paper)."""
    return [pieces] if len(pieces) >= 3 and sum(map(len, pieces)) >= 140 else []


def sentences_10_40(pieces: Pieces) -> list[Pieces]:
    """Keep sentences of 10 to 40 blank-separated words, each of them as a paragraph of its own."""
    return [[piece.strip()] for piece in pieces if 10 <= len(piece.split()) <= 40]


FILTERS: dict[str, Filter] = {"none": keep_all, "x2static": x2static, "sentences-10-40": sentences_10_40}


def get_filter(name: str) -> Filter:
    """The filter of that name.

    Raises:
        UsageError: There is none; the message gives the nearest names.
    """
    if name not in FILTERS:
        raise unknown_name("filter", name, FILTERS)
    return FILTERS[name]
