"""The cost of rows by fold: seconds and peak memory of a run with folds and of the same run without, taking turns.

The pass is from the first batch of the text to the last; the whole adds planning, which counts the words of every fold,
the isolated words, and finishing. Preparing the text, loading the teacher and a warm-up, in which kernels are compiled,
are excluded, and nothing is saved. The memory stated by `distill --dry-run` is recorded first. On a GPU all runs share
a process, and each kind is planned once; on a CPU, where peak memory cannot be reset, each run has its own process.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.speed.common import Row, met, save, show
from wordstill.corpus import Corpus, PrepareConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation.config import DistillConfig
from wordstill.distillation.distilling import load
from wordstill.distillation.engine import Batches, Position
from wordstill.distillation.estimate import estimate
from wordstill.distillation.plan import Plan, make_plan, with_tables
from wordstill.teacher import Batch, DeviceBatch, Teacher, TeacherConfig
from wordstill.teacher.device import synchronize
from wordstill.teacher.loading import NAME

BENCHMARK = "folds"
TITLE = "Rows by fold"
KINDS = {"enwiki-a": "Wikipedia, on a GPU:"}
LIMIT = 1.15
"""Of the plain pass."""
WITHIN = 0.10
"""How far stated memory may be from the peak."""
PROBE = 2.0
"""Seconds of a dry run's probe."""
WARM_UP = 9
"""Batches: a window of every length, and one more."""
PLAIN, FOLDED = "plain", "with folds"


@dataclass(frozen=True)
class Job:
    """What is measured."""

    store: Path
    work: Path
    teacher: TeacherConfig
    folds: int
    turns: int

    def config(self, kind: str) -> DistillConfig:
        """The settings of a run."""
        return DistillConfig(teacher=self.teacher, folds=self.folds if kind == FOLDED else None)


@dataclass(frozen=True, eq=False)
class First:
    """The first batches of others."""

    batches: Batches
    number: int

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """Up to the number."""
        return islice(self.batches.since(position), self.number)


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        corpus = open_or_prepare([options.text], PrepareConfig(documents=True), Path(folder), progress=False)
        teacher = TeacherConfig(options.teacher, options.device)
        job = Job(corpus.path, Path(folder), teacher, options.folds, options.turns)
        on_gpu = options.device != "cpu" and torch.cuda.is_available()
        result: dict[str, Any] = {
            "text": options.text.name,
            "teacher": Path(options.teacher).name,
            "words": corpus.n_words,
            "folds": options.folds,
            **({"gpu": torch.cuda.get_device_name()} if on_gpu else {}),
            **(in_process(together, job) if on_gpu else apart(job)),
        }
    show(rows(result), remarks(result))
    save(BENCHMARK, result, commit=options.commit, kind=options.name)


def in_process(do: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process, whose peak of memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(do, *arguments).result()


@dataclass(eq=False)
class Planned:
    """A run that can be made again and again, with methods that have seen nothing."""

    kind: str
    plan: Plan
    seconds: float
    """What the plan took."""
    cpu_seconds: float

    def __post_init__(self) -> None:
        labels = {id(method): label for label, method in self.plan.engine.methods.items()}
        self.labels = [[labels[id(method)] for method in stage.methods] for stage in self.plan.engine.stages]
        self.drop()

    @classmethod
    def make(cls, teacher: Teacher, corpus: Corpus, job: Job, kind: str) -> Planned:
        """Plan a run."""
        start, spent = time.perf_counter(), time.process_time()
        plan = make_plan(teacher, corpus, job.config(kind))
        synchronize()
        return cls(kind, plan, time.perf_counter() - start, time.process_time() - spent)

    def renew(self) -> None:
        """Give it new methods."""
        methods = self.plan.build()
        self.plan.engine.methods = methods
        for stage, labels in zip(self.plan.engine.stages, self.labels):
            stage.methods = [methods[label] for label in labels]

    def drop(self) -> None:
        """Let go of its methods and their memory."""
        self.plan.engine.methods = {}
        for stage in self.plan.engine.stages:
            stage.methods = []


def apart(job: Job) -> dict[str, Any]:
    """What is stated, and all runs, each in a process of its own."""
    return {
        "stated": {kind: in_process(alone, stated, job, kind) for kind in (PLAIN, FOLDED)},
        "runs": [in_process(alone, run, job, kind) for _ in range(job.turns) for kind in (PLAIN, FOLDED)],
    }


def together(job: Job) -> dict[str, Any]:
    """The same in one process, with one teacher."""
    teacher, corpus = _loaded(job)
    plans = {kind: Planned.make(teacher, corpus, job, kind) for kind in (PLAIN, FOLDED)}
    told = {kind: stated(planned) for kind, planned in plans.items()}
    warm_up(plans[FOLDED])
    return {"stated": told, "runs": [run(plans[kind]) for _ in range(job.turns) for kind in (PLAIN, FOLDED)]}


def alone(do: Callable[[Planned], dict[str, Any]], job: Job, kind: str) -> dict[str, Any]:
    """One step, with a teacher of its own."""
    teacher, corpus = _loaded(job)
    return do(Planned.make(teacher, corpus, job, kind))


def stated(planned: Planned) -> dict[str, Any]:
    """What a dry run says."""
    _forget_peak(planned)
    planned.renew()
    told = estimate(planned.plan, limit=PROBE)
    planned.drop()
    return _shown(
        {
            "memory": told.memory,
            "device_memory": told.device_memory,
            "cells": told.cells,
            "cell_bytes": told.cell_bytes,
            "cells_on_disk": told.cells_on_disk,
        }
    )


def warm_up(planned: Planned) -> None:
    """Read some batches, so that everything is compiled; what finishes a run has been used for the estimate."""
    plan = planned.plan
    layers = {layer for stage in plan.engine.stages for layer in stage.layers}
    plan.engine.teacher.compile_if_worth(plan.corpus.n_words, tuple(sorted(layers)))
    planned.renew()
    whole = [stage.batches for stage in plan.engine.stages]
    for stage in plan.engine.stages:
        stage.batches = First(stage.batches, WARM_UP)
    plan.engine.run()
    for stage, batches in zip(plan.engine.stages, whole):
        stage.batches = batches
    planned.drop()


def run(planned: Planned) -> dict[str, Any]:
    """Seconds of the parts of a run, and its peak memory in bytes."""
    plan, on_gpu = planned.plan, _forget_peak(planned)
    start, spent = time.perf_counter(), time.process_time()
    marks = [start]

    def mark(_: int = 0) -> None:
        synchronize()
        marks.append(time.perf_counter())

    planned.renew()
    for stage in plan.engine.stages:
        stage.on_end = mark
    done = plan.engine.run()
    reading = torch.cuda.max_memory_allocated() if on_gpu else None
    tables = plan.finish(plan.engine.methods, done.cut)
    mark()
    names = (*(stage.title for stage in plan.engine.stages), "finish")
    seconds = {"plan": planned.seconds} | {
        name: after - before for name, (before, after) in zip(names, pairwise(marks))
    }
    (table,) = tables.values()
    sums = sum(method.memory() for method in with_tables(plan.engine.methods).values())
    planned.drop()
    return _shown(
        {
            "kind": planned.kind,
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "pass": round(seconds["text"], 3),
            "whole": round(sum(seconds.values()), 3),
            "cpu_seconds": round(planned.cpu_seconds + time.process_time() - spent, 1),
            "rows": len(table),
            "cells": 0 if table.folds is None else len(table.folds.rows),
            "device_peak_reading": reading,
            "device_peak": torch.cuda.max_memory_allocated() if on_gpu else None,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "sums": sums,
        }
    )


def _loaded(job: Job) -> tuple[Teacher, Corpus]:
    return load([job.store], job.config(PLAIN), job.work)


def _forget_peak(planned: Planned) -> bool:
    """Free what a GPU keeps, and measure its peak from here on; whether there is one."""
    if planned.plan.engine.teacher.device.type != "cuda":
        return False
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return True


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    """The same; a long measurement says how far it has come."""
    print(facts, flush=True)
    return facts


def ratio(result: dict[str, Any], name: str) -> float:
    """Of the runs with folds to the plain ones, the middle of each."""
    middle = {
        kind: statistics.median(each[name] for each in result["runs"] if each["kind"] == kind)
        for kind in (PLAIN, FOLDED)
    }
    return float(middle[FOLDED] / middle[PLAIN])


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    memory = "device_peak" if "gpu" in result else "peak"
    stated_as = "device_memory" if "gpu" in result else "memory"
    parts = list(result["runs"][0]["seconds"])
    table: list[Row] = [("", *parts, "whole", "CPU", "peak memory", "stated by the dry run")]
    for each in result["runs"]:
        told = result["stated"][each["kind"]][stated_as]
        seconds = [f"{each['seconds'][part]:.2f} s" for part in parts]
        sizes = [f"{size / 1e9:.2f} GB" for size in (each[memory], told)]
        table.append((each["kind"], *seconds, f"{each['whole']:.2f} s", f"{each['cpu_seconds']:.0f} s", *sizes))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    folded = result["stated"][FOLDED]
    times, whole = ratio(result, "pass"), ratio(result, "whole")
    memory, told = ("device_peak", "device_memory") if "gpu" in result else ("peak", "memory")
    worst = max(abs(result["stated"][each["kind"]][told] / each[memory] - 1) for each in result["runs"])
    return [
        f"{result['words']:,} words of {result['text']}, {result['teacher']}, {result['folds']} folds: "
        f"{folded['cells']:,} rows by fold, {folded['cell_bytes'] / 1e9:.2f} GB of sums"
        f"{' on disk' if folded['cells_on_disk'] else ''}.",
        f"The pass takes {times:.3f} times the plain one, target {LIMIT}: {met(times <= LIMIT)}.",
        f"The whole takes {whole:.3f} times the plain one, in CPU seconds {ratio(result, 'cpu_seconds'):.3f} times.",
        f"Memory stated by the dry run is within {worst:.0%} of the peak, target {WITHIN:.0%}: {met(worst <= WITHIN)}.",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", type=Path, help="a text, or one that is prepared")
    parser.add_argument("--teacher", default=NAME)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--folds", type=int, default=20)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--name", default="", help="part of the name of the result, for several texts or machines")
    parser.add_argument("--commit", help="commit to record, where git is not available")
    return parser.parse_args()


if __name__ == "__main__":
    main()
