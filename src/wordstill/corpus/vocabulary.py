"""The vocabulary: the words that get a vector, their counts, and word ids for a text."""

from __future__ import annotations

import copy
import heapq
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.core.text_io import read_word_list
from wordstill.corpus.phrases import PhraseTable, count_phrases
from wordstill.corpus.segment import Segmenter, recorded_segmenter
from wordstill.corpus.store import Corpus
from wordstill.corpus.words import StoreWords
from wordstill.errors import DataError, UsageError

KeyRule = Literal["lower", "none"]


@dataclass(frozen=True)
class VocabularyConfig(Config):
    """Which words get a vector."""

    min_count: Annotated[int, Range(1)] = 5
    """Words that occur less often are dropped."""

    max_size: Annotated[int | None, Range(1)] = None
    """Keep this many of the most frequent words; None keeps all."""

    key: KeyRule = "lower"
    """``lower`` gives all case variants of a word one key, ``none`` keeps them apart."""

    words: tuple[str, ...] = ()
    """Words or phrases that must get a vector, however rare they are."""


class Vocabulary:
    """Keys by descending frequency, followed by required words that are too rare, in the given order.

    A key is a word in Unicode's composed form (NFC), in lower case by default. The key of a phrase is its words, as
    found by the segmenter, joined by single spaces.

    Attributes:
        keys: The keys; their index is their id.
        counts: How often each occurs [V].
        surfaces: The most frequent spelling of each; ties go to the first in code-point order. A key that never occurs
            has the given spelling.
        phrases: Finds the keys with several words.
        config: The settings it was built with.
    """

    def __init__(self, entries: Iterable[Entry], config: VocabularyConfig, segmenter: Segmenter) -> None:
        entries = list(entries)
        self.config = config
        self.keys = [entry.key for entry in entries]
        self.counts: NDArray[np.int64] = np.array([entry.count for entry in entries], dtype=np.int64)
        self.surfaces = [entry.surface for entry in entries]
        self._segmenter = segmenter
        self._ids = {key: number for number, key in enumerate(self.keys)}
        self._word_ids = dict(self._ids)
        phrases: dict[tuple[int, ...], int] = {}
        for required in _required(config, segmenter):
            if len(required.words) > 1:
                ids = [self._word_ids.setdefault(word, len(self._word_ids)) for word in required.words]
                phrases[tuple(ids)] = self._ids[required.key]
        self.phrases = PhraseTable(phrases)
        self._cached_ids: tuple[Corpus, NDArray[np.int32]] | None = None
        self._phrase_ids = list(phrases.values())
        self._running_words = int(self.counts.sum() - self.counts[self._phrase_ids].sum())

    @classmethod
    def build(
        cls, corpus: Corpus, config: VocabularyConfig | None = None, *, segmenter: Segmenter | None = None
    ) -> Vocabulary:
        """Build the vocabulary of a corpus from its counts, with the segmenter that prepared it."""
        config = config or VocabularyConfig()
        recorded = corpus.meta["settings"]["segmenter"]
        segmenter = segmenter or recorded_segmenter(recorded)
        if recorded != segmenter.name:
            raise UsageError(
                f"{corpus.path} was prepared with the segmenter {recorded!r}, got {segmenter.name!r}. "
                "Pass the same one with segmenter=."
            )
        return cls(_choose(corpus, config, segmenter), config, segmenter)

    @staticmethod
    def read_word_list(path: str | Path) -> tuple[str, ...]:
        """Read a UTF-8 file with one word or phrase per line; empty lines are skipped."""
        return tuple(" ".join(word.split()) for word in read_word_list(Path(path)))

    def counted(self, counts: NDArray[np.int64]) -> Vocabulary:
        """The same words with other counts, such as those of a part of the text [V]."""
        other = copy.copy(self)
        other.counts = counts
        other._running_words = int(counts.sum() - counts[self._phrase_ids].sum())
        return other

    def required(self) -> NDArray[np.bool_]:
        """Which words get a vector however rare they are [V]."""
        asked = np.zeros(len(self), dtype=np.bool_)
        asked[[self._ids[word.key] for word in _required(self.config, self._segmenter)]] = True
        return asked

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, word: str) -> bool:
        return self._key(word) in self._ids

    def id(self, word: str) -> int:
        """The id of a word or phrase, in any case if keys are in lower case; raises a `KeyError` if there is none."""
        return self._ids[self._key(word)]

    def keep_probability(self, t: float) -> NDArray[np.float64]:
        """Probability that subsampling keeps an occurrence of each word [V].

        It is ``min(1, sqrt(t / f) + t / f)``, as in word2vec, with the frequency ``f`` relative to all words
        of the vocabulary, not counting phrases; ``t = 0`` keeps all.
        """
        if t <= 0:
            return np.ones(len(self))
        with np.errstate(divide="ignore"):
            ratio = t * self._running_words / self.counts
        return np.minimum(1.0, np.sqrt(ratio) + ratio)

    def noise_distribution(self, power: float) -> NDArray[np.float64]:
        """Probability of drawing each word as a negative: its count to the ``power``, normalized [V]."""
        weights = self.counts.astype(np.float64) ** power
        total = weights.sum()
        return weights / total if total > 0 else np.full(len(self), 1 / len(self))

    def word_ids(self, corpus: Corpus) -> NDArray[np.int32]:
        """The id of every word of every form of a corpus, in the order of ``corpus.forms.word_starts`` [N].

        Words outside the vocabulary are -1; words that are only in phrases have ids from ``len(self)`` on. The result
        for the last corpus is cached.
        """
        if self._cached_ids is None or self._cached_ids[0] is not corpus:
            self._cached_ids = (corpus, _lookup(corpus, self._word_ids, self.config.key))
            self._cached_ids[1].flags.writeable = False
        return self._cached_ids[1]

    def counts_in(self, corpus: Corpus) -> NDArray[np.int64]:
        """How often each word occurs in another corpus [V]."""
        ids, table = self.word_ids(corpus), corpus.forms
        counts = np.zeros(len(self._word_ids) + 1, dtype=np.int64)
        # Unknown words have -1 and are counted at the end.
        np.add.at(counts, ids, np.repeat(table.counts, np.diff(table.word_offsets)))
        counts = counts[: len(self)]
        if len(self.phrases):
            for number, (count, _) in count_phrases(corpus, ids, self.phrases).items():
                counts[number] = count
        return counts

    def _key(self, word: str) -> str:
        key = key_of(word, self.config.key)
        if key in self._ids:
            return key
        return " ".join(key_of(part, self.config.key) for part in words_of(word, self._segmenter))


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its count and its most frequent spelling."""

    key: str
    count: int
    surface: str


def key_of(word: str, rule: KeyRule) -> str:
    """The key of a word: in Unicode's composed form (NFC), and in lower case unless the rule is ``none``."""
    if rule == "lower":
        word = word.lower()
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def _keys_of(words: StoreWords, rule: KeyRule) -> Iterator[str]:
    """The key of each word in order, computed for many at a time: neither lower case nor NFC depends on other lines."""
    for chunk in words.chunks():
        yield from key_of(chunk, rule).split("\n")[:-1]


def words_of(text: str, segmenter: Segmenter) -> list[str]:
    """The words of a short text, such as a phrase, as in a corpus."""
    forms = [f" {run}" if number else run for number, run in enumerate(text.split())]
    return [form[start:end] for form in forms for start, end in segmenter.spans(form)]


class _Required(NamedTuple):
    """A word or phrase that must get a vector: its key, the keys of its words, and its given spelling."""

    key: str
    words: tuple[str, ...]
    surface: str


def _required(config: VocabularyConfig, segmenter: Segmenter) -> list[_Required]:
    required: dict[str, _Required] = {}
    for given in config.words:
        words = tuple(key_of(word, config.key) for word in words_of(given, segmenter))
        key = " ".join(words)
        if words and key not in required:
            required[key] = _Required(key, words, " ".join(given.split()))
    return list(required.values())


def _choose(corpus: Corpus, config: VocabularyConfig, segmenter: Segmenter) -> list[Entry]:
    required = _required(config, segmenter)
    seen = {entry.key: entry for entry in _phrase_entries(corpus, required, config.key)}
    singles = {word.key for word in required if len(word.words) == 1}
    counted = _count_keys(corpus.words, config.key, config.min_count, singles)
    seen |= {key: counted[key] for key in singles & counted.keys()}
    entries = {**counted, **seen}.values()
    chosen = _most_frequent((entry for entry in entries if entry.count >= config.min_count), config.max_size)
    there = {entry.key for entry in chosen}
    chosen += [seen.get(word.key, Entry(word.key, 0, word.surface)) for word in required if word.key not in there]
    if not chosen:
        every = _count_keys(corpus.words, config.key, 1)
        best = min(every.values(), key=_rank)
        raise DataError(
            f"No word of the text occurs {config.min_count:,} times: of {len(every):,} distinct words the "
            f"most frequent, {best.key!r}, occurs {best.count:,} times. Lower "
            "--min-count (min_count=), or prepare more text."
        )
    return chosen


def _count_keys(words: StoreWords, rule: KeyRule, least: int, wanted: Container[str] = frozenset()) -> dict[str, Entry]:
    """The counts of keys over all spellings, for keys with at least ``least`` occurrences and for ``wanted`` ones."""
    # Most words are rare. Counts by hash identify them without a table of all keys; a collision only makes two keys
    # look more frequent than they are.
    hashes = np.fromiter(map(hash, _keys_of(words, rule)), dtype=np.int64, count=len(words))
    _, numbers = np.unique(hashes, return_inverse=True)
    frequent = np.bincount(numbers, words.counts)[numbers] >= least
    found: dict[str, tuple[int, int, str]] = {}
    for word, key, count, often in zip(words, _keys_of(words, rule), words.counts.tolist(), frequent.tolist()):
        if often or key in wanted:
            total, most, surface = found.get(key, (0, 0, word))
            found[key] = (total + count, count, word) if count > most else (total + count, most, surface)
    return {key: Entry(key, total, surface) for key, (total, _, surface) in found.items()}


def _phrase_entries(corpus: Corpus, required: list[_Required], rule: KeyRule) -> Iterator[Entry]:
    phrases = [word for word in required if len(word.words) > 1]
    if not phrases:
        return
    ids: dict[str, int] = {}
    table = PhraseTable(
        {
            tuple(ids.setdefault(word, len(ids)) for word in phrase.words): number
            for number, phrase in enumerate(phrases)
        }
    )
    for number, (count, surface) in count_phrases(corpus, _lookup(corpus, ids, rule), table).items():
        yield Entry(phrases[number].key, count, surface)


def _most_frequent(entries: Iterable[Entry], limit: int | None) -> list[Entry]:
    return sorted(entries, key=_rank) if limit is None else heapq.nsmallest(limit, entries, key=_rank)


def _rank(entry: Entry) -> tuple[int, str]:
    return -entry.count, entry.key


def _lookup(corpus: Corpus, ids: Mapping[str, int], rule: KeyRule) -> NDArray[np.int32]:
    """The id of every word of every form; -1 if its key has none [N]."""
    words = corpus.words
    found = np.fromiter((ids.get(key, -1) for key in _keys_of(words, rule)), dtype=np.int32, count=len(words))
    return found[words.of_slot]
