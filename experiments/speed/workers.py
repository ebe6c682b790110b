"""Two workers of one core each compared with one: words per second, and peak memory of the driver, on the same text.

Run it on an idle machine with at least two cores. When all workers have loaded the model, each reads a little to warm
up. Then the clock starts; it stops when the sums of the last shard are stored. Meanwhile the driver adds the sums,
which costs the same for short and long shards; shards of a real run are longer.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.speed.common import Row, met, save, show
from experiments.speed.watched_pool import Clock, WatchedPool, forget_peak, peak_gb
from wordstill.corpus import prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import Plan, make_plan
from wordstill.scale.driver import Driver, Totals
from wordstill.scale.ledger import Ledger
from wordstill.scale.partition import Job, Shard, make_shards, with_shard_words
from wordstill.scale.pools import ProcessPool
from wordstill.scale.shared_folder import LocalFolder
from wordstill.teacher import Teacher

BENCHMARK = "workers"
TITLE = "Two workers"
LEAST, FLAT = 0.9, 1.05
WINDOWS = 5
"""In a shard; the workers read the first one to warm up."""


def main() -> None:
    """Measure one and two workers in turn, and record the best speed and the highest peak of each."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", nargs="?", type=Path, help="by default the embedded text")
    parser.add_argument("--shard-words", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=4, help="an even number, so that both workers read as many")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    speeds: dict[str, float] = {}
    peaks: dict[str, float] = {}
    with TemporaryDirectory(prefix="wordstill-") as folder:
        corpus = prepare([given.text or embedded_text()], Path(folder) / "store")
        config = with_shard_words(DistillConfig(("still",)), max(1, given.shard_words // WINDOWS))
        plan = make_plan(Teacher.from_config(config.teacher), corpus, config)
        shards = make_shards(plan, given.shard_words, text_only=True)[: given.shards]
        for workers in (1, 2) * given.repeat:
            speed, peak = _measured(plan, config, shards, workers)
            name = str(workers)
            speeds[name], peaks[name] = max(speeds.get(name, 0.0), speed), max(peaks.get(name, 0.0), peak)
    efficiency = speeds["2"] / (2 * speeds["1"])
    result = {"shards": len(shards), "words_per_second": speeds, "driver_gb": peaks, "efficiency": efficiency}
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    # Results from before the peak was recorded have none.
    peaks = {name: f"{peak:.3f} GB" for name, peak in result.get("driver_gb", {}).items()}
    speeds = result["words_per_second"].items()
    return [
        ("workers of one core", "words/s", "driver's peak"),
        *((name, f"{speed:,.0f}", peaks.get(name, "")) for name, speed in speeds),
    ]


def remarks(result: dict[str, Any]) -> list[str]:
    """Whether the targets are met."""
    found = result["efficiency"]
    said = [f"Two workers have {found:.1%} of twice the words of one, target {LEAST:.0%}: {met(found >= LEAST)}."]
    if peaks := result.get("driver_gb"):
        ratio = peaks["2"] / peaks["1"]
        said.append(
            f"The driver's peak memory with two workers is {ratio:.3f} times that with one, target at most {FLAT}: "
            f"{met(ratio <= FLAT)}."
        )
    return said


def _measured(plan: Plan, config: DistillConfig, shards: list[Shard], workers: int) -> tuple[float, float]:
    """Words per second of so many workers, and the peak memory of the driver in gigabytes."""
    forget_peak()
    job = Job(str(plan.corpus.path), config, plan.engine.teacher.choice.name, plan.recipe.to_json())
    with TemporaryDirectory(prefix="wordstill-") as name:
        folder, clock = LocalFolder(Path(name)), Clock()
        with closing(WatchedPool(ProcessPool(job, workers, folder, cores=workers), clock)) as pool:
            pool.wait_for(workers)
            pool.warm_up(make_shards(plan, 1, text_only=True)[0])
            ledger = Ledger(folder)
            clock.start()
            Driver(shards, ledger, pool, lambda: Totals(plan, shards, ledger, folder.path)).run()
            return sum(shard.words for shard in shards) / (pool.last - clock.begun), peak_gb()


if __name__ == "__main__":
    main()
