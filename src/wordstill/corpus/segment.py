"""Sentence splitters and word segmenters.

A sentence splitter divides the text of a paragraph and never changes it. A word segmenter gets one form (characters
without spaces, perhaps with the space before them) and is called once for each distinct form of a corpus.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Protocol

import numpy as np

from wordstill.corpus.store import Corpus
from wordstill.errors import MissingExtra, UsageError

Span = tuple[int, int]
SPLIT_WINDOW = 1 << 15
"""Maximum number of characters given to the sentence splitter, whose time is quadratic in the length."""
SENTENCE_ENDS = frozenset(" 。！？｡")
"""Last characters of a sentence: the space after it, or a full-width mark, which has no space after it."""
Cut = Callable[[str], Iterable[str]]
"""Splits a text in one script into words, which concatenate to it."""
MOST_AT_ONCE = 8_000
"""Maximum number of characters; Sudachi refuses texts of more than 49,149 bytes."""
SAMPLE_FORMS = 2_000
WORTH_WARNING = 0.3
KANA_OF_JAPANESE = 0.1
"""Minimum share of kana for a text with Han characters to be Japanese."""
RANGES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "chinese": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x3FFFF)),
    "japanese": ((0x3041, 0x30FF), (0xFF66, 0xFF9D)),
    "thai": ((0x0E01, 0x0E5B),),
    "lao": ((0x0E81, 0x0EDF),),
    "burmese": ((0x1000, 0x109F),),
    "khmer": ((0x1780, 0x17FF),),
}
"""Characters of languages without spaces between words; kana identify Japanese."""


class Splitter(Protocol):
    """Splits a paragraph into sentences. Must be picklable if processes are spawned."""

    @property
    def name(self) -> str:
        """Name of the rules, with the language if they have one; part of the corpus hash."""

    def split(self, text: str) -> list[str]:
        """The sentences of ``text``, which has only single spaces; they concatenate to ``text``."""


class Segmenter(Protocol):
    """Finds the words in a form."""

    @property
    def name(self) -> str:
        """Name of the rules; part of the corpus hash."""

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word as character offsets into ``form``, in order and without overlap."""


class SentencexSplitter:
    """Rules of the package sentencex: abbreviations, quotations and full stops of some 240 languages.

    A sentence never exceeds :data:`SPLIT_WINDOW` characters, unless it has no space to split at.
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
    """Character offsets of every word of a text, as in a corpus."""
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
    """End of a piece starting at ``start``: after the last space before ``limit``, or else after the next space."""
    before = text.rfind(" ", start, limit)
    if before > start:
        return before + 1
    beyond = text.find(" ", limit)
    return len(text) if beyond < 0 else beyond + 1


# All repetitions are possessive or bounded, so that matching takes linear time.
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


class PossessiveSegmenter:
    """Words as by `WordSegmenter`, with a final ``'s`` as a separate word: ``dog's`` is ``dog`` and ``'s``."""

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


class UnspacedSegmenter:
    """Segments text in one script with a library, and the rest like `WordSegmenter`.

    Args:
        language: A name of :data:`LIBRARIES`.
    """

    def __init__(self, language: str) -> None:
        self.language, self.name = language, f"{language}.v1"
        script, library = LIBRARIES[language]
        self._words, self._cut = WordSegmenter(), library()
        regex: Any = importlib.import_module("regex")
        self._runs = regex.compile(f"(?:{script})+", regex.VERSION1)

    def spans(self, form: str) -> list[Span]:
        """Start and end of every word of ``form``."""
        found: list[Span] = []
        position = 0
        for run in self._runs.finditer(form):
            found += self._usual(form, position, run.start())
            found += self._cut_run(form, run.start(), run.end())
            position = run.end()
        return found + self._usual(form, position, len(form))

    def __reduce__(self) -> tuple[type[UnspacedSegmenter], tuple[str]]:
        # Dictionaries of libraries cannot be pickled; every process loads its own.
        return UnspacedSegmenter, (self.language,)

    def _usual(self, form: str, start: int, end: int) -> list[Span]:
        return [(start + low, start + high) for low, high in self._words.spans(form[start:end])]

    def _cut_run(self, form: str, start: int, end: int) -> list[Span]:
        found: list[Span] = []
        for first in range(start, end, MOST_AT_ONCE):
            position = first
            for word in self._cut(form[first : min(first + MOST_AT_ONCE, end)]):
                found.append((position, position + len(word)))
                position += len(word)
        return found


def _jieba() -> Cut:
    cut: Cut = _library("rjieba", "rjieba", "chinese").cut
    return cut


def _sudachi() -> Cut:
    """Sudachi in its shortest units."""
    sudachi = _library("sudachipy", "sudachipy", "japanese")
    _library("sudachidict_small", "sudachidict-small", "japanese")
    tokenizer = sudachi.Dictionary(dict="small").tokenizer(sudachi.SplitMode.A)
    return lambda text: (word.surface() for word in tokenizer.tokenize(text))


def _pythainlp() -> Cut:
    return partial(_library("pythainlp.tokenize", "pythainlp", "thai").word_tokenize, engine="newmm")


LIBRARIES: Mapping[str, tuple[str, Callable[[], Cut]]] = {
    "chinese": (r"\p{Han}", _jieba),
    "japanese": (r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ々〆ヶ]", _sudachi),
    "thai": (r"\p{Thai}", _pythainlp),
}
"""For each language, a pattern for one character, and a segmenter."""
SEGMENTERS: Mapping[str, Callable[[], Segmenter]] = {
    "words": WordSegmenter,
    "possessives": PossessiveSegmenter,
    **{language: partial(UnspacedSegmenter, language) for language in LIBRARIES},
}


def recorded_segmenter(name: str) -> Segmenter:
    """The segmenter that a store was prepared with, by the name that it records."""
    kind = SEGMENTERS.get(name.removesuffix(".v1")) if name.endswith(".v1") else None
    if kind is None:
        raise UsageError(f"The text was prepared with the segmenter {name!r}, which is not built in. Pass segmenter=.")
    return kind()


def _library(module: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(package, extra, f"Finding {extra.capitalize()} words") from None


def warn_if_unspaced(corpus: Corpus) -> None:
    """Warn if much of a text is in a script without spaces, but was split at spaces."""
    if corpus.meta["settings"]["segmenter"] not in (WordSegmenter.name, PossessiveSegmenter.name):
        return
    language, share = unspaced_share(corpus)
    if share < WORTH_WARNING:
        return
    advice = (
        f"Prepare it with --segmenter {language} (segmenter={language!r})."
        if language in SEGMENTERS
        else "Give prepare() a segmenter for it."
    )
    warnings.warn(
        f"{share:.0%} of the text is in a script without spaces, probably {language.capitalize()}: single "
        f"characters or whole phrases are taken for words. {advice}",
        stacklevel=3,
    )


def unspaced_share(corpus: Corpus) -> tuple[str, float]:
    """The most frequent language without spaces in a sample of the text, by script, and its share."""
    forms = corpus.forms
    sample = np.linspace(0, len(forms) - 1, min(SAMPLE_FORMS, len(forms)), dtype=np.int64)
    found = Counter(dict.fromkeys(RANGES, 0))
    total = 0
    for number in sample.tolist():
        bare, count = forms[number].strip(), int(forms.counts[number])
        total += count * len(bare)
        if bare.isascii():
            continue
        letters = np.frombuffer(bare.encode("utf-32-le"), dtype=np.uint32)
        for language, ranges in RANGES.items():
            found[language] += count * sum(int(((low <= letters) & (letters <= high)).sum()) for low, high in ranges)
    if found["japanese"] > KANA_OF_JAPANESE * found["chinese"]:
        found["japanese"] += found.pop("chinese")
    language, number = found.most_common(1)[0]
    return language, number / max(total, 1)


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces."""
    code = ord(character)
    return any(low <= code <= high for ranges in RANGES.values() for low, high in ranges)
