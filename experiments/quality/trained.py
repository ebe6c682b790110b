"""Train classifiers and taggers on top of tables, and fine-tune the language model itself.

Example: python -m experiments.quality.trained still=out/still --name demo.extrinsic --title "A text"

Every task of every table is a job of its own, and several jobs run at once, because small models leave most of a GPU
idle. All jobs run with the first seed before taggers continue with the next, so that no cell is empty. The file is
rewritten after each job. A failed job is reported and skipped; when the time is up, finished jobs are kept. The result
is results/quality/NAME.json; `python -m experiments.tables` shows it with the other scores of the same text.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from experiments.quality.scoring import score_facts
from experiments.record import origin, result_parser, write_json
from wordstill.evaluation import DATASETS, SUITES
from wordstill.evaluation.trained.classification import ClassificationTask
from wordstill.evaluation.trained.config import CnnConfig, FinetunedConfig, TaggerConfig
from wordstill.evaluation.trained.finetuned import FinetunedTask
from wordstill.evaluation.trained.tagging import TaggingTask
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.trained"
PARENT = "parent"
TURNS = ("classification", PARENT, "tagging")
"""Quick jobs first, so that little is lost if the time runs out."""
MOST_JOBS = 14

Values = dict[str, Any]


class Job(NamedTuple):
    """One task to train for."""

    label: str
    table: Path
    dataset: str
    kind: str
    seed: int | None
    """None for a job that trains with all its seeds."""
    seeds: int
    limit: int | None
    teacher: str | None = None

    @property
    def turn(self) -> tuple[int, int, int]:
        """First seeds first; within a kind the longest first, so that no long job is left at the end."""
        return self.seed or 0, TURNS.index(self.kind), -DATASETS[self.dataset].size

    @property
    def name(self) -> str:
        """The key of its score."""
        return f"{self.dataset}:{PARENT}" if self.kind == PARENT else self.dataset

    def task(self) -> ClassificationTask | TaggingTask | FinetunedTask:
        """What to run."""
        if self.kind == PARENT:
            config = FinetunedConfig(seeds=self.seeds, limit=self.limit)
            return FinetunedTask(self.dataset, config, teacher=self.teacher)
        if self.kind == "tagging":
            return TaggingTask(self.dataset, TaggerConfig(seeds=self.seeds, limit=self.limit))
        return ClassificationTask(self.dataset, CnnConfig(seeds=self.seeds, limit=self.limit))

    def __str__(self) -> str:
        return f"{self.label} {self.name}" + ("" if self.seed is None else f" seed {self.seed}")


def main() -> None:
    """Train, and write the result."""
    start = time.monotonic()
    options = arguments()
    tables = {label: Path(path) for label, _, path in (text.partition("=") for text in options.tables)}
    jobs = sorted(jobs_of(tables, options), key=lambda job: job.turn)
    check(jobs)
    facts = origin(MODULE, options)
    result = Result(options.out / f"{options.name}.json", facts, [*tables, PARENT])
    workers = min(options.jobs, len(jobs))
    print(f"{len(jobs)} jobs, {workers} at once, on {facts['hardware']}", flush=True)
    with multiprocessing.get_context("spawn").Pool(workers, prepare) as pool:
        # Leaving the pool ends its processes, whatever they are doing.
        for job, found, problem in until(start + options.seconds, pool.imap_unordered(run, jobs), len(jobs)):
            if problem is None:
                result.add(job, found)
            print(f"{time.monotonic() - start:.0f} s: {job}: {problem or found['value']}", flush=True)
    print(f"Written: {result.path}" if result.rows else "Nothing is finished.", flush=True)


def until(end: float, finished: Any, count: int) -> Iterator[tuple[Job, Values, str | None]]:
    """The jobs that finish before a point in time."""
    for number in range(count):
        try:
            yield finished.next(timeout=max(0.0, end - time.monotonic()))
        except multiprocessing.TimeoutError:
            print(f"Time is over: {count - number} of {count} jobs are not finished.", flush=True)
            return


def prepare() -> None:
    """Set up a worker: one thread, and fast matrix products on the GPU."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")


def run(job: Job) -> tuple[Job, Values, str | None]:
    """Train and score; an error is returned as the third value, so that other jobs continue."""
    start = time.monotonic()
    try:
        score = job.task().run(WordVectors.load(job.table), seed=job.seed or 0)
    except Exception:
        return job, {}, traceback.format_exc()
    found = {**score_facts(score), "settings": dict(score.settings)}
    return job, {**found, "seconds": round(time.monotonic() - start, 1)}, score.problem


def jobs_of(tables: Mapping[str, Path], options: argparse.Namespace) -> list[Job]:
    """Every task of every table; one job per seed for taggers, and the parent of the first table once."""
    seeds, limit = options.seeds, options.limit
    tagger_seeds = range(options.first_seed, options.first_seed + seeds)
    parent_table = next(iter(tables.values()))
    jobs = []
    for dataset in options.set:
        kind = DATASETS[dataset].task
        assert kind is not None
        for label, path in tables.items() if not options.only_parent else ():
            if kind == "tagging":
                jobs += [Job(label, path, dataset, kind, seed, 1, limit) for seed in tagger_seeds]
            else:
                jobs.append(Job(label, path, dataset, kind, None, seeds, limit))
        if not options.no_parent:
            jobs.append(Job(PARENT, parent_table, dataset, PARENT, None, seeds, limit, options.teacher))
    return jobs


def check(jobs: Iterable[Job]) -> None:
    """Read every set and open every table, so that a missing one is an error before anything is trained."""
    for dataset in {job.dataset: job for job in jobs}.values():
        dataset.task()
    for table in {job.table for job in jobs}:
        WordVectors.load(table)


class Result:
    """The JSON file, rewritten whenever a job is finished.

    Args:
        path: The file.
        facts: What all rows have in common.
        labels: The order of the rows.
    """

    def __init__(self, path: Path, facts: dict[str, Any], labels: list[str]) -> None:
        self.path, self.facts, self.labels = path, facts, labels
        self.rows: dict[tuple[int, int], dict[str, Any]] = {}

    def add(self, job: Job, found: Values) -> None:
        """Put a score in the row of its label and seed."""
        key = self.labels.index(job.label), -1 if job.seed is None else job.seed
        if key not in self.rows:
            provenance = WordVectors.load(job.table).provenance
            facts = {"label": job.label, "seed": job.seed, "provenance": provenance}
            self.rows[key] = {**facts, "scores": {"trained": {}}}
        self.rows[key]["scores"]["trained"][job.name] = found
        write_json(self.path, {**self.facts, "rows": [self.rows[key] for key in sorted(self.rows)]})


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "quality")
    parser.add_argument("tables", nargs="+", metavar="NAME=PATH", help="tables to train on")
    parser.add_argument("--set", action="append", choices=SUITES["trained"], help="may be repeated; all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0, help="of taggers, to add seeds to a result")
    parser.add_argument("--seconds", type=float, default=3600.0, help="time limit")
    parser.add_argument("--jobs", type=int, default=min(MOST_JOBS, os.cpu_count() or 1), help="jobs at once")
    parser.add_argument("--limit", type=int, help="at most this many sentences of each part, for a quick try")
    parents = parser.add_mutually_exclusive_group()
    parents.add_argument("--no-parent", action="store_true", help="without the language model itself")
    parents.add_argument("--only-parent", action="store_true", help="nothing but the language model")
    parser.add_argument("--teacher", help="the model to fine-tune; by default the one that the first table names")
    options = parser.parse_args()
    options.set = options.set or list(SUITES["trained"])
    for text in options.tables:
        if "=" not in text:
            parser.error(f"{text}: expected NAME=PATH")
    return options


if __name__ == "__main__":
    main()
