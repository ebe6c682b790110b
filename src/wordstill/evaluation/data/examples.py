"""Sentences with labels or tags, and how a set without a published split is divided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

Words = tuple[str, ...]
Target = TypeVar("Target", str, Words)
"""A label for the whole sentence, or a tag for each of its words."""

LABELS, TAGS = "labels", "tags"
SHARES = (0.6, 0.2, 0.2)
DEV_SHARE = SHARES[1] / (SHARES[0] + SHARES[1])
DOCUMENT_SHARES = (0.8, 0.1, 0.1)
FEWEST_IN_CLASS = 5
FEWEST_TEST = 10


@dataclass(frozen=True)
class Examples(Generic[Target]):
    """Sentences with their targets, in the order of their file."""

    sentences: tuple[Words, ...]
    targets: tuple[Target, ...]

    def __len__(self) -> int:
        return len(self.sentences)

    def __add__(self, other: Examples[Target]) -> Examples[Target]:
        return Examples(self.sentences + other.sentences, self.targets + other.targets)

    def take(self, places: Iterable[int]) -> Examples[Target]:
        """The examples with these indices, in that order."""
        chosen = list(places)
        return Examples(
            tuple(self.sentences[place] for place in chosen), tuple(self.targets[place] for place in chosen)
        )


@dataclass(frozen=True)
class Published(Generic[Target]):
    """A data set in its published parts."""

    train: Examples[Target]
    dev: Examples[Target] | None = None
    test: Examples[Target] | None = None
    documents: tuple[int, ...] = ()
    """Where each document of ``train`` begins, for a set that must not be divided within documents."""

    @property
    def holds(self) -> str:
        """Whether the targets are labels of sentences or tags of words."""
        return LABELS if isinstance(self.train.targets[0], str) else TAGS

    def sentences(self) -> list[Words]:
        """The sentences of all parts."""
        parts = (self.train, self.dev, self.test)
        return [sentence for part in parts if part is not None for sentence in part.sentences]


@dataclass(frozen=True)
class Splits(Generic[Target]):
    """A training, a development and a test part."""

    train: Examples[Target]
    dev: Examples[Target]
    test: Examples[Target]

    def __iter__(self) -> Iterator[Examples[Target]]:
        return iter((self.train, self.dev, self.test))

    def thinned(self, limit: int | None, seed: int) -> Splits[Target]:
        """At most so many examples of each part, drawn at random and kept in order; None keeps all."""
        if limit is None:
            return self
        random = np.random.default_rng(seed)
        return Splits(*(part.take(_drawn(len(part), limit, random)) for part in self))


def divide_by_class(published: Published[str], seed: int) -> Splits[str]:
    """Labeled sentences in three parts, with the same share of every class in each.

    Without a published test part, 60, 20 and 20 % are drawn; if only the development part is missing, it is a quarter
    of the training part, which is the same proportion. The draw depends only on the seed, so that every table is
    scored on the same sentences.
    """
    if published.test is None:
        return Splits(*_drawn_parts(published.train, SHARES, seed))
    if published.dev is None:
        train, dev = _drawn_parts(published.train, (1 - DEV_SHARE, DEV_SHARE), seed)
        return Splits(train, dev, published.test)
    return Splits(published.train, published.dev, published.test)


def divide_in_order(published: Published[Words]) -> Splits[Words]:
    """Tagged sentences in three parts, in their order.

    Sentences of one article resemble each other, so nothing is drawn at random: without a test part, the documents
    are divided 80, 10 and 10 % in their order; if only the development part is missing, it is the last tenth of the
    training part.
    """
    train = published.train
    if published.test is None:
        starts = published.documents or tuple(range(len(train)))
        first, second = (
            starts[round(share * len(starts))]
            for share in (DOCUMENT_SHARES[0], DOCUMENT_SHARES[0] + DOCUMENT_SHARES[1])
        )
        bounds = (range(first), range(first, second), range(second, len(train)))
        return Splits(*(train.take(places) for places in bounds))
    if published.dev is None:
        first = len(train) - len(train) // 10
        return Splits(train.take(range(first)), train.take(range(first, len(train))), published.test)
    return Splits(train, published.dev, published.test)


def class_problem(splits: Splits[str]) -> str | None:
    """Why a classifier cannot be trained and scored on these parts, or None if it can."""
    if problem := _size_problem(splits):
        return problem
    seen = Counter(splits.train.targets)
    if len(seen) < 2:
        return f"only one class ({next(iter(seen))}) to learn from; at least 2 are needed"
    rarest = min(seen, key=lambda label: seen[label])
    if seen[rarest] < FEWEST_IN_CLASS:
        return (
            f"the class {rarest!r} has only {seen[rarest]} of {len(splits.train)} training sentences; "
            f"at least {FEWEST_IN_CLASS} are needed"
        )
    unknown = sorted(set(splits.dev.targets + splits.test.targets) - set(seen))
    return f"no training sentence has the class {unknown[0]!r}" if unknown else None


def tag_problem(splits: Splits[Words]) -> str | None:
    """Why a tagger cannot be trained and scored on these parts, or None if it can."""
    if problem := _size_problem(splits):
        return problem
    seen = {tag for tags in splits.train.targets for tag in tags}
    return f"only one tag ({next(iter(seen))}) to learn from" if len(seen) < 2 else None


def _size_problem(splits: Splits[str] | Splits[Words]) -> str | None:
    names = ("training", "development", "test")
    for name, size in zip(names, map(len, (splits.train, splits.dev, splits.test))):
        if size < FEWEST_TEST:
            return f"the {name} part has only {size} sentences; at least {FEWEST_TEST} are needed"
    return None


def _drawn_parts(examples: Examples[str], shares: Sequence[float], seed: int) -> list[Examples[str]]:
    random = np.random.default_rng(seed)
    places: list[list[int]] = [[] for _ in shares]
    labels = np.array(examples.targets)
    ends = np.cumsum(shares)
    for label in sorted(set(examples.targets)):
        mixed = random.permutation(np.flatnonzero(labels == label))
        cuts = np.rint(ends[:-1] * len(mixed)).astype(int)
        for part, piece in zip(places, np.split(mixed, cuts)):
            part.extend(piece.tolist())
    return [examples.take(sorted(part)) for part in places]


def _drawn(size: int, limit: int, random: np.random.Generator) -> list[int]:
    if size <= limit:
        return list(range(size))
    return sorted(random.choice(size, size=limit, replace=False).tolist())
