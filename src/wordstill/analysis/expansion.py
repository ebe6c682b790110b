"""Word list expansion from seed words: ranked candidates are accepted or rejected one by one.

``centroid`` ranks words by the cosine with the mean of the accepted words (including seeds) minus a fraction of the
mean of the rejected ones (Rocchio 1971). ``maximum`` ranks by the largest cosine with an accepted word minus the same
fraction of the largest with a rejected one. The first keeps to one topic, the second follows each seed. The only state
is the file of decisions: lines of ``y``, ``n`` or ``?``, a tab and a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import write_file
from wordstill.core.guard import reading
from wordstill.errors import DataError, UsageError, unknown_name
from wordstill.evaluation.data.fields import filled_lines
from wordstill.evaluation.protocol import ABSENT, resolve
from wordstill.vectors.oov import UnknownWord
from wordstill.vectors.search import unit_rows

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Ranking = Literal["centroid", "maximum"]
AWAY = 0.25
"""Weight of rejected words, relative to accepted ones."""
MARKS = {"y": True, "n": False, "?": None}
HEAD = "# y, n or ?\tword\tscore\n"


class Candidate(NamedTuple):
    """A word that may belong to the list."""

    word: str
    score: float
    near: str
    """The nearest accepted word."""


class Decision(NamedTuple):
    """The decision on a word."""

    accepted: bool | None
    """None if it is still open."""
    score: float | None = None
    """Its score when it was ranked."""


class Expansion:
    """Seeds and decisions on the words of a table, and the ranking of candidates.

    Args:
        table: Words are looked up as written, then in lower case; at least one seed must be in the table.
        seeds: Words to start from.
        ranking: ``centroid`` or ``maximum``.
        decisions: Earlier decisions, by word.
    """

    def __init__(
        self,
        table: WordVectors,
        seeds: Sequence[str],
        ranking: Ranking = "centroid",
        decisions: Mapping[str, Decision] | None = None,
    ) -> None:
        if ranking not in get_args(Ranking):
            raise unknown_name("ranking", ranking, get_args(Ranking))
        if not seeds:
            raise UsageError(
                "There are no seed words. Name some, separated by commas, or a file with one word per line."
            )
        self.table, self.ranking = table, ranking
        self.seeds = tuple(dict.fromkeys(seeds))
        self.decisions: dict[str, Decision] = dict(decisions or {})
        self.unknown = tuple(word for word in self.seeds if not self._rows([word]))
        if len(self.unknown) == len(self.seeds):
            raise UnknownWord(self.seeds[0], table.words)
        self._unusable = np.array([_unusable(word) for word in table.words], dtype=np.bool_)
        # Filled on the first use, so that decisions can be read and written without a search.
        self._nearness: dict[bool, NDArray[np.float32]] = {}

    @property
    def words(self) -> tuple[str, ...]:
        """The list: seeds, then the accepted words in the order of the decisions."""
        accepted = (word for word, decision in self.decisions.items() if decision.accepted)
        return tuple(dict.fromkeys((*self.seeds, *accepted)))

    def decide(self, word: str, accepted: bool, score: float | None = None) -> None:
        """Accept or reject a word; a later decision replaces an earlier one."""
        before = self.decisions.pop(word, Decision(None))
        self.decisions[word] = Decision(accepted, score)
        if before.accepted is not None:
            self._nearness.clear()
        if (side := self._nearness.get(accepted)) is not None:
            self._bring_near(side, self._rows([word]))

    def undo(self) -> str | None:
        """Undo the last decision and return its word; None if there is none."""
        made = [word for word, decision in self.decisions.items() if decision.accepted is not None]
        if not made:
            return None
        del self.decisions[made[-1]]
        self._nearness.clear()
        return made[-1]

    def candidates(self, topn: int = 20) -> list[Candidate]:
        """The best-ranked words that are neither seeds nor decided on."""
        accepted, refused = self._sides()
        scores = self._by_centroid(accepted, refused) if self.ranking == "centroid" else self._by_maximum()
        scores[[*accepted, *refused]] = -np.inf
        scores[self._unusable] = -np.inf
        order = np.argsort(-scores, kind="stable")[:topn]
        order = order[scores[order] > -np.inf]
        nearest = self.table.unit[order] @ self.table.unit[accepted].T
        return [
            Candidate(self.table.words[row], float(scores[row]), self.table.words[accepted[int(place)]])
            for row, place in zip(order.tolist(), nearest.argmax(axis=1))
        ]

    def _sides(self) -> tuple[list[int], list[int]]:
        refused = [word for word, decision in self.decisions.items() if decision.accepted is False]
        return self._rows(self.words), self._rows(refused)

    def _rows(self, words: Iterable[str]) -> list[int]:
        return [row for row in resolve("default").rows(words, self.table).tolist() if row != ABSENT]

    def _bring_near(self, side: NDArray[np.float32], rows: Sequence[int]) -> None:
        """Update each word's largest cosine with those to these rows."""
        for row in rows:
            # One at a time: the last digits of a product depend on its shape, and a resumed run must rank the same.
            np.maximum(side, self.table.unit @ self.table.unit[row], out=side)

    def _by_centroid(self, accepted: list[int], refused: list[int]) -> NDArray[np.float32]:
        unit = self.table.unit
        center = unit[accepted].mean(axis=0, dtype=np.float64)
        if refused:
            center = center - AWAY * unit[refused].mean(axis=0, dtype=np.float64)
        scores: NDArray[np.float32] = unit @ unit_rows(center[None])[0]
        return scores

    def _by_maximum(self) -> NDArray[np.float32]:
        for side, rows in zip((True, False), self._sides()):
            if side not in self._nearness:
                self._nearness[side] = np.full(len(self.table), -1 if side else 0, dtype=np.float32)
                self._bring_near(self._nearness[side], rows)
        away: NDArray[np.float32] = np.float32(AWAY) * self._nearness[False]
        return self._nearness[True] - away


def read_decisions(path: Path) -> dict[str, Decision]:
    """The decisions of a file, by word; the last one on each word counts."""
    found: dict[str, Decision] = {}
    with reading(path):
        for place, line in filled_lines(path, "#"):
            mark, *rest = line.split("\t")
            if mark.strip() not in MARKS or not rest or not rest[0].strip():
                raise DataError(f"{place}: expected y, n or ?, a tab and a word, but got {line[:80]!r}.")
            found.pop(rest[0].strip(), None)
            found[rest[0].strip()] = Decision(MARKS[mark.strip()], _score(rest[1:], place))
    return found


def write_decisions(path: Path, decisions: Mapping[str, Decision]) -> None:
    """Write decisions atomically."""
    marks = {value: mark for mark, value in MARKS.items()}
    lines = [
        "\t".join([marks[decision.accepted], word, *([] if decision.score is None else [f"{decision.score:.4f}"])])
        for word, decision in decisions.items()
    ]
    write_file(path, "".join([HEAD, *(f"{line}\n" for line in lines)]))


def _score(fields: Sequence[str], place: str) -> float | None:
    if not fields or not fields[0].strip():
        return None
    try:
        return float(fields[0])
    except ValueError:
        raise DataError(f"{place}: expected a score after the word, but got {fields[0]!r}.") from None


def _unusable(word: str) -> bool:
    """Whether a word cannot be written to the file of decisions."""
    return word != word.strip() or not word or any(mark in word for mark in "\t\n\r")
