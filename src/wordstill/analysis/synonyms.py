"""Synonyms from a table, for review: mutual nearest neighbors, without antonyms and merely related words.

A pair of words is a candidate if each is among the nearest neighbors of the other and their cosine reaches a threshold.
If a lexicon has both words, it decides: pairs that it links are kept, others are merely related. Antonyms are removed
by a lexicon of antonyms and along directions learned from its pairs (`Opposites`). Vectors decide on all other pairs,
which are mostly names, inflected forms and terms of the user's field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import write_file
from wordstill.core.guard import reading
from wordstill.core.progress import count_bar
from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data.fields import filled_lines
from wordstill.evaluation.statistics import Floats
from wordstill.vectors.search import nearest

if TYPE_CHECKING:
    from wordstill.postprocess.retrofit import Lexicon
    from wordstill.vectors import WordVectors

THRESHOLD, NEIGHBORS = 0.6, 10
STEM, SHORTEST_STEM = 0.55, 3
"""Words have the same stem if their common prefix is this share of the longer word, and at least this long."""
HEAD = "# y or n\tword\tother\tcosine\topposite\treason\n"
REVIEWED = "review"
DIRECTIONS, RIDGE, FOLDS = 5, 1.0, 5
NEAR = 0.4
"""Minimum cosine of pairs to learn from."""
LEAST_PAIRS = 100
"""Minimum number of near pairs of antonyms and of synonyms to learn from."""
LOST = 0.1
"""Share of held-out synonyms above the bound for opposites."""

Pairs = NDArray[np.int64]
"""Rows of a table, (pairs, 2)."""


class Pair(NamedTuple):
    """Two words that may be synonyms, and the decision on them."""

    word: str
    other: str
    cosine: float
    kept: bool
    reason: str
    """``vectors``, ``lexicon`` or ``review``; ``antonyms``, ``opposite direction``, ``relatives``, ``same stem``."""
    opposite: float | None = None
    """The score along the directions of opposites, if these were learned."""


@dataclass(frozen=True)
class Synonyms:
    """The pairs of a table, best first."""

    pairs: tuple[Pair, ...]
    skipped: int
    """Words of the table without a letter, which search engines drop."""
    opposites: Opposites | None = None
    agreement: float | None = None
    """Share of pairs linked by the lexicon, among those of which it has both words; None if there are none."""

    def kept(self) -> list[Pair]:
        """The pairs to use."""
        return [pair for pair in self.pairs if pair.kept]


def find_synonyms(
    table: WordVectors,
    *,
    threshold: float = THRESHOLD,
    neighbors: int = NEIGHBORS,
    lexicon: Lexicon | None = None,
    relatives: Lexicon | None = None,
    antonyms: Lexicon | None = None,
    reviewed: Mapping[tuple[str, str], bool] | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Synonyms:
    """Find the synonyms of a table.

    Args:
        table: All words with a letter are compared.
        threshold: Minimum cosine of a pair.
        neighbors: Each word must be among this many nearest neighbors of the other.
        lexicon: Pairs of synonyms, such as a wordnet's.
        relatives: Other links, such as a wordnet's hypernyms, whose words count as known to the lexicon.
        antonyms: Pairs of opposites.
        reviewed: Decisions of a reviewer, by pair in alphabetical order; they override everything else.
        seed: Seed of the folds for the bound for opposites.
        progress: Show progress.
    """
    if not 0 < threshold <= 1 or neighbors < 1:
        raise UsageError(f"threshold must be above 0 and at most 1, neighbors 1 or more; got {threshold}, {neighbors}.")
    usable = np.array([_has_letter(word) for word in table.words], dtype=np.bool_)
    pairs = _mutual(table, np.flatnonzero(usable), threshold, neighbors, progress=progress)
    alike, apart = (rows_of_links(table, links) for links in (lexicon, antonyms))
    known = {row for part in (lexicon, relatives) if part is not None for row in _rows(table, part) if row is not None}
    apart_set = set(map(tuple, apart.tolist()))
    alike = np.array([pair for pair in alike.tolist() if tuple(pair) not in apart_set], dtype=np.int64).reshape(-1, 2)
    opposites = learn_opposites(table.unit, apart, alike, seed)
    rows = np.array([(one, other) for one, other, _ in pairs], dtype=np.int64).reshape(-1, 2)
    scores = None if opposites is None else opposites.scores(table.unit, rows)
    judge = _Judge(table, set(map(tuple, alike.tolist())), apart_set, known, reviewed or {})
    found = []
    for number, (one, other, cosine) in enumerate(pairs):
        score = None if scores is None else float(scores[number])
        beyond = score is not None and opposites is not None and score > opposites.bound
        kept, reason = judge.decide(one, other, opposite=beyond)
        first, second = sorted((table.words[one], table.words[other]))
        found.append(Pair(first, second, cosine, kept, reason, score))
    found.sort(key=lambda pair: (-pair.cosine, pair.word, pair.other))
    judged = [(one, other) in judge.alike for one, other, _ in pairs if one in known and other in known]
    agreement = float(np.mean(judged)) if judged else None
    return Synonyms(tuple(found), int((~usable).sum()), opposites, agreement)


@dataclass(frozen=True)
class _Judge:
    table: WordVectors
    alike: set[tuple[int, ...]]
    apart: set[tuple[int, ...]]
    known: set[int]
    """Rows of words in the lexicon."""
    reviewed: Mapping[tuple[str, str], bool]

    def decide(self, one: int, other: int, *, opposite: bool) -> tuple[bool, str]:
        """Whether two rows, the smaller first, are synonyms, and why."""
        first, second = sorted((self.table.words[one], self.table.words[other]))
        if (first, second) in self.reviewed:
            return self.reviewed[first, second], REVIEWED
        if (one, other) in self.apart:
            return False, "antonyms"
        if (one, other) in self.alike:
            return True, "lexicon"
        if _same_stem(spoken(first).casefold(), spoken(second).casefold()):
            return False, "same stem"
        if opposite:
            return False, "opposite direction"
        if one in self.known and other in self.known:
            return False, "relatives"
        return True, "vectors"


def spoken(word: str) -> str:
    """A word as people type it: an underscore between words is a space."""
    return " ".join(word.replace("_", " ").split())


def _same_stem(one: str, other: str) -> bool:
    """Whether two words look like forms of one word, which search engines match by stemming."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))
    return one == other or common >= max(SHORTEST_STEM, STEM * max(len(one), len(other)))


def write_review(path: Path, found: Synonyms) -> None:
    """Write every pair with its decision and reason, tab-separated, for a reviewer."""
    lines = (
        "\t".join(
            [
                "y" if pair.kept else "n",
                pair.word,
                pair.other,
                f"{pair.cosine:.4f}",
                "" if pair.opposite is None else f"{pair.opposite:.4f}",
                pair.reason,
            ]
        )
        for pair in found.pairs
    )
    write_file(path, "".join([HEAD, *(f"{line}\n" for line in lines)]))


def read_review(path: Path) -> dict[tuple[str, str], bool]:
    """The decisions in a reviewed file of `write_review`, by pair in alphabetical order."""
    found = {}
    with reading(path):
        for place, line in filled_lines(path, "#"):
            mark, *words = (field.strip() for field in line.split("\t"))
            if mark not in ("y", "n") or len(words) < 2 or not all(words[:2]):
                raise DataError(f"{place}: expected y or n and two words between tabs, but got {line[:80]!r}.")
            first, second = sorted(words[:2])
            found[first, second] = mark == "y"
    return found


def _has_letter(word: str) -> bool:
    # The files cannot have tabs or line ends in words; an engine rejects a rule whose words its analyzer drops.
    return any(character.isalpha() for character in word) and not any(mark in word for mark in "\t\n\r")


def _mutual(
    table: WordVectors, rows: NDArray[np.int64], threshold: float, neighbors: int, *, progress: bool
) -> list[tuple[int, int, float]]:
    """Pairs of rows, the smaller first, that are mutual nearest neighbors above the threshold, with their cosine."""
    unit = table.unit[rows]
    near: dict[tuple[int, int], float] = {}
    mutual = []
    with count_bar("synonyms", len(rows), "words", show=progress) as bar:
        own = [[number] for number in range(len(rows))]
        for number, (others, scores) in enumerate(nearest(unit, unit, neighbors, own)):
            for other, score in zip(others[scores >= threshold].tolist(), scores.tolist()):
                if other > number:
                    near[number, other] = score
                elif (other, number) in near:
                    mutual.append((int(rows[other]), int(rows[number]), near[other, number]))
            bar.update()
    return mutual


def rows_of_links(table: WordVectors, lexicon: Lexicon | None) -> Pairs:
    """The distinct links of a lexicon between words of the table, the smaller row first."""
    if lexicon is None:
        return np.empty((0, 2), dtype=np.int64)

    def ends() -> Iterator[tuple[int, int]]:
        for one, other in zip(lexicon.first.tolist(), lexicon.second.tolist()):
            if (first := rows[one]) is not None and (second := rows[other]) is not None and first != second:
                yield min(first, second), max(first, second)

    rows = _rows(table, lexicon)
    return np.array(sorted(set(ends())), dtype=np.int64).reshape(-1, 2)


def _rows(table: WordVectors, lexicon: Lexicon) -> list[int | None]:
    """The row of each word of a lexicon, looked up as written, with underscores, or in lower case."""

    def row(word: str) -> int | None:
        forms = (word, word.replace(" ", "_"), word.lower())
        return next((table.index(form) for form in forms if form in table), None)

    return [row(word) for word in lexicon.words]


@dataclass(frozen=True, eq=False)
class Opposites:
    """Directions that separate opposites from synonyms, and the score above which a pair counts as opposite.

    Opposites are near each other in any table, because they occur in similar contexts, but unlike synonyms they differ
    along a few directions. With A and S the mean outer products of the unit differences of antonyms and of synonyms,
    these are the generalized eigenvectors of A v = λ (S + r I) v with the largest λ. A pair's score is the squared
    length of its unit difference along them. The bound is chosen on held-out pairs, none of whose words are in the
    pairs learned from. Only near pairs are used, because distant words differ in all directions.
    """

    directions: Floats
    """(dim, directions)"""
    bound: float
    caught: float
    """Share of held-out antonyms above the bound."""
    lost: float
    """Share of held-out synonyms above it."""

    def scores(self, unit: NDArray[np.float32], pairs: Pairs) -> Floats:
        """The score of each pair of rows of ``unit``, (pairs,)."""
        return _scores(self.directions, unit, pairs)


def learn_opposites(
    unit: NDArray[np.float32],
    antonyms: Pairs,
    synonyms: Pairs,
    seed: int = 0,
    *,
    directions: int = DIRECTIONS,
    ridge: float = RIDGE,
) -> Opposites | None:
    """Learn the directions of opposites in a table; None if there are too few near pairs.

    Args:
        unit: Unit rows of the table, (words, dim).
        antonyms: Pairs of its rows.
        synonyms: Pairs of its rows, none of them among the antonyms.
        seed: Seed of the folds of words.
        directions: Number of directions.
        ridge: r, as a fraction of the mean variance of the differences of synonyms.
    """
    antonyms, synonyms = (pairs[_cosines(unit, pairs) >= NEAR] for pairs in (antonyms, synonyms))
    if min(len(antonyms), len(synonyms)) < LEAST_PAIRS:
        return None
    fold = np.random.default_rng(seed).integers(0, FOLDS, len(unit))
    held: tuple[list[Floats], list[Floats]] = ([], [])
    for number in range(FOLDS):
        inside = [pairs[(fold[pairs] != number).all(axis=1)] for pairs in (antonyms, synonyms)]
        learned = _directions(unit, inside[0], inside[1], directions, ridge)
        for kept, pairs in zip(held, (antonyms, synonyms)):
            kept.append(_scores(learned, unit, pairs[(fold[pairs] == number).all(axis=1)]))
    opposite, alike = (np.concatenate(kept) for kept in held)
    if not len(opposite) or not len(alike):
        return None
    bound = float(np.quantile(alike, 1 - LOST))
    shares = (float((scores > bound).mean()) for scores in (opposite, alike))
    return Opposites(_directions(unit, antonyms, synonyms, directions, ridge), bound, *shares)


def _directions(unit: NDArray[np.float32], antonyms: Pairs, synonyms: Pairs, directions: int, ridge: float) -> Floats:
    apart, together = (_scatter(_differences(unit, pairs)) for pairs in (antonyms, synonyms))
    together = together + ridge * np.trace(together) / len(together) * np.eye(len(together))
    # With S = L L', this is an ordinary eigenproblem of L^-1 A L^-1'.
    inverse = np.linalg.inv(np.linalg.cholesky(together))
    _, vectors = np.linalg.eigh(inverse @ apart @ inverse.T)
    found: Floats = inverse.T @ vectors[:, -directions:]
    return found


def _cosines(unit: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float32]:
    cosines: NDArray[np.float32] = np.einsum("ij,ij->i", unit[pairs[:, 0]], unit[pairs[:, 1]])
    return cosines


def _scatter(differences: Floats) -> Floats:
    scatter: Floats = differences.T @ differences / max(1, len(differences))
    return scatter


def _differences(unit: NDArray[np.float32], pairs: Pairs) -> Floats:
    differences = (unit[pairs[:, 0]] - unit[pairs[:, 1]]).astype(np.float64)
    lengths = np.linalg.norm(differences, axis=1, keepdims=True)
    scaled: Floats = np.divide(differences, lengths, out=np.zeros_like(differences), where=lengths > 0)
    return scaled


def _scores(directions: Floats, unit: NDArray[np.float32], pairs: Pairs) -> Floats:
    scores: Floats = ((_differences(unit, pairs) @ directions) ** 2).sum(axis=1)
    return scores
