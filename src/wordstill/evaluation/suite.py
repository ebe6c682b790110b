"""Scoring one or many tables of vectors on many data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data.catalog import DATASETS, DEFAULT_SUITE, suite_sets
from wordstill.evaluation.data.locate import DATA_VARIABLE, available
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.result import Evaluation, TableFacts
from wordstill.evaluation.statistics import checked_seed
from wordstill.evaluation.tasks.base import make_task
from wordstill.vectors import WordVectors

SINGLE_TABLE = "vectors"


def evaluate(
    vectors: WordVectors | Mapping[str, WordVectors],
    sets: Sequence[str | Path] | None = None,
    protocol: str | Protocol = "default",
    seed: int = 0,
    *,
    suite: str | None = None,
    progress: bool = False,
) -> Evaluation:
    """Score vectors on data sets.

    Args:
        vectors: One table, or several by name.
        sets: Names of the registry (``simlex999``, or ``sst5:probe`` for another task on a set), paths of own
            files of pairs, or ``KIND:PATH`` for own files of other kinds.
        protocol: The name of a protocol, or an own one.
        seed: Of the bootstrap; every set and table draws from the same seed, so a score does not depend on
            which others were asked for.
        suite: The name of a group of sets, of which those that are found are scored before ``sets``. If
            neither is given, it is ``similarity``.
        progress: Show a bar with the rate and the time left for every task that trains.
    """
    tables, seed, rules = _tables(vectors), checked_seed(seed), resolve(protocol)
    chosen, missing = _chosen(sets, suite)
    # All sets are read before any is scored: a broken file is told at once.
    tasks = {str(name): make_task(name, progress=progress) for name in chosen}
    scores = {
        table: {name: task.run(table_vectors, rules, seed) for name, task in tasks.items()}
        for table, table_vectors in tables.items()
    }
    facts = {name: TableFacts.of(table) for name, table in tables.items()}
    return Evaluation(scores, rules, seed, missing, facts)


def _tables(vectors: WordVectors | Mapping[str, WordVectors]) -> dict[str, WordVectors]:
    """The tables by name; what is no table is refused."""
    tables = dict(vectors) if isinstance(vectors, Mapping) else {SINGLE_TABLE: vectors}
    if not tables:
        raise UsageError("There is nothing to evaluate: no table of vectors was given.")
    for name, table in tables.items():
        if not isinstance(table, WordVectors):
            raise UsageError(
                f"{name} must be a WordVectors, but is a {type(table).__name__}. Open files with "
                "WordVectors.load(path), and give several tables by name, as {'first': a, 'second': b}."
            )
    return tables


def _chosen(sets: Sequence[str | Path] | None, suite: str | None) -> tuple[list[str | Path], tuple[str, ...]]:
    """The sets to score, and those of the suite that are not there."""
    if isinstance(sets, str | Path):
        raise UsageError(f"sets must be a list of names or paths, but is {sets!r}. Give [{sets!r}].")
    if sets is not None and not sets:
        raise UsageError("No data set was asked for. Name at least one, or leave the sets out for all.")
    if sets is not None and suite is None:
        return list(dict.fromkeys(sets)), ()
    present = set(available())
    wanted = suite_sets(suite or DEFAULT_SUITE)
    found = [name for name in wanted if _base(name) in present]
    if not found:
        raise DataError(
            f"None of the {len(wanted)} registered data sets was found. Get them with wordstill data fetch "
            f"--all, set {DATA_VARIABLE} to the folder that holds them, install those that come with gensim "
            "(pip install 'wordstill[eval]'), or give the path of your own file of pairs."
        )
    missing = tuple(name for name in wanted if name not in found)
    return list(dict.fromkeys([*found, *(sets or ())])), missing


def _base(name: str) -> str:
    return name if name in DATASETS else name.partition(":")[0]
