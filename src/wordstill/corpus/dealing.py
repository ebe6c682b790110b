"""Folds of documents of equal size, and bounded random samples of the occurrences of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus.phrases import sentence_ranges
from wordstill.corpus.store import Corpus
from wordstill.corpus.vocabulary import Vocabulary
from wordstill.errors import DataError

LEAST_FOLDS = 5
"""Minimum number of folds of a group that can be compared."""
MOST_TIMES = 4
"""Maximum factor by which the number of folds grows for the sake of small groups."""
BLOCK_WORDS = 2000
"""Words of a passage, which replaces documents if there are too few."""
SCAN_FORMS = 1 << 20
WHOLE = "all"
"""Name of the only group of a text without groups."""
POSITION_BITS, SIZE_BITS = 16, 8
MOST_WAITING = 1 << 22
"""Number of occurrences held before those with larger hashes are dropped."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """A text divided into folds. P paragraphs, F folds, G groups.

    Attributes:
        of_paragraph: The fold of each paragraph, -1 for paragraphs without a group [P].
        group_of_fold: [F].
        words: Running words of each fold [F].
        names: Names of the groups.
        dealt: For each group, the units in folds: ``documents``, or ``paragraphs`` if there are too few documents [G].
    """

    of_paragraph: NDArray[np.int32]
    group_of_fold: NDArray[np.int32]
    words: NDArray[np.int64]
    names: tuple[str, ...]
    dealt: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.group_of_fold)


def deal_folds(corpus: Corpus, per_group: int, seed: int = 0) -> FoldPlan:
    """Divide a text into folds of about equal size, with a given average number per group.

    Folds of equal size can be exchanged between groups in a permutation test, so a larger group has more of them.
    Documents, in random order, fill one fold after another. In a group with fewer documents than folds, or without
    recorded documents, passages of up to 2,000 words are used instead.

    Args:
        corpus: The text, with its groups if it has any.
        per_group: Average number of folds per group; 1 makes every group one fold.
        seed: Seed of the random order.
    """
    names = corpus.group_names if corpus.groups is not None else (WHOLE,)
    group = corpus.groups if corpus.groups is not None else np.zeros(len(corpus), dtype=np.int32)
    words = corpus.words_of_paragraphs()
    totals = np.array([words[group == number].sum() for number in range(len(names))])
    documents = np.zeros(len(names), dtype=np.int64)
    if corpus.documents is not None:
        documents = np.array([len(np.unique(corpus.documents[group == number])) for number in range(len(names))])
    sizes = _folds_of_groups(totals, documents, per_group)
    folds = np.full(len(corpus), -1, dtype=np.int32)
    generator, first, dealt = np.random.default_rng(seed), 0, []
    for number, size in enumerate(sizes.tolist()):
        members = np.flatnonzero(group == number)
        owner, kind = _units(corpus, members, words[members], size)
        folds[members] = first + _deal(owner, words[members], size, generator)
        dealt.append(kind)
        first += size
    grouped = folds >= 0
    filled = np.bincount(folds[grouped], words[grouped], minlength=first).astype(np.int64)
    of_fold = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    return FoldPlan(folds, of_fold, filled, tuple(names), tuple(dealt))


def _folds_of_groups(totals: NDArray[np.int64], documents: NDArray[np.int64], per_group: int) -> NDArray[np.int64]:
    """The number of folds of each group, more than requested if a small group needs that for a comparison.

    A group that would still be too small changes nothing, and no group gets more folds than it has documents for.
    """
    if per_group == 1:
        return np.ones(len(totals), dtype=np.int64)
    whole = per_group * len(totals)
    size = totals.sum() / whole
    least = size / MOST_TIMES
    if (dealt := (documents > 0) & (documents >= np.round(totals / max(size, 1e-9)))).any():
        least = max(least, float((totals[dealt] / documents[dealt]).max()))
    if (able := totals / max(least, 1e-9) >= LEAST_FOLDS).any():
        size = min(size, float(totals[able].min()) / LEAST_FOLDS)
    folds: NDArray[np.int64] = np.maximum(1, np.round(totals / max(size, 1e-9)).astype(np.int64))
    return folds


def _units(
    corpus: Corpus, members: NDArray[np.int64], words: NDArray[np.int64], folds: int
) -> tuple[NDArray[np.int64], str]:
    """The unit of each paragraph, by ascending numbers, and the kind of unit."""
    if corpus.documents is not None:
        documents = corpus.documents[members]
        begins = np.diff(documents, prepend=-1) != 0
        if begins.sum() >= folds:
            return np.cumsum(begins) - 1, "documents"
    size = max(1.0, min(BLOCK_WORDS, words.sum() / (4 * folds)))
    return ((np.cumsum(words) - words) // size).astype(np.int64), "paragraphs"


def _deal(
    owner: NDArray[np.int64], words: NDArray[np.int64], folds: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """The fold of each paragraph: units in random order fill one fold after another."""
    numbers, unit = np.unique(owner, return_inverse=True)
    sizes = np.bincount(unit, words, minlength=len(numbers))
    order = generator.permutation(len(numbers))
    middle = np.cumsum(sizes[order]) - sizes[order] / 2
    fold = np.empty(len(numbers), dtype=np.int64)
    fold[order] = np.minimum(folds * middle // max(sizes.sum(), 1e-9), folds - 1).astype(np.int64)
    dealt: NDArray[np.int64] = fold[unit]
    return dealt


@dataclass(frozen=True, eq=False)
class Cells:
    """The pairs of a word and a fold that have a row, for words with enough occurrences or listed words.

    Attributes:
        plan: The folds.
        words: Vocabulary id of each cell, ascending [C].
        folds: Fold of each cell, ascending for each word [C].
        row_of_word: Row of each word of the vocabulary in ``table``, -1 without cells [V].
        table: The cell of each word with cells in each fold, -1 where it does not occur [T, F].
    """

    plan: FoldPlan
    words: NDArray[np.int64]
    folds: NDArray[np.int32]
    row_of_word: NDArray[np.int32]
    table: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def count(
        cls, corpus: Corpus, vocabulary: Vocabulary, plan: FoldPlan, enough: int, track: Sequence[str] = ()
    ) -> Cells:
        """Count the words of every fold in the store, without a teacher.

        Args:
            corpus: The text.
            vocabulary: Its words.
            plan: The folds.
            enough: Minimum count of words with cells.
            track: Words that have cells however rare they are, instead of those by count.
        """
        wanted = vocabulary.counts >= enough
        if track:
            if missing := [word for word in track if word not in vocabulary]:
                raise DataError(
                    f"--track names words without a vector: {', '.join(map(repr, missing[:5]))}. Lower --min-count, or "
                    "give them with --words."
                )
            wanted[:] = False
            wanted[[vocabulary.id(word) for word in track]] = True
        tracked = np.flatnonzero(wanted & (vocabulary.counts > 0))
        if not len(tracked):
            raise DataError(f"No word occurs {enough} times, so none has rows by fold. Lower --enough (enough=).")
        row_of_word = np.full(len(vocabulary), -1, dtype=np.int32)
        row_of_word[tracked] = np.arange(len(tracked))
        counts = _counts_by_fold(corpus, vocabulary, plan, row_of_word, len(tracked)).ravel()
        there = np.flatnonzero(counts)
        table = np.full(len(counts), -1, dtype=np.int32)
        table[there] = np.arange(len(there))
        return cls(
            plan,
            tracked[there // len(plan)],
            (there % len(plan)).astype(np.int32),
            row_of_word,
            table.reshape(len(tracked), len(plan)),
        )

    def same_as(self, other: Cells | None) -> bool:
        """Whether sums over these cells can be added to sums over others."""
        return (
            other is not None
            and np.array_equal(self.words, other.words)
            and np.array_equal(self.folds, other.folds)
            and np.array_equal(self.plan.of_paragraph, other.plan.of_paragraph)
        )


def _counts_by_fold(
    corpus: Corpus, vocabulary: Vocabulary, plan: FoldPlan, row_of_word: NDArray[np.int32], rows: int
) -> Ints:
    """How often the words of each row occur in each fold [rows, F]."""
    forms, counts = corpus.forms, np.zeros((rows, len(plan)), dtype=np.int64)
    ids = vocabulary.word_ids(corpus)
    inside = (ids >= 0) & (ids < len(vocabulary))
    row_of_slot = np.where(inside, row_of_word[np.where(inside, ids, 0)], -1)
    slots = np.flatnonzero(row_of_slot >= 0)
    row, form = row_of_slot[slots], owners(np.diff(forms.word_offsets))[slots]
    starts = corpus.sentences[corpus.paragraphs]
    sizes, order = np.diff(starts), np.argsort(plan.of_paragraph, kind="stable")
    bounds = np.searchsorted(plan.of_paragraph[order], np.arange(len(plan) + 1))
    for fold, (first, last) in enumerate(pairwise(bounds.tolist())):
        members = order[first:last]
        # The words of a form are looked up once, however often it occurs.
        of_form = np.bincount(corpus.form_ids[ranges(starts[members], sizes[members])], minlength=len(forms))
        counts[:, fold] = np.bincount(row, of_form[form], minlength=rows)
    if len(vocabulary.phrases):
        for found, sentences, _, size in _occurrences(corpus, vocabulary, SCAN_FORMS):
            folds = plan.of_paragraph[corpus.paragraphs_of(sentences)]
            kept = (size > 1) & (row_of_word[found] >= 0) & (folds >= 0)
            np.add.at(counts, (row_of_word[found[kept]], folds[kept]), 1)
    return counts


@dataclass(frozen=True, eq=False)
class ChosenOccurrences:
    """Positions of the kept occurrences, word by word. R words, T occurrences."""

    words: Ints
    """[R] ids in the vocabulary, ascending."""
    offsets: Ints
    """[R + 1] where the occurrences of each word begin."""
    codes: Ints
    """[T] `place_code` of each, ascending inside a word."""

    def __len__(self) -> int:
        return len(self.codes)


def place_code(sentence: Any, position: Any, size: Any) -> Any:
    """Encode positions as numbers in reading order: sentence of the corpus, word of the sentence, words of a phrase.

    Works with arrays and tensors.
    """
    return (sentence * (1 << POSITION_BITS) + position) * (1 << SIZE_BITS) + size


def places(codes: Ints) -> tuple[Ints, Ints, Ints]:
    """Sentence, position and size of codes."""
    position = (codes >> SIZE_BITS) & ((1 << POSITION_BITS) - 1)
    return codes >> (POSITION_BITS + SIZE_BITS), position, codes & ((1 << SIZE_BITS) - 1)


def choose_occurrences(
    corpus: Corpus,
    vocabulary: Vocabulary,
    words: Ints,
    number: int,
    seed: int = 0,
    *,
    scan_forms: int = SCAN_FORMS,
    most_waiting: int = MOST_WAITING,
) -> ChosenOccurrences:
    """A random sample of at most ``number`` occurrences of each word, given by its id.

    Words after the first 65,536 of a sentence, and phrases of more than 255 words, are never chosen.
    """
    words = np.unique(words)
    row_of = np.full(len(vocabulary), -1, dtype=np.int64)
    row_of[words] = np.arange(len(words))
    largest = np.full(len(words), np.iinfo(np.uint64).max, dtype=np.uint64)
    rows, codes, hashes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for ids, sentence, position, size in _occurrences(corpus, vocabulary, scan_forms):
        fits = (row_of[ids] >= 0) & (position < 1 << POSITION_BITS) & (size < 1 << SIZE_BITS)
        found_rows, found_codes = row_of[ids][fits], place_code(sentence, position, size)[fits]
        found = place_hashes(found_codes, seed)
        low = found <= largest[found_rows]
        rows = np.concatenate([rows, found_rows[low]])
        codes, hashes = np.concatenate([codes, found_codes[low]]), np.concatenate([hashes, found[low]])
        if len(rows) > most_waiting:
            kept = _smallest(rows, hashes, number)
            rows, codes, hashes = rows[kept], codes[kept], hashes[kept]
            full = np.bincount(rows, minlength=len(words)) == number
            last = np.zeros(len(words), dtype=np.uint64)
            np.maximum.at(last, rows, hashes)
            largest[full] = last[full]
    kept = _smallest(rows, hashes, number)
    rows, codes = rows[kept], codes[kept]
    order = np.lexsort((codes, rows))
    return ChosenOccurrences(words, offsets_of(np.bincount(rows, minlength=len(words))), codes[order])


def place_hashes(codes: Ints, seed: int) -> Hashes:
    """Hashes of codes, by the finalizer of splitmix64."""
    mixed = codes.astype(np.uint64) + _mix(np.array([seed], dtype=np.uint64))
    return _mix(mixed)


def _mix(values: Hashes) -> Hashes:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _smallest(rows: Ints, hashes: Hashes, number: int) -> Ints:
    """Indices of the ``number`` smallest hashes of each row; in a tie, the first in the text."""
    order = np.lexsort((hashes, rows))
    ordered = rows[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return np.sort(order[rank < number])


def _occurrences(corpus: Corpus, vocabulary: Vocabulary, scan_forms: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Id, sentence, position and size of every word and phrase of the vocabulary, in parts of the text."""
    ids_of_slots = vocabulary.word_ids(corpus)
    for start, end in sentence_ranges(corpus.sentences, scan_forms):
        slots, sentence = corpus.word_slots(start, end)
        ids = ids_of_slots[slots]
        begin = np.flatnonzero((ids >= 0) & (ids < len(vocabulary)))
        found, size = ids[begin].astype(np.int64), np.ones(len(begin), dtype=np.int64)
        if len(vocabulary.phrases):
            phrases, begins, ends = vocabulary.phrases.find(ids, sentence)
            found, begin = np.concatenate([found, phrases]), np.concatenate([begin, begins])
            size = np.concatenate([size, ends - begins])
        of_word = sentence[begin]
        yield found, of_word, begin - np.searchsorted(sentence, of_word), size
