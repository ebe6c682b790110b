"""The loss from training learners in several workers and averaging their tables: scores for 1, 2, 4 and 8 workers.

    python -m experiments.scale.averaged_learners store

Workers are simulated in one process, with the same results as separate processes. The batches between two fixed points
are dealt out in turn, and each worker learns from its own, starting from the same table. At each point, rows become the
mean of the workers' rows, weighted by how often the word was a positive there. Learning rates are those of a text as
long as the worker's share. Whitening is estimated from the vectors of all workers, at these points only. One worker is
the plain run, with three seeds to show the noise. Scores are on development halves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.quality.halves import DevelopmentHalves, gain
from experiments.record import RESULTS, command_line, current_commit, machine, write_json
from wordstill.corpus import Corpus, VocabularyConfig
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import Plan, make_plan
from wordstill.methods.learning.learner import BATCHES, Learner
from wordstill.methods.learning.window_learner import WindowLearner
from wordstill.methods.linear_algebra import RunningWhitener
from wordstill.teacher import Teacher, TeacherConfig, WordStates

RESULT = RESULTS / "scale" / "averaged_learners.json"
METHODS = ("x2static", "bert-skipgram", "context-to-vec")
WORKERS, SEEDS = (2, 4, 8), (0, 1, 2)
BATCHES_BETWEEN_POINTS = 64
"""At the end; the first points are nearer to each other, because whitening changes most at the start."""


def main() -> None:
    """Read the text once for all learners, and record their scores."""
    parser = argparse.ArgumentParser(prog="python -m experiments.scale.averaged_learners", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    config = DistillConfig(METHODS, TeacherConfig(device=given.device), VocabularyConfig(), folds=0)
    teacher, corpus = Teacher.from_config(config.teacher), Corpus.open(given.store)
    plan = make_plan(teacher, corpus, config)
    alone = {(label, seed): _built(plan, label, seed) for label in METHODS for seed in SEEDS}
    teams = {(label, size): Team([_built(plan, label) for _ in range(size)]) for label in METHODS for size in WORKERS}
    for number, states in enumerate(_read(plan)):
        for learner in alone.values():
            learner.observe(states)
        for team in teams.values():
            team.observe(states, number)
    for team in teams.values():
        team.meet()
    halves = DevelopmentHalves(plan.vocabulary.keys, torch.device("cpu"))
    made = {(label, 1, seed): learner for (label, seed), learner in alone.items()}
    made |= {(label, size, 0): team.first for (label, size), team in teams.items()}
    found = [
        {"method": label, "workers": size, "seed": seed, **_scores(halves, learner)}
        for (label, size, seed), learner in made.items()
    ]
    facts = {"command": command_line("experiments.scale.averaged_learners", sys.argv[1:]), "commit": current_commit()}
    text = {"words": corpus.n_words, "vocabulary": len(plan.vocabulary), "hash": corpus.hash}
    write_json(RESULT, {**facts, "machine": machine(), "text": text, "teacher": teacher.config.name, "scores": found})


class Team:
    """Workers of one learner, and the points at which they meet."""

    def __init__(self, workers: Sequence[Learner]) -> None:
        self.workers, self.first = workers, workers[0]
        self.whitener = None if self.first.whitener is None else SharedWhitener(self.first.whitener)
        for worker in workers:
            positives = worker.sampler.expected_positives * worker.run.epochs / len(workers)
            worker.rows.rates = positives.clamp(min=1) ** -worker.config.balance
            if self.whitener is not None:
                worker.whitener = self.whitener
        self._points = _points()
        self._left = next(self._points)
        self._positives = torch.zeros_like(self.first.positives.counts)

    def observe(self, states: WordStates, number: int) -> None:
        """Give a batch to the worker whose turn it is, and meet when it is time."""
        worker = self.workers[number % len(self.workers)]
        # Random draws follow from the number of the batch in the text, as with one worker.
        worker.clock.counts[BATCHES] = number
        worker.observe(states)
        self._left -= 1
        if not self._left:
            self._left = next(self._points)
            self.meet()

    def meet(self) -> None:
        """Average the tables, and whiten them anew if enough has been seen."""
        counts = torch.stack([worker.positives.counts - self._positives for worker in self.workers]).double()
        shares = torch.where(counts.sum(dim=0) > 0, counts / counts.sum(dim=0).clamp(min=1), 1 / len(self.workers))
        rows = sum_of(share[:, None] * worker.rows.weights for share, worker in zip(shares, self.workers))
        self._positives = self._positives + counts.sum(dim=0).long()
        change = None if self.whitener is None else self.whitener.look()
        for worker in self.workers:
            worker.rows.weights.copy_(rows)
            worker.positives.counts.copy_(self._positives)
        if isinstance(self.first, WindowLearner):
            self._average_projections(change)
        elif change is not None:
            for worker in self.workers:
                worker.rows.weights.copy_(worker.rows.weights @ change)

    def _average_projections(self, change: Tensor | None) -> None:
        tables = [worker.projection for worker in self.workers if isinstance(worker, WindowLearner)]
        for name in tables[0].state_dict():
            mean = sum_of(table.state_dict()[name].double() for table in tables) / len(tables)
            for table in tables:
                table.state_dict()[name].copy_(mean)
        if change is None:
            return
        for table in tables:
            for part in torch.split(table.weights, self.first.run.width, dim=1):
                part.copy_(part @ change)


class SharedWhitener(RunningWhitener):
    """Whitening whose estimates are made at points of the run only."""

    def __init__(self, like: RunningWhitener) -> None:
        super().__init__(len(like.mean), like.exponent, like.mean.device)

    def observe(self, vectors: Tensor, weights: Tensor) -> None:
        """Only take note of vectors."""
        due, self.looks[1] = int(self.looks[1]), torch.iinfo(torch.int64).max
        super().observe(vectors, weights)
        self.looks[1] = due

    def look(self) -> Tensor | None:
        """A new estimate, if it is due: the matrix from the old axes to the new."""
        if self.looks[0] < self.looks[1]:
            return None
        self.looks[1] = 2 * self.looks[0]
        before = self.map.double()
        self._estimate(int(self.looks[0]))
        change: Tensor = before @ torch.linalg.inv(self.map.double())
        return change.to(self.map.dtype)


def sum_of(tensors: Iterable[Tensor]) -> Tensor:
    """The sum of at least one tensor."""
    first, *rest = tensors
    for each in rest:
        first = first + each
    return first


def _points() -> Iterator[int]:
    return chain((8, 8, 16, 32), repeat(BATCHES_BETWEEN_POINTS))


def _built(plan: Plan, label: str, seed: int = 0) -> Learner:
    learner = plan.build()[label]
    assert isinstance(learner, Learner)
    learner.run = replace(learner.run, seed=seed)
    return learner


def _read(plan: Plan) -> Iterator[WordStates]:
    teacher, (stage,) = plan.engine.teacher, plan.engine.stages
    for _, batch in stage.batches.since((0, 0)):
        yield teacher.encode(teacher.to_device(batch), stage.layers)


def _scores(halves: DevelopmentHalves, learner: Learner) -> dict[str, Any]:
    table = learner.table(learner.vectors(), torch.ones(len(learner.run.vocabulary), dtype=torch.bool))
    scores = halves.score(torch.from_numpy(np.array(table.matrix)))
    return {**scores, "gain": round(gain(scores), 2)}


if __name__ == "__main__":
    main()
