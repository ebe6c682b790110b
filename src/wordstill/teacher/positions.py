"""Reading that can start in the middle: batches are planned in windows, and a position names one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from wordstill.teacher.batch import Batch

Position = tuple[int, int]
"""First item of a window, and how many batches of that window have been read."""


class ResumableBatches(ABC):
    """Batches of a list of items (paragraphs, words) that is read in windows, always in the same way."""

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def _window(self, start: int) -> tuple[int, list[Callable[[], Batch]]]:
        """The item after the window that begins at ``start``, and what makes each of its batches."""

    def since(self, position: Position) -> Iterator[tuple[Position, Batch]]:
        """Batches from a position on, each with the position after it. Reading begins at (0, 0)."""
        start, done = position
        while start < len(self):
            stop, makers = self._window(start)
            for number in range(done, len(makers)):
                after = (start, number + 1) if number + 1 < len(makers) else (stop, 0)
                yield after, makers[number]()
            start, done = stop, 0
