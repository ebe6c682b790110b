"""Which representation is best on development data, and how sure that is.

A representation gains over the raw mean on some sets and loses on others, by amounts that mean little without
their spread. Each gain, in rank correlation, is therefore divided by its spread over resamples of the pairs,
and the representation whose smallest gain is the largest is chosen: what is asked for is to be above the raw
mean everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from meaning_development import Judged

from wordstill.evaluate.statistics import Floats, resampled_correlations, spearman

RESAMPLES = 500


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why."""

    chosen: str
    correlations: dict[str, dict[str, float]]
    """Of every set and representation."""
    gains: dict[str, dict[str, float]]
    """For every candidate, its gain over the baseline on each set, in spreads of that gain."""
    shares: dict[str, float]
    """Part of the resamples in which each candidate would have been chosen."""

    def facts(self) -> dict[str, object]:
        """Plain data, without what adds nothing."""
        return asdict(self)


def choose(
    judged: Mapping[str, Judged], candidates: Sequence[str], baseline: str = "raw", seed: int = 0
) -> Choice:
    """The candidate whose smallest gain over a baseline is the largest."""
    gains, drawn = zip(*(_gains(one, candidates, baseline, seed) for one in judged.values()))
    smallest = np.min(gains, axis=0)
    winners = np.argmax(np.min(drawn, axis=0), axis=1)
    shares = np.bincount(winners, minlength=len(candidates)) / len(winners)
    return Choice(
        candidates[int(np.argmax(smallest))],
        {
            name: {key: round(spearman(one.gold, values), 4) for key, values in one.cosines.items()}
            for name, one in judged.items()
        },
        {
            candidate: {name: round(float(of_set[row]), 2) for name, of_set in zip(judged, gains)}
            for row, candidate in enumerate(candidates)
        },
        {candidate: round(float(share), 3) for candidate, share in zip(candidates, shares)},
    )


def _gains(judged: Judged, candidates: Sequence[str], baseline: str, seed: int) -> tuple[Floats, Floats]:
    """[candidates] gains of a set in their spreads, and [resamples, candidates] those of every resample."""
    names = (baseline, *candidates)
    models = np.stack([judged.cosines[name] for name in names])
    drawn = resampled_correlations(judged.gold, models, seed, RESAMPLES)
    above = drawn[:, 1:] - drawn[:, :1]
    spread = above.std(axis=0)
    base, *others = (spearman(judged.gold, model) for model in models)
    return (np.array(others) - base) / spread, above / spread
