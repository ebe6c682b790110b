"""Sentence splitters and word segmenters.

A sentence splitter cuts the text of a paragraph and never changes it. A word segmenter sees one form (a run
without spaces, perhaps with the space before it) and is called once for each distinct form of a corpus.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache, lru_cache
from typing import Any, Protocol

from wordstill.errors import MissingExtra

Span = tuple[int, int]
SPLIT_WINDOW = 1 << 15
"""Characters given to the sentence splitter at once: its time is quadratic in the length."""
SENTENCE_ENDS = frozenset(" 。！？｡")
"""Last characters of a sentence: the space after it, or a full stop that is written without one."""


class Splitter(Protocol):
    """Cuts a paragraph into sentences. Must be picklable where processes are spawned."""

    @property
    def name(self) -> str:
        """Name of the rules, with the language if they have one; part of the corpus hash."""

    def split(self, text: str) -> list[str]:
        """The sentences of ``text``, which has single spaces only, in order; they concatenate to ``text``."""


class Segmenter(Protocol):
    """Finds the words in a form."""

    @property
    def name(self) -> str:
        """Name of the rules; part of the corpus hash."""

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word as character offsets into ``form``, in order and without overlap."""


class SentencexSplitter:
    """Rules of the package sentencex: abbreviations, quotations and full stops of some 240 languages.

    A sentence never exceeds :data:`SPLIT_WINDOW` characters unless it has no space to be cut at.
    """

    def __init__(self, language: str = "en") -> None:
        if importlib.util.find_spec("sentencex") is None:
            raise MissingExtra("sentencex", "distill", "Splitting text into sentences")
        self.language = language
        self.name = f"sentencex:{language}"

    def split(self, text: str) -> list[str]:
        """The sentences of ``text``."""
        from sentencex import segment

        if len(text) <= SPLIT_WINDOW:
            return _without_cut_forms(segment(self.language, text))
        pieces: list[str] = []
        start = 0
        while len(text) - start > SPLIT_WINDOW:
            complete = segment(self.language, text[start : start + SPLIT_WINDOW])[:-1]
            if not complete:
                complete = [text[start : _space_near(text, start + SPLIT_WINDOW, start)]]
            pieces += complete
            start += sum(map(len, complete))
        return _without_cut_forms(pieces + list(segment(self.language, text[start:])))


class LineSplitter:
    """One sentence per line, for text that is already split."""

    name = "line"

    def split(self, text: str) -> list[str]:
        """The line itself."""
        return [text]


class WordSegmenter:
    """Words of any language that writes spaces between them; every Han character is a word.

    Every character except the leading space belongs to exactly one word. Inner apostrophes, hyphens, full
    stops and the commas of numbers stay inside their word (don't, well-known, 3.5, 1,000), as do the last
    full stop of an abbreviation with inner ones (u.s.), URLs and email addresses, and combining
    characters. Other marks are words of their own; a repeated mark is one word (...).
    """

    name = "words.v1"

    def __init__(self) -> None:
        try:
            regex: Any = importlib.import_module("regex")
        except ImportError:
            raise MissingExtra("regex", "distill", "Finding words in text") from None
        flags = regex.VERSION1 | regex.VERBOSE
        self._words = regex.compile(_WORDS, flags)
        self._addresses = regex.compile(_ADDRESSES + "|" + _WORDS, flags)

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word of ``form``."""
        start = 1 if form.startswith(" ") else 0
        bare = form[start:]
        if bare.isascii() and bare.isalnum():
            return [(start, len(form))]
        addressed = "@" in bare or "://" in bare or "www." in bare
        pattern = self._addresses if addressed else self._words
        return [match.span() for match in pattern.finditer(form, start)]


def word_spans(text: str) -> list[Span]:
    """Character offsets of every word of a text, as they are found in a corpus."""
    spans: list[Span] = []
    position = 0
    for run in text.split():
        start = text.index(run, position)
        spans += [(start + low, start + high) for low, high in _run_spans(run)]
        position = start + len(run)
    return spans


@lru_cache(maxsize=1 << 16)
def _run_spans(run: str) -> list[Span]:
    """Cached, because most runs of a text repeat."""
    return _segmenter().spans(run)


@cache
def _segmenter() -> WordSegmenter:
    return WordSegmenter()


def _without_cut_forms(sentences: list[str]) -> list[str]:
    """Join sentences cut inside a form: without a space, only an ideographic full stop ends a sentence."""
    joined = sentences[:1]
    for sentence in sentences[1:]:
        if joined[-1][-1] in SENTENCE_ENDS:
            joined.append(sentence)
        else:
            joined[-1] += sentence
    return joined


def _space_near(text: str, limit: int, start: int) -> int:
    """End of a piece from ``start`` on: after the last space before ``limit``, else the first beyond."""
    before = text.rfind(" ", start, limit)
    if before > start:
        return before + 1
    beyond = text.find(" ", limit)
    return len(text) if beyond < 0 else beyond + 1


# All repeats are possessive or bounded, so that the time is linear in the length of the form.
_JOINED = r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}ーｰ]]"
_RUN = rf"{_JOINED}(?:{_JOINED}|[\p{{M}}\u00ad\u200c\u200d\u2060])*+"
_LETTERS = rf"(?:(?=\p{{L}}){_JOINED}\p{{M}}*+){{1,2}}+"
_WORDS = rf"""
    (?<![\p{{L}}\p{{N}}])[A-Za-z](?:\+\+|\#)(?![\p{{L}}\p{{N}}])
  | (?:{_LETTERS}(?:\.{_LETTERS})++\.(?!{_JOINED}) | {_RUN})
    (?:
        (?: ['’ʼ＇\-‐‑·] | _++ | \.(?!\p{{Lu}}\p{{Ll}})
          | (?<=\p{{N}})[,:](?=\p{{N}}) | (?<=\p{{L}})&(?=\p{{L}}) )
        {_RUN}
    )*+
  | \p{{Hiragana}}[\p{{Hiragana}}\p{{M}}ーｰ]*+
  | [\p{{Katakana}}ーｰ][\p{{Katakana}}\p{{M}}ーｰ]*+
  | \p{{Regional_Indicator}}{{2}}
  | \p{{Extended_Pictographic}}[\p{{M}}\p{{Emoji_Modifier}}]*+
    (?:\u200d\p{{Extended_Pictographic}}[\p{{M}}\p{{Emoji_Modifier}}]*+)*+
  | \.\p{{N}}++(?!\.\p{{N}})
  | \p{{Han}}\p{{M}}*+
  | ([^ ])\1*+\p{{M}}*+
"""
_ADDRESSES = r"""
    (?:https?|ftps?)://[!-~--[<>"`{}|\\^]]*[A-Za-z0-9/_=&\#%~\-]
  | www\.[A-Za-z0-9][!-~--[<>"`{}|\\^]]*[A-Za-z0-9/_=&\#%~\-]
  | [\p{L}\p{N}._%+\-]{1,64}+@(?:[\p{L}\p{N}\-]{1,63}+\.){1,8}[\p{L}\p{N}\-]{1,63}+
"""
