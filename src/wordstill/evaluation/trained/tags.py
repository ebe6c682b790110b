"""Tag sequences: spans, words and tags as numbers, and scores (accuracy, macro-F1, span F1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.examples import Examples, Words
from wordstill.evaluation.statistics import ratios
from wordstill.evaluation.trained.word_table import Ids, Sentences

Floats = NDArray[np.float64]
OUTSIDE = "O"


class Span(NamedTuple):
    """A run of words of one kind; ``end`` is exclusive."""

    kind: str
    start: int
    end: int


def accuracy(gold: Ids, predicted: Ids) -> float:
    """The share of correct items."""
    return float((gold == predicted).mean())


def macro_f1(gold: Ids, predicted: Ids, classes: int) -> float:
    """The unweighted mean of the F1 of each class; a class on neither side does not count."""
    right = np.bincount(gold[gold == predicted], minlength=classes)
    sizes = np.bincount(gold, minlength=classes) + np.bincount(predicted, minlength=classes)
    present = sizes > 0
    return float((2 * right[present] / sizes[present]).mean())


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans of a tag sequence, BIO or BIOES, by the rules of the CoNLL shared tasks.

    An invalid sequence has spans too: ``I`` or ``E`` begins one after another kind, after the end of a span or after
    ``O``.
    """
    found: list[Span] = []
    start, before, kind_before = 0, OUTSIDE, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        mark, _, kind = tag.partition("-")
        if before != OUTSIDE and (before in "ES" or mark in "BSO" or kind != kind_before):
            found.append(Span(kind_before, start, place))
            before = OUTSIDE
        if mark != OUTSIDE and before == OUTSIDE:
            start = place
        before, kind_before = mark, kind
    return found


def to_bioes(tags: Sequence[str]) -> tuple[str, ...]:
    """The same spans with ``E`` at the last word and ``S`` for a single one."""
    written = [OUTSIDE] * len(tags)
    for kind, start, end in spans(tags):
        marks = "S" if end - start == 1 else "B" + "I" * (end - start - 2) + "E"
        written[start:end] = [f"{mark}-{kind}" for mark in marks]
    return tuple(written)


def span_counts(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> Ids:
    """Numbers of spans: on both sides, gold, and predicted, shape (sentences, 3)."""
    rows = []
    for first, second in zip(gold, predicted, strict=True):
        true, guessed = set(spans(first)), set(spans(second))
        rows.append((len(true & guessed), len(true), len(guessed)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def as_sums(counts: Ids) -> Floats:
    """Numerator and denominator of the score, shape (..., 2).

    Args:
        counts: (correct, all) words, or (both, gold, predicted) spans, whose F1 is 2 both / (gold + predicted).
    """
    if counts.shape[-1] == 2:
        return counts.astype(np.float64)
    both, gold, predicted = np.moveaxis(counts, -1, 0)
    return np.stack([2 * both, gold + predicted], axis=-1).astype(np.float64)


def score_of(counts: Ids) -> Floats:
    """Word accuracy or span F1 over sentences (the axis before the last); 0 if there is nothing to count."""
    return ratios(as_sums(counts).sum(axis=-2))


SPAN_MARKS = ("B-", "I-", "E-", "S-")
UNSEEN_TAG = 0
LONGEST_WORD = 40
"""Characters; the rest of a word is not read."""


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The distinct words of a set as written; number 0 is padding."""

    rows: Ids
    """The row of the vector of each, (surfaces,)."""
    characters: Ids
    """Character numbers of each, (surfaces, longest); 0 is padding, 1 an unseen character."""
    kinds: int
    """Number of distinct characters, including those two."""

    @classmethod
    def of(cls, words: Sequence[str], rows: Sequence[int], seen: Iterable[str]) -> Surfaces:
        """Spell words.

        Args:
            words: Distinct words.
            rows: The row of each word's vector.
            seen: The words of the training part, whose characters are known.
        """
        alphabet = sorted(set("".join(seen)))
        number = {character: place for place, character in enumerate(alphabet, start=2)}
        longest = min(LONGEST_WORD, max(map(len, words), default=1))
        characters = np.zeros((len(words) + 1, longest), dtype=np.int64)
        for place, word in enumerate(words, start=1):
            numbers = [number.get(character, 1) for character in word[:longest]]
            characters[place, : len(numbers)] = numbers
        return cls(np.array([0, *rows], dtype=np.int64), characters, len(alphabet) + 2)


@dataclass(frozen=True, eq=False)
class TaggedRows:
    """Sentences as surface numbers, with tag numbers."""

    sentences: Sentences
    tags: Sentences


@dataclass(frozen=True)
class TagCoder:
    """The tags of a training part; spans are coded as BIOES."""

    tags: tuple[str, ...]
    spans: bool

    @classmethod
    def of(cls, train: Examples[Words]) -> TagCoder:
        """Collect the tags."""
        spans = are_spans(train.targets)
        rows = map(to_bioes, train.targets) if spans else train.targets
        return cls(tuple(sorted({tag for row in rows for tag in row})), spans)

    def numbers(self, part: Examples[Words]) -> Sentences:
        """The tags of a part as numbers; a tag that is not in the training part counts as the first."""
        number = {tag: place for place, tag in enumerate(self.tags)}
        rows = [to_bioes(tags) if self.spans else tags for tags in part.targets]
        return Sentences.of([[number.get(tag, UNSEEN_TAG) for tag in row] for row in rows])

    def decode(self, tags: Sentences) -> list[Words]:
        """Tag sequences by name."""
        names = [self.tags[number] for number in tags.rows]
        return [tuple(names[start:end]) for start, end in zip(tags.starts[:-1], tags.starts[1:])]

    def counts(self, gold: Sequence[Words], predicted: Sequence[Words]) -> Ids:
        """The counts of a score, (sentences, 2 or 3): correct and all words, or `span_counts`."""
        if self.spans:
            return span_counts(gold, predicted)
        rows = [(sum(map(str.__eq__, true, guessed)), len(true)) for true, guessed in zip(gold, predicted, strict=True)]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)


def are_spans(rows: Iterable[Words]) -> bool:
    """Whether tags mark spans: each is ``O`` or begins with ``B-``, ``I-``, ``E-`` or ``S-``."""
    tags = {tag for row in rows for tag in row}
    return tags != {OUTSIDE} and all(tag == OUTSIDE or tag.startswith(SPAN_MARKS) for tag in tags)
