"""One distillation: its settings, and everything put together and ready to start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from wordstill.core.files import disk_errors
from wordstill.core.progress import Stopwatch, Unwatched
from wordstill.core.resume import CHECKPOINT, CheckpointFile, Progress
from wordstill.core.settings import SEEDS, Config, Range
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig
from wordstill.corpus.input_text import as_list, is_one_store, open_or_prepare
from wordstill.corpus.sources import find_sources
from wordstill.distillation.early_stopping import Development
from wordstill.distillation.engine import Engine, Stage
from wordstill.distillation.recipe import Recipe
from wordstill.errors import DataError
from wordstill.methods import METHODS, Method, Setup, check_specs, read_specs
from wordstill.methods.learning.learner import Learner
from wordstill.teacher import (
    BatchConfig,
    Teacher,
    TeacherConfig,
    TextBatches,
    WordListBatches,
    subword_source,
)
from wordstill.teacher.batch import Unit
from wordstill.teacher.gathering import Place, gatherer
from wordstill.teacher.planning import usual_budget
from wordstill.vectors import WordVectors

EPOCH_STRIDE = 1_000_003


@dataclass(frozen=True)
class DistillConfig(Config):
    """Settings of a whole distillation; each part has the defaults of its room."""

    methods: tuple[str, ...] = ("still",)
    """What to make, for example ``still`` or ``ase:layer=all``."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How text that is not a store yet is prepared."""
    budget: Annotated[int | None, Range(1)] = None
    """Sub-words in a batch; None takes 2,048 on a CPU and 131,072 on a GPU, or what its memory holds."""
    read: Unit = "sentence"
    """What the teacher reads as one text: each sentence by itself, or whole paragraphs."""
    batches: Place = "auto"
    """Where batches are made, with the same result: by threads of the host, or by a GPU, which is faster."""
    epochs: Annotated[int, Range(1)] = 1
    """How often methods that learn step by step read the text; those that keep sums read it once."""
    seed: Annotated[int, SEEDS] = 0
    checkpoint_seconds: float = 120.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_specs(self.methods, METHODS)

    def check_development(self, development: Development | None) -> None:
        """Refuse a judge that has nothing to choose, before anything is loaded."""
        if development is None:
            return
        learners = [text for text in self.methods if METHODS[text.partition(":")[0].strip()].learns]
        development.refuse_idle(self.methods, learners=learners, epochs=self.epochs)


class Run:
    """A distillation that is ready to start.

    Args:
        teacher: The model.
        corpus: The text.
        config: All settings; the teacher's and the text's own are not looked at.
        work: Folder for checkpoints; None saves none.
        development: Judges learners after each epoch; None reads all epochs.
        watch: Measures where the time goes; None does not.
    """

    def __init__(
        self,
        teacher: Teacher,
        corpus: Corpus,
        config: DistillConfig,
        work: Path | None = None,
        development: Development | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        self.teacher, self.corpus, self.development = teacher, corpus, development
        specs = read_specs(config.methods, METHODS, teacher.depth)
        self.vocabulary = Vocabulary.build(corpus, config.vocabulary)
        budget = usual_budget(teacher.device, teacher.width) if config.budget is None else config.budget
        self.batches = BatchConfig(budget, teacher.limit, config.read, packed=teacher.packs)
        self.config = config
        self.recipe = Recipe.resolve(
            corpus,
            teacher,
            self.vocabulary,
            specs,
            self.batches,
            config.seed,
            config.epochs,
            development.facts if development is not None else None,
        )
        if development is not None:
            development.check_words(self.vocabulary.keys)
        setup = Setup(
            self.vocabulary,
            teacher.width,
            teacher.depth,
            teacher.device,
            seed=config.seed,
            words=corpus.n_words,
            epochs=config.epochs,
            judged=development is not None,
        )
        self.methods: dict[str, Method] = {spec.label: spec.build(setup) for spec in specs}
        checkpoint = CheckpointFile(work / CHECKPOINT, self.recipe.to_json()) if work is not None else None
        self.engine = Engine(
            teacher, self.methods, self._stages(), checkpoint, config.checkpoint_seconds, watch
        )

    @classmethod
    def load(
        cls,
        inputs: str | Path | Sequence[str | Path],
        config: DistillConfig,
        work: Path,
        *,
        progress: bool,
        checkpoints: bool = True,
        development: Development | None = None,
        watch: Stopwatch | None = None,
    ) -> Run:
        """Load the teacher, open or prepare the text, and build the run.

        Args:
            inputs: A store, or text to prepare.
            config: All settings.
            work: Folder for the prepared text and the checkpoints; made if it is not there.
            progress: Show a progress bar while the text is prepared.
            checkpoints: Whether the run saves its state there.
            development: Judges learners after each epoch.
            watch: Measures where the time goes.
        """
        config.check_development(development)
        paths = as_list(inputs)
        if not is_one_store(paths):
            # Missing files are found here, before the teacher is loaded.
            find_sources(paths)
        watch = watch or Unwatched()
        with watch.part("loading the teacher"):
            teacher = Teacher.from_config(config.teacher)
        for spec in read_specs(config.methods, METHODS, teacher.depth):
            spec.kind.check(spec.config, teacher.width)
        with disk_errors(work):
            work.mkdir(parents=True, exist_ok=True)
        with watch.part("preparing the text"):
            corpus = open_or_prepare(paths, config.prepare, work, progress=progress)
        with watch.part("vocabulary and sub-words"):
            return cls(teacher, corpus, config, work if checkpoints else None, development, watch)

    def tables(self, *, resume: bool = False, progress: bool = False) -> dict[str, WordVectors]:
        """Read everything and finish every method."""
        layers = {layer for stage in self.engine.stages for layer in stage.layers}
        self.teacher.compile_if_worth(self.corpus.n_words * self.config.epochs, tuple(sorted(layers)))
        done = self.engine.run(resume=resume, show_progress=progress)
        with self.engine.watch.part("finishing"):
            return {label: self._finish(label, method, done) for label, method in self.methods.items()}

    def _finish(self, label: str, method: Method, done: Progress) -> WordVectors:
        table = method.finish()
        if not len(table):
            raise DataError(
                f"{label}: none of the {len(self.vocabulary)} words of the vocabulary got a vector; "
                f"{self._why_empty(method)}"
            )
        provenance = self.recipe.provenance(label) | {
            "cut_sentences": done.cut,
            "development": self._judgement(method),
        }
        return WordVectors(table.words, table.matrix, counts=table.counts, provenance=provenance)

    def _why_empty(self, method: Method) -> str:
        if isinstance(method, Learner) and method.config.subsample > 0:
            left = float(method.noise.expected_positives.sum())
            return (
                f"subsample={method.config.subsample:g} thins the text out to about {left:,.0f} words, and "
                "none was left to learn from. Raise it, or set subsample=0."
            )
        return f"the tokenizer of {self.teacher.config.name} gives no sub-words for them."

    def _judgement(self, method: Method) -> dict[str, Any] | None:
        """By what a table was chosen, and which one; None for those that were not chosen."""
        if self.recipe.development is None or not isinstance(method, Learner) or method.best is None:
            return None
        chosen = {"kept_epoch": int(method.best.epoch), "score": float(method.best.score)}
        return self.recipe.development | chosen

    def _stages(self) -> list[Stage]:
        tokenizer = self.teacher.tokenizer
        stages = []
        alone = [method for method in self.methods.values() if len(method.words_alone())]
        if alone:
            ids = np.unique(np.concatenate([method.words_alone() for method in alone]))
            words = [self.vocabulary.surfaces[number] for number in ids]
            batches = WordListBatches(words, ids, tokenizer, self.batches)
            stages.append(Stage("words alone", batches, alone, alone=True, words=len(words)))
        readers = [method for method in self.methods.values() if method.reads_text]
        return stages + (self._text_stages(readers) if readers else [])

    def _text_stages(self, readers: list[Method]) -> list[Stage]:
        """The text once for everyone, and again for those that learn from reading it again."""
        learners = [method for method in readers if isinstance(method, Learner)]
        tokenizer = self.teacher.tokenizer
        source = subword_source(self.corpus, tokenizer)
        limit, device = self.batches.limit, self.teacher.device
        gather = gatherer(self.config.batches, source, self.vocabulary, tokenizer, limit, device)
        stages: list[Stage] = []
        for epoch in range(self.config.epochs if learners else 1):
            order = (self.config.seed + 1) * EPOCH_STRIDE + epoch if learners else None
            text = TextBatches(self.corpus, self.vocabulary, source, tokenizer, self.batches, order, gather)
            title = f"text, epoch {epoch + 1}" if len(stages) or self.config.epochs > 1 else "text"
            stages.append(
                Stage(
                    title,
                    text,
                    list(learners) if epoch else readers,
                    alone=False,
                    words=self.corpus.n_words,
                    enough=partial(self._enough, epoch + 1),
                )
            )
        return stages

    def _enough(self, epoch: int) -> bool:
        learners = {name: each for name, each in self.methods.items() if isinstance(each, Learner)}
        return self.development is not None and bool(learners) and self.development.enough(learners, epoch)
