"""Comparing tables: nearest words, agreement of neighbors and cosines, and paired tests on data sets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import refuse_existing, write_file
from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data.locate import available
from wordstill.evaluation.protocol import ABSENT, Protocol, resolve
from wordstill.evaluation.result import Comparison, Evaluation
from wordstill.evaluation.statistics import Interval, checked_seed, holm, spearman
from wordstill.evaluation.suite import evaluate
from wordstill.vectors.search import nearest

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


SHOWN = ("light", "while", "bank", "quickly", "king", "mouse")
"""Words that papers show, and some ambiguous ones."""
TOPN = 6

Neighbors = dict[str, dict[str, list[tuple[str, float]] | None]]
"""By word, then by table: words with cosines, best first; None where the table lacks the word."""


def neighbor_table(tables: Mapping[str, WordVectors], words: Sequence[str] = SHOWN, topn: int = TOPN) -> Neighbors:
    """The nearest neighbors of words in every table, without words that no table has."""
    rules = resolve("default")
    found: Neighbors = {word: {} for word in words}
    for name, vectors in tables.items():
        rows = dict(zip(words, rules.rows(words, vectors).tolist()))
        known = [word for word in words if rows[word] != ABSENT]
        nearest = iter(vectors.neighbors([vectors.words[rows[word]] for word in known], topn=topn))
        for word in words:
            found[word][name] = next(nearest) if rows[word] != ABSENT else None
    return {word: by_table for word, by_table in found.items() if any(by_table.values())}


def absent_everywhere(tables: Mapping[str, WordVectors], words: Sequence[str]) -> list[str]:
    """Those of the words that no table has."""
    rules = resolve("default")
    present = np.any([rules.rows(words, vectors) != ABSENT for vectors in tables.values()], axis=0)
    return [word for word, there in zip(words, present) if not there]


COMMON_WORDS = 20_000
RANDOM_PAIRS = 10_000
FEWEST_WORDS = 3


@dataclass(frozen=True)
class Agreement:
    """Agreement of two tables, over the words that both have."""

    shared: int
    """Words that are in both tables."""
    topn: int
    words: tuple[str, ...]
    """Words whose neighbors were compared, drawn from the most frequent ones."""
    overlaps: tuple[float, ...]
    """For each of them, the share of its ``topn`` nearest shared words that both tables give it."""
    cosines: float
    """Spearman's correlation between the two tables' cosines of random pairs of those words."""

    @property
    def overlap(self) -> float:
        """Mean share of common neighbors."""
        return float(np.mean(self.overlaps))

    @property
    def interval(self) -> Interval:
        """95 % interval of the overlap, over samples of words."""
        spread = 1.96 * float(np.std(self.overlaps)) / max(1, len(self.overlaps)) ** 0.5
        return Interval(max(0.0, self.overlap - spread), min(1.0, self.overlap + spread))

    def least(self, count: int) -> list[tuple[str, float]]:
        """The words that the tables agree on least, without punctuation; ties go to the more frequent word."""
        order = np.argsort(self.overlaps, kind="stable").tolist()
        lettered = [place for place in order if any(map(str.isalnum, self.words[place]))]
        return [(self.words[place], self.overlaps[place]) for place in lettered[:count]]


def agreement(
    first: WordVectors, second: WordVectors, *, topn: int = 10, sample: int = 1000, seed: int = 0
) -> Agreement:
    """Compare the neighbors and cosines of two tables.

    Args:
        first: A table.
        second: Another one; of any dimension.
        topn: How many neighbors count.
        sample: How many words to compare at most, drawn from the 20,000 most frequent that both have.
        seed: Of the draw.
    """
    shared = [word for word in first.words if word in second]
    if len(shared) < FEWEST_WORDS:
        raise DataError(
            f"The tables share {len(shared)} of their {len(first):,} and {len(second):,} words; a comparison "
            f"needs at least {FEWEST_WORDS}. Check that both are in the same language and case."
        )
    sides = [table.subset(shared).unit for table in (first, second)]
    random = np.random.default_rng(seed)
    common = _most_common(first, shared)
    drawn = np.sort(random.permutation(len(common))[:sample])
    rows = common[drawn]
    topn = min(topn, len(shared) - 1)
    found = [_neighbors(side, rows, topn) for side in sides]
    overlaps = [len(np.intersect1d(one, other)) / topn for one, other in zip(*found)]
    pairs = rows[random.integers(0, len(rows), size=(2, RANDOM_PAIRS))]
    pairs = pairs[:, pairs[0] != pairs[1]]
    cosines = [np.einsum("ij,ij->i", *side[pairs]).astype(np.float64) for side in sides]
    words = tuple(shared[row] for row in rows.tolist())
    return Agreement(len(shared), topn, words, tuple(overlaps), spearman(*cosines))


def _most_common(table: WordVectors, shared: list[str]) -> NDArray[np.int64]:
    """Indices in ``shared`` of its most frequent words by descending frequency; without counts, of its first words."""
    order = np.arange(len(shared))
    if table.counts is not None:
        counts = table.counts[[table.index(word) for word in shared]]
        order = np.argsort(-counts, kind="stable")
    return order[:COMMON_WORDS]


def _neighbors(unit: NDArray[np.float32], rows: NDArray[np.int64], topn: int) -> list[NDArray[np.int64]]:
    exclude = [[row] for row in rows.tolist()]
    return [found[0] for found in nearest(unit, unit[rows], topn, exclude)]


SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SideBySide:
    """The result of comparing two tables."""

    names: tuple[str, str]
    agreement: Agreement
    evaluation: Evaluation | None
    """The scores of both tables, or None if no data set was found."""

    @property
    def tests(self) -> list[Comparison]:
        """A paired test for each set: the second table against the first."""
        return [] if self.evaluation is None else self.evaluation.comparisons(self.names[0])

    def _repr_html_(self) -> str:
        """Shown by a notebook: shared neighbors, the words with the fewest, paired tests, and the scores."""
        from wordstill.evaluation.report.page import html_table, paragraph

        agreed = self.agreement
        facts = (
            f"{' and '.join(self.names)} share {agreed.overlap:.1%} of the {agreed.topn} nearest words of "
            f"{len(agreed.words):,} frequent words; their cosines correlate at {agreed.cosines:.2f}. Least on: "
            f"{', '.join(f'{word} {share:.0%}' for word, share in agreed.least(5))}."
        )
        if self.evaluation is None:
            return paragraph(facts)
        tests = [["set", "difference", "95 %", "p"]] + [
            [
                test.dataset,
                f"{test.difference:+.1f}",
                f"[{test.interval.low:+.1f}, {test.interval.high:+.1f}]",
                f"{test.p_value:.3f}",
            ]
            for test in self.tests
        ]
        return paragraph(facts) + html_table(tests) + self.evaluation._repr_html_()

    def to_json(self) -> str:
        """The comparison as JSON text."""
        agreed = self.agreement
        content: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "tables": list(self.names),
            "shared_words": agreed.shared,
            "neighbours": {
                "topn": agreed.topn,
                "overlap": agreed.overlap,
                "interval": agreed.interval._asdict(),
                "words": dict(zip(agreed.words, agreed.overlaps)),
            },
            "cosines": {"spearman": agreed.cosines},
            "tests": [
                {**asdict(test), "interval": test.interval._asdict(), "p_holm": adjusted}
                for test, adjusted in zip(self.tests, holm([test.p_value for test in self.tests]))
            ],
            "evaluation": None if self.evaluation is None else json.loads(self.evaluation.to_json()),
        }
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write everything to a JSON file."""
        target = Path(path)
        refuse_existing(target, overwrite=overwrite)
        write_file(target, self.to_json())


def compare_tables(
    first: WordVectors,
    second: WordVectors,
    names: tuple[str, str] = ("first", "second"),
    *,
    sets: Sequence[str | Path] | None = None,
    protocol: str | Protocol = "default",
    topn: int = 10,
    sample: int = 1000,
    seed: int = 0,
) -> SideBySide:
    """Compare two tables.

    Args:
        first: The table that the other is compared with.
        second: The other one.
        names: What to call them.
        sets: Data sets or files of pairs to test them on; None takes the similarity sets that are found.
        protocol: Rules for looking words up.
        topn: How many neighbors of a word count.
        sample: Of how many words at most.
        seed: Of the draws of words and of the bootstrap.
    """
    if names[0] == names[1]:
        raise UsageError(f"Both tables are called {names[0]!r}; a comparison needs two names.")
    seed = checked_seed(seed)
    agreed = agreement(first, second, topn=topn, sample=sample, seed=seed)
    if sets is None and not available():
        return SideBySide(names, agreed, None)
    tables = {names[0]: first, names[1]: second}
    return SideBySide(names, agreed, evaluate(tables, sets, protocol, seed))
