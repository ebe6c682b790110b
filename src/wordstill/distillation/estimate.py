"""Dry run: the time, memory and disk of a distillation, estimated from a short probe."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from wordstill.core.progress import NullProfiler, Profiler
from wordstill.corpus import PrepareConfig
from wordstill.corpus.paragraphs import Block, read_paragraphs
from wordstill.corpus.preparation import BLOCK_BYTES, is_one_store
from wordstill.corpus.readers import read_parts
from wordstill.corpus.sources import find_sources
from wordstill.distillation.config import DistillConfig, EarlyStopping
from wordstill.distillation.distilling import load
from wordstill.distillation.engine import Stage
from wordstill.distillation.plan import Plan, make_plan, with_tables
from wordstill.distillation.recipe import Recipe
from wordstill.teacher import Batch, DeviceBatch, Teacher
from wordstill.teacher.device import synchronize

PROBE_SECONDS = 5.0
PROBE_BYTES = 4 << 20
PROBE_PARTS = 5


@dataclass(frozen=True)
class Step:
    """A step of the run, which reads ``words`` words."""

    title: str
    seconds: float
    measured: float
    """Seconds of the probe, from which ``seconds`` is scaled."""
    words: int = 0
    spread: tuple[float, float] | None = None
    """``seconds`` at the fastest and slowest rate of the probe; None if there was only one."""


@dataclass(frozen=True)
class Prefix:
    """The probed beginning of unprepared text, in stored bytes."""

    bytes: int
    total: int


@dataclass(frozen=True)
class Estimate:
    """The expected cost of a run. Sizes are in bytes; with a prefix, they are for its ``rows`` words."""

    rows: int
    """Words that get a vector; with a prefix, a lower bound."""
    steps: tuple[Step, ...]
    memory: int | None
    """Peak memory of the process; None on Windows, which does not report it."""
    device_memory: int | None
    """Peak memory on the GPU; None without one."""
    artifact: int
    checkpoint: int
    store: int = 0
    """Size of the prepared text; 0 if the input is a store."""
    prefix: Prefix | None = None
    """The probed beginning; None if it was the whole text."""
    cells: int = 0
    """Rows of words in folds."""
    cell_bytes: int = 0
    """Their size during the run."""
    cells_on_disk: bool = False

    @property
    def seconds(self) -> float:
        """Time of the whole run."""
        return sum(step.seconds for step in self.steps)

    @property
    def working(self) -> int:
        """Disk needed only during the run; a new checkpoint is complete before the old one is deleted."""
        return self.store + 2 * self.checkpoint


def dry_run(
    inputs: Sequence[str | Path],
    config: DistillConfig,
    early_stopping: EarlyStopping | None = None,
    *,
    probe_bytes: int = PROBE_BYTES,
    probe_seconds: float = PROBE_SECONDS,
) -> tuple[Recipe, Estimate]:
    """Resolve the recipe and estimate the run; only temporary files are written.

    A store is opened, and text of up to ``probe_bytes`` is prepared whole. Of longer text only the beginning is
    prepared: time and disk for the text are scaled by bytes, the vocabulary is a lower bound, and the words of the
    development set are not checked.
    """
    with TemporaryDirectory(prefix="wordstill-") as folder:
        profiler, stored, prefix, share = Profiler(synchronize), is_one_store(inputs), None, 1.0
        with profiler.part("reading"):
            # Only the whole text determines which words get rows by fold.
            needs_all = config.prepare.keeps_documents or bool(config.folds or config.track)
            beginning = None if stored or needs_all else _beginning(inputs, config.prepare, Path(folder), probe_bytes)
        if beginning is not None:
            inputs, prefix = [beginning[0]], beginning[1]
            share = prefix.bytes / prefix.total
            config = replace(config, prepare=replace(config.prepare, format="text", encoding="utf-8"))
            early_stopping = early_stopping and replace(early_stopping, check_words=lambda words: None)
        teacher, corpus = load(inputs, config, Path(folder), early_stopping=early_stopping, profiler=profiler)
        plan = make_plan(teacher, corpus, config, early_stopping=early_stopping, profiler=profiler)
        # One process prepares the probe; all cores prepare the whole text.
        processes = min(os.cpu_count() or 1, math.ceil(probe_bytes / share / BLOCK_BYTES)) if prefix else 1
        preparing = profiler.seconds["preparing the text"] + (profiler.seconds["reading"] if prefix else 0)
        loading = profiler.seconds["loading the teacher"] + profiler.seconds["vocabulary and subwords"]
        title = "check the prepared text" if stored else "prepare the text"
        first = (Step(title, preparing / share / processes, preparing), Step("load the teacher", loading, loading))
        probed = estimate(plan, share, limit=probe_seconds)
        size = 0 if stored else sum(file["bytes"] for file in corpus.meta["files"].values())
        whole = replace(probed, steps=first + probed.steps, store=round(size / share), prefix=prefix)
        return (_open_recipe(plan, share) if prefix else plan.recipe), whole


def estimate(plan: Plan, share: float = 1.0, *, limit: float = PROBE_SECONDS) -> Estimate:
    """Run some batches of every stage, and scale by words.

    Args:
        plan: The run. Its methods observe some batches, so it must not be run afterwards.
        share: Its corpus as a share of the whole text.
        limit: Seconds for the probe; one batch of each stage is run in any case.
    """
    teacher, stages, methods = plan.engine.teacher, plan.engine.stages, plan.engine.methods
    distilling = with_tables(methods).values()
    steps = [_probe(teacher, stage, limit / len(stages), 1 if stage.isolated else share) for stage in stages]
    on_gpu, words = teacher.device.type == "cuda", round(plan.corpus.n_words / share)
    held, read = (torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()) if on_gpu else (0, 0)
    reading, start = _peak_memory(), time.monotonic()
    tables = [method.finish() for method in distilling]
    beside = sum(method.memory() for method in methods.values() if method not in distilling)
    finishing = time.monotonic() - start
    finished, rows = _peak_memory(), len(plan.vocabulary)
    checkpoint = sum(method.memory_after(words) for method in methods.values())
    growing = checkpoint - sum(method.memory() for method in methods.values())
    # The regressions run one after another.
    to_finish = max((method.memory_to_finish(words) for method in methods.values()), default=0)
    word_bytes = sum(len(word.encode()) + 1 for word in plan.vocabulary.keys)
    sums = [method.cells for method in distilling if method.cells is not None]
    cells = len(sums[0].cells) if sums else 0
    # Rows by fold are made in parts and then joined; the probe has few of them.
    later = finished - reading + 2 * sum(cells * 4 * table.dim for table in tables)
    # A checkpoint of a GPU's memory is a temporary copy, freed before the finish.
    more = max(checkpoint, later) if on_gpu else checkpoint + max(later, to_finish)
    return Estimate(
        rows=rows,
        steps=(*steps, Step("finish", finishing, finishing)),
        memory=reading + more if reading else None,
        device_memory=max(torch.cuda.max_memory_allocated(), max(read, held + to_finish) + growing) if on_gpu else None,
        artifact=sum(
            rows * (4 * table.dim + 8) + word_bytes + beside + cells * (4 * table.dim + 16) for table in tables
        ),
        checkpoint=checkpoint,
        cells=cells,
        cell_bytes=sum(part.sums.nbytes for each in sums for part in each.parts.values()),
        cells_on_disk=any(method.run.make_cells is not None for method in distilling),
    )


def _beginning(
    inputs: Sequence[str | Path], config: PrepareConfig, folder: Path, limit: int
) -> tuple[Path, Prefix] | None:
    """The first ``limit`` bytes of text as a plain file; None if there is no more, or if the input is a pipe.

    A pipe can be read only once and has no known length, so it is prepared whole.
    """
    sources = find_sources(inputs)
    if any(source.size is None for source in sources):
        return None
    # This name appears in error messages.
    path = folder / f"beginning of {Path(sources[0].name).name}.txt"
    end = "\n\n" if config.sentences_per_line else "\n"
    read = consumed = 0
    with path.open("w", encoding="utf-8") as file:
        for part in read_parts(sources, config, max(1, limit // 4)):
            if read >= limit:
                return path, Prefix(consumed, sum(source.size or 0 for source in sources))
            file.writelines("\n".join(lines) + end for lines in read_paragraphs(Block(0, (part,)), config))
            read, consumed = read + len(part.payload), part.consumed
    return None


def _probe(teacher: Teacher, stage: Stage, limit: float, share: float) -> Step:
    """Time some batches of a stage; the corpus is ``share`` of the whole text."""
    rates: list[tuple[int, float]] = []
    window = _first_window(stage)
    for turn, number in enumerate(np.random.default_rng(0).permutation(len(window))):
        if turn == 1 and rates[0][1] < limit / 2:
            # The first batch includes allocations and compilation, so it counts only if it took most of the time.
            rates.clear()
        start = time.monotonic()
        stage.observe(teacher.encode(window[number], stage.layers), NullProfiler())
        synchronize()
        rates.append((window[number].n_words, time.monotonic() - start))
        if sum(seconds for _, seconds in rates) > limit:
            break
    total, measured = round(stage.words / share), sum(seconds for _, seconds in rates)
    # The median of a few rates, because other programs slow some batches down.
    parts = [part.sum(axis=0) for part in np.array_split(np.array(rates, ndmin=2), min(PROBE_PARTS, len(rates)))]
    expected = sorted(float(total * seconds / max(words, 1)) for words, seconds in parts)
    spread = (expected[0], expected[-1]) if len(expected) > 1 else None
    return Step(stage.title, float(np.median(expected)), measured, total, spread)


def _first_window(stage: Stage) -> list[Batch | DeviceBatch]:
    """The batches of the first window, which range from long texts to short ones."""
    found = []
    for position, batch in stage.batches.since((0, 0)):
        found.append(batch)
        if position[1] == 0:
            break
    return found


def _open_recipe(plan: Plan, share: float) -> Recipe:
    """The recipe of a run on a prefix, without facts that only the whole text determines."""
    words, size = f"about {round(plan.corpus.n_words / share):,}", f"at least {len(plan.vocabulary):,}"
    return replace(
        plan.recipe,
        corpus=plan.recipe.corpus | {"hash": "known when the text is prepared", "words": words},
        vocabulary=plan.recipe.vocabulary | {"size": size},
    )


def _peak_memory() -> int:
    """Peak memory of this process so far, in bytes; 0 on Windows, which does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
