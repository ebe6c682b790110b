"""Accumulators: sums by word, independent of order and mergeable between machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from wordstill.corpus.dealing import Cells
from wordstill.errors import DataError
from wordstill.teacher.states import WordStates

GRID = 2.0**32
"""Wide sums are multiples of 1 / GRID, so that adding and subtracting is exact in any order while they are below 2**21;
float32 itself is coarser for numbers above 2**-8."""
NUMBERS_AT_ONCE = 1 << 15
"""Numbers to round to the grid at a time, so that they stay in the cache of a core."""
COLUMNS_AT_ONCE = 512
"""Columns of a covariance to compute at a time."""


class Accumulator(Protocol):
    """A state that grows by observation and can be saved, restored and merged."""

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors themselves, not copies."""
        ...

    def merge(self, other: Accumulator) -> None:
        """Add the observations of another one."""
        ...


@runtime_checkable
class Growing(Protocol):
    """An accumulator whose tensors grow with the text."""

    def resize_for(self, state: dict[str, Tensor]) -> None:
        """Resize to fit a saved state."""
        ...

    def memory(self) -> int:
        """Bytes now."""
        ...

    def memory_after(self, words: int) -> int:
        """Bytes after so many words of text."""
        ...

    def memory_to_finish(self, words: int) -> int:
        """Additional bytes needed to make a table from so many words of text."""
        ...


@runtime_checkable
class Additive(Protocol):
    """An accumulator of plain sums, from which observations can be subtracted."""

    def widen(self) -> None:
        """Switch to float64, on the grid."""
        ...

    def narrow(self) -> None:
        """Switch back to float32."""
        ...

    def subtract(self, other: Accumulator) -> None:
        """Subtract the observations of another one; a `DataError` if they cannot have been added before."""
        ...

    def forget(self, rows: Tensor) -> None:
        """Reset some rows."""
        ...


class Unmergeable:
    """A part of a learner. It need not merge, because the learner's row table refuses to."""

    def merge(self, other: Accumulator) -> None:
        """Do nothing."""


TableMaker = Callable[[int, int], Tensor]
"""Makes a float32 table of zeros with so many rows and columns."""


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Row indices for scatter-adds, sorted once for all sums with the same rows.

    Attributes:
        rows: Ascending [n]; negative ones are skipped.
        order: Original position of each [n].
    """

    rows: Tensor
    order: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> RowOrder:
        """Sort rows [n], stably."""
        return cls(*torch.sort(rows, stable=True))

    def valid(self) -> RowOrder:
        """Without negative rows; this waits for a GPU."""
        first = int((self.rows < 0).sum())
        return RowOrder(self.rows[first:], self.order[first:])

    def taken(self, places: Tensor | None) -> Tensor:
        """The index of the value for each row; see `RowSums.add`."""
        return self.order if places is None else places[self.order]


class RowSums:
    """The sum and number of vectors for each row of a table. Memory: rows x width float32, or as ``make`` allocates."""

    def __init__(self, rows: int, width: int, device: torch.device, make: TableMaker | None = None) -> None:
        self.sums = torch.zeros(rows, width, device=device) if make is None else make(rows, width)
        self.counts = torch.zeros(rows, dtype=torch.int64, device=device)
        self._scatter = gpu_add(device)

    def add(self, rows: Tensor | RowOrder, values: Tensor, places: Tensor | None = None) -> None:
        """Add a vector to each of some rows, which may repeat.

        A batch's vectors for one row are summed before they are added to the table, so that rounding grows with the
        number of batches rather than occurrences.

        Args:
            rows: [n], sorted or not; negative ones are skipped.
            values: [m, width].
            places: Index of the value for each row [n]; None takes the values in order.
        """
        named = rows if isinstance(rows, RowOrder) else RowOrder.of(rows)
        if self._scatter is not None:
            self._scatter(self.sums, self.counts, named.rows, values, named.taken(places))
            return
        named = named.valid()
        distinct, counts = torch.unique_consecutive(named.rows, return_counts=True)
        sums = embedding_bag(named.taken(places), values.float(), counts.cumsum(0) - counts, mode="sum")
        self.sums.index_add_(0, distinct, sums)
        self.counts.index_add_(0, distinct, counts)

    def pooled(self, rows: slice | Tensor = slice(None)) -> Tensor:
        """[rows, width] the means; zeros where nothing was observed."""
        return self.sums[rows] / self.counts[rows, None].clamp(min=1)

    def state_dict(self) -> dict[str, Tensor]:
        """Sums [rows, width] and counts [rows]."""
        return {"sums": self.sums, "counts": self.counts}

    def merge(self, other: Accumulator) -> None:
        """Add sums and counts."""
        theirs = other.state_dict()
        self._add_sums(theirs["sums"], 1)
        self.counts += theirs["counts"]

    def widen(self) -> None:
        """Switch to float64; sums merged from now on are rounded to the grid."""
        self.sums = on_grid(self.sums)

    def narrow(self) -> None:
        """Switch back to float32."""
        self.sums = self.sums.float()

    def subtract(self, other: Accumulator) -> None:
        """Subtract sums and counts."""
        theirs = other.state_dict()
        if bool((self.counts < theirs["counts"]).any()):
            raise DataError("more occurrences would be taken away than there are")
        self._add_sums(theirs["sums"], -1)
        self.counts -= theirs["counts"]

    def forget(self, rows: Tensor) -> None:
        """Set rows to zero."""
        self.sums[rows] = 0
        self.counts[rows] = 0

    def _add_sums(self, sums: Tensor, times: int) -> None:
        if self.sums.dtype != torch.float64:
            self.sums.add_(sums, alpha=times)
            return
        # Wide sums are on the CPU. By numpy, because torch synchronizes its threads after every operation.
        mine, theirs = self.sums.numpy(), sums.numpy()
        for rows in row_blocks(len(theirs), max(1, NUMBERS_AT_ONCE // max(1, theirs.shape[1]))):
            block = np.multiply(theirs[rows], GRID, dtype=np.float64)
            mine[rows] += np.rint(block, out=block) * (times / GRID)


class RowExtremes:
    """The maximum or minimum of each column for each row of a table. Memory: rows x width float32."""

    def __init__(self, rows: int, width: int, device: torch.device, kind: Literal["max", "min"]) -> None:
        self.reduction = "amax" if kind == "max" else "amin"
        self.worst = -torch.inf if kind == "max" else torch.inf
        self.best = torch.full((rows, width), self.worst, device=device)
        self.counts = torch.zeros(rows, dtype=torch.int64, device=device)

    def add(self, rows: Tensor | RowOrder, values: Tensor, places: Tensor | None = None) -> None:
        """Observe a vector for each of some rows; see `RowSums.add`."""
        named = rows if isinstance(rows, RowOrder) else RowOrder.of(rows)
        inside, found = named.rows >= 0, named.rows.clamp(min=0)
        chosen = torch.where(inside[:, None], values[named.taken(places)], self.worst)
        self.best.scatter_reduce_(0, found[:, None].expand_as(chosen), chosen, self.reduction)
        self.counts.index_add_(0, found, inside.long())

    def pooled(self) -> Tensor:
        """[rows, width] the extremes; zeros where nothing was observed."""
        return torch.where(self.counts[:, None] > 0, self.best, 0.0)

    def state_dict(self) -> dict[str, Tensor]:
        """Extremes [rows, width] and counts [rows]."""
        return {"best": self.best, "counts": self.counts}

    def merge(self, other: Accumulator) -> None:
        """Keep the better of both extremes, and add counts."""
        theirs = other.state_dict()
        choose = torch.maximum if self.reduction == "amax" else torch.minimum
        self.best.copy_(choose(self.best, theirs["best"]))
        self.counts += theirs["counts"]


class Moments:
    """Weighted mean and covariance of a stream of vectors. Memory: width x width float64."""

    def __init__(self, width: int, device: torch.device) -> None:
        self.weight = torch.zeros(1, dtype=torch.float64, device=device)
        self.sums = torch.zeros(width, dtype=torch.float64, device=device)
        self.products = torch.zeros(width, width, dtype=torch.float64, device=device)

    def add(self, values: Tensor, weights: Tensor) -> None:
        """Observe vectors [n, width] with weights [n]."""
        # In float64, because subtracting the squared mean from the products cancels digits.
        values, weights = values.double(), weights.double()
        weighted = values * weights[:, None]
        self.weight += weights.sum()
        self.sums += weighted.sum(dim=0)
        for rows in row_blocks(len(self.sums), COLUMNS_AT_ONCE):
            # Only the lower triangle is computed.
            part = weighted[:, rows].T @ values[:, : rows.stop]
            self.products[rows, : rows.stop] += part
            self.products[: rows.start, rows] += part[:, : rows.start].T

    def mean(self) -> Tensor:
        """The weighted mean [width]; zeros where nothing was observed."""
        return self.sums / self.weight.clamp(min=1)

    def covariance(self) -> Tensor:
        """The weighted covariance [width, width]; zeros where nothing was observed."""
        mean = self.mean()
        # In place, because of a joint covariance each copy counts.
        return (self.products / self.weight.clamp(min=1)).addr_(mean, mean, alpha=-1)

    def state_dict(self) -> dict[str, Tensor]:
        """Sum of weights [1], of vectors [width] and of their products [width, width]."""
        return {"weight": self.weight, "sums": self.sums, "products": self.products}

    def merge(self, other: Accumulator) -> None:
        """Add all sums."""
        theirs = other.state_dict()
        for name, mine in self.state_dict().items():
            mine += on_grid(theirs[name])

    def widen(self) -> None:
        """Put the sums on the grid; they are in float64 anyway."""
        for mine in self.state_dict().values():
            mine.copy_(on_grid(mine))

    def narrow(self) -> None:
        """Stay in float64."""

    def subtract(self, other: Accumulator) -> None:
        """Subtract all sums."""
        theirs = other.state_dict()
        if bool(self.weight < theirs["weight"]):
            raise DataError("more text would be taken away than there is")
        for name, mine in self.state_dict().items():
            mine -= on_grid(theirs[name])

    def forget(self, rows: Tensor) -> None:
        """Do nothing: nothing here belongs to a row."""


def on_grid(sums: Tensor) -> Tensor:
    """The nearest multiples of 1 / GRID, in float64; very large numbers are unchanged."""
    return torch.round(sums.double() * GRID) / GRID


def row_blocks(rows: int, size: int) -> Iterator[slice]:
    """All rows of a table, block by block."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def occurrences(numbers: Tensor, size: int) -> Tensor:
    """[size] counts of numbers, like bincount, but without waiting for a GPU."""
    counts = torch.zeros(size, dtype=torch.int64, device=numbers.device)
    return counts.index_add_(0, numbers, torch.ones_like(numbers))


def gpu_add(device: torch.device) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], None] | None:
    """The scatter-add kernel; None without a GPU or Triton."""
    if device.type != "cuda":
        return None
    try:
        from wordstill.methods.learning.row_kernels import add_rows
    except ImportError:
        return None
    return add_rows


class CellSums:
    """Sums by cell, parallel to a method's sums by word, which are the same with and without cells.

    Memory: cells x width float32 for each of the sums.

    Args:
        cells: The cells, that is, pairs of a word and a fold.
        names: Parts of the method that are summed by cell.
        width: Size of a state.
        device: Where the method computes.
        make: Makes the tables, for instance on disk; None allocates them on the device.
    """

    def __init__(
        self, cells: Cells, names: list[str], width: int, device: torch.device, make: TableMaker | None = None
    ) -> None:
        self.cells = cells
        self.device = device if make is None else torch.device("cpu")
        self.parts = {name: RowSums(len(cells), width, self.device, make) for name in names}
        self._fold_of_paragraph = cells.plan.of_paragraph
        self._row_of_word = torch.from_numpy(cells.row_of_word).long().to(device)
        self._table = torch.from_numpy(cells.table).to(device)

    def add(self, part: str, states: WordStates, values: Tensor, places: Tensor | None) -> None:
        """Add vectors for the known words of a batch; see `RowSums.add`."""
        rows = states.once(self.cells, lambda: RowOrder.of(self._rows(states)))
        # By type, because "cuda" and "cuda:0" differ for torch.
        if self.device.type != values.device.type:
            rows = rows.valid()
            values, places = values[rows.taken(places)].to(self.device), None
            rows = RowOrder(rows.rows.to(self.device), torch.arange(len(values), device=self.device))
        self.parts[part].add(rows, values, places)

    def _rows(self, states: WordStates) -> Tensor:
        """The cell of each known word of a batch, or -1; without waiting for a GPU."""
        batch, known = states.batch, states.known
        fold_of_text = states.to_device(self._fold_of_paragraph[batch.source_ids])
        fold = fold_of_text[batch.sentence_text[states.word_sentence[known]]].long()
        row = self._row_of_word[states.word_ids[known]]
        return torch.where((row >= 0) & (fold >= 0), self._table[row, fold], -1).long()
