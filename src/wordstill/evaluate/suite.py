"""Scoring one or many tables of vectors on many data sets, and keeping the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Protocol as Interface

from wordstill.errors import DataError, UsageError
from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.locate import DATA_VARIABLE, available
from wordstill.evaluate.protocol import Protocol, resolve
from wordstill.evaluate.score import Score
from wordstill.evaluate.similarity import SimilarityTask
from wordstill.evaluate.statistics import CONFIDENCE, RESAMPLES
from wordstill.files import atomic_file, refuse_existing

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

SCHEMA_VERSION = 1
FILE_NAME = "evaluation.json"
SINGLE_TABLE = "vectors"

EIGHT = (
    "rg65",
    "wordsim353",
    "wordsim353-similarity",
    "wordsim353-relatedness",
    "simlex999",
    "simverb3500",
    "rareword",
    "men",
)


class Task(Interface):
    """What a task does: it has a data set's name and scores a table."""

    @property
    def name(self) -> str:
        """The name of the data set."""
        ...

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; equal seeds give equal results."""
        ...


TASKS: Mapping[str, Callable[[str | Path], Task]] = {SimilarityTask.kind: SimilarityTask}


@dataclass(frozen=True)
class Evaluation:
    """The scores of every table on every set, with the rules that they were made under."""

    scores: Mapping[str, Mapping[str, Score]]
    """By the name of the table, then by the name of the set."""
    protocol: Protocol
    seed: int

    @property
    def sets(self) -> list[str]:
        """The names of the sets, in the order in which they were asked for."""
        return list(dict.fromkeys(name for scores in self.scores.values() for name in scores))

    @property
    def a8(self) -> dict[str, float]:
        """The mean of the eight usual similarity sets, for those tables that have a figure for all eight."""
        means = {}
        for table, scores in self.scores.items():
            values = [scores[name].value for name in EIGHT if name in scores]
            figures = [value for value in values if value is not None]
            if len(figures) == len(EIGHT):
                means[table] = sum(figures) / len(EIGHT)
        return means

    def rows(self) -> list[dict[str, Any]]:
        """One plain record for each table and set: ready to print, or to make a data frame of."""
        return [
            {"table": table, **score.to_dict()}
            for table, by_set in self.scores.items()
            for score in by_set.values()
        ]

    def to_json(self) -> str:
        """The evaluation as JSON text, with the version of its schema."""
        means = self.a8
        content = {
            "schema_version": SCHEMA_VERSION,
            "protocol": asdict(self.protocol),
            "bootstrap": {"seed": self.seed, "resamples": RESAMPLES, "confidence": CONFIDENCE},
            "tables": {
                table: {"a8": means.get(table), "scores": [score.to_dict() for score in by_set.values()]}
                for table, by_set in self.scores.items()
            },
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write ``evaluation.json`` into a folder, or a file of any name; returns where it was written."""
        target = Path(path)
        if target.is_dir():
            target = target / FILE_NAME
        refuse_existing(target, overwrite=overwrite)
        with atomic_file(target) as handle:
            handle.write(self.to_json().encode())
        return target


def evaluate(
    vectors: WordVectors | Mapping[str, WordVectors],
    sets: Sequence[str | Path] | None = None,
    protocol: str | Protocol = "default",
    seed: int = 0,
) -> Evaluation:
    """Score vectors on data sets.

    Args:
        vectors: One table, or several by name.
        sets: Names of the registry, or paths of own files of pairs; None for every registered set that is
            found.
        protocol: The name of a protocol, or an own one.
        seed: Of the bootstrap; every set and table draws from the same seed, so a score does not depend on
            which others were asked for.
    """
    tables = dict(vectors) if isinstance(vectors, Mapping) else {SINGLE_TABLE: vectors}
    if not tables:
        raise UsageError("There is nothing to evaluate: no table of vectors was given.")
    rules = resolve(protocol)
    tasks = [_task(name) for name in _chosen(sets)]
    scores = {
        table: {task.name: task.run(table_vectors, rules, seed) for task in tasks}
        for table, table_vectors in tables.items()
    }
    return Evaluation(scores, rules, seed)


def _chosen(sets: Sequence[str | Path] | None) -> list[str | Path]:
    if isinstance(sets, str):
        raise UsageError(f"sets must be a list of names, but is the text {sets!r}. Give [{sets!r}].")
    if sets is not None:
        if not sets:
            raise UsageError("No data set was asked for. Name at least one, or leave the sets out for all.")
        return list(dict.fromkeys(sets))
    found: list[str | Path] = [*available()]
    if not found:
        raise DataError(
            f"None of the {len(DATASETS)} registered data sets was found. Set {DATA_VARIABLE} to the folder "
            "that holds them, install the two that come with gensim (pip install 'wordstill[eval]'), or give "
            "the path of your own file of pairs."
        )
    return found


def _task(name: str | Path) -> Task:
    row = DATASETS.get(name) if isinstance(name, str) else None
    # A file that is not registered is a user's own file of pairs.
    return TASKS[row.task if row else SimilarityTask.kind](name)
