"""Workers that share one GPU, compared with one process, and the driver's peak memory for each number of them.

Every row is a process of its own over the same prepared text. The clock starts when all workers have loaded the
model and read a little, and ends when the last shard's sums are stored; `one process` reads the whole text without
storing anything. The driver adds up the sums meanwhile.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.speed.common import Row, met, save, show
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import make_plan
from wordstill.scale.driver import Driver, Totals
from wordstill.scale.ledger import Claim, Ledger
from wordstill.scale.partition import Job, Shard, ShardReader, make_shards, with_shard_words
from wordstill.scale.pools import Event, Pool, open_pool
from wordstill.scale.shared_folder import LocalFolder
from wordstill.scale.work import Piece
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.loading import NAME

BENCHMARK = "shared_gpu"
TITLE = "Workers that share a GPU"
METHODS = ("still", "ase")
PROCESS = 0
"""Among numbers of workers: one process, which reads everything at once."""
LEAST, FLAT = 0.9, 1.1
WARM_UP = 1 << 20
"""The claims of warming up are numbered from here on."""


def main() -> None:
    """Measure one number of workers after another, print and save."""
    options = _options()
    if options.one is not None:
        print(json.dumps(measured(options.one, options)))
        return
    with TemporaryDirectory(prefix="wordstill-") as folder:
        texts = [str(path) for path in (options.text or [embedded_text()])]
        store = open_or_prepare(texts, PrepareConfig(), Path(folder), progress=False).path
        result: dict[str, Any] = {"runs": {}}
        for number in [PROCESS, *options.workers]:
            command = [sys.executable, "-m", f"experiments.speed.{BENCHMARK}", str(store), "--one", str(number)]
            for name in ("teacher", "device", "shard_words", "max_vocab", "ray"):
                if (value := getattr(options, name)) is not None:
                    command += [f"--{name.replace('_', '-')}", str(value)]
            output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            found = json.loads(output.splitlines()[-1])
            result["runs"][str(number)] = found.pop("run")
            result |= found
            print(f"{number or 'one process'}: {result['runs'][str(number)]}", flush=True)
            save(BENCHMARK, result, commit=options.commit)
    show(rows(result), remarks(result))


def measured(workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and the driver's memory of a run by so many workers."""
    config = DistillConfig(
        METHODS, TeacherConfig(options.teacher, options.device), VocabularyConfig(max_size=options.max_vocab)
    )
    config = replace(with_shard_words(config, options.shard_words), folds=0)
    corpus = Corpus.open(options.text[0])
    teacher = Teacher.from_config(config.teacher)
    plan = make_plan(teacher, corpus, config)
    shards = make_shards(plan, options.shard_words, text_only=True)
    little = make_shards(plan, 1, text_only=True)[0]
    if workers == PROCESS:
        run: dict[str, float] = {"read": _alone(ShardReader.of(plan), shards, little)}
    else:
        job = Job(str(corpus.path), config, teacher.choice.name, plan.recipe.to_json())
        with TemporaryDirectory(prefix="wordstill-") as name:
            folder = LocalFolder(Path(name))
            with closing(_Watched(open_pool(job, folder, workers, options.ray))) as pool:
                pool.warm_up(workers, little)
                ledger, begun = Ledger(folder), time.perf_counter()
                Driver(shards, ledger, pool, lambda: Totals(plan, shards, ledger, Path(name))).run()
                run = {"read": pool.last - begun, "added": time.perf_counter() - begun}
    run["driver_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    facts = {"device": teacher.device.type, "shards": len(shards), "rows": len(plan.vocabulary)}
    if teacher.device.type == "cuda":
        facts["gpu"] = torch.cuda.get_device_name()
    return {**facts, "words": corpus.n_words, "run": run}


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("workers", "words/s", "of one process", "of one worker", "driver's peak memory")]
    runs, words = result["runs"], result["words"]
    for number, run in runs.items():
        shares = [runs[one]["read"] / run["read"] if one in runs else None for one in (str(PROCESS), "1")]
        table.append(
            (
                number if int(number) else "one process",
                f"{words / run['read']:,.0f}",
                *("" if share is None else f"{share:.0%}" for share in shares),
                f"{run['driver_gb']:.2f} GB",
            )
        )
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    runs = result["runs"]
    said = [
        f"{result.get('gpu', 'a CPU')}; {result['words']:,} words in {result['shards']} shards, {result['rows']:,} "
        f"words with vectors; {', '.join(METHODS)}."
    ]
    if "2" in runs:
        share = runs[str(PROCESS)]["read"] / runs["2"]["read"]
        said.append(f"Two workers read {share:.0%} as fast as one process, target {LEAST:.0%}: {met(share >= LEAST)}.")
    peaks = [run["driver_gb"] for number, run in runs.items() if int(number)]
    if len(peaks) > 1:
        ratio = peaks[-1] / peaks[0]
        said.append(
            f"The driver of most workers takes {ratio:.2f} times the memory of one worker's, limit {FLAT}: "
            f"{met(ratio <= FLAT)}."
        )
    return said


def _alone(reader: ShardReader, shards: list[Shard], little: Shard) -> float:
    """Seconds of one process for everything."""
    reader.read(little)
    whole = replace(shards[0], end_window=shards[-1].end_window, end=shards[-1].end)
    begun = time.perf_counter()
    reader.read(whole)
    return time.perf_counter() - begun


@dataclass(eq=False)
class _Watched(Pool):
    """Workers, and when the last of their parts was stored."""

    pool: Pool
    last: float = 0.0

    def idle(self) -> list[int]:
        """Those of the pool."""
        return self.pool.idle()

    def start(self, worker: int, shard: Piece, claim: Claim) -> None:
        """Leave it to the pool."""
        self.pool.start(worker, shard, claim)

    def poll(self, seconds: float) -> list[Event]:
        """What the pool says, with a look at the clock."""
        events = self.pool.poll(seconds)
        if failed := [event.failed for event in events if event.failed]:
            raise RuntimeError(failed[0])
        if any(event.part for event in events):
            self.last = time.perf_counter()
        return events

    def close(self) -> None:
        """End the workers."""
        self.pool.close()

    def warm_up(self, workers: int, little: Shard) -> None:
        """Wait until all of them are there, and let each read a little."""
        while len(self.idle()) < workers:
            self.poll(0.1)
        for worker in self.idle():
            self.start(worker, little, Claim(WARM_UP + worker, 1))
        while len(self.idle()) < workers:
            self.poll(0.1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", nargs="*", type=Path, help="texts or a prepared one; by default the embedded text")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--teacher", default=NAME, help="name or folder of a model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shard-words", type=int, default=10_000_000)
    parser.add_argument("--max-vocab", type=int, default=60_000)
    parser.add_argument("--ray", help="a cluster's address, or local; by default processes of this machine")
    parser.add_argument("--commit", help="commit to record, where git is not available")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
