"""Two workers of one core each against one worker of one core: words per second, in one run.

Run it on an idle machine of at least two cores. The clock starts when every worker
has loaded its model, and ends when the last shard is read.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from experiments.speed.common import Row, met, save, show
from wordstill.corpus import Corpus, prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import make_plan
from wordstill.scale.ledger import Claim
from wordstill.scale.partition import Job, make_shards, with_shard_words
from wordstill.scale.pools import ProcessPool
from wordstill.scale.shared_folder import LocalFolder
from wordstill.teacher import Teacher

BENCHMARK = "workers"
TITLE = "Two workers"
LEAST = 0.9


def main() -> None:
    """Measure both in turn, twice, and record the better of each."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", nargs="?", type=Path, help="by default the embedded text")
    parser.add_argument("--shard-words", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=12, help="for each worker")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    rates: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = prepare([given.text or embedded_text()], Path(folder) / "store")
        config = with_shard_words(DistillConfig(("still",)), given.shard_words)
        for turn in range(2 * given.repeat):
            workers = 1 + turn % 2
            rate = _rate(corpus, config, given.shard_words, workers, given.shards, Path(folder) / str(turn))
            rates[workers] = max(rates.get(workers, 0), rate)
    words = {str(number): rate for number, rate in rates.items()}
    result = {"words_per_second": words, "efficiency": rates[2] / (2 * rates[1])}
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    rates = result["words_per_second"].items()
    return [("workers of one core", "words/s"), *((workers, f"{rate:,.0f}") for workers, rate in rates)]


def remarks(result: dict[str, Any]) -> list[str]:
    """Whether the target is met."""
    found = result["efficiency"]
    return [f"Two workers have {found:.1%} of twice the words of one, target {LEAST:.0%}: {met(found >= LEAST)}."]


def _rate(corpus: Corpus, config: DistillConfig, shard_words: int, workers: int, shards: int, folder: Path) -> float:
    """Words per second of so many workers over so many shards each."""
    teacher = Teacher.from_config(config.teacher)
    plan = make_plan(teacher, corpus, config)
    todo = make_shards(plan, shard_words, text_only=True)[: shards * workers]
    folder.mkdir()
    job = Job(str(corpus.path), config, teacher.choice.name, plan.recipe.to_json())
    pool = ProcessPool(job, workers, LocalFolder(folder), cores=workers)
    try:
        while len(pool.idle()) < workers:
            pool.poll(0.1)
        waiting, words, finished, started = list(todo), 0, 0, time.perf_counter()
        while finished < len(todo):
            for worker in pool.idle() if waiting else ():
                if waiting:
                    shard = waiting.pop()
                    pool.start(worker, shard, Claim(shard.number, 1))
            for event in pool.poll(0.05):
                words, finished = words + event.words, finished + (event.part is not None)
        return words / (time.perf_counter() - started)
    finally:
        pool.close()


if __name__ == "__main__":
    main()
