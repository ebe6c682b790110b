"""Which precision and kernels are fastest for a model on this processor, found by a short trial and remembered.

What is tried is a choice of `CHOICES`; each is compared with float32 before it is timed (see `dtype`). Seconds are
those of one thread on its core, as the engine runs a model, so that other programs hardly disturb a trial.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordstill import __version__
from wordstill.core.files import user_cache
from wordstill.core.ragged import Ints
from wordstill.core.resume import read_record, write_record
from wordstill.errors import DataError, in_one_line
from wordstill.teacher.assembly import bare_batch
from wordstill.teacher.batch import DeviceBatch, DeviceLoader
from wordstill.teacher.device import shared_cores
from wordstill.teacher.forward import Forward

CHOICES = ("float32", "bfloat16", "tiles")
"""As the model is; in bfloat16 by torch; in bfloat16 by our kernels for matrix tiles."""
LENGTHS = (128, 96, 64, 64, 48, 48, 32, 32)
"""Subwords of the texts of a trial."""
ROUNDS, SLOW = 3, 1.0
"""Runs of each candidate after the first; only one where the first took so many seconds."""
LEAST_GAIN = 1.05
"""How much faster than float32 another choice must be."""


@dataclass(frozen=True)
class Choice:
    """What a model runs in, and why."""

    name: str
    reason: str
    """For people."""
    milliseconds: dict[str, float] = field(default_factory=dict)
    """Of one trial batch, by choice."""

    @classmethod
    def after(cls, seconds: Mapping[str, float]) -> Choice:
        """The fastest, but float32 where the gain is small."""
        best = min(seconds, key=lambda name: seconds[name])
        if seconds[best] * LEAST_GAIN > seconds["float32"]:
            best = "float32"
        shown = ", ".join(f"{name} {1e3 * spent:.0f} ms" for name, spent in seconds.items())
        reason = f"chosen by a trial ({shown})" if len(seconds) > 1 else "nothing faster works here"
        return cls(best, reason, {name: round(1e3 * spent, 3) for name, spent in seconds.items()})


class TrialMemory:
    """Choices of earlier trials in the user's cache, one file for each model and processor.

    Args:
        fingerprint: The model's.
        folder: None takes the user's cache.
    """

    def __init__(self, fingerprint: str, folder: Path | None = None) -> None:
        self.facts = {
            "model": fingerprint,
            "processor": processor(),
            "torch": torch.__version__,
            "wordstill": __version__,
        }
        key = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()[:24]
        self.path = (folder or user_cache("trials")) / f"{key}.json"

    def recall(self) -> Choice | None:
        """The choice of an earlier trial; None where there was none, or its file is damaged."""
        try:
            choice = Choice(**read_record(self.path)["choice"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError, DataError):
            return None
        return choice if choice.name in CHOICES else None

    def keep(self, choice: Choice) -> Choice:
        """Remember a choice; where that is impossible, float32 with a warning, since the next trial may differ."""
        try:
            write_record(self.path, {**self.facts, "choice": asdict(choice)})
        except (OSError, DataError) as error:
            reason = getattr(error.__cause__ or error, "strerror", None) or in_one_line(error)
            warnings.warn(
                f"The teacher runs in float32, which may be slower: the result of a speed trial cannot be kept in "
                f"{self.path.parent} ({reason}). Set XDG_CACHE_HOME to a folder that can be written, or set dtype.",
                stacklevel=5,
            )
            return Choice("float32", f"the result of a trial cannot be kept in {self.path.parent}")
        return choice


def run_trial(candidates: Mapping[str, Any], depth: int, name: str, subwords: Ints) -> Choice:
    """Time models that give the same states, in turns, over beginnings and repetitions of a text [n]."""
    batch = DeviceLoader(torch.device("cpu"))(bare_batch([np.resize(subwords, length) for length in LENGTHS]))
    with shared_cores(torch.get_num_threads()), ExitStack() as stack:
        runs = {choice: _timed(model, depth, name, batch, stack) for choice, model in candidates.items()}
        seconds = {choice: run() for choice, run in runs.items()}
        rounds = 1 if max(seconds.values()) > SLOW else ROUNDS
        # The first run of each is slower: kernels are made in it.
        turns = [{choice: run() for choice, run in runs.items()} for _ in range(rounds)]
    return Choice.after({choice: min(turn[choice] for turn in turns) for choice in runs})


def _timed(model: Any, depth: int, name: str, batch: DeviceBatch, stack: ExitStack) -> Callable[[], float]:
    forward = Forward(model, depth, name, pad_id=0)
    try:
        forward.use_packing(True)
        stack.callback(forward.use_packing, False)
        forward(batch, (depth,))
    except Exception:  # Models refuse in every way; whether one packs is decided later.
        forward.use_packing(False)

    def run() -> float:
        start = time.thread_time()
        forward(batch, (depth,))
        return time.thread_time() - start

    return run


@cache
def processor() -> str:
    """Name and abilities of the processor, as far as the system tells."""
    facts = [platform.machine(), platform.processor(), torch.backends.cpu.get_cpu_capability()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    except OSError:
        lines = []
    wanted = ("model name", "flags", "Features", "cpu family", "model", "stepping")
    facts += [line for line in lines if line.split(":")[0].strip() in wanted]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
