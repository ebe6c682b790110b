"""States of character spans of texts, in any layers.

A text over the teacher's limit is read in windows that overlap by half, and the state of a span is taken from the
window in which it is most central. Only a span of more than half the limit is truncated. A span that the tokenizer
drops is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus.segment import Span, word_spans
from wordstill.errors import unknown_name
from wordstill.teacher.batch import Batch, batches_by_length
from wordstill.teacher.gathering import Assembler, SubwordTable
from wordstill.teacher.layers import resolve_layers
from wordstill.teacher.states import WordStates
from wordstill.teacher.teacher import Teacher

Unit = Literal["words", "subwords"]
UNITS = ("words", "subwords")
TEXTS_AT_ONCE = 4096
CPU_BUDGET, GPU_BUDGET = 2048, 65536


class TextSpan(Protocol):
    """A span of characters, with its text."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def start(self) -> int:
        """Start offset in characters."""

    @property
    def end(self) -> int:
        """End offset in characters, exclusive."""


@dataclass(frozen=True)
class Spans:
    """Character spans of several texts."""

    text: Ints
    """[N] index of the text, ascending."""
    start: Ints
    end: Ints

    @classmethod
    def of(cls, spans: Sequence[Sequence[Span]]) -> Spans:
        """From the spans of each text."""
        counts = np.fromiter(map(len, spans), dtype=np.int64, count=len(spans))
        flat = np.array([span for of_text in spans for span in of_text], dtype=np.int64).reshape(-1, 2)
        return cls(owners(counts), flat[:, 0], flat[:, 1])

    @classmethod
    def of_words(cls, sentences: Sequence[Sequence[str]]) -> Spans:
        """The spans of all words of sentences whose words are joined by single spaces."""
        ends = ([*accumulate(len(word) + 1 for word in sentence)] for sentence in sentences)
        return cls.of(
            [
                [(end - 1 - len(word), end - 1) for word, end in zip(sentence, of_words)]
                for sentence, of_words in zip(sentences, ends)
            ]
        )

    def __len__(self) -> int:
        return len(self.text)


class StateReader:
    """Computes the teacher's states for spans of texts.

    Args:
        teacher: The teacher.
        layers: The layers, as for `resolve_layers`.
        budget: Subwords in a batch; None chooses by the device.
    """

    def __init__(self, teacher: Teacher, layers: str = "top-half", budget: int | None = None) -> None:
        self.teacher = teacher
        self.layers = resolve_layers(layers, teacher.depth)
        usual = CPU_BUDGET if teacher.device.type == "cpu" else GPU_BUDGET
        self.budget = usual if budget is None else budget
        self._assembler = Assembler(teacher.tokenizer, teacher.limit)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of layers, and width of a state."""
        return len(self.layers), self.teacher.width

    def states(self, spans: Sequence[TextSpan]) -> tuple[Tensor, NDArray[np.bool_]]:
        """[N, layers, width] states of spans in order, zeros for those not found, and which were found [N]."""
        result = torch.zeros(len(spans), *self.shape, device=self.teacher.device)
        found = np.zeros(len(spans), dtype=np.bool_)
        by_text = Spans.of([[(span.start, span.end)] for span in spans])
        for numbers, states in self.read([span.text for span in spans], by_text):
            result[torch.from_numpy(numbers).to(result.device)] = states
            found[numbers] = True
        return result, found

    def read(self, texts: Sequence[str], spans: Spans) -> Iterator[tuple[Ints, Tensor]]:
        """States of spans, batch by batch, in no particular order.

        Yields:
            Indices of spans [n], and their states [n, layers, width], float32, on the teacher's device.
            Spans that the tokenizer drops are left out.
        """
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            low, high = np.searchsorted(spans.text, [first, first + len(part)])
            encoded = self.teacher.tokenizer.encode(part)
            start, end = encoded.align(spans.text[low:high] - first, spans.start[low:high], spans.end[low:high])
            kept = np.flatnonzero(start < end)
            for numbers, states in self._states(encoded.ids, encoded.offsets, start[kept], end[kept]):
                yield low + kept[numbers], states

    def read_units(self, texts: Sequence[str], unit: Unit) -> Iterator[tuple[Ints, Tensor]]:
        """States of every word or every subword of texts, without special tokens.

        Yields:
            Indices of texts [n], and states [n, layers, width].
        """
        if unit not in UNITS:
            raise unknown_name("unit", unit, UNITS)
        if unit == "words":
            spans = Spans.of([word_spans(text) for text in texts])
            for numbers, states in self.read(texts, spans):
                yield spans.text[numbers], states
            return
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            encoded = self.teacher.tokenizer.encode(texts[first : first + TEXTS_AT_ONCE])
            every = np.arange(len(encoded.ids), dtype=np.int64)
            text = first + owners(np.diff(encoded.offsets))
            for numbers, states in self._states(encoded.ids, encoded.offsets, every, every + 1):
                yield text[numbers], states

    def _states(self, ids: Ints, offsets: Ints, start: Ints, end: Ints) -> Iterator[tuple[Ints, Tensor]]:
        """States of ranges of subwords, which are ascending and relative to the first text's start."""
        starts, lengths, owned_from = windows(offsets, self._assembler.room)
        window = np.searchsorted(owned_from, start + end, side="right") - 1
        by_window = np.argsort(window, kind="stable")
        counts = np.bincount(window, minlength=len(starts))
        first_of_window = offsets_of(counts)
        # Windows without spans are not read.
        needed = np.where(counts > 0, lengths + self._assembler.specials, 0)
        for rows in batches_by_length(needed, self.budget):
            numbers = by_window[ranges(first_of_window[rows], counts[rows])]
            batch = self._batch(ids, starts[rows], lengths[rows], counts[rows], start[numbers], end[numbers])
            read = self.teacher.encode(batch, self.layers)
            yield numbers, torch.stack([_word_states(read, layer) for layer in self.layers], dim=1)

    def _batch(self, ids: Ints, starts: Ints, lengths: Ints, counts: Ints, start: Ints, end: Ints) -> Batch:
        before = offsets_of(lengths)
        shift = (before[:-1] - starts)[owners(counts)]
        low, high = before[:-1][owners(counts)], before[1:][owners(counts)]
        every = np.arange(len(starts), dtype=np.int64)
        table = SubwordTable(
            text_lengths=lengths,
            ids=ids[ranges(starts, lengths)],
            word_slots=np.arange(len(start), dtype=np.int64),
            word_start=np.maximum(start + shift, low),
            word_end=np.minimum(end + shift, high),
            word_sentence=owners(counts),
            sentence_start=before[:-1],
            sentence_end=before[1:],
            sentence_text=every,
        )
        return self._assembler.assemble(table, np.zeros(len(start), dtype=np.int32), source_ids=every)


def _word_states(read: WordStates, layer: int) -> Tensor:
    """[n, width] float32 means over the subwords of each span."""
    if read.device.type != "cpu":
        return read.words(layer)
    # Spans here are short and non-empty: summing their few rows is faster than prefix sums over all rows.
    start, end = read.batch.word_start, read.batch.word_end
    lengths = end - start
    begins = lengths.cumsum(0) - lengths
    rows = torch.arange(int(lengths.sum())) + (start - begins).repeat_interleave(lengths)
    return torch.nn.functional.embedding_bag(rows, read.hidden[layer].float(), begins, mode="mean")


def windows(offsets: Ints, room: int) -> tuple[Ints, Ints, Ints]:
    """Start and length of every window, and twice the position from which on it is the most central one.

    Positions are in subwords; they are doubled so that the middle between two subwords is an integer.
    """
    starts: list[int] = []
    lengths: list[int] = []
    owned: list[int] = []
    stride = max(1, room // 2)
    for text_start, text_end in pairwise(offsets.tolist()):
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
    return tuple(np.array(numbers, dtype=np.int64) for numbers in (starts, lengths, owned))  # type: ignore[return-value]
