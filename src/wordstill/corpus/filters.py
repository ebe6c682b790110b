"""Paragraph filters by name, and language identification."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from wordstill.errors import MissingExtra, unknown_name

Sentences = list[str]
"""The sentences of one paragraph, with the spaces between them: they concatenate to its text."""
Filter = Callable[[Sentences], list[Sentences]]
"""From one paragraph to those that are kept: none, one or several."""
SAMPLE_CHARACTERS = 300
"""Length of the sample from a paragraph: more text is slower and no more accurate."""


def keep_all(sentences: Sentences) -> list[Sentences]:
    """Keep every paragraph as it is."""
    return [sentences]


def x2static(sentences: Sentences) -> list[Sentences]:
    """Keep paragraphs of at least 3 sentences and 140 characters (the preparation of the X2Static paper)."""
    return [sentences] if len(sentences) >= 3 and sum(map(len, sentences)) >= 140 else []


def sentences_10_40(sentences: Sentences) -> list[Sentences]:
    """Keep sentences of 10 to 40 words between spaces, each as a paragraph of its own."""
    return [[sentence.strip()] for sentence in sentences if 10 <= len(sentence.split()) <= 40]


def lowercased(kept: Filter) -> Filter:
    """The same filter with text in lower case, as in the papers, even for a cased teacher."""
    return lambda sentences: [[sentence.lower() for sentence in paragraph] for paragraph in kept(sentences)]


FILTERS: dict[str, Filter] = {
    "none": keep_all,
    "lower": lowercased(keep_all),
    "x2static": x2static,
    "x2static-lower": lowercased(x2static),
    "sentences-10-40": sentences_10_40,
    "sentences-10-40-lower": lowercased(sentences_10_40),
}


def get_filter(name: str) -> Filter:
    """The filter with that name; raises a `UsageError` if there is none."""
    if name not in FILTERS:
        raise unknown_name("filter", name, FILTERS)
    return FILTERS[name]


class LanguageTest:
    """Language identification: whether a text is in a language; reliable from some 120 characters on.

    Text without letters is in no language. Languages are ISO 639-1 codes, such as ``en``.
    """

    def __init__(self, code: str) -> None:
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
    """One per process: it holds models of all languages and cannot be pickled."""
    from lingua import LanguageDetectorBuilder

    # The accurate mode needs 0.9 GB in each process and is hardly better for whole paragraphs.
    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()
