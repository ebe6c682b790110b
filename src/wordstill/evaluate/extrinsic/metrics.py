"""Accuracy, macro-F1 and the F1 of spans, each with a bootstrap interval over sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluate.statistics import RESAMPLES, Interval, percentiles

Ids = NDArray[np.int64]
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


def f1_of(counts: Floats | Ids) -> Floats:
    """F1 of counts whose last axis is (both, gold, predicted); 0 where there is no span at all."""
    both, gold, predicted = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    f1: Floats = np.divide(2 * both, gold + predicted, out=np.zeros_like(both), where=gold + predicted > 0)
    return f1


def ratio_of(counts: Floats | Ids) -> Floats:
    """First over second of counts whose last axis is (right, all)."""
    right, every = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    ratio: Floats = np.divide(right, every, out=np.zeros_like(right), where=every > 0)
    return ratio


def interval_of(counts: Ids, seed: int, *, resamples: int = RESAMPLES) -> Interval:
    """The percentile bootstrap interval over sentences of a measure that is a ratio of sums.

    Args:
        counts: (seeds of training, sentences, 2) for ``ratio_of`` or (..., 3) for ``f1_of``. The measure of a
            resample is the mean over the seeds of training.
        seed: Of the bootstrap.
        resamples: How many.
    """
    measure = ratio_of if counts.shape[-1] == 2 else f1_of
    random = np.random.default_rng(seed)
    sentences = counts.shape[1]
    values = []
    for _ in range(resamples):
        drawn = np.bincount(random.integers(0, sentences, size=sentences), minlength=sentences)
        sums = np.einsum("ksc,s->kc", counts, drawn)  # (seeds, 2 or 3)
        values.append(measure(sums))
    return percentiles(np.mean(values, axis=1))
