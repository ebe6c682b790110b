"""A distillation that is ready to start: vocabulary, recipe, methods, and the engine that will feed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from wordstill.core.progress import NullProfiler, Profiler
from wordstill.core.resume import CHECKPOINT, CheckpointFile
from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.occurrence_choice import choose_occurrences
from wordstill.distillation.config import DistillConfig
from wordstill.distillation.early_stopping import EarlyStopping
from wordstill.distillation.engine import Engine
from wordstill.distillation.folding import fold_facts, make_cells, table_maker
from wordstill.distillation.language_fit import warn_if_unknown_language
from wordstill.distillation.recipe import Recipe
from wordstill.distillation.snapshots import FOLDER, Point, Snapshots
from wordstill.distillation.stages import make_stages
from wordstill.errors import DataError
from wordstill.methods import Method, RunContext
from wordstill.methods.occurrence_states import OccurrenceConfig, OccurrenceStates
from wordstill.methods.specification import MethodSpec
from wordstill.teacher import BatchConfig, Teacher
from wordstill.teacher.planning import usual_budget
from wordstill.vectors import WordVectors

Maker = Callable[[RunContext], dict[str, Method]]


@dataclass(frozen=True, eq=False)
class Plan:
    """A distillation that is ready to start."""

    corpus: Corpus
    vocabulary: Vocabulary
    recipe: Recipe
    engine: Engine
    snapshots: Snapshots
    context: RunContext
    make: Maker
    """The methods, before they have seen anything."""

    def __post_init__(self) -> None:
        for stage in self.engine.stages:
            if stage.pause is not None:
                stage.on_end = partial(self._snapshot, self.snapshots.points[stage.pause])

    def run(self, *, resume: bool = False, progress: bool = False) -> dict[str, WordVectors]:
        """Read everything and finish every method."""
        engine = self.engine
        layers = {layer for stage in engine.stages for layer in stage.layers}
        engine.teacher.compile_if_worth(self.corpus.n_words * self.recipe.epochs, tuple(sorted(layers)))
        done = engine.run(resume=resume, show_progress=progress)
        with engine.profiler.part("finishing"):
            tables = self.finish(engine.methods, done.cut)
            return tables | self.snapshots.tables([*tables])

    def build(self, device: torch.device | None = None) -> dict[str, Method]:
        """New methods that have seen nothing, on the teacher's device or on another one."""
        return self.make(self.context if device is None else replace(self.context, device=device))

    def finish(self, methods: Mapping[str, Method], cut: int) -> dict[str, WordVectors]:
        """The tables of methods that have seen everything, with their provenance."""
        tables = {label: self._finish(label, method, cut) for label, method in methods.items() if method.makes_table}
        for method in methods.values():
            method.attach(tables.values())
        return tables

    def _snapshot(self, point: Point, cut: int) -> None:
        with self.engine.profiler.part("snapshots"):
            methods = {label: method for label, method in self.engine.methods.items() if method.makes_table}
            self.snapshots.take(
                point, methods, {label: self._facts(label, each, cut) for label, each in methods.items()}
            )

    def _facts(self, label: str, method: Method, cut: int) -> dict[str, Any]:
        chosen = method.report()
        development = {**(self.recipe.development or {}), **chosen} if chosen else None
        return self.recipe.provenance(label) | {"cut_sentences": cut, "development": development}

    def _finish(self, label: str, method: Method, cut: int) -> WordVectors:
        table = method.finish(self._facts(label, method, cut))
        if not len(table):
            name = self.engine.teacher.config.name
            reason = method.why_empty() or f"the tokenizer of {name} gives no subwords for them."
            raise DataError(
                f"{label}: none of the {len(self.vocabulary)} words of the vocabulary got a vector; {reason}"
            )
        return table


def make_plan(
    teacher: Teacher,
    corpus: Corpus,
    config: DistillConfig,
    work: Path | None = None,
    early_stopping: EarlyStopping | None = None,
    profiler: Profiler | None = None,
    vocabulary: Vocabulary | None = None,
) -> Plan:
    """Build the vocabulary unless there is one, the methods and the engine; nothing is read yet.

    Raises:
        UsageError: A setting does not suit the teacher or the text.
        DataError: No word is frequent enough, or the words cannot be scored for early stopping.
    """
    profiler = profiler or NullProfiler()
    with profiler.part("vocabulary and subwords"):
        seeded = config.seeded(config.specs(teacher))
        specs = [spec for spec, _ in seeded]
        vocabulary = vocabulary or Vocabulary.build(corpus, config.vocabulary)
        warn_if_unknown_language(teacher, vocabulary)
        budget = usual_budget(teacher.device, teacher.width) if config.budget is None else config.budget
        batches = BatchConfig(budget, teacher.limit, config.read, packed=teacher.packs)
        cells = make_cells(corpus, vocabulary, config, specs)
        snapshots = Snapshots(corpus, config.snapshots, None if work is None else work / FOLDER)
        kept = None if config.occurrences is None else config.occurrences.at_depth(teacher.depth)
        recipe = replace(
            Recipe.resolve(corpus, teacher, vocabulary, specs, batches, config.seed, config.epochs, config.length),
            development=None if early_stopping is None else early_stopping.facts,
            seeds={spec.label: seed for spec, seed in seeded} if config.seeds > 1 else None,
            snapshots=tuple(point.asked for point in snapshots.points),
            occurrences=None if kept is None else kept.facts(),
            folds=fold_facts(corpus, cells, config),
        )
        if early_stopping is not None:
            early_stopping.check_words(vocabulary.keys)
        context = RunContext(
            vocabulary,
            teacher.width,
            teacher.depth,
            teacher.device,
            seed=config.seed,
            words=corpus.n_words,
            epochs=config.epochs,
            keeps_best=early_stopping is not None,
            scored=0 if early_stopping is None else early_stopping.times(corpus.n_words, config.epochs),
            length=config.length,
            texts=len(corpus) if config.read == "paragraph" else len(corpus.sentences) - 1,
            cells=cells,
            make_cells=table_maker(cells, teacher.width, len(specs), work),
        )
        make = _maker(corpus, seeded, kept, context)
        methods = make(context)
        stages = make_stages(
            teacher, corpus, vocabulary, [*methods.values()], batches, config, early_stopping, snapshots.pauses
        )
    checkpoint = None if work is None else CheckpointFile(work / CHECKPOINT, recipe.to_json())
    engine = Engine(teacher, methods, stages, checkpoint, config.checkpoint_seconds, profiler)
    return Plan(corpus, vocabulary, recipe, engine, snapshots, context, make)


def _maker(
    corpus: Corpus, seeded: list[tuple[MethodSpec, int]], kept: OccurrenceConfig | None, run: RunContext
) -> Maker:
    """Makes every method of a run, and with them what keeps occurrences."""
    chosen = None
    if kept is not None:
        chosen = choose_occurrences(corpus, run.vocabulary, kept.word_ids(run.vocabulary), kept.number, run.seed)

    def make(context: RunContext) -> dict[str, Method]:
        methods: dict[str, Method] = {spec.label: spec.build(replace(context, seed=seed)) for spec, seed in seeded}
        if kept is not None and chosen is not None:
            methods[OccurrenceStates.label] = OccurrenceStates(kept, context, chosen)
        return methods

    return make
