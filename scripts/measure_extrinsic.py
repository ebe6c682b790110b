"""Train classifiers and taggers on top of tables, and the language model itself; keep the figures as JSON.

Example: python scripts/measure_extrinsic.py still=out/still --name demo.extrinsic --title "A text"

Every task of every table is a job of its own, and several jobs run at once: small models leave most of a GPU
idle. When the seconds are over, what is finished is kept and the rest is given up. The result is
docs/results/NAME.json, which `python scripts/tables.py` puts beside the other figures of the same text.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measure import RESULTS, commit, hardware
from scoring import figure_of

from wordstill.evaluate import DATASETS, SUITES
from wordstill.evaluate.extrinsic.classification import ClassificationTask
from wordstill.evaluate.extrinsic.config import CnnConfig, ParentConfig, TaggerConfig
from wordstill.evaluate.extrinsic.parent import ParentTask
from wordstill.evaluate.extrinsic.tagging import TaggingTask
from wordstill.files import atomic_file
from wordstill.vectors import WordVectors

PARENT = "parent"
WEIGHTS = {"classification": 1.0, "tagging": 4.0, PARENT: 8.0}
"""About how long a sentence takes, in training and in the search for settings."""


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

    @property
    def cost(self) -> float:
        """About how long it takes, to begin with the longest."""
        return WEIGHTS[self.kind] * DATASETS[self.dataset].size

    @property
    def name(self) -> str:
        """The key of its figure."""
        return f"{self.dataset}:{PARENT}" if self.kind == PARENT else self.dataset

    def task(self) -> ClassificationTask | TaggingTask | ParentTask:
        """What to run."""
        if self.kind == PARENT:
            return ParentTask(self.dataset, ParentConfig(seeds=self.seeds, limit=self.limit))
        if self.kind == "tagging":
            return TaggingTask(self.dataset, TaggerConfig(seeds=self.seeds, limit=self.limit))
        return ClassificationTask(self.dataset, CnnConfig(seeds=self.seeds, limit=self.limit))


def main() -> None:
    """Train, and write the result."""
    options = arguments()
    jobs = sorted(jobs_of(options), key=lambda job: -job.cost)
    facts = {
        "title": options.title,
        "command": shlex.join(["python", *sys.argv]),
        "commit": options.commit or commit(),
        "hardware": hardware(),
    }
    path = options.out / f"{options.name}.json"
    rows: dict[tuple[str, int | None], dict[str, Any]] = {}
    labels = [*dict.fromkeys(job.label for job in jobs_of(options))]
    end = time.monotonic() + options.seconds
    with multiprocessing.get_context("spawn").Pool(min(options.jobs, len(jobs)), prepare) as pool:
        finished = pool.imap_unordered(run, jobs)
        try:
            for number in range(len(jobs)):
                job, figure = finished.next(timeout=max(0.0, end - time.monotonic()))
                if (job.label, job.seed) not in rows:
                    rows[job.label, job.seed] = new_row(job)
                rows[job.label, job.seed]["scores"]["trained"][job.name] = figure
                order = sorted(rows, key=lambda key: (labels.index(key[0]), str(key[1])))
                write(path, {**facts, "rows": [rows[key] for key in order]})
                print(f"{number + 1}/{len(jobs)} {job.label} {job.name}: {figure['value']}", flush=True)
        except multiprocessing.TimeoutError:
            # Leaving the pool ends its processes.
            print(f"Time is over: {len(jobs) - number} of {len(jobs)} jobs are not finished.", flush=True)
    print(f"Written: {path}" if rows else "Nothing is finished.")


def prepare() -> None:
    """One thread for each of many processes, and the GPU's fast products."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")


def run(job: Job) -> tuple[Job, dict[str, Any]]:
    """Train and score."""
    start = time.monotonic()
    score = job.task().run(WordVectors.load(job.table), seed=job.seed or 0)
    figure = {**figure_of(score), "settings": dict(score.settings)}
    return job, {**figure, "seconds": round(time.monotonic() - start, 1)}


def jobs_of(options: argparse.Namespace) -> list[Job]:
    """Every task of every table; taggers with each seed apart, and the parent of the first table once."""
    tables = [(name, Path(path)) for name, _, path in (text.partition("=") for text in options.tables)]
    jobs = []
    for dataset in options.set:
        kind = DATASETS[dataset].task
        assert kind is not None
        for label, path in tables:
            if kind == "tagging":
                jobs += [
                    Job(label, path, dataset, kind, seed, 1, options.limit) for seed in range(options.seeds)
                ]
            else:
                jobs.append(Job(label, path, dataset, kind, None, options.seeds, options.limit))
        if not options.no_parent:
            jobs.append(Job(PARENT, tables[0][1], dataset, PARENT, None, options.seeds, options.limit))
    return jobs


def new_row(job: Job) -> dict[str, Any]:
    """A row of the result that has no figures yet."""
    provenance = WordVectors.load(job.table).provenance
    return {"label": job.label, "seed": job.seed, "provenance": provenance, "scores": {"trained": {}}}


def write(path: Path, content: dict[str, Any]) -> None:
    """Write what there is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as handle:
        handle.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="NAME=PATH", help="tables to train on")
    parser.add_argument("--name", required=True, help="name of the result, as enwiki-a.extrinsic")
    parser.add_argument("--title", required=True, help="what the text is")
    parser.add_argument("--set", action="append", choices=SUITES["trained"], help="may be repeated; all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) - 2), help="at once")
    parser.add_argument("--limit", type=int, help="at most so many sentences of each part, for a try")
    parser.add_argument("--no-parent", action="store_true", help="without the language model itself")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result")
    parser.add_argument("--commit", help="what is checked out, where git cannot say it")
    options = parser.parse_args()
    options.set = options.set or list(SUITES["trained"])
    for text in options.tables:
        if "=" not in text:
            parser.error(f"{text}: expected NAME=PATH")
    return options


if __name__ == "__main__":
    main()
