"""Development halves of the word, analogy and sentence sets, scored on the device where a table lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from wordstill.evaluation import make_task
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.evaluation.score import ItemScores
from wordstill.evaluation.studies import development_half
from wordstill.vectors.sentences import WordTokenizer

ANALOGIES = ("google", "msr")
SENTENCES = ("sts12", "sts13", "sts14", "sts15", "sts16")
SEED = 0
QUESTIONS_AT_ONCE = 4096

Scores = dict[str, float]
Bools = NDArray[np.bool_]


def gain(scores: Scores, analogies: float = 0.2) -> float:
    """What a choice of settings maximizes; ``analogies`` is the weight of both analogy sets."""
    return scores["similarity"] + analogies * (scores["google"] + scores["msr"]) / 2 + 0.2 * scores["sentences"]


@dataclass(frozen=True, eq=False)
class _Sentences:
    """One side of the pairs of a set: rows of known words, and where each sentence begins."""

    rows: Tensor
    starts: Tensor
    known: Bools

    def vectors(self, table: Tensor) -> Tensor:
        return normalize(embedding_bag(self.rows, table, self.starts, mode="mean"), dim=1)


class DevelopmentHalves:
    """The sets, with their words as rows of one vocabulary.

    Args:
        words: The words of the tables to score.
        device: Where these lie.
    """

    def __init__(self, words: Sequence[str], device: torch.device) -> None:
        self.split = WordTokenizer(words).tokenize
        self.place, self.device = {word: row for row, word in enumerate(words)}, device
        self.pairs = {name: self._pairs(name) for name in EIGHT}
        self.questions = {name: self._questions(name) for name in ANALOGIES}
        self.sentences = {name: self._sentences(name) for name in SENTENCES}

    def score(self, table: Tensor) -> Scores:
        """Scores of a table [V, dim] whose lengths are sentence weights."""
        unit = normalize(table.float(), dim=1)
        by_set = {name: _spearman(unit, *pairs) for name, pairs in self.pairs.items()}
        found = {"similarity": float(np.mean([*by_set.values()])), "simlex999": by_set["simlex999"]}
        found |= {name: _accuracy(unit, questions) for name, questions in self.questions.items()}
        found["sentences"] = float(np.mean([_pearson(table, *each) for each in self.sentences.values()]))
        return {name: round(value, 2) for name, value in found.items()}

    def _row(self, word: str) -> int:
        return self.place.get(word, self.place.get(word.lower(), -1))

    def _rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._row(word) for word in words], dtype=np.int64)

    def _tensor(self, numbers: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(numbers).to(self.device)

    def _pairs(self, name: str) -> tuple[Tensor, Tensor, NDArray[np.float64]]:
        content = make_task(name).dataset.content
        keys = tuple("\t".join(sorted((a.lower(), b.lower()))) for a, b in zip(content.first, content.second))
        first, second, gold = self._rows(content.first), self._rows(content.second), np.asarray(content.gold)
        half = development_half(ItemScores("spearman", gold, gold, keys=keys), SEED) & (first >= 0) & (second >= 0)
        return self._tensor(first[half]), self._tensor(second[half]), gold[half]

    def _questions(self, name: str) -> Tensor:
        content = make_task(name).dataset.content
        rows = np.array([self._rows(question) for question in content.words])
        sections = np.asarray(content.section, dtype=np.int64)
        half = development_half(ItemScores("mean", np.zeros(len(rows)), groups=sections), SEED)
        return self._tensor(rows[half & (rows >= 0).all(axis=1)])

    def _sentences(self, name: str) -> tuple[_Sentences, _Sentences, NDArray[np.float64], NDArray[np.int64]]:
        content = make_task(name).dataset.content
        groups, gold = np.asarray(content.corpus, dtype=np.int64), np.asarray(content.gold)
        half = development_half(ItemScores("pearson", gold, gold, groups), SEED)
        sides = [
            self._side([text for text, taken in zip(texts, half) if taken]) for texts in (content.first, content.second)
        ]
        return sides[0], sides[1], gold[half], groups[half]

    def _side(self, texts: Sequence[str]) -> _Sentences:
        rows = [[row for word in self.split(text) if (row := self._row(word)) >= 0] for text in texts]
        lengths = np.array([len(each) for each in rows], dtype=np.int64)
        flat = np.array([row for each in rows for row in each], dtype=np.int64)
        return _Sentences(self._tensor(flat), self._tensor(np.cumsum(lengths) - lengths), lengths > 0)


def _spearman(unit: Tensor, first: Tensor, second: Tensor, gold: NDArray[np.float64]) -> float:
    cosines = (unit[first] * unit[second]).sum(dim=1).double().cpu().numpy()
    return 100 * float(np.corrcoef(rankdata(cosines), rankdata(gold))[0, 1])


def _accuracy(unit: Tensor, questions: Tensor) -> float:
    """Share of questions that 3CosAdd answers right, without the words of the question."""
    answers = unit.half() if unit.is_cuda else unit
    right = 0
    for part in torch.split(questions, QUESTIONS_AT_ONCE):
        wanted = unit[part[:, 1]] - unit[part[:, 0]] + unit[part[:, 2]]
        scores = wanted.to(answers.dtype) @ answers.T
        scores.scatter_(1, part[:, :3], -9.0)
        right += int((scores.argmax(dim=1) == part[:, 3]).sum())
    return 100 * right / max(len(questions), 1)


def _pearson(
    table: Tensor, first: _Sentences, second: _Sentences, gold: NDArray[np.float64], groups: NDArray[np.int64]
) -> float:
    """Mean over the parts of a set."""
    cosines = (first.vectors(table) * second.vectors(table)).sum(dim=1).double().cpu().numpy()
    known = first.known & second.known
    parts = [known & (groups == group) for group in np.unique(groups)]
    return 100 * float(np.mean([np.corrcoef(cosines[part], gold[part])[0, 1] for part in parts]))
