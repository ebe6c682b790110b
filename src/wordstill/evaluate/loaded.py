"""A data set that was read, with where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wordstill.evaluate.contents import check_content
from wordstill.evaluate.locate import locate
from wordstill.evaluate.outcome import Source
from wordstill.evaluate.protocol import Protocol

Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class Loaded(Generic[Content]):
    """What a reader made of the files of a set."""

    name: str
    content: Content
    source: str
    sha256: str

    @classmethod
    def load(cls, dataset: str | Path | Loaded[Content], kind: str) -> Loaded[Content]:
        """Read a set for a kind of task, or take one that was read already.

        Args:
            dataset: The name of a set of the registry, the path of a user's own file, or a loaded set.
            kind: The name of the task.

        Raises:
            UsageError: The set does not have what the task needs.
        """
        if isinstance(dataset, Loaded):
            found = dataset
        else:
            place = locate(dataset, kind)
            found = cls(place.name, place.reader(place.path), place.source, place.sha256)
        check_content(found.name, found.content, kind)
        return found

    def origin(self, task: str, metric: str, protocol: Protocol) -> Source:
        """What a score says of where it comes from."""
        return Source(task, self.name, metric, protocol, self.source, self.sha256)
