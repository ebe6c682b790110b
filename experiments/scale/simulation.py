"""A simulated run on many GPUs: shards, stragglers, crashes, and one driver that adds the sums.

Speeds were measured on an H200 (results/speed/gpu_throughput); everything else is an assumption, which is recorded. The
scheduler is that of `wordstill.scale`: an idle worker takes the next shard of the plan, the shard of a crashed worker
is read again, and parts are added in the order of the plan.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from experiments.record import RESULTS, command_line, current_commit, write_json
from wordstill.scale.partition import GPU_WINDOWS, MOST_SHARDS, WORDS_PER_ROW

RESULT = RESULTS / "scale" / "simulation.json"
WINDOW_WORDS = 8 * 131_072
TABLES, BYTES = 8, 4
"""Of `still`, in float32."""


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines and text."""

    words: float = 1e12
    workers: int = 64
    words_per_second: float = 2.1e6
    """Of one worker at full speed."""
    vocabulary: int = 500_000
    width: int = 768
    start_seconds: float = 60.0
    """Until a worker, or one that replaces it, has loaded everything."""
    jitter: float = 0.05
    """Standard deviation of the logarithm of a shard's time."""
    slow_share: float = 0.05
    """Part of the workers that runs at half speed."""
    deaths_per_day: float = 1.0
    """Of each worker."""
    write_gb_per_second: float = 2.0
    """Of a worker to the shared folder."""
    add_gb_per_second: float = 2.0
    """Of the driver, reading and adding: on an AMD EPYC three cores check 5 GB/s, and one adds 2.7."""

    @property
    def shards(self) -> int:
        """How many there are: a minute's work, but not more than the driver can add up."""
        least = max(GPU_WINDOWS * WINDOW_WORDS, WORDS_PER_ROW * self.vocabulary)
        return max(1, min(MOST_SHARDS, round(self.words / least)))

    @property
    def part_gb(self) -> float:
        """Size of a part; of a large shard nearly all rows are filled."""
        return TABLES * BYTES * self.vocabulary * self.width / 1e9


def simulate(cluster: Cluster, seed: int = 0) -> dict[str, float]:
    """One run, event by event."""
    random = np.random.default_rng(seed)
    speed = np.where(random.random(cluster.workers) < cluster.slow_share, 0.5, 1.0) * cluster.words_per_second
    waiting = list(range(cluster.shards))
    # (time, worker, shard or -1 when it is ready to work)
    events: list[tuple[float, int, int]] = [(cluster.start_seconds, worker, -1) for worker in range(cluster.workers)]
    heapq.heapify(waiting)
    heapq.heapify(events)
    finished: dict[int, float] = {}
    deaths, lost, end = 0, 0.0, 0.0
    while len(finished) < cluster.shards:
        now, worker, shard = heapq.heappop(events)
        if shard >= 0:
            finished[shard] = end = now
        if not waiting:
            continue
        shard = heapq.heappop(waiting)
        size = cluster.words / cluster.shards
        # A part is written while the next shard is read.
        reading = size / speed[worker] * random.lognormal(0, cluster.jitter)
        seconds = max(reading, cluster.part_gb / cluster.write_gb_per_second)
        death = random.exponential(86_400 / cluster.deaths_per_day) if cluster.deaths_per_day else np.inf
        if death < seconds:
            deaths, lost = deaths + 1, lost + death
            heapq.heappush(waiting, shard)
            # Another worker may be idle by now; the dead one is replaced and asks again.
            heapq.heappush(events, (now + death + cluster.start_seconds, worker, -1))
        else:
            heapq.heappush(events, (now + seconds, worker, shard))
    added, backlog = _added(cluster, finished)
    ideal = cluster.words / cluster.words_per_second / cluster.workers
    return {
        "hours": added / 3600,
        "ideal_hours": ideal / 3600,
        "efficiency": ideal / added,
        "read_hours": end / 3600,
        "shards": cluster.shards,
        "minutes_per_shard": cluster.words / cluster.shards / cluster.words_per_second / 60,
        "deaths": deaths,
        "lost_share": lost / (ideal * cluster.workers),
        "part_gb": cluster.part_gb,
        "most_parts_waiting": backlog,
    }


def _added(cluster: Cluster, finished: dict[int, float]) -> tuple[float, int]:
    """When the driver has added the last part, and how many were waiting for it at the most."""
    seconds, free, ends = cluster.part_gb / cluster.add_gb_per_second, 0.0, []
    for shard in range(cluster.shards):
        free = max(free, finished[shard]) + seconds
        ends.append(free)
    arrivals, departures = np.sort([*finished.values()]), np.array(ends)
    backlog = [int(np.searchsorted(arrivals, time, side="right")) - number for number, time in enumerate(departures)]
    return free, max(backlog)


CASES: dict[str, Cluster] = {
    "no failures, no stragglers": Cluster(slow_share=0, deaths_per_day=0, jitter=0),
    "stragglers": Cluster(deaths_per_day=0),
    "stragglers and a death a day": Cluster(),
    "spot machines: a death every two hours": Cluster(deaths_per_day=12),
    "8 GPUs, a hundredth of the text": Cluster(words=1e10, workers=8),
    "256 GPUs": Cluster(workers=256),
    "a slow shared disk (0.2 GB/s)": replace(Cluster(), write_gb_per_second=0.2, add_gb_per_second=0.2),
}


def main() -> None:
    """Simulate all cases, and record them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.scale.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    rate = _measured()
    cases: dict[str, Any] = {}
    for name, cluster in CASES.items():
        cluster = replace(cluster, words_per_second=rate)
        runs = [simulate(cluster, given.seed + number) for number in range(given.rounds)]
        cases[name] = {
            "assumed": asdict(cluster),
            "mean": {key: float(np.mean([r[key] for r in runs])) for key in runs[0]},
        }
        print(name, {key: round(value, 3) for key, value in cases[name]["mean"].items()})
    facts = {"command": command_line("experiments.scale.simulation", sys.argv[1:]), "commit": current_commit()}
    write_json(RESULT, {**facts, "seed": given.seed, "rounds": given.rounds, "cases": cases})


def _measured() -> float:
    """Words per second of BERT-base with `still` and `ase` on one H200."""
    record = json.loads((RESULTS / "speed" / "gpu_throughput.json").read_text())
    mix = record["mixes"]["still, ase"]
    return float(mix["passes"] * record["words"] / mix["seconds"])


if __name__ == "__main__":
    main()
