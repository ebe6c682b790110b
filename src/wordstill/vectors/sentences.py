"""Sentence vectors from word vectors: the mean, or SIF of Arora, Liang and Ma 2017.

SIF weights a word by its relative frequency in the table's counts. A table without counts is assumed to be sorted by
frequency, with frequencies proportional to one over the rank (Zipf's law). A word outside the table with a vector
from a back-off counts as the rarest word of the table.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.vectors.queries import NO_ROW

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors

Forms: TypeAlias = Callable[[str], Sequence[str]]

HAN = "々〇〻㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
HIRAGANA, KATAKANA = "ぁ-ゖゝ-ゟ", "ァ-ヺヽ-ヿㇰ-ㇿｦ-ｯｱ-ﾝ"
LONG = "ーｰ"
"""The prolonged sound mark, which is used with both kinds of kana."""
CJK = f"{HAN}{HIRAGANA}{KATAKANA}{LONG}"
JOINERS = "\u00ad\u200c\u200d\u2060"
"""Invisible characters inside words."""
APOSTROPHES = "'’"

ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*")
GAP = re.compile(r"[\s_]+")
MARK_BLOCKS = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))
"""Range of code points that contains Unicode's combining characters."""
Floats: TypeAlias = NDArray[np.float64]

SENTENCES_AT_ONCE = 4096
LENGTHS, SENTENCE_LENGTHS = "lengths", "sentence"
"""Value in the provenance for tables whose row lengths are the weights of words in a sentence."""


@runtime_checkable
class TextTokenizer(Protocol):
    """Splits texts into words of a table."""

    def tokenize(self, text: str) -> Sequence[str]:
        """The words of a text, in order."""
        ...


class WordTokenizer:
    """Splits texts into words, matching a table's entries of several words as a whole.

    Args:
        words: The words of the table.
        forms: Gives the spellings to look up, best first.

    Example:
        >>> WordTokenizer(["new york", "bank"]).tokenize("New York's banks? New York!")
        ['New', "York's", 'banks', 'new york']
    """

    def __init__(self, words: Iterable[str] = (), forms: Forms | None = None) -> None:
        self.forms = forms or as_written_then_lower
        self.phrases = phrases_of(words)
        self._sizes: dict[str, list[int]] = {}
        for phrase in self.phrases:
            first, *others = pattern_for(phrase).findall(phrase)
            sizes = self._sizes.setdefault(first, [])
            if 1 + len(others) not in sizes:
                sizes.append(1 + len(others))
        for sizes in self._sizes.values():
            sizes.sort(reverse=True)

    def tokenize(self, text: str) -> list[str]:
        """The words as written, and the phrases in the table's spelling."""
        text = composed(text)
        if not self.phrases:
            return pattern_for(text).findall(text)
        spans = [match.span() for match in pattern_for(text).finditer(text)]
        found: list[str] = []
        place = 0
        while place < len(spans):
            start, end = spans[place]
            size, word = self._phrase(text, spans, place) or (1, text[start:end])
            found.append(word)
            place += size
        return found

    def _phrase(self, text: str, spans: Sequence[tuple[int, int]], place: int) -> tuple[int, str] | None:
        """The longest phrase that begins at a word: its number of words, and the table's entry."""
        start, end = spans[place]
        sizes = {size for form in self.forms(text[start:end]) for size in self._sizes.get(form, ())}
        for size in sorted(sizes, reverse=True):
            if place + size <= len(spans):
                written = GAP.sub(" ", text[start : spans[place + size - 1][1]])
                for form in self.forms(written):
                    if form in self.phrases:
                        return size, self.phrases[form]
        return None


def as_written_then_lower(word: str) -> tuple[str, ...]:
    """The spellings to look up for a word of a sentence."""
    return word, word.lower()


def phrases_of(words: Iterable[str]) -> dict[str, str]:
    """The entries of several words: the form to match in texts, and the table's spelling."""
    found: dict[str, str] = {}
    for word in words:
        if GAP.search(word):
            text = composed(word)
            spans = [match.span() for match in pattern_for(text).finditer(text)]
            if len(spans) > 1:
                found.setdefault(GAP.sub(" ", text[spans[0][0] : spans[-1][1]]), word)
    return found


def composed(text: str) -> str:
    """A text in Unicode's composed form (NFC), which tables use."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def pattern_for(text: str) -> re.Pattern[str]:
    """The pattern of a word; for ASCII text a faster one that finds the same words."""
    return ASCII_WORD if text.isascii() else word_pattern()


@cache
def word_pattern() -> re.Pattern[str]:
    """The pattern of a word, in Python's syntax."""
    return re.compile(pattern_text(rf"[^\W_{CJK}]", "".join(_mark_ranges())))


def pattern_text(letter: str, marks: str) -> str:
    """The pattern of a word, for engines with different names of character classes.

    Args:
        letter: A letter or digit that is not `CJK`.
        marks: Combining characters, as they are written inside a class.
    """
    marks = f"{marks}{JOINERS}"
    run = rf"{letter}+(?:[{marks}]+{letter}*)*"
    return (
        rf"{run}(?:[{APOSTROPHES}]{run})*|[{HAN}][{marks}]*"
        rf"|[{HIRAGANA}][{HIRAGANA}{LONG}{marks}]*|[{KATAKANA}{LONG}][{KATAKANA}{LONG}{marks}]*"
    )


def _mark_ranges() -> Iterator[str]:
    """The ranges of combining characters, for which Python's regular expressions have no class."""
    marks = [place for block in MARK_BLOCKS for place in block if unicodedata.category(chr(place))[0] == "M"]
    first = marks[0]
    for place, following in pairwise([*marks, sys.maxunicode + 2]):
        if following != place + 1:
            yield f"{chr(first)}-{chr(place)}"
            first = following


@dataclass(frozen=True)
class SentenceConfig(Config):
    """Settings of `SentenceEncoder`."""

    weighting: Literal["mean", "sif"] = "sif"
    """How words are weighted. ``mean`` weights all equally, ``sif`` by a / (a + relative frequency)."""
    smoothing: Annotated[float, Range(0, above=True)] = 1e-3
    """The a of SIF; with a smaller one, frequent words weigh less."""
    components: Annotated[int, Range(0)] = 1
    """Number of common directions of all sentences to remove; SIF only."""


@dataclass(frozen=True, eq=False)
class SentenceMeans:
    """The weighted mean of the word vectors of each sentence."""

    matrix: Floats
    """(sentences, dim); zeros for a sentence without a vector."""
    used: NDArray[np.int64]
    """[sentences] number of running words with a vector."""
    words: NDArray[np.int64]
    """[sentences] number of running words."""


class SentenceEncoder:
    r"""Sentence vectors: weighted means of word vectors.

    .. math:: x_s = \frac{1}{|s|} \sum_{w \in s} \frac{a}{a + p(w)} v_w, \qquad v_s = x_s - U U^\top x_s

    p(w) is the relative frequency of w, U the first singular vectors of the sentences given to `fit`. Words without a
    vector are skipped; a sentence without any gets zeros. Sentences are split by `WordTokenizer` or the table's own
    tokenizer, and words are looked up as written, then in lower case. STS sets are scored in the same way.

    Args:
        vectors: The table. Without counts, it must be sorted by frequency for SIF.
        config: The settings; by default the plain mean if the lengths of the table's rows are sentence weights
            according to its provenance, otherwise SIF.
        split: Splits a sentence given as text, instead of the default.

    Example:
        >>> encoder = SentenceEncoder(vectors, SentenceConfig("mean"))  # doctest: +SKIP
        >>> encoder.encode(["A river runs through the old town."]).shape  # doctest: +SKIP
        (1, 300)
    """

    def __init__(
        self,
        vectors: WordVectors,
        config: SentenceConfig | None = None,
        *,
        split: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        self.vectors = vectors
        self.config = config or SentenceConfig("mean" if has_sentence_lengths(vectors) else "sif")
        self.split = split or tokenizer_of(vectors).tokenize
        self.directions: Floats | None = None
        self._frequencies = word_frequencies(vectors) if self.config.weighting == "sif" else None

    def fit(self, sentences: Iterable[str | Sequence[str]]) -> SentenceEncoder:
        """Find the common directions of these sentences, which are read once, in blocks."""
        moments = np.zeros((self.vectors.dim, self.vectors.dim))
        for _, means in self.blocks(sentences):
            moments += means.matrix.T @ means.matrix.copy()
        self.directions = first_directions(moments, self.components)
        return self

    def encode(self, sentences: Sequence[str | Sequence[str]]) -> NDArray[np.float32]:
        """The vectors of sentences, texts or lists of words, (sentences, dim)."""
        if isinstance(sentences, str):
            raise UsageError("encode needs a list of sentences; got one text.")
        none = np.zeros((0, self.vectors.dim), dtype=np.float32)
        return np.concatenate([none, *(self.finish(means) for _, means in self.blocks(sentences))])

    def finish(self, means: SentenceMeans) -> NDArray[np.float32]:
        """Sentence vectors from their means, (sentences, dim)."""
        if self.directions is None and self.components:
            raise UsageError("SIF with components must be fitted first: call fit with sentences.")
        matrix = means.matrix if self.directions is None else without_directions(means.matrix, self.directions)
        return matrix.astype(np.float32)

    @property
    def components(self) -> int:
        """Number of directions that `fit` finds."""
        return self.config.components if self.config.weighting == "sif" else 0

    def blocks(
        self, sentences: Iterable[str | Sequence[str]], size: int = SENTENCES_AT_ONCE
    ) -> Iterator[tuple[list[str | Sequence[str]], SentenceMeans]]:
        """Sentences of any source in blocks of ``size``, with their means before directions are removed."""
        source = iter(sentences)
        while block := list(islice(source, size)):
            yield block, self._means(block)

    def _means(self, sentences: Sequence[str | Sequence[str]]) -> SentenceMeans:
        split = [self.split(text) if isinstance(text, str) else text for text in sentences]
        place = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(split)))}
        matrix, rows = np.zeros((len(place), self.vectors.dim)), np.full(len(place), NO_ROW, dtype=np.int64)
        usable = np.zeros(len(place), dtype=np.bool_)
        for number, found in enumerate(self.vectors.find([self._form(word) for word in place])):
            if isinstance(found, int):
                rows[number] = found
            elif found is not None:
                matrix[number], usable[number] = found, True
        known = rows != NO_ROW
        matrix[known], usable[known] = self.vectors.take(rows[known]), True
        weights = np.ones(len(place))
        if self._frequencies is not None:
            weights = sif_weights(self._frequencies, rows, self.config.smoothing)
        return sentence_means(split, place, matrix, weights, usable)

    def _form(self, word: str) -> str:
        """The spelling of a word in the table, or the word itself."""
        return next((form for form in as_written_then_lower(word) if form in self.vectors), word)


def tokenizer_of(vectors: WordVectors) -> TextTokenizer:
    """The tokenizer of a table: its own, or a `WordTokenizer`."""
    return vectors.tokenizer or WordTokenizer(vectors.words)


def has_sentence_lengths(vectors: WordVectors) -> bool:
    """Whether the lengths of a table's rows are sentence weights, so that a plain mean is a good sentence vector."""
    return vectors.provenance.get(LENGTHS) == SENTENCE_LENGTHS


def sentence_means(
    split: Sequence[Sequence[str]], place: Mapping[str, int], matrix: Floats, weights: Floats, usable: NDArray[np.bool_]
) -> SentenceMeans:
    """Weighted means over the words of each sentence that have a vector.

    Args:
        split: The words of each sentence.
        place: The row of each distinct word in the arrays below.
        matrix: Vectors, (words, dim).
        weights: [words] their weights.
        usable: [words] which of them have a vector.
    """
    words = np.array([len(sentence) for sentence in split], dtype=np.int64)
    owners = np.repeat(np.arange(len(split)), words)
    numbers = np.array([place[word] for sentence in split for word in sentence], dtype=np.int64)
    used = usable[numbers]
    means, sizes = weighted_means(matrix, weights, owners[used], numbers[used], len(split))
    return SentenceMeans(means, sizes, words)


def word_frequencies(vectors: WordVectors) -> Floats:
    """[words] relative frequencies of the words of a table; see above for tables without counts."""
    counts = 1 / np.arange(1, len(vectors) + 1) if vectors.counts is None else vectors.counts
    shares: Floats = np.asarray(counts, dtype=np.float64) / max(float(np.sum(counts)), 1e-300)
    return shares


def sif_weights(frequencies: Floats, rows: NDArray[np.int64], smoothing: float) -> Floats:
    """[words] SIF weights of words, given by their rows in the table, -1 for words outside it."""
    inside = rows != NO_ROW
    frequency = np.full(len(rows), frequencies.min(initial=1.0))
    frequency[inside] = frequencies[rows[inside]]
    weights: Floats = sif(frequency, smoothing)
    return weights


def sif(frequency: Any, smoothing: float) -> Any:
    """[words] the weights a / (a + p) for relative frequencies p, as an array or a tensor."""
    return smoothing / (smoothing + frequency)


def weighted_means(
    matrix: Floats, weights: Floats, owners: NDArray[np.int64], numbers: NDArray[np.int64], sentences: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Weighted means [sentences, dim], and the number of words of each.

    Args:
        matrix: Vectors of distinct words, (words, dim).
        weights: Their weights; sums are divided by the number of words, not by the sum of weights.
        owners: The sentence of each running word, ascending.
        numbers: The row of each running word in ``matrix``.
        sentences: Number of sentences.
    """
    sizes = np.bincount(owners, minlength=sentences)
    pairs, inverse = np.unique(owners * len(matrix) + numbers, return_inverse=True)
    owners, words = np.divmod(pairs, max(1, len(matrix)))
    weight = np.bincount(inverse, weights[numbers], len(pairs))
    sums = np.zeros((sentences, matrix.shape[1]))
    # The n-th distinct word of every sentence at a time, so that sums do not depend on other sentences.
    turn = np.arange(len(owners)) - np.searchsorted(owners, owners)
    order = np.argsort(turn, kind="stable")
    for chosen in np.split(order, np.cumsum(np.bincount(turn))[:-1]):
        sums[owners[chosen]] += weight[chosen, None] * matrix[words[chosen]]
    return sums / np.maximum(sizes, 1)[:, None], sizes


def common_directions(means: Floats, components: int) -> Floats:
    """The first right singular vectors, one in each row; fewer if the means have fewer."""
    # A product of an array with itself would be rounded differently than in the published scores.
    return first_directions(means.T @ means.copy(), components)


def first_directions(moments: Floats, components: int) -> Floats:
    """The eigenvectors with the largest eigenvalues of a matrix of second moments, one in each row."""
    values, directions = np.linalg.eigh(moments)
    first: Floats = directions.T[::-1][: min(components, int((values > 0).sum()))]
    return first


def without_directions(means: Floats, directions: Floats) -> Floats:
    """The means minus their projections on orthonormal directions."""
    for direction in directions:
        means = means - np.outer(means @ direction, direction)
    return means
