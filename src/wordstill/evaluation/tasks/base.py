"""What a task is, and the table of tasks.

A task belongs to one data set. It is made with the set's name (or the path of a user's own file) and scores
any number of tables. A new kind of task is a class that fits ``Task``, a row of ``TASKS`` and one of
``contents.NEEDS``; a set says in the registry by which kind it is scored, and ``NAME:KIND`` asks for another
one that takes what the set has.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Protocol as Interface

from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import Score

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


class Task(Interface):
    """Scores tables on one data set."""

    @property
    def name(self) -> str:
        """The name of the data set."""
        ...

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; equal seeds give equal results.

        The seed is that of the bootstrap, and of everything that a task draws or trains. What the table lacks
        is no error: the score then has a ``problem`` and no score.
        """
        ...

    def words(self) -> tuple[str, ...]:
        """The words that the task looks up, as they are published."""
        ...


# Named, not imported: tasks that train need packages that the others do not.
TASKS: Mapping[str, str] = {
    "similarity": "wordstill.evaluation.tasks.similarity:SimilarityTask",
    "analogy": "wordstill.evaluation.tasks.analogy:AnalogyTask",
    "relation": "wordstill.evaluation.tasks.relation:RelationTask",
    "categorisation": "wordstill.evaluation.tasks.categorization:CategorizationTask",
    "sts": "wordstill.evaluation.tasks.sts:StsTask",
    "classification": "wordstill.evaluation.trained.classification:ClassificationTask",
    "probe": "wordstill.evaluation.trained.classification:ProbeTask",
    "tagging": "wordstill.evaluation.trained.tagging:TaggingTask",
    "parent": "wordstill.evaluation.trained.finetuned:FinetunedTask",
}
"""The class of each kind, as ``module:class``; it is called with the name of a set or a path."""

OWN_FILE_KIND = "similarity"

TRAINING = ("classification", "tagging", "parent")
"""Kinds that train long enough to have a bar."""


def make_task(name: str | Path, *, progress: bool = False) -> Task:
    """The task of a data set.

    Args:
        name: A set of the registry; ``NAME:KIND`` for another kind of task on it; ``KIND:PATH`` for a
            file of the user's own; or the path of a file of pairs.
        progress: Show a bar with the rate and the time left while the task trains.
    """
    kind, given = _resolve(name)
    if kind not in TASKS:
        raise unknown_name("kind of task", kind, TASKS)
    module, _, attribute = TASKS[kind].partition(":")
    make = getattr(importlib.import_module(module), attribute)
    task: Task = make(given, progress=progress) if kind in TRAINING else make(given)
    return task


def words_of(name: str | Path) -> tuple[str, ...]:
    """The words of a data set: what a vocabulary must hold so that nothing is left out."""
    return make_task(name).words()


def _resolve(name: str | Path) -> tuple[str, str | Path]:
    """The kind of the task, and what it is made with."""
    if isinstance(name, Path):
        return OWN_FILE_KIND, name
    if name in DATASETS:
        return _registered_kind(name), name
    base, _, kind = name.rpartition(":")
    if base in DATASETS:
        return kind, base
    kind, _, path = name.partition(":")
    # A colon may also stand in the name of a file; and as text it may still be the name of a set, mistyped.
    if not path or Path(name).expanduser().exists():
        return OWN_FILE_KIND, name
    return kind, Path(path)


def _registered_kind(name: str) -> str:
    kind = DATASETS[name].task
    if kind is None:
        raise UsageError(
            f"No task of evaluate scores the data set {name!r}; see wordstill data path {name} for its files."
        )
    return kind
