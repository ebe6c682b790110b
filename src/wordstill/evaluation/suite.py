"""Scoring tables of vectors, or the representations of an encoder of words in context, on many data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordstill.errors import DataError, UsageError, unknown_name
from wordstill.evaluation.data.catalog import DEFAULT_SUITE, YEARS, dataset_of, suite_sets
from wordstill.evaluation.data.locate import DATA_VARIABLE, available
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.result import Evaluation, TableFacts
from wordstill.evaluation.score import Score
from wordstill.evaluation.statistics import checked_seed
from wordstill.evaluation.tasks.base import make_task, resolve_name, task_class
from wordstill.evaluation.tasks.in_context import ContextEncoder, ContextTask, Unit, context_protocol
from wordstill.vectors import WordVectors

SINGLE_TABLE = "vectors"
IN_CONTEXT: Mapping[str, str] = {
    **{name: name for name in ("usim", "wic", "cosimlex", "scws")},
    **{name: f"{name}:context-sts" for name in YEARS},
    "paws-wiki": "paws-wiki",
    "paws-words": "paws-wiki:word-cosines",
}
"""Tasks in context by their short names, in the order of the report."""


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
        sets: Names of data sets (``simlex999``, or ``sst5:probe`` for another task on a set), paths of your own files
            of pairs, or ``KIND:PATH`` for your own files of other kinds.
        protocol: The name of a protocol, or your own.
        seed: Of the bootstrap; every set and table draws from the same seed, so a score does not depend on
            which others were asked for.
        suite: The name of a group of sets; those that are found are scored before ``sets``. If neither is given, it
            is ``similarity``.
        progress: Show a bar with the rate and the time left for every task that trains.
    """
    tables, seed, rules = _tables(vectors), checked_seed(seed), resolve(protocol)
    chosen, missing = _chosen(sets, suite)
    # All sets are read before any is scored, so that a broken file is reported at once.
    tasks = {str(name): make_task(name, progress=progress) for name in chosen}
    scores = {
        table: {name: task.run(table_vectors, rules, seed) for name, task in tasks.items()}
        for table, table_vectors in tables.items()
    }
    facts = {name: TableFacts.of(table) for name, table in tables.items()}
    return Evaluation(scores, rules, seed, missing, facts)


def evaluate_in_context(
    encoder: ContextEncoder,
    tasks: Sequence[str] | None = None,
    seed: int = 0,
    *,
    unit: Unit = "subwords",
    limit: int | None = None,
) -> Evaluation:
    """Score the representations of an encoder on words in context, sentences and paraphrases.

    Args:
        encoder: Reads each text once for all its representations.
        tasks: Names of ``IN_CONTEXT``, or ``SET:KIND``; None for all of ``IN_CONTEXT``.
        seed: Of the bootstrap.
        unit: What is averaged for a sentence.
        limit: Most pairs of each sentence task, for a quick look; None takes all.
    """
    rules, seed = context_protocol(unit, limit), checked_seed(seed)
    scores: dict[str, dict[str, Score]] = {name: {} for name in encoder.names}
    # All sets are read before any is scored.
    for task in [_context_task(name) for name in tasks or IN_CONTEXT]:
        for name, rows in task.run(encoder, rules, seed).items():
            scores[name].update(rows)
    return Evaluation(scores, rules, seed)


def _context_task(name: str) -> ContextTask[Any]:
    if name not in IN_CONTEXT and ":" not in name:
        raise unknown_name("task", name, IN_CONTEXT)
    kind, dataset = resolve_name(IN_CONTEXT.get(name, name))
    found = task_class(kind)
    if not issubclass(found, ContextTask):
        raise UsageError(f"The task {kind!r} scores tables of vectors: wordstill evaluate VECTORS --set {name}")
    return found(dataset)


def _tables(vectors: WordVectors | Mapping[str, WordVectors]) -> dict[str, WordVectors]:
    """The tables by name; anything else is refused."""
    tables = dict(vectors) if isinstance(vectors, Mapping) else {SINGLE_TABLE: vectors}
    if not tables:
        raise UsageError("There is nothing to evaluate: no table of vectors was passed.")
    for name, table in tables.items():
        if not isinstance(table, WordVectors):
            raise UsageError(
                f"{name} must be a WordVectors, but is a {type(table).__name__}. Open files with "
                "WordVectors.load(path), and give several tables by name, as {'first': a, 'second': b}."
            )
    return tables


def _chosen(sets: Sequence[str | Path] | None, suite: str | None) -> tuple[list[str | Path], tuple[str, ...]]:
    """The sets to score, and those of the suite that were not found."""
    if isinstance(sets, str | Path):
        raise UsageError(f"sets must be a list of names or paths, but is {sets!r}. Use [{sets!r}].")
    if sets is not None and not sets:
        raise UsageError("No data set was named. Name at least one, or omit sets for all.")
    if sets is not None and suite is None:
        return list(dict.fromkeys(sets)), ()
    present = set(available())
    wanted = suite_sets(suite or DEFAULT_SUITE)
    found = [name for name in wanted if dataset_of(name) in present]
    if not found:
        raise DataError(
            f"None of the {len(wanted)} registered data sets was found. Get them with wordstill data fetch "
            f"--all, set {DATA_VARIABLE} to the folder that holds them, install those that come with gensim "
            "(pip install 'wordstill[train]'), or use your own file of pairs."
        )
    missing = tuple(name for name in wanted if name not in found)
    return list(dict.fromkeys([*found, *(sets or ())])), missing
