"""Sums for parts of a text: those of a method, once more for every cell of a word and a fold of documents."""

from __future__ import annotations

import torch
from torch import Tensor

from wordstill.corpus.division.dealing import Cells
from wordstill.methods.sums import RowSums, TableMaker
from wordstill.teacher.states import WordStates


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
        self._last: tuple[WordStates, Tensor, Tensor] | None = None

    def add(self, part: str, states: WordStates, values: Tensor, places: Tensor | None) -> None:
        """Add vectors for the known words of a batch, as `RowSums.add` takes them."""
        rows, chosen = self._rows(states)
        taken = chosen if places is None else places[chosen]
        if self.device != values.device:
            values, rows, taken = values[taken].to(self.device), rows.to(self.device), torch.arange(len(rows))
        self.parts[part].add(rows, values, taken)

    def _rows(self, states: WordStates) -> tuple[Tensor, Tensor]:
        """The cells of a batch's words that have one, and which of the known words these are."""
        if self._last is None or self._last[0] is not states:
            batch, known = states.batch, states.known
            fold_of_text = states.to_device(self._fold_of_paragraph[batch.source_ids])
            fold = fold_of_text[batch.sentence_text[states.word_sentence[known]]].long()
            row = self._row_of_word[states.word_ids[known]]
            cell = torch.where((row >= 0) & (fold >= 0), self._table[row, fold], -1)
            chosen = torch.nonzero(cell >= 0).flatten()
            self._last = states, cell[chosen].long(), chosen
        return self._last[1], self._last[2]
