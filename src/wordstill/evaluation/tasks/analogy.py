"""Analogy questions (a is to b as c is to d), and degrees of relational similarity (SemEval-2012 task 2)."""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.analogy_sets import Pair, Questions, Relation, Relations, read_own_questions
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import ABSENT, Protocol, resolve
from wordstill.evaluation.score import (
    FEWEST_ITEMS,
    Coverage,
    ItemScores,
    Part,
    Score,
    make_score,
    points,
    with_backoffs,
)
from wordstill.evaluation.statistics import Floats, spearman
from wordstill.evaluation.tasks.base import Task
from wordstill.vectors.analogies import solve
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


Rows = NDArray[np.int64]

SYNTACTIC = "gram"
PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnalogyTask(Task[Questions]):
    """Accuracy: the share of questions whose answer is the nearest word.

    A question is covered if the table has all four words. With ``oov=skip`` only covered questions count; with ``mean``
    and ``zero`` every question counts, and one whose answer is not in the table is wrong.
    """

    kind = "analogy"
    metric = "accuracy"
    needs = (Questions.holds,)
    own_reader = staticmethod(read_own_questions)

    def words(self) -> tuple[str, ...]:
        """The words of all questions."""
        return tuple(dict.fromkeys(word for question in self.dataset.content.words for word in question))

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the bootstrap interval."""
        protocol = resolve(protocol)
        rules = replace(protocol, max_vocab=protocol.analogy_vocab or protocol.max_vocab)
        asked = _Asked.of(self.dataset.content, rules)
        found = Lookup.of(asked.words, vectors, rules)
        known = found.known[asked.questions].all(axis=1)
        right = _right(asked, found, vectors, rules)
        items = ItemScores("mean", right)
        total = len(self.dataset.content)
        coverage = Coverage(int(known.sum()), total)
        used = with_backoffs(coverage, items.scored, protocol).used
        problem = None if used else f"none of the {total} questions is covered"
        return make_score(self.source(protocol), items, coverage, problem, seed, self._parts(items))

    def _parts(self, items: ItemScores) -> tuple[Part, ...]:
        content = self.dataset.content
        parts = [_part(name, items.only(content.section == number)) for number, name in enumerate(content.sections)]
        syntactic = np.array([name.startswith(SYNTACTIC) for name in content.sections])[content.section]
        if syntactic.any() and not syntactic.all():
            halves = {"semantic": ~syntactic, "syntactic": syntactic}
            parts = [*(_part(name, items.only(mask)) for name, mask in halves.items()), *parts]
        return tuple(parts)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The questions as indices of distinct words; the last word of each is the one asked for."""

    words: tuple[str, ...]
    questions: Rows
    """Shape (questions, 4)."""

    @classmethod
    def of(cls, content: Questions, rules: Protocol) -> _Asked:
        order = (0, 1, 2, 3) if rules.analogy_asks == "fourth" else (1, 0, 3, 2)
        place: dict[str, int] = {}
        numbers = [
            [place.setdefault(_form(question[number], rules), len(place)) for number in order]
            for question in content.words
        ]
        return cls(tuple(place), np.array(numbers, dtype=np.int64))


def _form(word: str, rules: Protocol) -> str:
    if rules.analogy_words == "published":
        return word
    lower = word.lower()
    return lower.translate(PUNCTUATION) if rules.analogy_words == "stripped" else lower


def _right(asked: _Asked, found: Lookup, vectors: WordVectors, rules: Protocol) -> Floats:
    """1 for a right answer, 0 for a wrong one, NaN for a skipped question."""
    questions = asked.questions
    answerable = found.usable[questions[:, :3]].all(axis=1) & found.known[questions[:, 3]]
    right = np.full(len(questions), np.nan if rules.oov in ("skip", "backoff") else 0.0)
    if not answerable.any():
        return right
    rows = rules.rows(asked.words, vectors)
    same = _same_words(rows, vectors, rules)
    limit = rules.limit(vectors)
    chosen = solve(
        vectors.unit[:limit], found.unit().astype(np.float32), questions[answerable, :3], same, rules.analogy
    )
    expected = questions[answerable, 3].tolist()
    right[answerable] = [float(row in same[word]) for row, word in zip(chosen.tolist(), expected)]
    return right


def _same_words(rows: Rows, vectors: WordVectors, rules: Protocol) -> list[tuple[int, ...]]:
    """For each word, the rows of the table that count as that word."""
    if rules.case != "ignore":
        return [() if row == ABSENT else (row,) for row in rows.tolist()]
    variants: dict[str, list[int]] = {}
    for row, word in enumerate(vectors.words[: rules.limit(vectors)]):
        variants.setdefault(word.upper(), []).append(row)
    return [() if row == ABSENT else tuple(variants[vectors.words[row].upper()]) for row in rows.tolist()]


def _part(name: str, items: ItemScores) -> Part:
    return Part(name, AnalogyTask.metric, points(items.value()), int(items.scored.sum()))


TRAINING = 10
FEWEST_RELATIONS = 2


class RelationTask(Task[Relations]):
    """The mean over relations of Spearman's correlation between scores of pairs and human ratings.

    A relation is the mean difference of the vectors of its typical pairs; a pair is scored by comparing its own
    difference with that. The part ``choices`` is the accuracy on the answers that the ratings were computed from: which
    of four pairs is the best example, and which the worst.
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
    """How well each rated pair fits the relation; NaN for skipped pairs."""
    usable = _marked(relation.prototypes, found, found.usable)
    typical = [pair for pair, marked in zip(relation.prototypes, usable) if marked]
    left_out = 0.0 if protocol.oov == "zero" else np.nan
    if not typical:
        return np.full(len(relation.pairs), left_out)
    matrix = found.unit() if protocol.relation == "cosine" else found.matrix
    prototype = _differences(typical, found, matrix).mean(axis=0)
    differences = _differences(relation.pairs, found, matrix)
    if protocol.relation != "dot":
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
    """The share of people's choices of the best and the worst example that the scores agree with."""
    pairs = np.array([choice.pairs for choice in relation.choices], dtype=np.int64).reshape(-1, 4)
    offered = scores[pairs]
    complete = ~np.isnan(offered).any(axis=1)
    if not complete.any():
        return float("nan")
    chosen = np.array([(one.least, one.most) for one in relation.choices], dtype=np.int64)[complete]
    rows = np.arange(int(complete.sum()))
    worst = pairs[complete][rows, offered[complete].argmin(axis=1)]
    best = pairs[complete][rows, offered[complete].argmax(axis=1)]
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
