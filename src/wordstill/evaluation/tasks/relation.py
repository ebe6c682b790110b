"""Relational similarity: how well does a pair of words illustrate a relation (SemEval-2012 task 2)?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.analogy_sets import Pair, Relation, Relations
from wordstill.evaluation.lookup import Lookup, unit
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import FEWEST_ITEMS, Coverage, ItemScores, Part, Score, make_score, points
from wordstill.evaluation.statistics import Floats, spearman
from wordstill.evaluation.tasks.base import Task

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

TRAINING = 10
FEWEST_RELATIONS = 2


class RelationTask(Task[Relations]):
    """The mean over relations of Spearman's correlation between scores of pairs and human ratings.

    A relation is the mean difference of the vectors of its typical pairs; a pair is scored by how its own
    difference compares with that. Beside it stands the accuracy on the answers that the ratings were made
    from: which of four pairs is the best example, and which the worst.
    """

    kind = "relation"
    metric = "spearman"
    needs = (Relations.holds,)

    def words(self) -> tuple[str, ...]:
        """The words of all pairs."""
        pairs = (pair for one in self.dataset.content.relations for pair in (*one.prototypes, *one.pairs))
        return tuple(dict.fromkeys(word for pair in pairs for word in pair))

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval, which is over relations."""
        protocol = resolve(protocol)
        found = Lookup.of(self.words(), vectors, protocol, split=True)
        relations = self.dataset.content.relations
        scores = [_scores(relation, found, protocol) for relation in relations]
        items = ItemScores("mean", np.array([_correlation(one, score) for one, score in zip(relations, scores)]))
        coverage = Coverage(
            sum(int(_marked(one.pairs, found, found.known).sum()) for one in relations),
            sum(len(one.pairs) for one in relations),
        )
        choices = [_choice_accuracy(one, score) for one, score in zip(relations, scores)]
        problem = _problem(coverage, items)
        return make_score(self.source(protocol), items, coverage, problem, seed, _parts(items, choices))


def _scores(relation: Relation, found: Lookup, protocol: Protocol) -> Floats:
    """How well each rated pair fits the relation; NaN for those that are left out."""
    usable = _marked(relation.prototypes, found, found.usable)
    typical = [pair for pair, marked in zip(relation.prototypes, usable) if marked]
    left_out = 0.0 if protocol.oov == "zero" else np.nan
    if not typical:
        return np.full(len(relation.pairs), left_out)
    matrix = found.unit() if protocol.relation == "cosine" else found.matrix
    prototype = _differences(typical, found, matrix).mean(axis=0)
    differences = _differences(relation.pairs, found, matrix)
    if protocol.relation == "cosine":
        prototype, differences = unit(prototype), unit(differences)
    fit = differences @ prototype
    return np.where(_marked(relation.pairs, found, found.usable), fit, left_out)


def _differences(pairs: list[Pair] | tuple[Pair, ...], found: Lookup, matrix: Floats) -> Floats:
    first, second = (found.numbers(pair[side] for pair in pairs) for side in (0, 1))
    difference: Floats = matrix[second] - matrix[first]
    return difference


def _marked(pairs: tuple[Pair, ...], found: Lookup, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    first, second = (marked[found.numbers(pair[side] for pair in pairs)] for side in (0, 1))
    both: NDArray[np.bool_] = first & second
    return both


def _correlation(relation: Relation, scores: Floats) -> float:
    scored = ~np.isnan(scores)
    if scored.sum() < FEWEST_ITEMS:
        return float("nan")
    return spearman(relation.gold[scored], scores[scored])


def _choice_accuracy(relation: Relation, scores: Floats) -> float:
    """The share of choices of the best and of the worst example that the scores make too."""
    pairs = np.array([choice.pairs for choice in relation.choices], dtype=np.int64).reshape(-1, 4)
    told = scores[pairs]
    complete = ~np.isnan(told).any(axis=1)
    if not complete.any():
        return float("nan")
    chosen = np.array([(one.least, one.most) for one in relation.choices], dtype=np.int64)[complete]
    rows = np.arange(int(complete.sum()))
    worst = pairs[complete][rows, told[complete].argmin(axis=1)]
    best = pairs[complete][rows, told[complete].argmax(axis=1)]
    return float(((worst == chosen[:, 0]).mean() + (best == chosen[:, 1]).mean()) / 2)


def _parts(items: ItemScores, choices: list[float]) -> tuple[Part, ...]:
    first = np.arange(len(choices)) < TRAINING
    halves = {"training part": items.only(first), "test part": items.only(~first)}
    answers = ItemScores("mean", np.array(choices))
    return (
        *(
            Part(name, RelationTask.metric, points(half.value()), int(half.scored.sum()))
            for name, half in halves.items()
        ),
        Part("choices", "accuracy", points(answers.value()), int(answers.scored.sum())),
    )


def _problem(coverage: Coverage, items: ItemScores) -> str | None:
    if coverage.used == 0:
        return f"none of the {coverage.total} pairs is covered"
    if (relations := int(items.scored.sum())) < FEWEST_RELATIONS:
        return (
            f"{relations} of the {len(items.predicted)} relations have {FEWEST_ITEMS} covered pairs and a "
            f"covered typical one; a mean over relations needs at least {FEWEST_RELATIONS}"
        )
    return None
