"""The score of a task that trains: the mean over seeds, its deviation, and the settings that were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordstill.evaluate.extrinsic.examples import Published, Words
from wordstill.evaluate.extrinsic.metrics import accuracy, as_sums, figure_of, macro_f1
from wordstill.evaluate.extrinsic.word_table import Ids
from wordstill.evaluate.items import Items
from wordstill.evaluate.loaded import Loaded
from wordstill.evaluate.protocol import Protocol
from wordstill.evaluate.score import Coverage, Part, Score
from wordstill.evaluate.statistics import Interval

POINTS = 100


@dataclass(frozen=True)
class TrainedScore(Score):
    """A score with the settings that were chosen on the development part."""

    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """What every score of one run has in common."""

    task: str
    metric: str
    dataset: Loaded[Published[str]] | Loaded[Published[Words]]
    protocol: Protocol
    coverage: Coverage

    def coverage_problem(self) -> str | None:
        """Why there can be no figure: a table that knows nothing does not have the figure of chance."""
        used, total = self.coverage
        return None if used else f"none of the {total} running words is in the table"

    def without_figure(self, problem: str) -> TrainedScore:
        """A score that says why there is no figure."""
        return self._score(None, None, 0, problem=problem)

    def of_labels(
        self, gold: Ids, predicted: Sequence[Ids], classes: int, settings: Mapping[str, Any], seed: int
    ) -> TrainedScore:
        """The accuracy, with macro-F1 beside it.

        Args:
            gold: Numbers of classes, (sentences,).
            predicted: The same as each seed of training gave them.
            classes: How many there are.
            settings: What was chosen.
            seed: Of the bootstrap.
        """
        figures = [POINTS * accuracy(gold, guess) for guess in predicted]
        macro = [POINTS * macro_f1(gold, guess, classes) for guess in predicted]
        right = np.stack([guess == gold for guess in predicted]).astype(np.float64)
        items = Items("mean", np.asarray(right.mean(axis=0)))
        low, high = items.interval(seed)
        parts = (
            Part("macro-F1", "macro_f1", float(np.mean(macro)), len(gold)),
            *_seed_parts("accuracy", figures, len(gold)),
        )
        if len(macro) > 1:
            settings = {**settings, "macro_f1_deviation": _deviation(macro)}
        return self._score(
            figures,
            Interval(POINTS * low, POINTS * high),
            len(gold),
            parts=parts,
            settings=settings,
            items=items,
        )

    def of_counts(self, counts: Ids, n: int, settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """A measure that is a ratio of sums over sentences: accuracy of words, or F1 of spans.

        Args:
            counts: (seeds of training, sentences, 2 or 3).
            n: Words or gold spans that the figure is over.
            settings: What was chosen.
            seed: Of the bootstrap, which draws sentences.
        """
        figures = [POINTS * float(value) for value in figure_of(counts)]
        items = Items.of_ratio(as_sums(counts))
        low, high = items.interval(seed)
        return self._score(
            figures,
            Interval(POINTS * low, POINTS * high),
            n,
            parts=tuple(_seed_parts(self.metric, figures, n)),
            settings=settings,
            items=items,
        )

    def _score(
        self,
        figures: list[float] | None,
        interval: Interval | None,
        n: int,
        *,
        problem: str | None = None,
        parts: tuple[Part, ...] = (),
        settings: Mapping[str, Any] | None = None,
        items: Items | None = None,
    ) -> TrainedScore:
        return TrainedScore(
            task=self.task,
            dataset=self.dataset.name,
            metric=self.metric,
            value=None if figures is None else float(np.mean(figures)),
            interval=interval,
            coverage=self.coverage,
            n=n,
            protocol=self.protocol,
            source=self.dataset.source,
            sha256=self.dataset.sha256,
            problem=problem,
            parts=parts,
            deviation=None if figures is None else _deviation(figures),
            items=items,
            settings=settings or {},
        )


def _deviation(figures: Sequence[float]) -> float | None:
    """The standard deviation over seeds; one seed has none."""
    return float(np.std(figures, ddof=1)) if len(figures) > 1 else None


def _seed_parts(metric: str, figures: Sequence[float], n: int) -> list[Part]:
    if len(figures) == 1:
        return []
    return [Part(f"seed {number}", metric, value, n) for number, value in enumerate(figures)]
