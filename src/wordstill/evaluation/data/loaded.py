"""A data set that was read, with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wordstill.errors import UsageError
from wordstill.evaluation.data.analogy_sets import Questions, Relations
from wordstill.evaluation.data.category_sets import Categories
from wordstill.evaluation.data.context_sets import ContextParts
from wordstill.evaluation.data.examples import Published
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.data.sentence_sets import SentencePairs
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import Source

NEEDS: Mapping[str, tuple[str, ...]] = {
    "similarity": ("scored pairs of words",),
    "analogy": ("questions",),
    "relation": ("relations",),
    "categorisation": ("words with classes",),
    "sts": ("scored pairs of sentences",),
    "classification": ("labels",),
    "probe": ("labels",),
    "tagging": ("tags",),
    "parent": ("labels", "tags"),
}
"""What a set must have, by the kind of task; any one of several."""

_HAS: Mapping[type, str] = {
    WordPairs: "scored pairs of words",
    Questions: "questions",
    Relations: "relations",
    Categories: "words with classes",
    SentencePairs: "scored pairs of sentences",
    ContextParts: "words in context",
}
"""What the readers give; sets with labels and sets with tags have one type."""
_OTHER = "data for other uses"


def check_content(name: str, content: object, kind: str) -> None:
    """Make sure that a set fits a task.

    Args:
        name: What the set is called.
        content: What its reader gave.
        kind: The name of the task.

    Raises:
        UsageError: It does not; the message says what the set has and which tasks score that.
    """
    has = _has(content)
    if has in NEEDS[kind]:
        return
    fitting = [repr(task) for task, needs in NEEDS.items() if has in needs]
    remedy = f"Score it by {' or '.join(fitting)}." if fitting else "No task of evaluate scores that."
    raise UsageError(
        f"The data set {name!r} has no {' or '.join(NEEDS[kind])}, which the task {kind!r} needs; it has "
        f"{has}. {remedy}"
    )


def _has(content: object) -> str:
    if isinstance(content, Published):
        return "labels" if isinstance(content.train.targets[0], str) else "tags"
    return next((has for made, has in _HAS.items() if isinstance(content, made)), _OTHER)


Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class LoadedDataset(Generic[Content]):
    """What a reader made of the files of a set."""

    name: str
    content: Content
    source: str
    sha256: str

    @classmethod
    def load(cls, dataset: str | Path | LoadedDataset[Content], kind: str) -> LoadedDataset[Content]:
        """Read a set for a kind of task, or take one that was read already.

        Args:
            dataset: The name of a set of the registry, the path of a user's own file, or a loaded set.
            kind: The name of the task.

        Raises:
            UsageError: The set does not have what the task needs.
        """
        if isinstance(dataset, LoadedDataset):
            found = dataset
        else:
            place = locate(dataset, kind)
            found = cls(place.name, place.reader(place.path), place.source, place.sha256)
        check_content(found.name, found.content, kind)
        return found

    def origin(self, task: str, metric: str, protocol: Protocol) -> Source:
        """What a score says of where it comes from."""
        return Source(task, self.name, metric, protocol, self.source, self.sha256)
