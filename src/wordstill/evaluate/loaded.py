"""A data set that was read, with where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

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
    def load(cls, name: str | Path, kind: str) -> Loaded[Content]:
        """Read a set of the registry by name, or a user's own file for a kind of task."""
        found = locate(name, kind)
        return cls(found.name, found.reader(found.path), found.source, found.sha256)

    def origin(self, task: str, metric: str, protocol: Protocol) -> Source:
        """What a score says of where it comes from."""
        return Source(task, self.name, metric, protocol, self.source, self.sha256)
