"""How often words stand near each other, counted in bounded memory and given back in random order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.baselines.text import Stretch, WordText
from wordstill.corpus.arrays import ArrayWriter, read_array
from wordstill.files import disk_errors

CELLS_IN_MEMORY = 1 << 24

Run: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Keys of pairs in ascending order, and their sums."""


class Cells(NamedTuple):
    """Some pairs of words and how often each was seen, a pair by 1 / distance for each time."""

    keys: NDArray[np.int64]
    """Of each pair: its first word times the number of words, plus its second; in ascending order."""
    values: NDArray[np.float32]


class Cooccurrences:
    """The counts of a text, on disk in parts that each are a random sample of all cells.

    A pair is kept once, whichever word comes first. Cells are counted in sorted runs, which are merged range
    by range; memory is some 60 bytes for each cell of ``limit``, whatever the length of the text.

    Args:
        text: What to read.
        window: Words to each side, inside a paragraph.
        folder: Where to keep the counts; it must be there and empty.
        seed: Of the shuffling.
        limit: Cells to hold in memory.

    Attributes:
        cells: How many cells there are.
    """

    def __init__(
        self, text: WordText, window: int, folder: Path, *, seed: int = 0, limit: int = CELLS_IN_MEMORY
    ) -> None:
        self.size, self.folder = len(text.vocabulary), folder
        with disk_errors(folder):
            runs = self._count(text, window, limit)
            total = sum(len(keys) for keys, _ in runs)
            self.parts = max(1, -(-total // limit))
            self.cells = self._merge(runs, np.random.default_rng(seed), limit)

    def read(self, generator: np.random.Generator) -> Iterator[Cells]:
        """All cells, in parts; the parts in random order, each a random sample of the cells."""
        for part in generator.permutation(self.parts):
            keys, values = _load(self.folder / f"part-{part}")
            yield Cells(np.array(keys), np.array(values, dtype=np.float32))

    def _count(self, text: WordText, window: int, limit: int) -> list[Run]:
        """Sorted runs of distinct keys with their sums."""
        runs: list[Run] = []
        held: list[Run] = []
        for stretch in text.read():
            for distance in range(1, window + 1):
                held.append(_pairs(stretch, distance, self.size))
                if sum(len(keys) for keys, _ in held) >= limit:
                    held = [_summed(held)]
                    if len(held[0][0]) >= limit // 2:
                        runs.append(self._spilled(held.pop(), len(runs)))
        return [*runs, _summed(held)] if held else runs

    def _spilled(self, run: Run, number: int) -> Run:
        path = self.folder / f"run-{number}"
        _save(path, run)
        return _load(path)

    def _merge(self, runs: list[Run], generator: np.random.Generator, limit: int) -> int:
        """Add the runs up, range of keys by range, and deal the cells out to parts at random."""
        cells = 0
        with ExitStack() as stack:
            writers = [
                [
                    stack.enter_context(ArrayWriter(_file(self.folder / f"part-{part}", what), kind))
                    for what, kind in (("keys", np.int64), ("values", np.float32))
                ]
                for part in range(self.parts)
            ]
            for run in _ranges(runs, limit):
                cells += len(run[0])
                part_of_cell = generator.integers(0, self.parts, len(run[0]))
                for part, (keys, values) in enumerate(writers):
                    chosen = part_of_cell == part
                    keys.extend(run[0][chosen])
                    values.extend(run[1][chosen])
        for path in self.folder.glob("run-*"):
            path.unlink()
        return cells


def _pairs(stretch: Stretch, distance: int, size: int) -> Run:
    """Keys of all pairs of words at a distance inside a paragraph, and their weights; sorted, each once."""
    ids, paragraph = stretch.ids, stretch.paragraph
    together = np.flatnonzero(paragraph[distance:] == paragraph[:-distance])
    one, two = ids[together], ids[together + distance]
    keys, counts = np.unique(np.minimum(one, two) * size + np.maximum(one, two), return_counts=True)
    return keys, counts / distance


def _summed(runs: list[Run]) -> Run:
    """One run of several."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in runs]), return_inverse=True)
    weights = np.concatenate([values for _, values in runs])
    sums: NDArray[np.float64] = np.bincount(place, weights=weights, minlength=len(keys)).astype(np.float64)
    return keys, sums


def _ranges(runs: list[Run], limit: int) -> Iterator[Run]:
    """The sum of sorted runs in ranges of keys, each of about ``limit`` cells before they are added up."""
    positions = [0] * len(runs)
    while any(position < len(keys) for position, (keys, _) in zip(positions, runs)):
        step = max(1, limit // len(runs))
        # The least of the keys that end a run's next step ends the range for all of them.
        ends = [
            int(keys[min(position + step, len(keys)) - 1])
            for position, (keys, _) in zip(positions, runs)
            if position < len(keys)
        ]
        stops = [int(np.searchsorted(keys, min(ends), side="right")) for keys, _ in runs]
        yield _summed(
            [(keys[low:high], values[low:high]) for low, high, (keys, values) in zip(positions, stops, runs)]
        )
        positions = stops


def _file(stem: Path, what: str) -> Path:
    return stem.with_name(f"{stem.name}-{what}.npy")


def _save(stem: Path, run: Run) -> None:
    for what, numbers in zip(("keys", "values"), run):
        np.save(_file(stem, what), numbers)


def _load(stem: Path) -> Run:
    return read_array(_file(stem, "keys")), read_array(_file(stem, "values"))
