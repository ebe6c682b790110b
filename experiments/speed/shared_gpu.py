"""Workers that share one GPU, compared with one process, and the driver's peak memory for each number of them.

All rows are over the same prepared text, read several times, so that fixed costs do not dominate. `start` is the time
until all workers have loaded the model and the text; then each reads a little to warm up, and the clock starts. `read`
ends when the sums of the last shard are stored, `added` when the driver has added them all. One process reads the whole
text in one piece and stores nothing. The steady speed is that between the first and the last tenth of the words.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.speed.common import Row, add_commit, met, save, show
from experiments.speed.watched_pool import Clock, WatchedPool, forget_peak, peak_gb
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig
from wordstill.distillation.engine import Engine, Position, Stage
from wordstill.distillation.plan import Plan, make_plan
from wordstill.errors import Interrupted, WordstillError
from wordstill.methods.base import Observer
from wordstill.scale.driver import Driver, Totals
from wordstill.scale.ledger import Ledger
from wordstill.scale.partition import Job, make_shards, with_shard_words
from wordstill.scale.pools import open_pool
from wordstill.scale.shared_folder import LocalFolder
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.device import to_arrays
from wordstill.teacher.loading import NAME

BENCHMARK = "shared_gpu"
TITLE = "Workers that share a GPU"
PROCESS, MPS = "0", " with MPS"
"""Among numbers of workers: one process, which reads everything at once; and NVIDIA's service that lets processes
compute at the same time."""
LEAST, FLAT = 0.9, 1.1


def main() -> None:
    """Measure one number of workers after another, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        texts = [str(path) for path in (options.text or [embedded_text()])]
        corpus = open_or_prepare(texts, PrepareConfig(), Path(folder), progress=False)
        begun = time.perf_counter()
        bench = _Bench(corpus, options)
        result: dict[str, Any] = {**bench.facts(), "loaded": time.perf_counter() - begun, "runs": {}}
        for name in [PROCESS, *options.workers]:
            number = int(name.removesuffix(MPS))
            with _multi_process_service(name.endswith(MPS)) as trouble:
                try:
                    result["runs"][name] = trouble or (bench.workers(number) if number else bench.alone())
                except Interrupted:
                    # Somebody has stopped the benchmark, which says nothing about these workers.
                    raise SystemExit(f"Stopped before {name} was measured; the rows so far are saved.") from None
                except WordstillError as error:
                    result["runs"][name] = {"failed": str(error)}
            print(f"{name}: {result['runs'][name]}", flush=True)
            save(BENCHMARK, result, commit=options.commit)
    show(rows(result), remarks(result))


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    titles = ("workers", "words/s, steady", "of one", "words/s, whole pass", "of one", "start", "driver's peak")
    table: list[Row] = [titles]
    alone = result["runs"][PROCESS]
    for name, run in _measured(result).items():
        steady = (f"{run['steady']:,.0f}", f"{run['steady'] / alone['steady']:.0%}") if "steady" in run else ("", "")
        table.append(
            (
                "one process" if name == PROCESS else name,
                *steady,
                f"{result['words'] / run['read']:,.0f}",
                f"{alone['read'] / run['read']:.0%}",
                f"{run['start']:.0f} s" if "start" in run else "",
                f"{run['driver_gb']:.2f} GB",
            )
        )
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    runs = _measured(result)
    methods = ", ".join(result.get("methods", ("still", "ase")))
    said = [
        f"{result.get('gpu', 'a CPU')}; {result['words']:,} words in {result['shards']} shards, {result['rows']:,} "
        f"words with vectors; {methods}."
    ]
    said += [f"Not measured with {name}: {run['failed']}" for name, run in result["runs"].items() if "failed" in run]
    for name in (name for name in runs if name.startswith("2")):
        key = "steady" if "steady" in runs[name] else "read"
        share = runs[name][key] / runs[PROCESS][key]
        share = share if key == "steady" else 1 / share
        said.append(
            f"{name} workers read {share:.0%} as fast as one process, target {LEAST:.0%}: {met(share >= LEAST)}."
        )
    peaks = {int(name.removesuffix(MPS)): run["driver_gb"] for name, run in runs.items() if name != PROCESS}
    if len(peaks) > 1:
        ratio = peaks[max(peaks)] / peaks[min(peaks)]
        said.append(
            f"The driver of the most workers takes {ratio:.2f} times the memory of that of the fewest, limit {FLAT}: "
            f"{met(ratio <= FLAT)}."
        )
    if len(digests := [run["sums"] for run in runs.values() if "sums" in run]) > 1:
        same = len(set(digests)) == 1
        if result["device"] == "cpu" or same:
            said.append(f"Sums are the same to the last bit for every number of workers: {met(same)}.")
        else:
            said.append("Sums differ in their last digits: a GPU adds in no fixed order.")
    return said


def _measured(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Runs that came to an end, by name."""
    return {name: run for name, run in result["runs"].items() if "failed" not in run}


class _Bench:
    """The model, the text and the shards, loaded once."""

    def __init__(self, corpus: Corpus, options: argparse.Namespace) -> None:
        teacher, vocabulary = (
            TeacherConfig(options.teacher, options.device),
            VocabularyConfig(max_size=options.max_vocab),
        )
        config = DistillConfig(tuple(options.method), teacher, vocabulary)
        self.config = replace(with_shard_words(config, options.shard_words), folds=0)
        self.corpus, self.repeat, self.ray = corpus, options.repeat, options.ray
        self.teacher = Teacher.from_config(self.config.teacher)
        self.plan: Plan = make_plan(self.teacher, corpus, self.config)
        shards = make_shards(self.plan, options.shard_words, text_only=True)
        self.little = make_shards(self.plan, 1, text_only=True)[0]
        self.shards = [
            replace(shard, number=turn * len(shards) + shard.number) for turn in range(self.repeat) for shard in shards
        ]

    def facts(self) -> dict[str, Any]:
        """Conditions."""
        facts = {"device": self.teacher.device.type, "shards": len(self.shards), "rows": len(self.plan.vocabulary)}
        if self.teacher.device.type == "cuda":
            facts["gpu"] = torch.cuda.get_device_name()
        methods = [request.label for request in self.config.requests]
        return {**facts, "methods": methods, "words": self.corpus.n_words * self.repeat}

    def alone(self) -> dict[str, float]:
        """One process for everything."""
        stage = self.plan.engine.stages[self.shards[0].stage]
        self.teacher.compile_if_worth(self.corpus.n_words, stage.layers)
        clock = Clock()
        # A little to warm up, then everything.
        for times, windows in ((1, self.little.end_window), (self.repeat, None)):
            clock.start()
            methods = self.plan.build()
            batches = _Repeated(stage.batches, times, clock, windows)
            text = Stage(stage.title, batches, [*methods.values()], isolated=False, words=0)
            Engine(self.teacher, methods, [text]).run()
            read = clock.seconds()
        return {"read": read, "steady": clock.steady(), "driver_gb": peak_gb()}

    def workers(self, number: int) -> dict[str, Any]:
        """So many workers."""
        forget_peak()
        job = Job(str(self.corpus.path), self.config, self.teacher.choice.name, self.plan.recipe.to_json())
        with TemporaryDirectory(prefix="wordstill-") as name:
            folder, clock = LocalFolder(Path(name)), Clock()
            with closing(WatchedPool(open_pool(job, folder, number, self.ray), clock)) as pool:
                start = pool.wait_for(number)
                pool.warm_up(self.little)
                ledger = Ledger(folder)
                clock.start()
                sums = Driver(
                    self.shards, ledger, pool, lambda: Totals(self.plan, self.shards, ledger, Path(name))
                ).run()
                run: dict[str, Any] = {"start": start, "read": pool.last - clock.begun, "added": clock.seconds()}
        assert sums is not None
        run |= {"steady": clock.steady(), "driver_gb": peak_gb()}
        return {**run, "sums": _digest(sums.methods)}


@dataclass(eq=False)
class _Repeated:
    """Batches of a text that is read several times, up to a window."""

    batches: Any
    times: int
    clock: Clock
    windows: int | None = None

    def since(self, position: Position) -> Iterator[tuple[Position, Any]]:
        """From the beginning."""
        for _ in range(self.times):
            for after, batch in self.batches.since((0, 0)):
                self.clock.add(batch.n_words)
                yield after, batch
                if self.windows is not None and after >= (self.windows, 0):
                    break


@contextmanager
def _multi_process_service(wanted: bool) -> Iterator[dict[str, str]]:
    """NVIDIA's service around the block; yields why there is none."""
    control = "nvidia-cuda-mps-control"
    if not wanted:
        yield {}
    elif shutil.which(control) is None:
        yield {"failed": f"{control} is not there"}
    else:
        with TemporaryDirectory(prefix="mps-") as folder:
            own = {f"CUDA_MPS_{name}_DIRECTORY": folder for name in ("PIPE", "LOG")}
            os.environ.update(own)
            began = subprocess.run([control, "-d"], capture_output=True, text=True, check=False)
            try:
                yield {} if began.returncode == 0 else {"failed": (began.stderr or began.stdout).strip()}
            finally:
                subprocess.run([control], input="quit\n", text=True, check=False, timeout=30, capture_output=True)
                for name in own:
                    del os.environ[name]


def _digest(methods: Mapping[str, Observer]) -> str:
    """SHA-256 of everything that the methods have seen."""
    digest = hashlib.sha256()
    for method in methods.values():
        for array in to_arrays(method.state_dict()).values():
            digest.update(array.data)
    return digest.hexdigest()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", nargs="*", type=Path, help="texts or a prepared one; by default the embedded text")
    parser.add_argument("--workers", nargs="+", default=["2", f"2{MPS}", "1"], help=f"numbers, '2{MPS}' is one too")
    parser.add_argument("--repeat", type=int, default=4, help="how often the text is read")
    parser.add_argument("--teacher", default=NAME, help="name or folder of a model")
    parser.add_argument("--method", nargs="+", default=["still"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shard-words", type=int)
    parser.add_argument("--max-vocab", type=int, default=60_000)
    parser.add_argument("--ray", help="a cluster's address, or local; by default processes of this machine")
    add_commit(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
