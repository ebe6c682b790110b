"""The upper row: the parent model itself, trained further on the task, with a linear layer on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordstill.errors import TeacherError, TrainingError
from wordstill.evaluate.extrinsic.config import ParentConfig
from wordstill.evaluate.extrinsic.examples import (
    Published,
    Splits,
    Words,
    class_problem,
    divide_by_class,
    divide_in_order,
    tag_problem,
)
from wordstill.evaluate.extrinsic.extras import require_training
from wordstill.evaluate.extrinsic.tag_coding import are_spans
from wordstill.evaluate.extrinsic.targets import LabelTargets, TagTargets, Targets
from wordstill.evaluate.extrinsic.trained import Frame, TrainedScore
from wordstill.evaluate.extrinsic.word_table import Ids, distinct_words
from wordstill.evaluate.loaded import Loaded
from wordstill.evaluate.protocol import Protocol, resolve
from wordstill.evaluate.score import Coverage

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


class ParentTask:
    """Accuracy (of spans: F1) of the language model that vectors were distilled from.

    Args:
        dataset: As for ``ClassificationTask`` and ``TaggingTask``.
        config: Settings.
        teacher: A folder, a name on the Hub, or the embedded model; None takes what the table's provenance
            names.
        progress: Show a bar with the rate and the time left.
    """

    kind = "parent"

    def __init__(
        self,
        dataset: str | Path | Loaded[Published[str]] | Loaded[Published[Words]],
        config: ParentConfig | None = None,
        *,
        teacher: str | None = None,
        progress: bool = False,
    ) -> None:
        # A registered set has labels or tags, as its reader says; a file of a user's own has labels.
        self.dataset = Loaded[Published[Any]].load(dataset, self.kind)
        self.config = config or ParentConfig()
        self.teacher = teacher
        self.progress = progress

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

    @property
    def tagged(self) -> bool:
        """Whether words have the targets, not sentences."""
        return not isinstance(self.dataset.content.train.targets[0], str)

    @property
    def metric(self) -> str:
        """``accuracy`` or ``span_f1``."""
        spans = self.tagged and are_spans(self.dataset.content.train.targets)
        return "span_f1" if spans else "accuracy"

    def words(self) -> tuple[str, ...]:
        """Every different word of the set."""
        return distinct_words(self.dataset.content.sentences())

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> TrainedScore:
        """Score the parent of a table; of the table itself only the provenance is looked at."""
        config, published = self.config, self.dataset.content
        divided = divide_in_order(published) if self.tagged else divide_by_class(published, config.split_seed)
        splits: Splits[Any] = divided.thinned(config.limit, config.split_seed)
        words = sum(len(sentence) for part in splits for sentence in part.sentences)
        frame = Frame(self.kind, self.metric, self.dataset, resolve(protocol), Coverage(words, words))
        teacher = self.teacher or _teacher_of(vectors)
        problem = tag_problem(splits) if self.tagged else class_problem(splits)
        if problem is None and teacher is None:
            problem = "the table does not name the model that it was distilled from; give one (--teacher)"
        if problem is not None or teacher is None:
            return frame.without_figure(str(problem))
        targets: Targets = TagTargets.of(splits) if self.tagged else LabelTargets.of(splits)
        try:
            predicted, settings = self._predict(teacher, splits, targets, seed)
        except (TeacherError, TrainingError) as error:
            return frame.without_figure(str(error))
        return targets.score(frame, predicted, settings, seed)

    def _predict(
        self, teacher: str, splits: Splits[Any], targets: Targets, seed: int
    ) -> tuple[list[Ids], dict[str, Any]]:
        require_training("Training the parent model further")
        from wordstill.evaluate.extrinsic.parent_model import ParentLearner
        from wordstill.evaluate.extrinsic.training import search_and_retrain
        from wordstill.teacher.device import choose_device
        from wordstill.teacher.loading import load_model_and_tokenizer

        model, tokenizer = load_model_and_tokenizer(teacher)
        learner = ParentLearner(
            model, tokenizer, teacher, targets.classes, self.config, choose_device(self.config.device)
        )
        parts = [
            learner.encode(part.sentences, numbers, of_words=self.tagged)
            for part, numbers in zip(splits, targets.numbers)
        ]
        predicted, choice = search_and_retrain(
            learner, parts, self.config, seed, self.name, progress=self.progress
        )
        return predicted, {"teacher": teacher, **asdict(choice)}


def _teacher_of(vectors: WordVectors) -> str | None:
    """The name of the model in a table's provenance."""
    teacher = vectors.provenance.get("teacher")
    name = teacher.get("name") if isinstance(teacher, Mapping) else teacher
    return name if isinstance(name, str) else None
