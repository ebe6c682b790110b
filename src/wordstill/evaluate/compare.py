"""Two tables of vectors side by side: where they agree, and which of them people agree with more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordstill.errors import UsageError
from wordstill.evaluate.agreement import Agreement, agreement
from wordstill.evaluate.evaluation import Comparison, Evaluation
from wordstill.evaluate.locate import available
from wordstill.evaluate.protocol import Protocol
from wordstill.evaluate.statistics import checked_seed
from wordstill.evaluate.suite import evaluate
from wordstill.files import atomic_file, refuse_existing

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class SideBySide:
    """All that a comparison of two tables found."""

    names: tuple[str, str]
    agreement: Agreement
    evaluation: Evaluation | None
    """The scores of both tables, or None if no data set was found."""

    @property
    def tests(self) -> list[Comparison]:
        """A paired test for each set: the second table against the first."""
        return [] if self.evaluation is None else self.evaluation.comparisons(self.names[0])

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
        with atomic_file(target) as handle:
            handle.write(self.to_json().encode())


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
        topn: How many neighbours of a word count.
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


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values that allow for there being several tests (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
