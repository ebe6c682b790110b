"""Which language a paragraph is in, by the package lingua."""

from __future__ import annotations

from functools import cache
from typing import Any

from wordstill.errors import MissingExtra, unknown_name

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
