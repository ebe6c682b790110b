"""Back-off policies for words that are not in a table, tried in order.

    case       the same word in another case: ``Queen`` where the table has ``queen``
    subwords   the table's own subword vectors, as in fastText; lookups and queries use them by default
    ngrams     the mean of the table's words that share character n-grams with it, rare n-grams weighing more
    spelling   the most similarly spelled word of the table

A fifth policy, `TeacherBackoff`, encodes the word with the teacher.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import find_sorted
from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.vectors.table import WordVectors


Answer: TypeAlias = int | NDArray[np.float32] | None
"""The row of a substitute word, a vector, or None."""

FEWEST_IN_COMMON = 0.7
"""Minimum `likeness` of a word and its substitute."""
WORDS_IN_A_MEAN = 100
SHARPNESS = 4
SPELLING_CANDIDATES = 20_000
EDGE = "\x02", "\x03"
"""Marks before and after a word, so that prefixes and suffixes are n-grams of their own."""
HALF = np.uint64(32)
"""Bits of a hash that are kept; n-grams with the same bits count as one."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@runtime_checkable
class SubwordVectors(Protocol):
    """Vectors of subwords, as in a fastText model."""

    def vector(self, word: str) -> NDArray[np.float32]:
        """The vector of any word; zeros if it has no known subword."""
        ...


@runtime_checkable
class Backoff(Protocol):
    """A policy for words that are not in a table."""

    @property
    def name(self) -> str:
        """Name of the policy."""
        ...

    def find(self, words: Sequence[str]) -> Sequence[Answer]:
        """For each word, the row of a substitute, a vector, or None."""
        ...


class UnknownWord(UsageError, KeyError):
    """A word is not in a table. Similarly spelled words are searched only when the message is read."""

    def __init__(self, word: str, words: Sequence[str]) -> None:
        super().__init__(word)
        self.word = word
        self._words = words

    def __str__(self) -> str:
        near = near_in_spelling(self.word, self._words)
        guess = f" Near it in spelling: {', '.join(map(repr, near))}." if near else ""
        return (
            f"The word {self.word!r} is not among the {len(self._words):,} words.{guess} To get a vector for it, "
            "distill again with --words (words=) or a lower --min-count (min_count=); similar, analogy, encode and "
            "evaluate can also estimate one: --unknown teacher, ngrams or spelling (with_backoff)."
        )


def choose_backoffs(table: WordVectors, policies: Sequence[str | Backoff]) -> tuple[Backoff, ...]:
    """The policies as objects; names become policies for this table."""
    chosen: list[Backoff] = []
    for policy in policies:
        if isinstance(policy, str):
            if policy not in BACKOFFS:
                raise unknown_name("back-off", policy, BACKOFFS)
            policy = BACKOFFS[policy](table)
        chosen.append(policy)
    return tuple(chosen)


def fall_back(table: WordVectors, words: Sequence[str], policies: Sequence[Backoff] | None = None) -> list[Answer]:
    """The first answer that any of the policies (by default the table's) gives for each word, or None."""
    answers: list[Answer] = [None] * len(words)
    for policy in table.backoffs if policies is None else policies:
        left = [number for number, answer in enumerate(answers) if answer is None]
        if not left:
            break
        for number, answer in zip(left, policy.find([words[number] for number in left]), strict=True):
            if answer is not None and not isinstance(answer, int) and answer.shape != (table.dim,):
                raise UsageError(
                    f"The back-off {policy.name!r} returned for {words[number]!r} a vector of shape {answer.shape}, "
                    f"expected ({table.dim},)."
                )
            answers[number] = answer
    return answers


class CaseBackoff:
    """The same word in another case; if there are several, the first in the table."""

    name: ClassVar[str] = "case"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _folded(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, word in enumerate(self.table.words):
            rows.setdefault(word.casefold(), row)
        return rows

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The rows of words that differ in case only."""
        return [self._folded.get(word.casefold()) for word in words]


class SubwordBackoff:
    """The table's own subword vectors."""

    name: ClassVar[str] = "subwords"

    def __init__(self, table: WordVectors) -> None:
        if table.subwords is None:
            raise UsageError(
                "The back-off 'subwords' needs a table with vectors of subwords, such as a fastText .bin file. "
                "Add them with wordstill transform TABLE --chain subwords, or use 'ngrams'."
            )
        self.subwords, self.lower = table.subwords, table.is_lower_case

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The vectors, None for a word without known subwords. Words are lowercased if the table's words are."""
        words = [word.lower() for word in words] if self.lower else words
        at_once = getattr(self.subwords, "vectors", None)
        vectors = [self.subwords.vector(word) for word in words] if at_once is None else at_once(words)
        return [vector.astype(np.float32, copy=False) if vector.any() else None for vector in vectors]


class NgramBackoff:
    """The mean of the table's words that share character n-grams with a word.

    Directions and lengths are averaged separately, weighted by the fourth power of `NgramIndex.sharing`.
    """

    name: ClassVar[str] = "ngrams"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _index(self) -> NgramIndex:
        return NgramIndex(self.table.words)

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The estimated vectors, None for a word that shares nothing with the table."""
        return [self._estimate(word) for word in words]

    def _estimate(self, word: str) -> Answer:
        rows, shares = self._index.sharing(word)
        if not len(rows):
            return None
        best = np.argsort(-shares, kind="stable")[:WORDS_IN_A_MEAN]
        weights = shares[best] ** SHARPNESS
        vectors = self.table.take(rows[best]).astype(np.float64)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float32).tiny)
        weights /= weights.sum()
        direction = (weights / lengths) @ vectors
        estimate: NDArray[np.float32] = (direction * (weights @ lengths)).astype(np.float32)
        return estimate


class SpellingBackoff:
    """The most similarly spelled word of the table."""

    name: ClassVar[str] = "spelling"

    def __init__(self, table: WordVectors) -> None:
        self.table = table

    @cached_property
    def _index(self) -> NgramIndex:
        return NgramIndex(self.table.words, sizes=(2, 3))

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The rows of the substitutes, None where no word is similar enough."""
        return [self._nearest(word) for word in words]

    def _nearest(self, word: str) -> Answer:
        rows = self._index.alike(word)
        scores = [likeness(word, self.table.words[row]) for row in rows]
        best = max(range(len(rows)), key=lambda number: (scores[number], -rows[number]), default=None)
        return int(rows[best]) if best is not None and scores[best] >= FEWEST_IN_COMMON else None


BACKOFFS: dict[str, Callable[[WordVectors], Backoff]] = {
    policy.name: policy for policy in (CaseBackoff, SubwordBackoff, NgramBackoff, SpellingBackoff)
}


class NgramIndex:
    """An inverted index from case-folded character n-grams to words.

    ``sizes`` are the lengths of the n-grams, including the marks at the edges of a word.
    """

    def __init__(
        self, words: Sequence[str], sizes: Sequence[int] = (3, 4, 5, 6), *, block_words: int = 1 << 16
    ) -> None:
        self.sizes = tuple(sizes)
        self.count = len(words)
        parts = [self._grams(words[start : start + block_words], start) for start in range(0, len(words), block_words)]
        # One number holds n-gram and row, so that one sort groups equal n-grams.
        pairs = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *parts]))
        pairs = pairs[_firsts(pairs)]
        self.starts = _firsts(pairs >> HALF)
        self.groups = pairs[self.starts] >> HALF
        self.rows = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self.ends = np.append(self.starts[1:], len(self.rows))
        self.sizes_of_words = np.bincount(self.rows, minlength=len(words))

    def sharing(self, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows of words that share an n-gram with ``word``, and how much each of them shares.

        That is the sum of the inverse document frequencies of the shared n-grams, log((1 + words) / words that have
        it), divided by the square root of the number of n-grams of the table's word.
        """
        rows, shared = self._shared(word, lambda having: math.log((1 + self.count) / having))
        return rows, shared / np.sqrt(self.sizes_of_words[rows])

    def alike(self, word: str, count: int = 50) -> NDArray[np.int64]:
        """The rows of the words whose n-grams have the largest Dice coefficient with those of ``word``."""
        rows, shared = self._shared(word, lambda having: 1.0)
        own = len(np.unique(self._grams([word], 0)))
        dice = 2 * shared / (own + self.sizes_of_words[rows])
        return rows[np.argsort(-dice, kind="stable")[:count]]

    def _shared(self, word: str, weight: Callable[[int], float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        wanted = np.unique(self._grams([word], 0) >> HALF)
        found, known = find_sorted(self.groups, wanted)
        totals = np.zeros(self.count)
        for begin, end in zip(self.starts[found[known]].tolist(), self.ends[found[known]].tolist()):
            totals[self.rows[begin:end]] += weight(end - begin)
        rows = np.flatnonzero(totals)
        return rows, totals[rows]

    def _grams(self, words: Sequence[str], first_row: int) -> NDArray[np.uint64]:
        """Hash and row of each n-gram of each word, as one number."""
        marked = [f"{EDGE[0]}{word.casefold()}{EDGE[1]}" for word in words]
        lengths = np.fromiter(map(len, marked), dtype=np.int64, count=len(marked))
        letters = np.frombuffer("".join(marked).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        owner = np.repeat(np.arange(len(words), dtype=np.uint64), lengths)
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(letters))
        value = np.zeros(len(letters), dtype=np.uint64)
        found = []
        for size in range(1, max(self.sizes) + 1):
            inside = np.flatnonzero(left >= size)
            value[inside] = (value[inside] ^ letters[inside + size - 1]) * MULTIPLIER
            value[inside] ^= value[inside] >> np.uint64(29)
            if size in self.sizes:
                hashes = (value[inside] * MULTIPLIER) >> HALF
                found.append((hashes << HALF) | (owner[inside] + np.uint64(first_row)))
        return np.concatenate(found)


def near_in_spelling(word: str, words: Sequence[str]) -> list[str]:
    """Up to three words spelled similarly to ``word``, the most similar first.

    difflib is slow, so only words of similar length with the same first or last letter are compared.
    """
    folded = word.casefold()
    alike = (
        other
        for other in words
        if abs(len(other) - len(word)) <= 2
        and (other[:1].casefold() == folded[:1] or other[-1:].casefold() == folded[-1:])
    )
    by_folded: dict[str, str] = {}
    for other in islice(alike, SPELLING_CANDIDATES):
        by_folded.setdefault(other.casefold(), other)
    return [by_folded[near] for near in difflib.get_close_matches(folded, by_folded)]


def likeness(a: str, b: str) -> float:
    """Similarity of spelling from 0 to 1: one minus the Damerau-Levenshtein distance over the longer length.

    Case is ignored.
    """
    a, b = a.casefold(), b.casefold()
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        two_before, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            steps = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                steps = min(steps, two_before[j - 2] + 1)
            row.append(steps)
    return 1 - row[-1] / max(len(a), len(b), 1)


def _firsts(ordered: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The start of each run of equal values in a sorted array; np.unique would hash, which is slower."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
