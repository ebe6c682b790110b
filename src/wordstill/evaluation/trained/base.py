"""Base of the tasks that train: three parts of a set, and a score over seeds with the chosen settings."""

from __future__ import annotations

import typing
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from wordstill.core.settings import Config
from wordstill.errors import TeacherError, TrainingError
from wordstill.evaluation.data.examples import TAGS, Published, Splits, Words, class_problem, tag_problem
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import POINTS, Coverage, ItemScores, Part, Score, Source
from wordstill.evaluation.statistics import Interval
from wordstill.evaluation.tasks.base import Task
from wordstill.evaluation.trained.tags import TagCoder, accuracy, are_spans, as_sums, macro_f1, score_of
from wordstill.evaluation.trained.word_table import Ids, Sentences, distinct_words

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Settings = TypeVar("Settings", bound=Config)
Predicted = tuple[list[Ids], dict[str, Any]]
"""Each seed's predictions for the test part, and the chosen settings."""
NO_TEACHER = "the table does not name the model that it was distilled from; give one (--teacher)"


@dataclass(frozen=True)
class TrainedScore(Score):
    """A score with the settings chosen on the development part."""

    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """What all scores of one run have in common."""

    source: Source
    coverage: Coverage

    def without_score(self, problem: str) -> TrainedScore:
        """A score that says why there is no score."""
        return TrainedScore(
            **self.source._asdict(), value=None, interval=None, coverage=self.coverage, n=0, problem=problem
        )

    def of_labels(
        self, gold: Ids, predicted: Sequence[Ids], classes: int, settings: Mapping[str, Any], seed: int
    ) -> TrainedScore:
        """Accuracy, with macro-F1 as a part.

        Args:
            gold: Class numbers, (sentences,).
            predicted: The predictions of each seed.
            classes: Number of classes.
            settings: The chosen settings.
            seed: Of the bootstrap.
        """
        macro = [POINTS * macro_f1(gold, guess, classes) for guess in predicted]
        if len(macro) > 1:
            settings = {**settings, "macro_f1_deviation": _deviation(macro)}
        right = np.stack([guess == gold for guess in predicted]).astype(np.float64)
        items = ItemScores("mean", np.asarray(right.mean(axis=0)))
        beside = Part("macro-F1", "macro_f1", float(np.mean(macro)), len(gold))
        scores = [POINTS * accuracy(gold, guess) for guess in predicted]
        return self._score(scores, items, len(gold), settings, seed, beside)

    def of_counts(self, counts: Ids, n: int, settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """A ratio of sums over sentences: word accuracy or span F1.

        Args:
            counts: (seeds of training, sentences, 2 or 3).
            n: Words or gold spans that the score is over.
            settings: The chosen settings.
            seed: Of the bootstrap, which samples sentences.
        """
        scores = [POINTS * float(value) for value in score_of(counts)]
        return self._score(scores, ItemScores.of_ratio(as_sums(counts)), n, settings, seed)

    def _score(
        self, scores: list[float], items: ItemScores, n: int, settings: Mapping[str, Any], seed: int, *beside: Part
    ) -> TrainedScore:
        low, high = items.interval(seed)
        return replace(
            self.without_score(""),
            value=float(np.mean(scores)),
            interval=Interval(POINTS * low, POINTS * high),
            n=n,
            problem=None,
            parts=(*beside, *_seed_parts(self.source.metric, scores, n)),
            deviation=_deviation(scores),
            items=items,
            settings=settings,
        )


def _deviation(scores: Sequence[float]) -> float | None:
    """The standard deviation over seeds; None for a single seed."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else None


def _seed_parts(metric: str, scores: Sequence[float], n: int) -> list[Part]:
    if len(scores) == 1:
        return []
    return [Part(f"seed {number}", metric, value, n) for number, value in enumerate(scores)]


class Targets(typing.Protocol):
    """The labels or tags of the three parts."""

    @property
    def classes(self) -> int:
        """Number of distinct labels or tags."""
        ...

    @property
    def numbers(self) -> tuple[Ids, ...]:
        """Those of the training, development and test part, as numbers."""
        ...

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """The score of each seed's predictions for the test part."""
        ...


@dataclass(frozen=True, eq=False)
class LabelTargets:
    """A class for each sentence."""

    names: tuple[str, ...]
    numbers: tuple[Ids, ...]

    @classmethod
    def of(cls, splits: Splits[str]) -> LabelTargets:
        """Number the labels by the classes of the training part."""
        names = tuple(sorted(set(splits.train.targets)))
        number = {label: place for place, label in enumerate(names)}
        return cls(names, tuple(np.array([number[label] for label in part.targets], dtype=np.int64) for part in splits))

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.names)

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """Accuracy and macro-F1."""
        return frame.of_labels(self.numbers[2], predicted, self.classes, settings, seed)


@dataclass(frozen=True, eq=False)
class TagTargets:
    """A tag for each word."""

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
        """Number of tags."""
        return len(self.coder.tags)

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """Word accuracy or span F1."""
        starts = np.cumsum([0, *map(len, self.gold)], dtype=np.int64)
        counts = np.stack(
            [self.coder.counts(self.gold, self.coder.decode(Sentences(tags, starts))) for tags in predicted]
        )
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), settings, seed)


class Ready(NamedTuple):
    """A task whose words are looked up, ready to train."""

    coverage: Coverage
    problem: str | None
    """Why there can be no score."""
    predict: Callable[[Any], Predicted]
    """Trains, given the `Targets`."""


class TrainedTask(Task[Published[Any]], Generic[Settings]):
    """Trains on one part of a set, chooses settings on another, and is scored on the third.

    Args:
        dataset: The name of a set of the registry, the path of a user's own file, or a loaded set.
        config: Settings; None takes the defaults.
        progress: Show a bar with the rate and the time left.
    """

    trains = True
    usual: ClassVar[Config]
    """The default settings."""
    config: Settings

    def __init__(
        self,
        dataset: str | Path | LoadedDataset[Published[str]] | LoadedDataset[Published[Words]],
        config: Settings | None = None,
        *,
        progress: bool = False,
    ) -> None:
        super().__init__(dataset, progress=progress)
        self.config = type(self).usual if config is None else config  # type: ignore[assignment]

    @property
    def tagged(self) -> bool:
        """Whether words have tags, rather than sentences labels."""
        return self.dataset.holds == TAGS

    @property
    def metric(self) -> str:
        """``accuracy``, or ``span_f1`` if tags mark spans."""
        return "span_f1" if self.tagged and are_spans(self.dataset.content.train.targets) else "accuracy"

    def words(self) -> tuple[str, ...]:
        """All distinct words of the set."""
        return distinct_words(self.dataset.content.sentences())

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> TrainedScore:
        """Score a table; the seed is the first training seed and that of the bootstrap."""
        rules, splits = resolve(protocol), self._splits()
        ready = self._ready(vectors, rules, splits, seed)
        frame = Frame(self.source(rules), ready.coverage)
        problem = tag_problem(splits) if self.tagged else class_problem(splits)
        if problem := problem or ready.problem:
            return frame.without_score(problem)
        targets: Targets = TagTargets.of(splits) if self.tagged else LabelTargets.of(splits)
        try:
            predicted, settings = ready.predict(targets)
        except (TeacherError, TrainingError) as error:
            return frame.without_score(str(error))
        return targets.score(frame, predicted, settings, seed)

    @abstractmethod
    def _splits(self) -> Splits[Any]:
        """The training, development and test part."""

    @abstractmethod
    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[Any], seed: int) -> Ready:
        """Look up the words, if the task uses the table's vectors, and prepare training."""


def running_words(splits: Splits[Any]) -> Coverage:
    """Full coverage of all words, for a model that reads text itself."""
    words = sum(len(sentence) for part in splits for sentence in part.sentences)
    return Coverage(words, words)


def table_problem(coverage: Coverage) -> str | None:
    """Why there is no score: a table without any of the words is not scored at chance level."""
    return None if coverage.used else f"none of the {coverage.total} running words is in the table"
