"""The plan of a distillation: vocabulary, recipe, methods and engine, ready to run."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.core.progress import NullProfiler, Profiler
from wordstill.core.resume import CHECKPOINT, CheckpointFile
from wordstill.core.settings import Configured
from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.dealing import LEAST_FOLDS, Cells, choose_occurrences, deal_folds
from wordstill.distillation.config import DistillConfig, EarlyStopping, refuse_without_folds
from wordstill.distillation.engine import Engine, make_stages
from wordstill.distillation.language_fit import warn_if_prompt_is_foreign, warn_if_unknown_language
from wordstill.distillation.recipe import Recipe
from wordstill.distillation.snapshots import FOLDER, Point, Snapshots
from wordstill.errors import DataError
from wordstill.methods import Method, MethodSpec, RunContext
from wordstill.methods.base import Observer
from wordstill.methods.occurrence_states import OccurrenceConfig, OccurrenceStates
from wordstill.methods.sums import TableMaker
from wordstill.teacher import BatchConfig, Teacher
from wordstill.teacher.batch import usual_budget
from wordstill.vectors import WordVectors

Maker = Callable[[RunContext], dict[str, Observer]]
USUAL_FOLDS, USUAL_FOLDS_OF_GROUP = 20, 10
SHARE_OF_MEMORY = 0.5
"""Sums by cell that would take a larger share of the free memory are kept on disk."""
TABLES = 7
"""Number of sums by cell in `Still`, the method with the most."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A distillation that is ready to run."""

    corpus: Corpus
    vocabulary: Vocabulary
    recipe: Recipe
    engine: Engine
    snapshots: Snapshots
    context: RunContext
    make: Maker
    """Makes fresh methods."""

    def __post_init__(self) -> None:
        for stage in self.engine.stages:
            if stage.pause is not None:
                stage.on_end = partial(self._snapshot, self.snapshots.points[stage.pause])

    def run(self, *, resume: bool = False, progress: bool = False) -> dict[str, WordVectors]:
        """Run the engine and finish every method."""
        engine = self.engine
        layers = {layer for stage in engine.stages for layer in stage.layers}
        engine.teacher.compile_if_worth(self.corpus.n_words * self.recipe.epochs, tuple(sorted(layers)))
        done = engine.run(resume=resume, show_progress=progress)
        with engine.save_on_failure(), engine.profiler.part("finishing"):
            tables = self.finish(engine.methods, done.cut)
            return tables | self.snapshots.tables([*tables])

    def build(self, device: torch.device | None = None) -> dict[str, Observer]:
        """Fresh methods, on the teacher's device or another one."""
        return self.make(self.context if device is None else replace(self.context, device=device))

    def finish(self, methods: Mapping[str, Observer], cut: int) -> dict[str, WordVectors]:
        """The tables of methods that have observed everything, with their provenance."""
        tables = {label: self._finish(label, method, cut) for label, method in with_tables(methods).items()}
        for method in methods.values():
            if isinstance(method, OccurrenceStates):
                method.attach(tables.values())
        return tables

    def _snapshot(self, point: Point, cut: int) -> None:
        with self.engine.profiler.part("snapshots"):
            methods = with_tables(self.engine.methods)
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


def with_tables(methods: Mapping[str, Observer]) -> dict[str, Method]:
    """The methods among these observers: those that make a table."""
    return {label: method for label, method in methods.items() if isinstance(method, Method)}


def make_plan(
    teacher: Teacher,
    corpus: Corpus,
    config: DistillConfig,
    work: Path | None = None,
    early_stopping: EarlyStopping | None = None,
    profiler: Profiler | None = None,
    vocabulary: Vocabulary | None = None,
) -> Plan:
    """Build the vocabulary (unless one is given), the methods and the engine, without running the teacher.

    Raises:
        UsageError: A setting does not fit the teacher or the text.
        DataError: No word is frequent enough, or the words cannot be scored for early stopping.
    """
    profiler = profiler or NullProfiler()
    with profiler.part("vocabulary and subwords"):
        seeded = config.seeded(config.specs(teacher))
        specs = [spec for spec, _ in seeded]
        if vocabulary is None:
            # With a given vocabulary, the text is added to an earlier one, and may be small.
            _warn_of_few_sentences(len(corpus.sentences) - 1, specs)
            vocabulary = Vocabulary.build(corpus, config.vocabulary)
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
            make_cells=table_maker(cells, teacher.width, len(specs), teacher.device, work),
        )
        make = _maker(corpus, seeded, kept, context)
        methods = make(context)
        warn_if_prompt_is_foreign(methods.values(), vocabulary)
        stages = make_stages(
            teacher, corpus, vocabulary, [*methods.values()], batches, config, early_stopping, snapshots.pauses
        )
    checkpoint = None if work is None else CheckpointFile(work / CHECKPOINT, recipe.to_json())
    engine = Engine(teacher, methods, stages, checkpoint, config.checkpoint_seconds, profiler)
    return Plan(corpus, vocabulary, recipe, engine, snapshots, context, make)


def _maker(
    corpus: Corpus, seeded: list[tuple[MethodSpec, int]], kept: OccurrenceConfig | None, run: RunContext
) -> Maker:
    """A function that makes all methods of a run, and the observer that keeps occurrences."""
    chosen = None
    if kept is not None:
        chosen = choose_occurrences(corpus, run.vocabulary, kept.word_ids(run.vocabulary), kept.number, run.seed)

    def make(context: RunContext) -> dict[str, Observer]:
        methods: dict[str, Observer] = {spec.label: spec.build(replace(context, seed=seed)) for spec, seed in seeded}
        if kept is not None and chosen is not None:
            methods[OccurrenceStates.label] = OccurrenceStates(kept, context, chosen)
        return methods

    return make


def make_cells(
    corpus: Corpus, vocabulary: Vocabulary, config: DistillConfig, specs: Sequence[Configured[Method]]
) -> Cells | None:
    """The cells of a run; None if it keeps no rows by fold."""
    per_group = folds_per_group(corpus, config)
    if not per_group:
        return None
    refuse_without_folds(specs)
    plan = deal_folds(corpus, per_group, config.seed)
    _warn_of_few(corpus, plan.names, plan.dealt, np.bincount(plan.group_of_fold).tolist(), per_group)
    return Cells.count(corpus, vocabulary, plan, config.enough, config.track)


def folds_per_group(corpus: Corpus, config: DistillConfig) -> int:
    """Folds for each group on average; 0 keeps none."""
    if config.folds is not None:
        return config.folds
    if corpus.groups is not None:
        return USUAL_FOLDS_OF_GROUP
    return USUAL_FOLDS if config.track else 0


def fold_facts(corpus: Corpus, cells: Cells | None, config: DistillConfig) -> dict[str, Any] | None:
    """The facts about folds for the recipe."""
    if cells is None:
        return None
    origins = corpus.meta.get("origins") or {}
    return {
        "group": origins.get("group"),
        "bins": origins.get("bins"),
        "groups": list(cells.plan.names),
        "folds": np.bincount(cells.plan.group_of_fold, minlength=len(cells.plan.names)).tolist(),
        "dealt": list(cells.plan.dealt),
        "enough": None if config.track else config.enough,
        "track": len(config.track),
        "cells": len(cells),
        "sha256": hashlib.sha256(cells.plan.of_paragraph.tobytes() + cells.words.tobytes()).hexdigest(),
    }


def table_maker(
    cells: Cells | None, width: int, methods: int, device: torch.device, work: Path | None
) -> TableMaker | None:
    """Makes sums by cell on disk, if they would take much of the device's free memory; else None."""
    if cells is None or len(cells) * width * 4 * TABLES * methods <= SHARE_OF_MEMORY * free_memory(device):
        return None

    def make(rows: int, columns: int) -> Tensor:
        # The file is deleted but mapped, so that it is gone when the run ends.
        with tempfile.TemporaryFile(dir=work) as file:
            return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=(max(rows, 1), columns))[:rows])

    return make


def free_memory(device: torch.device) -> int:
    """Free memory of a device in bytes, or all its memory if the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, AttributeError):
            return 8 << 30


def _warn_of_few_sentences(sentences: int, specs: Sequence[MethodSpec]) -> None:
    if few := [spec for spec in specs if sentences < spec.kind.least_sentences]:
        warnings.warn(
            f"The text has {sentences:,} sentences, and the sentence regression of {few[0].label} needs "
            f"{few[0].kind.least_sentences} or more. Its vectors will say little; use a longer text.",
            stacklevel=3,
        )


def _warn_of_few(
    corpus: Corpus, names: Sequence[str], dealt: Sequence[str], folds: Sequence[int], per_group: int
) -> None:
    if per_group == 1:
        return
    by_paragraph = [name for name, kind in zip(names, dealt) if kind == "paragraphs"]
    if by_paragraph and corpus.documents is not None:
        warnings.warn(
            f"Too few documents for folds of documents in {_some(by_paragraph)}: passages are used instead, so "
            "intervals say nothing about other documents.",
            stacklevel=4,
        )
    elif by_paragraph:
        warnings.warn(
            "The text was prepared without documents, so folds are made of passages, and intervals may be too narrow. "
            "Prepare it with --documents (documents=True).",
            stacklevel=4,
        )
    if small := [name for name, number in zip(names, folds) if number < LEAST_FOLDS]:
        warnings.warn(
            f"Too little text for a comparison in {_some(small)}: fewer than {LEAST_FOLDS} folds of the size of the "
            "others. Join small groups.",
            stacklevel=4,
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
