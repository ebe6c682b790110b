"""Under which key a word of the text is filed."""

from __future__ import annotations

import unicodedata
from typing import Literal

from wordstill.corpus.segment import Segmenter

KeyRule = Literal["lower", "none"]


def key_of(word: str, rule: KeyRule) -> str:
    """The key of a word: in Unicode's composed form (NFC), and in lower case unless the rule is ``none``."""
    if rule == "lower":
        word = word.lower()
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def words_of(text: str, segmenter: Segmenter) -> list[str]:
    """The words of a short text, such as a phrase, as they would be found in a corpus."""
    forms = [f" {run}" if number else run for number, run in enumerate(text.split())]
    return [form[start:end] for form in forms for start, end in segmenter.spans(form)]
