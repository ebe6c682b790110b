"""Analogies: does the vector of b - a + c lie nearest to d?"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.evaluation.data.analogy_sets import Questions, read_own_questions
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import ABSENT, Protocol, resolve
from wordstill.evaluation.score import Coverage, ItemScores, Part, Score, make_score, points
from wordstill.evaluation.statistics import Floats
from wordstill.evaluation.tasks.base import Task
from wordstill.vectors.analogies import solve

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Rows = NDArray[np.int64]

SYNTACTIC = "gram"
PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnalogyTask(Task[Questions]):
    """The share of questions whose answer is the nearest word.

    A question is covered if the table has all four words. Under the rule ``skip`` only those count; under
    ``mean`` and ``zero`` every question counts, and one whose answer is not in the table is wrong.
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
        problem = None if coverage.used else f"none of the {total} questions is covered"
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
    """The questions as numbers of different words, the word that is looked for last."""

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
    """1 for a right answer, 0 for a wrong one, NaN for a question that is left out."""
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
