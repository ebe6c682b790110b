"""Reading that can start in the middle: batches are planned in windows, and a position names one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.batches.building import made_in_order
from wordstill.teacher.batches.loaded import LoadedBatch

Position = tuple[int, int]
"""Number of a window in reading order, and how many batches of it have been read."""
AnyBatch = Batch | LoadedBatch
"""On the host, or made on a device."""


class ResumableBatches(ABC):
    """Batches of a list of items (paragraphs, words) that is read in windows, always in the same way.

    Attributes:
        order: Seed of a random order of the windows, and of the batches inside each; None reads as it stands.
        builders: Threads that make batches ahead of the reader.
    """

    order: int | None = None
    builders: int = 1

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        """What makes each batch of the window that begins with the item ``start``."""

    @abstractmethod
    def _window_end(self, start: int) -> int:
        """The item after the window that begins with the item ``start``."""

    def since(self, position: Position) -> Iterator[tuple[Position, AnyBatch]]:
        """Batches from a position on, each with the position after it. Reading begins at (0, 0)."""
        return made_in_order(self._makers(position), self.builders)

    def _makers(self, position: Position) -> Iterator[Callable[[], tuple[Position, AnyBatch]]]:
        starts, (first, done) = self._starts(), position
        for window in range(first, len(starts)):
            makers = self._window(starts[window])
            if self.order is not None:
                chosen = np.random.default_rng([self.order, starts[window]]).permutation(len(makers))
                makers = [makers[number] for number in chosen]
            for number in range(done, len(makers)):
                after = (window, number + 1) if number + 1 < len(makers) else (window + 1, 0)
                yield partial(_made, after, makers[number])
            done = 0

    def _starts(self) -> list[int]:
        """First items of all windows in reading order."""
        starts, item = [], 0
        while item < len(self):
            starts.append(item)
            item = self._window_end(item)
        if self.order is not None:
            return [starts[number] for number in np.random.default_rng(self.order).permutation(len(starts))]
        return starts


def _made(after: Position, make: Callable[[], AnyBatch]) -> tuple[Position, AnyBatch]:
    return after, make()
