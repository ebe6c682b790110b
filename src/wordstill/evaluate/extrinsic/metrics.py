"""Accuracy, macro-F1 and the F1 of spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluate.extrinsic.word_table import Ids
from wordstill.evaluate.statistics import ratios

Floats = NDArray[np.float64]
OUTSIDE = "O"


class Span(NamedTuple):
    """A run of words of one kind; ``end`` is the first place behind it."""

    kind: str
    start: int
    end: int


def accuracy(gold: Ids, predicted: Ids) -> float:
    """The share of items that are right."""
    return float((gold == predicted).mean())


def macro_f1(gold: Ids, predicted: Ids, classes: int) -> float:
    """The plain mean of the F1 of every class; a class that neither side has does not count."""
    right = np.bincount(gold[gold == predicted], minlength=classes)
    sizes = np.bincount(gold, minlength=classes) + np.bincount(predicted, minlength=classes)
    present = sizes > 0
    return float((2 * right[present] / sizes[present]).mean())


def spans(tags: Sequence[str]) -> list[Span]:
    """The spans of a row of tags, BIO or BIOES, by the rules of the CoNLL shared tasks.

    A row that no correct writer would make has spans too: ``I`` or ``E`` after another kind, after the end of
    a span or after ``O`` begins one.
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
    """Spans that both sides have, of the gold side and of the predicted side, shape (sentences, 3)."""
    rows = []
    for first, second in zip(gold, predicted, strict=True):
        true, guessed = set(spans(first)), set(spans(second))
        rows.append((len(true & guessed), len(true), len(guessed)))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def as_sums(counts: Ids) -> Floats:
    """Counts as what a sentence adds to the sum above and to the one below, shape (..., 2).

    Args:
        counts: (right, all) words, or (both, gold, predicted) spans, whose F1 is twice the first over the sum
            of the others.
    """
    if counts.shape[-1] == 2:
        return counts.astype(np.float64)
    both, gold, predicted = np.moveaxis(counts, -1, 0)
    return np.stack([2 * both, gold + predicted], axis=-1).astype(np.float64)


def figure_of(counts: Ids) -> Floats:
    """Accuracy of words or F1 of spans over sentences, the axis before the last; 0 where there is nothing."""
    return ratios(as_sums(counts).sum(axis=-2))
