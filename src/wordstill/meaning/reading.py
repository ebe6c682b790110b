"""The teacher's states of given places in texts: any length of text, read in windows where it is too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.errors import UsageError, unknown_name
from wordstill.meaning.occurrence import Occurrence, word_spans
from wordstill.teacher import Batch, Teacher
from wordstill.teacher.alignment import align
from wordstill.teacher.assembly import Assembler
from wordstill.teacher.layers import resolve_layers
from wordstill.teacher.planning import within_budget
from wordstill.teacher.states import WordStates
from wordstill.teacher.subwords import SubwordTable

Unit = Literal["words", "subwords"]
UNITS = ("words", "subwords")
TEXTS_AT_ONCE = 4096
CPU_BUDGET, GPU_BUDGET = 2048, 65536


@dataclass(frozen=True)
class Places:
    """Spans of characters in texts, by text."""

    text: Ints
    """[N] number of the text, ascending."""
    start: Ints
    end: Ints

    @classmethod
    def of(cls, spans: Sequence[Sequence[tuple[int, int]]]) -> Places:
        """Places given as a list of spans for each text."""
        counts = np.fromiter(map(len, spans), dtype=np.int64, count=len(spans))
        flat = np.array([span for of_text in spans for span in of_text], dtype=np.int64).reshape(-1, 2)
        return cls(owners(counts), flat[:, 0], flat[:, 1])

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, chosen: slice) -> Places:
        return Places(self.text[chosen], self.start[chosen], self.end[chosen])


class StateReader:
    """Reads texts with a teacher and gives the states of some layers for places in them.

    A text over the teacher's limit is read in windows that overlap by half; a place is taken from the window
    in whose middle it stands best. Only a place of more than half the limit loses its ends.

    Args:
        teacher: Reads.
        layers: ``top-half``, as in the paper, or any layers as elsewhere.
        budget: Sub-words in a batch; None suits the device.
    """

    def __init__(self, teacher: Teacher, layers: str = "top-half", budget: int | None = None) -> None:
        self.teacher = teacher
        self.layers = resolve_layers(layers, teacher.depth)
        usual = CPU_BUDGET if teacher.device.type == "cpu" else GPU_BUDGET
        self.budget = usual if budget is None else budget
        self._assembler = Assembler(teacher.tokenizer, teacher.limit)

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and width of the states of one place."""
        return len(self.layers), self.teacher.width

    def read(self, texts: Sequence[str], places: Places) -> Iterator[tuple[Ints, Tensor]]:
        """States of places, batch by batch, in no particular order.

        Yields:
            Numbers of places [n], and their states [n, layers, width], float32, on the teacher's device.
            Places that the tokenizer drops never come.
        """
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            low, high = np.searchsorted(places.text, [first, first + len(part)])
            yield from self._read_part(part, places[low:high], first, int(low))

    def read_units(self, texts: Sequence[str], unit: Unit) -> Iterator[tuple[Ints, Tensor]]:
        """States of every word or every sub-word of texts, special tokens left out.

        Yields:
            Numbers of texts [n], and states [n, layers, width].
        """
        if unit not in UNITS:
            raise unknown_name("unit", unit, UNITS)
        if unit == "words":
            places = Places.of([word_spans(text) for text in texts])
            for numbers, states in self.read(texts, places):
                yield places.text[numbers], states
            return
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            pieces = self.teacher.tokenizer.encode(texts[first : first + TEXTS_AT_ONCE])
            every = np.arange(len(pieces.ids), dtype=np.int64)
            text = first + owners(np.diff(pieces.offsets))
            for numbers, states in self._states(pieces.ids, pieces.offsets, every, every + 1):
                yield text[numbers], states

    def found_states(self, occurrences: Sequence[Occurrence]) -> tuple[Tensor, NDArray[np.bool_]]:
        """[N, layers, width] states of occurrences, in their order, and which were found."""
        result = torch.zeros(len(occurrences), *self.shape, device=self.teacher.device)
        found = np.zeros(len(occurrences), dtype=np.bool_)
        places = Places.of([[(occurrence.start, occurrence.end)] for occurrence in occurrences])
        for numbers, states in self.read([occurrence.text for occurrence in occurrences], places):
            result[torch.from_numpy(numbers).to(result.device)] = states
            found[numbers] = True
        return result, found

    def states(self, occurrences: Sequence[Occurrence]) -> Tensor:
        """[N, layers, width] states of occurrences, in their order.

        Raises:
            UsageError: The tokenizer drops one of them.
        """
        result, seen = self.found_states(occurrences)
        if not seen.all():
            lost = occurrences[int(np.argmin(seen))]
            raise UsageError(
                f"The tokenizer of {self.teacher.config.name} has no sub-word for {lost.word!r} in "
                f"{lost.text[:80]!r}, so it has no meaning to distil. Leave it out, or take another teacher."
            )
        return result

    def _read_part(
        self, texts: Sequence[str], places: Places, first_text: int, first_place: int
    ) -> Iterator[tuple[Ints, Tensor]]:
        pieces = self.teacher.tokenizer.encode(texts)
        base = offsets_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
        base_of_piece = base[owners(np.diff(pieces.offsets))]
        base_of_place = base[places.text - first_text]
        first, last = align(
            pieces.starts + base_of_piece,
            pieces.ends + base_of_piece,
            places.start + base_of_place,
            places.end + base_of_place,
        )
        kept = np.flatnonzero(first < last)
        for numbers, states in self._states(pieces.ids, pieces.offsets, first[kept], last[kept]):
            yield first_place + kept[numbers], states

    def _states(self, ids: Ints, offsets: Ints, first: Ints, last: Ints) -> Iterator[tuple[Ints, Tensor]]:
        """States of ranges of sub-words, counted from the first text's first and in ascending order."""
        starts, lengths, owned_from = _windows(offsets, self._assembler.room)
        window = np.searchsorted(owned_from, first + last, side="right") - 1
        by_window = np.argsort(window, kind="stable")
        counts = np.bincount(window, minlength=len(starts))
        first_of_window = offsets_of(counts)
        # Windows without any wanted place are not read.
        order = np.argsort(-lengths, kind="stable")
        order = order[counts[order] > 0]
        for chosen in within_budget(lengths[order] + self._assembler.specials, self.budget):
            rows = order[chosen]
            numbers = by_window[ranges(first_of_window[rows], counts[rows])]
            batch = self._batch(ids, starts[rows], lengths[rows], counts[rows], first[numbers], last[numbers])
            read = self.teacher.encode(batch, self.layers)
            yield numbers, torch.stack([_word_states(read, layer) for layer in self.layers], dim=1)

    def _batch(self, ids: Ints, starts: Ints, lengths: Ints, places: Ints, first: Ints, last: Ints) -> Batch:
        before = offsets_of(lengths)
        shift = (before[:-1] - starts)[owners(places)]
        low, high = before[:-1][owners(places)], before[1:][owners(places)]
        every = np.arange(len(starts), dtype=np.int64)
        table = SubwordTable(
            ids=ids[ranges(starts, lengths)],
            text_lengths=lengths,
            word_slots=np.arange(len(first), dtype=np.int64),
            word_start=np.maximum(first + shift, low),
            word_end=np.minimum(last + shift, high),
            words_in_sentence=places,
            sentence_start=before[:-1],
            sentence_end=before[1:],
        )
        return self._assembler.assemble(table, every, np.zeros(len(first), dtype=np.int32), source_ids=every)


def _word_states(read: WordStates, layer: int) -> Tensor:
    """[n, width] float32 means over the sub-words of each place."""
    if read.device.type != "cpu":
        return read.words(layer)
    # Places here are short and never empty: adding up their few rows is faster than sums over all rows.
    first, last = read.batch.word_start, read.batch.word_end
    lengths = last - first
    begins = lengths.cumsum(0) - lengths
    rows = torch.arange(int(lengths.sum())) + (first - begins).repeat_interleave(lengths)
    return torch.nn.functional.embedding_bag(rows, read.hidden[layer].float(), begins, mode="mean")


def _windows(offsets: Ints, room: int) -> tuple[Ints, Ints, Ints]:
    """Start and length of every window, and twice the place from which on it is the best one.

    Places are counted in sub-words; doubled, the middle between two sub-words is a whole number as well.
    """
    starts: list[int] = []
    lengths: list[int] = []
    owned: list[int] = []
    stride = max(1, room // 2)
    for text_start, text_end in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        size = text_end - text_start
        if size == 0:
            continue
        last = max(0, size - room)
        begins = [*range(0, last, stride), last]
        starts += [text_start + begin for begin in begins]
        lengths += [min(size, room)] * len(begins)
        middles = [2 * begin + room for begin in begins]
        owned.append(2 * text_start)
        owned += [2 * text_start + (left + right) // 2 for left, right in pairwise(middles)]
    return (
        np.array(starts, dtype=np.int64),
        np.array(lengths, dtype=np.int64),
        np.array(owned, dtype=np.int64),
    )
