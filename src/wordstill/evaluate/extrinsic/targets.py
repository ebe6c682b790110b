"""What is to be predicted, in numbers, and the score of predicted numbers."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordstill.evaluate.extrinsic.examples import Splits, Words
from wordstill.evaluate.extrinsic.tag_coding import TagCoder
from wordstill.evaluate.extrinsic.trained import Frame, TrainedScore
from wordstill.evaluate.extrinsic.word_table import Ids, Sentences


class Targets(typing.Protocol):
    """The targets of three parts."""

    @property
    def classes(self) -> int:
        """How many different ones there are."""
        ...

    @property
    def numbers(self) -> tuple[Ids, ...]:
        """Of the training, development and test part."""
        ...

    def score(
        self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int
    ) -> TrainedScore:
        """The score of what each seed predicts for the test part."""
        ...


@dataclass(frozen=True, eq=False)
class LabelTargets:
    """One class for each sentence."""

    names: tuple[str, ...]
    numbers: tuple[Ids, ...]

    @classmethod
    def of(cls, splits: Splits[str]) -> LabelTargets:
        """Number the classes of the training part."""
        names = tuple(sorted(set(splits.train.targets)))
        number = {label: place for place, label in enumerate(names)}
        return cls(
            names,
            tuple(np.array([number[label] for label in part.targets], dtype=np.int64) for part in splits),
        )

    @property
    def classes(self) -> int:
        """How many."""
        return len(self.names)

    def score(
        self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int
    ) -> TrainedScore:
        """Accuracy and macro-F1."""
        return frame.of_labels(self.numbers[2], predicted, self.classes, settings, seed)


@dataclass(frozen=True, eq=False)
class TagTargets:
    """One tag for each word."""

    coder: TagCoder
    numbers: tuple[Ids, ...]
    gold: tuple[Words, ...]
    """The tags of the test part as published."""

    @classmethod
    def of(cls, splits: Splits[Words]) -> TagTargets:
        """Number the tags of the training part."""
        coder = TagCoder.of(splits.train)
        return cls(coder, tuple(coder.numbers(part).rows for part in splits), splits.test.targets)

    @property
    def classes(self) -> int:
        """How many."""
        return len(self.coder.tags)

    def score(
        self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int
    ) -> TrainedScore:
        """Accuracy of words or F1 of spans."""
        starts = np.cumsum([0, *map(len, self.gold)], dtype=np.int64)
        counts = np.stack(
            [self.coder.counts(self.gold, self.coder.decode(Sentences(tags, starts))) for tags in predicted]
        )
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), settings, seed)
