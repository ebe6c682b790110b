"""The interface of tasks, and the registry ``TASKS``.

A task is made for one data set, named or given as the path of a user's own file, and scores any number of tables. A new
task is one class and one row: a subclass of ``Task`` that says what its sets must contain and how a user's own file is
read, in ``TASKS`` or as an entry point of the group ``wordstill.tasks``. The registry of data sets says which task
scores a set; ``NAME:KIND`` asks for another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from typing import Protocol as Interface

from wordstill.core.guard import reading
from wordstill.core.plugins import Registry
from wordstill.errors import MissingExtra, UsageError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.locate import LoadedDataset, locate
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import Score, Source

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Content = TypeVar("Content")


class Reader(Interface):
    """Reads a file. A protocol, because mypy would take a plain callable on a class for a method."""

    def __call__(self, path: Path, /) -> Any:
        """The content of a file."""
        ...


class DatasetTask(ABC, Generic[Content]):
    """Base of all tasks: one data set.

    Args:
        dataset: The name of a set of the registry, the path of a user's own file, or a loaded set.
        progress: Show a bar with the rate and the time left while the task trains.
    """

    kind: ClassVar[str]
    """Its name in ``TASKS``."""
    needs: ClassVar[tuple[str, ...]]
    """What a set must contain; any one of several."""
    own_reader: ClassVar[Reader | None] = None
    """Reads a user's own file; None if there cannot be one."""
    trains: ClassVar[bool] = False

    def __init__(self, dataset: str | Path | LoadedDataset[Content], *, progress: bool = False) -> None:
        self.progress = progress
        if isinstance(dataset, LoadedDataset):
            self.dataset = dataset
        else:
            place = locate(dataset, type(self).own_reader or self._refuse_own_file)
            with reading(place.path):
                self.dataset = LoadedDataset(place.name, place.reader(place.path), place.source, place.sha256)
        self._check_content()

    @property
    @abstractmethod
    def metric(self) -> str:
        """What its score measures."""

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

    def source(self, protocol: Protocol) -> Source:
        """Where the task's scores come from."""
        dataset = self.dataset
        return Source(self.kind, dataset.name, self.metric, protocol, dataset.source, dataset.sha256)

    def _check_content(self) -> None:
        has = self.dataset.holds
        if has in self.needs:
            return
        alike = Task if isinstance(self, Task) else DatasetTask
        fitting = [repr(task.kind) for task in _importable_tasks() if issubclass(task, alike) and has in task.needs]
        remedy = f"Score it by {' or '.join(fitting)}." if fitting else "No task of evaluate scores that."
        raise UsageError(
            f"The data set {self.name!r} has no {' or '.join(self.needs)}, which the task {self.kind!r} "
            f"needs; it has {has}. {remedy}"
        )

    def _refuse_own_file(self, path: Path) -> Content:
        readable = ", ".join(task.kind for task in _importable_tasks() if task.own_reader is not None)
        raise UsageError(f"A file of your own cannot be read for the task {self.kind!r}; it can for {readable}.")


class Task(DatasetTask[Content]):
    """Scores tables on one data set."""

    @abstractmethod
    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; equal seeds give equal results.

        The seed is for the bootstrap and for all that a task samples or trains. A table that lacks too many words is
        not an error: its score has a ``problem`` and no value.
        """

    @abstractmethod
    def words(self) -> tuple[str, ...]:
        """The words that the task looks up, as published."""


# By name, not imported: tasks that train need more packages than the others.
TASKS: Registry[type[DatasetTask[Any]]] = Registry(
    "kind of task",
    "wordstill.tasks",
    {
        "similarity": "wordstill.evaluation.tasks.similarity:SimilarityTask",
        "analogy": "wordstill.evaluation.tasks.analogy:AnalogyTask",
        "relation": "wordstill.evaluation.tasks.analogy:RelationTask",
        "categorisation": "wordstill.evaluation.tasks.categorization:CategorizationTask",
        "sts": "wordstill.evaluation.tasks.similarity:StsTask",
        "classification": "wordstill.evaluation.trained.classification:ClassificationTask",
        "probe": "wordstill.evaluation.trained.classification:ProbeTask",
        "tagging": "wordstill.evaluation.trained.tagging:TaggingTask",
        "ncrfpp": "wordstill.evaluation.trained.tagging:NcrfppTask",
        "states": "wordstill.evaluation.trained.tagging:StatesTask",
        "parent": "wordstill.evaluation.trained.finetuned:FinetunedTask",
        "frozen": "wordstill.evaluation.trained.finetuned:FrozenTask",
        "context-pairs": "wordstill.evaluation.tasks.in_context:ContextPairsTask",
        "context-senses": "wordstill.evaluation.tasks.in_context:ContextSensesTask",
        "context-change": "wordstill.evaluation.tasks.in_context:ContextChangeTask",
        "context-sts": "wordstill.evaluation.tasks.in_context:ContextStsTask",
        "paraphrase": "wordstill.evaluation.tasks.in_context:ParaphraseTask",
        "word-cosines": "wordstill.evaluation.tasks.in_context:WordCosinesTask",
    },
    DatasetTask,
    aliases={"categorization": "categorisation"},
)

OWN_FILE_KIND = "similarity"


def make_task(name: str | Path, *, progress: bool = False) -> Task[Any]:
    """The task of a data set.

    Args:
        name: A set of the registry; ``NAME:KIND`` for another kind of task on it; ``KIND:PATH`` for a user's own file;
            or the path of a file of pairs.
        progress: Show a bar with the rate and the time left while the task trains.
    """
    kind, given = resolve_name(name)
    found = task_class(kind)
    if not issubclass(found, Task):
        raise UsageError(
            f"The task {kind!r} scores words in context, which a table of vectors does not have. Score an "
            "encoder: wordstill meaning evaluate ENCODER"
        )
    return found(given, progress=progress)


def task_class(kind: str) -> type[DatasetTask[Any]]:
    """The class of a kind of task.

    Raises:
        MissingExtra: It trains, and a package for that is not installed.
    """
    try:
        return TASKS.find(kind)
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", f"The task {kind!r}") from error


def words_of(name: str | Path) -> tuple[str, ...]:
    """The words of a data set: a vocabulary with all of them has full coverage."""
    return make_task(name).words()


def _importable_tasks() -> Iterator[type[DatasetTask[Any]]]:
    for kind in TASKS:
        with suppress(MissingExtra):
            yield task_class(kind)


def resolve_name(name: str | Path) -> tuple[str, str | Path]:
    """The kind of task that a name asks for, and the data set or file."""
    if isinstance(name, Path):
        return OWN_FILE_KIND, name
    if name in DATASETS:
        return _registered_kind(name), name
    base, _, kind = name.rpartition(":")
    if base in DATASETS:
        return kind, base
    kind, _, path = name.partition(":")
    # A colon may also be part of a file name.
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
