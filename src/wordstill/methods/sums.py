"""Accumulators of the methods: sums that do not depend on order and can be merged between machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from wordstill.corpus.dealing import Cells
from wordstill.errors import DataError
from wordstill.teacher.states import WordStates

GRID = 2.0**32
"""Wide sums are multiples of 1 / GRID, so that adding and taking away is exact while they stay below 2**21, in any
order; float32 itself is coarser for every number above 2**-8."""


class Accumulator(Protocol):
    """Something that grows by observation and can be saved, restored and merged."""

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors themselves, not copies."""
        ...

    def merge(self, other: Accumulator) -> None:
        """Add what another one has seen."""
        ...


@runtime_checkable
class Growing(Protocol):
    """An accumulator whose tensors grow with the text."""

    def resize_for(self, state: dict[str, Tensor]) -> None:
        """Take the sizes of a saved state."""
        ...

    def memory(self) -> int:
        """Bytes of what has grown so far."""
        ...

    def memory_after(self, words: int) -> int:
        """Bytes of what will have grown after so many words of text."""
        ...

    def memory_to_finish(self, words: int) -> int:
        """Bytes needed beside it while a table is made of so many words of text."""
        ...


@runtime_checkable
class Additive(Protocol):
    """An accumulator of plain sums, from which what was added can be taken away."""

    def widen(self) -> None:
        """Go on in float64, on a grid."""
        ...

    def narrow(self) -> None:
        """Go back to float32."""
        ...

    def subtract(self, other: Accumulator) -> None:
        """Take away what another one has seen; a `DataError` if that cannot have been added before."""
        ...

    def forget(self, rows: Tensor) -> None:
        """Take away all that is known about some rows."""
        ...


class Unmergeable:
    """A part of a learner. Its row table refuses to be merged, so this is never asked for the result."""

    def merge(self, other: Accumulator) -> None:
        """Leave everything as it is."""


TableMaker = Callable[[int, int], Tensor]
"""Makes a table of zeros with so many rows and columns, float32."""


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Rows that vectors are added to, sorted once for all sums that name the same rows.

    Attributes:
        rows: Ascending [n]; those below 0 are nowhere.
        order: Where each of them stood [n].
    """

    rows: Tensor
    order: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> RowOrder:
        """Sort rows [n]; equal ones stay as they stand."""
        return cls(*torch.sort(rows, stable=True))

    def somewhere(self) -> RowOrder:
        """Without rows below 0; the host waits for a GPU."""
        first = int((self.rows < 0).sum())
        return RowOrder(self.rows[first:], self.order[first:])

    def taken(self, places: Tensor | None) -> Tensor:
        """Which of the values goes to each row; see `RowSums.add`."""
        return self.order if places is None else places[self.order]


class RowSums:
    """A sum of vectors and a number of observations for each row of a table.

    Memory: rows x width float32, or what ``make`` takes.
    """

    def __init__(self, rows: int, width: int, device: torch.device, make: TableMaker | None = None) -> None:
        self.sums = torch.zeros(rows, width, device=device) if make is None else make(rows, width)
        self.counts = torch.zeros(rows, dtype=torch.int64, device=device)
        self._scatter = gpu_add(device)

    def add(self, rows: Tensor | RowOrder, values: Tensor, places: Tensor | None = None) -> None:
        """Add one vector to each named row; a row may be named often.

        A batch's vectors for one row are summed before they meet the table, so that the rounding of a
        frequent word grows with the number of batches and not of occurrences.

        Args:
            rows: [n], sorted or not; those below 0 are nowhere.
            values: [m, width].
            places: Which of the values is added to each row [n]; None takes them one after another.
        """
        named = rows if isinstance(rows, RowOrder) else RowOrder.of(rows)
        if self._scatter is not None:
            self._scatter(self.sums, self.counts, named.rows, values, named.taken(places))
            return
        named = named.somewhere()
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
        self.sums += self._fitting(theirs["sums"])
        self.counts += theirs["counts"]

    def widen(self) -> None:
        """Go on in float64; what is merged from now on is rounded to the grid."""
        self.sums = on_grid(self.sums)

    def narrow(self) -> None:
        """Go back to float32."""
        self.sums = self.sums.float()

    def subtract(self, other: Accumulator) -> None:
        """Take away sums and counts."""
        theirs = other.state_dict()
        if bool((self.counts < theirs["counts"]).any()):
            raise DataError("more occurrences would be taken away than there are")
        self.sums -= self._fitting(theirs["sums"])
        self.counts -= theirs["counts"]

    def forget(self, rows: Tensor) -> None:
        """Set rows to nothing."""
        self.sums[rows] = 0
        self.counts[rows] = 0

    def _fitting(self, sums: Tensor) -> Tensor:
        return on_grid(sums) if self.sums.dtype == torch.float64 else sums


class RowExtremes:
    """The largest or smallest value of each column for each row of a table.

    Memory: rows x width float32.
    """

    def __init__(self, rows: int, width: int, device: torch.device, kind: Literal["max", "min"]) -> None:
        self.reduction = "amax" if kind == "max" else "amin"
        self.worst = -torch.inf if kind == "max" else torch.inf
        self.best = torch.full((rows, width), self.worst, device=device)
        self.counts = torch.zeros(rows, dtype=torch.int64, device=device)

    def add(self, rows: Tensor | RowOrder, values: Tensor, places: Tensor | None = None) -> None:
        """Observe one vector for each named row; `RowSums.add` says what the arguments are."""
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
        """Observe vectors [n, width], each as often as its weight [n] says."""
        # In float64, because small variances are left when the squared mean is taken from the products.
        values, weights = values.double(), weights.double()
        weighted = values * weights[:, None]
        self.weight += weights.sum()
        self.sums += weighted.sum(dim=0)
        self.products += weighted.T @ values

    def mean(self) -> Tensor:
        """The weighted mean [width]; zeros where nothing was observed."""
        return self.sums / self.weight.clamp(min=1)

    def covariance(self) -> Tensor:
        """The weighted covariance [width, width]; zeros where nothing was observed."""
        mean = self.mean()
        return self.products / self.weight.clamp(min=1) - torch.outer(mean, mean)

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
        """Take away all sums."""
        theirs = other.state_dict()
        if bool(self.weight < theirs["weight"]):
            raise DataError("more text would be taken away than there is")
        for name, mine in self.state_dict().items():
            mine -= on_grid(theirs[name])

    def forget(self, rows: Tensor) -> None:
        """Leave everything: nothing here belongs to a row."""


def on_grid(sums: Tensor) -> Tensor:
    """The nearest multiples of 1 / GRID, in float64; numbers so large that there is none between stay."""
    return torch.round(sums.double() * GRID) / GRID


def row_blocks(rows: int, size: int) -> Iterator[slice]:
    """All rows of a table, block by block."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def occurrences(numbers: Tensor, size: int) -> Tensor:
    """[size] how often each number is among those given; a GPU is not waited for, unlike by bincount."""
    counts = torch.zeros(size, dtype=torch.int64, device=numbers.device)
    return counts.index_add_(0, numbers, torch.ones_like(numbers))


def gpu_add(device: torch.device) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], None] | None:
    """What adds to rows on a GPU as a kernel; None where there is no GPU or no Triton."""
    if device.type != "cuda":
        return None
    try:
        from wordstill.methods.learning.row_kernels import add_rows
    except ImportError:
        return None
    return add_rows


class CellSums:
    """For each of a method's sums one more with a row for each cell; the method adds to both at once.

    The numbers of the whole are not touched, so a table is the same with and without cells.
    Memory: cells x width float32 for each of the sums.

    Args:
        cells: Which pairs of a word and a fold have a row.
        names: Parts of the method that are summed by cell.
        width: Size of a state.
        device: Where the method computes.
        make: Makes the tables, for instance on disk; None takes memory of the device.
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
        """Add vectors for the known words of a batch, as `RowSums.add` takes them."""
        rows = states.once(self.cells, lambda: RowOrder.of(self._rows(states)))
        # "cuda" and "cuda:0" are the same GPU, but not the same to torch.
        if self.device.type != values.device.type:
            rows = rows.somewhere()
            values, places = values[rows.taken(places)].to(self.device), None
            rows = RowOrder(rows.rows.to(self.device), torch.arange(len(values), device=self.device))
        self.parts[part].add(rows, values, places)

    def _rows(self, states: WordStates) -> Tensor:
        """The cell of each known word of a batch, -1 where it has none; a GPU is not waited for."""
        batch, known = states.batch, states.known
        fold_of_text = states.to_device(self._fold_of_paragraph[batch.source_ids])
        fold = fold_of_text[batch.sentence_text[states.word_sentence[known]]].long()
        row = self._row_of_word[states.word_ids[known]]
        return torch.where((row >= 0) & (fold >= 0), self._table[row, fold], -1).long()
