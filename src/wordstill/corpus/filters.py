"""Named rules for which paragraphs of a text are kept, applied after sentence splitting."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from wordstill.errors import MissingExtra, unknown_name

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


SAMPLE_CHARACTERS = 300
"""The beginning of a paragraph that is looked at: more text does not make the guess surer, only slower."""


class LanguageTest:
    """Says whether a text is in one language: reliably from some 120 characters on.

    Text without letters to go by is in none.
    """

    def __init__(self, code: str) -> None:
        """Check that the language can be recognised.

        Args:
            code: Its ISO 639-1 code, such as ``en``.

        Raises:
            MissingExtra: lingua is not installed.
            UsageError: lingua does not know the code.
        """
        self.code = code.lower()
        if self.code not in _languages():
            raise unknown_name("language", code, _languages())

    def __call__(self, text: str) -> bool:
        """Whether ``text`` is in the language."""
        found = _detector().detect_language_of(text[:SAMPLE_CHARACTERS])
        return bool(found == _languages()[self.code])


@cache
def _languages() -> dict[str, Any]:
    try:
        from lingua import Language
    except ImportError:
        raise MissingExtra("lingua-language-detector", "language", "Keeping one language only") from None
    return {language.iso_code_639_1.name.lower(): language for language in Language.all()}


@cache
def _detector() -> Any:
    """One for each process: it holds models of all languages and cannot be sent to another."""
    from lingua import LanguageDetectorBuilder

    # The accurate mode takes 0.9 GB in each process, and is hardly better for whole paragraphs.
    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()
