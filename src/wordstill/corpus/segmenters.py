"""The table of word segmenters: the usual one, and those of languages that write no spaces."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from wordstill.corpus.segment import Segmenter, Span, WordSegmenter
from wordstill.errors import MissingExtra, UsageError

MOST_AT_ONCE = 8_000
"""Characters; Sudachi refuses longer texts than 49,149 bytes."""


class PossessiveSegmenter:
    """The usual words, with a final ``'s`` as a word of its own: ``dog's`` is ``dog`` and ``'s``."""

    name = "possessives.v1"

    def __init__(self) -> None:
        self._words = WordSegmenter()

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word of ``form``."""
        found: list[Span] = []
        for start, end in self._words.spans(form):
            owner, ending = form[start : end - 2], form[end - 2 : end]
            if owner[-1:].isalpha() and ending.lower() in ("'s", "’s"):
                found += [(start, end - 2), (end - 2, end)]
            else:
                found.append((start, end))
        return found


class ScriptSegmenter:
    """Runs of one script are cut by a library; whatever is between them is cut as usual."""

    name: ClassVar[str]
    script: ClassVar[str]
    """A pattern for one character of it."""

    def __init__(self) -> None:
        self._words = WordSegmenter()
        regex: Any = importlib.import_module("regex")
        self._runs = regex.compile(f"(?:{self.script})+", regex.VERSION1)

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word of ``form``."""
        found: list[Span] = []
        position = 0
        for run in self._runs.finditer(form):
            found += self._usual(form, position, run.start())
            found += self._cut_run(form, run.start(), run.end())
            position = run.end()
        return found + self._usual(form, position, len(form))

    def __reduce__(self) -> tuple[type[ScriptSegmenter], tuple[()]]:
        # Dictionaries of libraries cannot be pickled; another process loads its own.
        return type(self), ()

    @abstractmethod
    def cut(self, text: str) -> Iterator[str]:
        """The words of a text in this script, which concatenate to it."""

    def _usual(self, form: str, start: int, end: int) -> list[Span]:
        return [(start + low, start + high) for low, high in self._words.spans(form[start:end])]

    def _cut_run(self, form: str, start: int, end: int) -> list[Span]:
        found: list[Span] = []
        for first in range(start, end, MOST_AT_ONCE):
            position = first
            for word in self.cut(form[first : min(first + MOST_AT_ONCE, end)]):
                found.append((position, position + len(word)))
                position += len(word)
        return found


class ChineseSegmenter(ScriptSegmenter):
    """Chinese words, by jieba's dictionary and model (package rjieba)."""

    name = "chinese.v1"
    script = r"\p{Han}"

    def __init__(self) -> None:
        super().__init__()
        self._jieba = _library("rjieba", "rjieba", "chinese")

    def cut(self, text: str) -> Iterator[str]:
        """The words of a Chinese text."""
        return iter(self._jieba.cut(text))


class JapaneseSegmenter(ScriptSegmenter):
    """Japanese words, in Sudachi's shortest units (packages sudachipy and sudachidict-small)."""

    name = "japanese.v1"
    script = r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ々〆ヶ]"

    def __init__(self) -> None:
        super().__init__()
        self._sudachi = _library("sudachipy", "sudachipy", "japanese")
        _library("sudachidict_small", "sudachidict-small", "japanese")

    @cached_property
    def _tokenizer(self) -> Any:
        return self._sudachi.Dictionary(dict="small").tokenizer(self._sudachi.SplitMode.A)

    def cut(self, text: str) -> Iterator[str]:
        """The words of a Japanese text."""
        return (word.surface() for word in self._tokenizer.tokenize(text))


class ThaiSegmenter(ScriptSegmenter):
    """Thai words, by PyThaiNLP's dictionary (its algorithm newmm)."""

    name = "thai.v1"
    script = r"\p{Thai}"

    def __init__(self) -> None:
        super().__init__()
        self._tokenize = _library("pythainlp.tokenize", "pythainlp", "thai")

    def cut(self, text: str) -> Iterator[str]:
        """The words of a Thai text."""
        return iter(self._tokenize.word_tokenize(text, engine="newmm"))


SEGMENTERS: Mapping[str, Callable[[], Segmenter]] = {
    "words": WordSegmenter,
    "possessives": PossessiveSegmenter,
    "chinese": ChineseSegmenter,
    "japanese": JapaneseSegmenter,
    "thai": ThaiSegmenter,
}
_BY_RECORD: Mapping[str, Callable[[], Segmenter]] = {
    kind.name: kind for kind in (WordSegmenter, PossessiveSegmenter, ChineseSegmenter, JapaneseSegmenter, ThaiSegmenter)
}


def recorded_segmenter(name: str) -> Segmenter:
    """The segmenter that a store was prepared with, by the name that it records."""
    if name not in _BY_RECORD:
        raise UsageError(f"The text was prepared with the segmenter {name!r}, which is not built in. Pass segmenter=.")
    return _BY_RECORD[name]()


def _library(module: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(package, extra, f"Finding {extra.capitalize()} words") from None
