"""What tasks that train share: three parts of a set, and a score over seeds with the settings that were chosen."""

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
"""What each seed predicts for the targets of the test part, and the settings that were chosen."""
NO_TEACHER = "the table does not name the model that it was distilled from; give one (--teacher)"


@dataclass(frozen=True)
class TrainedScore(Score):
    """A score with the settings that were chosen on the development part."""

    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """What every score of one run has in common."""

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
        """The accuracy, with macro-F1 beside it.

        Args:
            gold: Numbers of classes, (sentences,).
            predicted: The same as each seed of training gave them.
            classes: How many there are.
            settings: What was chosen.
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
        """A measure that is a ratio of sums over sentences: accuracy of words, or F1 of spans.

        Args:
            counts: (seeds of training, sentences, 2 or 3).
            n: Words or gold spans that the score is over.
            settings: What was chosen.
            seed: Of the bootstrap, which draws sentences.
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
    """The standard deviation over seeds; one seed has none."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else None


def _seed_parts(metric: str, scores: Sequence[float], n: int) -> list[Part]:
    if len(scores) == 1:
        return []
    return [Part(f"seed {number}", metric, value, n) for number, value in enumerate(scores)]


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

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
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
        return cls(names, tuple(np.array([number[label] for label in part.targets], dtype=np.int64) for part in splits))

    @property
    def classes(self) -> int:
        """How many."""
        return len(self.names)

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
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

    def score(self, frame: Frame, predicted: Sequence[Ids], settings: Mapping[str, Any], seed: int) -> TrainedScore:
        """Accuracy of words or F1 of spans."""
        starts = np.cumsum([0, *map(len, self.gold)], dtype=np.int64)
        counts = np.stack(
            [self.coder.counts(self.gold, self.coder.decode(Sentences(tags, starts))) for tags in predicted]
        )
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), settings, seed)


class Ready(NamedTuple):
    """What is left to do once the words of a set were looked up."""

    coverage: Coverage
    problem: str | None
    """Why there can be no score."""
    predict: Callable[[Any], Predicted]
    """Trains, given the `Targets`."""


class TrainedTask(Task[Published[Any]], Generic[Settings]):
    """Trains on one part of a set, chooses settings on another, and is scored on the third.

    Args:
        dataset: The name of a set of the registry, the path of an own file, or a set that was read already.
        config: Settings; None takes the usual ones.
        progress: Show a bar with the rate and the time left.
    """

    trains = True
    usual: ClassVar[Config]
    """The settings if none are given."""
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
        """Whether words have the targets, not sentences."""
        return self.dataset.holds == TAGS

    @property
    def metric(self) -> str:
        """``accuracy``, or ``span_f1`` where tags mark spans."""
        return "span_f1" if self.tagged and are_spans(self.dataset.content.train.targets) else "accuracy"

    def words(self) -> tuple[str, ...]:
        """Every different word of the set."""
        return distinct_words(self.dataset.content.sentences())

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> TrainedScore:
        """Score a table; the seed is the first of training and that of the bootstrap."""
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
        """The three parts."""

    @abstractmethod
    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[Any], seed: int) -> Ready:
        """Look the words up, if a table is scored, and say how to train."""


def running_words(splits: Splits[Any]) -> Coverage:
    """All words of the parts: a model that reads text lacks none of them."""
    words = sum(len(sentence) for part in splits for sentence in part.sentences)
    return Coverage(words, words)


def table_problem(coverage: Coverage) -> str | None:
    """Why there can be no score: a table that knows nothing does not have the score of chance."""
    return None if coverage.used else f"none of the {coverage.total} running words is in the table"
