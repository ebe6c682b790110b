"""A few strong directions of the vectors seen for each row of a table, kept up to date while reading."""

from __future__ import annotations

import torch
from torch import Tensor

from wordstill.methods.sums import Accumulator

ROWS_AT_ONCE = 1 << 13


class RowSketches:
    r"""For each row a matrix of few vectors whose products nearly are those of all vectors seen.

    With :math:`A` the vectors seen, as rows, a sketch :math:`B` has ``rank`` rows and
    :math:`B^\top B \approx A^\top A`: it holds the strongest right singular vectors of what was there
    before and what came, scaled by their singular values. Up to ``rank`` vectors are kept without loss.

    Memory: rows x rank x width float32.
    """

    def __init__(self, rows: int, rank: int, width: int, device: torch.device) -> None:
        self.rank = rank
        self.sketches = torch.zeros(rows, rank, width, device=device)

    def add(self, rows: Tensor, values: Tensor) -> None:
        """Observe one vector for each named row; a row may be named often."""
        owners, blocks = _blocks_of(rows, values, self.rank)
        distinct = torch.unique_consecutive(owners)
        owners, order = torch.sort(torch.cat([distinct, owners]), stable=True)
        self.sketches[distinct] = _reduced(owners, torch.cat([self.sketches[distinct], blocks])[order])

    def strongest(self, rows: slice) -> Tensor:
        """[rows, width] the strongest direction times its singular value, on either side."""
        return _compressed(self.sketches[rows], 1)[:, 0]

    def state_dict(self) -> dict[str, Tensor]:
        """Sketches [rows, rank, width]."""
        return {"sketches": self.sketches}

    def merge(self, other: Accumulator) -> None:
        """Keep the strongest directions of both."""
        theirs = other.state_dict()["sketches"]
        for start in range(0, len(theirs), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            both = torch.cat([self.sketches[rows], theirs[rows]], dim=1)
            self.sketches[rows] = _compressed(both, self.rank)


def _blocks_of(rows: Tensor, values: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Vectors gathered into blocks of one row each, filled up with zeros: owners [K], blocks [K, size, d]."""
    rows, order = torch.sort(rows, stable=True)
    place = _places(rows)
    first = place % size == 0
    block = torch.cumsum(first, dim=0) - 1
    owners = rows[first]
    blocks = torch.zeros(len(owners), size, values.shape[1], device=values.device)
    blocks[block, place % size] = values[order].float()
    return owners, blocks


def _reduced(owners: Tensor, blocks: Tensor) -> Tensor:
    """[distinct owners, rank, d] one block for each owner, by joining neighbours in pairs again and again."""
    rank = blocks.shape[1]
    while True:
        place = _places(owners)
        second = torch.nonzero(place % 2 == 1).flatten()
        if not len(second):
            return blocks
        blocks[second - 1] = _compressed(torch.cat([blocks[second - 1], blocks[second]], dim=1), rank)
        kept = place % 2 == 0
        owners, blocks = owners[kept], blocks[kept]


def _compressed(matrices: Tensor, rank: int) -> Tensor:
    """[K, rank, d] the strongest right singular vectors of each matrix [K, m, d], times singular values."""
    products = (matrices @ matrices.transpose(1, 2)).double()
    # The left singular vectors are those of the small matrix of products; columns ascend.
    left: Tensor = torch.linalg.eigh(products)[1].flip(2)[:, :, :rank].float()
    return left.transpose(1, 2) @ matrices


def _places(owners: Tensor) -> Tensor:
    """For sorted owners, how many of the same stand before each [K]."""
    _, counts = torch.unique_consecutive(owners, return_counts=True)
    starts = torch.cumsum(counts, dim=0) - counts
    return torch.arange(len(owners), device=owners.device) - torch.repeat_interleave(starts, counts)
