"""The learning-rate range test: short steps that grow until the loss rises, and the rate at which it fell fastest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from wordstill.errors import UsageError
from wordstill.meaning.distiller_training import FEWEST, TrainConfig, _own_randomness, _Run
from wordstill.meaning.state_cache import StateCache

SMOOTHING = 0.9
DIVERGED = 4.0
"""The test ends where the smoothed loss is so many times the lowest."""
EDGE = 5
"""Tests at each end that no rate is chosen by: there the smoothed loss has seen too little, or diverges."""


@dataclass(frozen=True)
class RateTest:
    """A range test."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    """Of the training batches, smoothed."""
    best: float
    """The rate at which the smoothed loss fell fastest over the logarithm of the rate."""


def find_rate(
    states: StateCache,
    config: TrainConfig | None = None,
    *,
    device: torch.device | str = "cpu",
    low: float = 1e-7,
    high: float = 1.0,
    steps: int = 200,
) -> RateTest:
    """Train with a rate that grows from ``low`` to ``high`` by one factor at each step (Smith 2017).

    The steps are those of a training with these settings, without its warm-up; nothing is kept of it.

    Raises:
        UsageError: There are too few triples or steps, or the range is empty.
    """
    if len(states) < FEWEST:
        raise UsageError(f"The range test needs at least {FEWEST} triples, got {len(states)}.")
    if not 0 < low < high or steps <= 2 * EDGE + 1:
        raise UsageError(f"The range test needs 0 < low < high and more than {2 * EDGE + 1} steps.")
    config = config or TrainConfig()
    rates: list[float] = []
    losses: list[float] = []
    with _own_randomness(config.seed, torch.device(device)):
        run = _Run(states, config, torch.device(device))
        batches = run.batches_for_ever()
        mean = 0.0
        for number, rate in enumerate(np.geomspace(low, high, steps).tolist(), start=1):
            mean = SMOOTHING * mean + (1 - SMOOTHING) * run.step_at(next(batches), rate)
            smooth = mean / (1 - SMOOTHING**number)
            if not np.isfinite(smooth) or (losses and smooth > DIVERGED * min(losses)):
                break
            rates.append(rate)
            losses.append(smooth)
    return RateTest(tuple(rates), tuple(losses), _steepest(rates, losses))


def _steepest(rates: list[float], losses: list[float]) -> float:
    inner = slice(EDGE, len(rates) - EDGE) if len(rates) > 2 * EDGE + 1 else slice(None)
    slopes = np.gradient(np.array(losses), np.log(rates))
    return float(np.array(rates)[inner][slopes[inner].argmin()])
