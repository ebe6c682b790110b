"""Batches: the subwords of several texts, without padding, and the ranges of their words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints, offsets_of
from wordstill.core.settings import Config, Range

Unit = Literal["paragraph", "sentence"]
Measure = Callable[[Ints], Ints]
ON_CPU, ON_GPU = 2_048, 131_072
BYTES_FOR_EACH_NUMBER = 64
"""Memory for a subword, in bytes per dimension of a state, including its words and their use by methods."""
SHARE_OF_MEMORY = 0.5


@dataclass(frozen=True)
class BatchConfig(Config):
    """Size and kind of batches."""

    budget: Annotated[int, Range(1)] = 8192
    """Subwords in a batch, including padding."""
    limit: int = 512
    """Maximum length of a text in subwords, including special tokens."""
    unit: Unit = "paragraph"
    """What is one text: a whole paragraph, or each sentence by itself."""
    packed: bool = False
    """Whether texts are concatenated without padding."""


@dataclass(frozen=True)
class Batch:
    """Texts packed end to end. P subwords, B texts, S sentences, W words.

    All ranges are half-open and count subwords from the start of the batch, special tokens included. The
    first ``n_words`` words are the running text in reading order; the rest are occurrences of multi-word
    phrases, whose words are ``phrase_start`` to ``phrase_end``.
    """

    subwords: Ints
    """[P] subword ids with each text's special tokens."""
    text_offsets: Ints
    """[B + 1] where each text begins."""
    word_ids: NDArray[np.int32]
    """[W] vocabulary id; -1 for words outside the vocabulary or without subwords."""
    word_start: Ints
    word_end: Ints
    word_sentence: Ints
    """[W] index of the word's sentence in this batch."""
    sentence_start: Ints
    sentence_end: Ints
    sentence_text: Ints
    """[S] index of the sentence's text (its paragraph, or a part of one) in this batch."""
    n_words: int
    phrase_start: Ints
    phrase_end: Ints
    source_ids: Ints
    """[B] index of each text's paragraph in the corpus, or of its word in the word list."""
    n_truncated: int = 0
    """How many sentences were truncated to the teacher's limit."""
    source_sentences: Ints | None = None
    """[B] index of each text's first sentence in the corpus; None for anything but running text."""
    masked: Ints | None = None
    """[M] indices of the words whose subwords are masked, at most one in a text; None without masking."""

    @property
    def lengths(self) -> Ints:
        """[B] subwords of each text."""
        return np.diff(self.text_offsets)


ON_HOST = ("n_words", "source_ids", "n_truncated", "source_sentences", "masked")
FIELDS = tuple(field.name for field in fields(Batch) if field.name not in ON_HOST)
"""The arrays of a batch that are sent to a device."""


@dataclass(frozen=True)
class DeviceBatch:
    """The arrays of a `Batch` as int64 tensors."""

    lengths: Ints
    n_words: int
    n_truncated: int
    source_ids: Ints
    source_sentences: Ints | None
    max_subword: int
    """Upper bound of the subword ids."""
    arriving_word_ids: Tensor
    """``word_ids`` on the host, once the batch has arrived."""
    subwords: Tensor
    text_offsets: Tensor
    word_ids: Tensor
    word_start: Tensor
    word_end: Tensor
    word_sentence: Tensor
    sentence_start: Tensor
    sentence_end: Tensor
    sentence_text: Tensor
    phrase_start: Tensor
    phrase_end: Tensor
    known: Tensor
    """[K] indices of the words that are in the vocabulary."""
    arrival: Any = None
    """CUDA event of the end of the transfer."""
    masked: Ints | None = None

    @property
    def device(self) -> torch.device:
        """The device of the tensors."""
        return self.subwords.device

    @cached_property
    def host_word_ids(self) -> NDArray[np.integer]:
        """[W] ``word_ids`` on the host; waits for the transfer, which is usually complete."""
        if self.arrival is not None:
            self.arrival.synchronize()
        return self.arriving_word_ids.numpy()

    def await_arrival(self) -> None:
        """Make the device, not the host, wait for the transfer."""
        if self.arrival is not None:
            stream = torch.cuda.current_stream(self.device)
            stream.wait_event(self.arrival)
            # The memory must not be reused before this stream has finished with it.
            for name in (*FIELDS, "known"):
                getattr(self, name).record_stream(stream)


class DeviceLoader:
    """Sends batches to a device; to a GPU from pinned memory, in one copy on a separate stream."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # torch does not type its streams and events.
        self.stream: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch | DeviceBatch) -> DeviceBatch:
        """Send a batch, unless it is on a device already; the host does not wait for the transfer."""
        if isinstance(batch, DeviceBatch):
            return batch
        arrays = [getattr(batch, field) for field in FIELDS] + [np.flatnonzero(batch.word_ids >= 0)]
        sizes = [len(array) for array in arrays]
        joined = torch.empty(sum(sizes), dtype=torch.int64, pin_memory=self.stream is not None)
        np.concatenate(arrays, out=joined.numpy(), casting="same_kind")
        arrival = None
        with nullcontext() if self.stream is None else torch.cuda.stream(self.stream):
            sent = joined.to(self.device, non_blocking=True)
            if self.stream is not None:
                arrival = self.stream.record_event()
        return DeviceBatch(
            batch.lengths,
            batch.n_words,
            batch.n_truncated,
            batch.source_ids,
            batch.source_sentences,
            int(batch.subwords.max(initial=0)),
            torch.from_numpy(batch.word_ids),
            **dict(zip((*FIELDS, "known"), torch.split(sent, sizes))),
            arrival=arrival,
            masked=batch.masked,
        )


def made_on_device(batch: Batch, lengths: Ints, max_subword: int, stream: Any) -> DeviceBatch:
    """A batch whose arrays are tensors on a device, made in ``stream``, the current one (None on a CPU)."""
    tensors: dict[str, Any] = {field: getattr(batch, field) for field in FIELDS}
    tensors["word_ids"] = arriving = tensors["word_ids"].long()
    if stream is not None:
        pinned = torch.empty(len(arriving), dtype=torch.int64, pin_memory=True)
        arriving = pinned.copy_(arriving, non_blocking=True)
    # The host waits for this stream only, to learn how many words are known.
    known = torch.nonzero(tensors["word_ids"] >= 0).flatten()
    return DeviceBatch(
        lengths,
        batch.n_words,
        batch.n_truncated,
        batch.source_ids,
        batch.source_sentences,
        max_subword,
        arriving,
        **tensors,
        known=known,
        arrival=None if stream is None else stream.record_event(),
    )


def plan_texts(lengths: Ints, bounds: Ints, first_paragraph: int, room: int, measure: Measure) -> tuple[Ints, Ints]:
    """Divide paragraphs into texts, splitting those over ``room`` subwords at sentence ends.

    Args:
        lengths: Subwords of each sentence.
        bounds: Index of each paragraph's first sentence, and the end of the last paragraph.
        first_paragraph: Index of the first paragraph.
        room: Maximum length of a text in subwords; only a single sentence (beside empty ones) may be longer.
        measure: Counts the subwords of texts given as rows (start, end) of sentences. A part of a paragraph can have
            more subwords than its sentences have in the paragraph, since a tokenizer may join some across a
            sentence's end.

    Returns:
        Rows (start sentence, end sentence, paragraph), and the number of subwords of each.
    """
    before, audible = offsets_of(lengths), offsets_of(np.minimum(lengths, 1))
    totals = np.diff(before[bounds - bounds[0]])
    paragraphs = np.arange(first_paragraph, first_paragraph + len(totals))
    rows = np.stack([bounds[:-1], bounds[1:], paragraphs], axis=1)
    fits = totals <= room
    split = [_greedy_texts(lengths, row, int(bounds[0]), room) for row in rows[~fits]]
    kept, sums = [rows[fits]], [totals[fits]]
    waiting = np.concatenate([np.empty((0, 3), dtype=np.int64), *split])
    while len(waiting):
        real = measure(waiting[:, :2])
        first, last = waiting[:, 0] - bounds[0], waiting[:, 1] - bounds[0]
        late = (real > room) & (audible[last] - audible[first] > 1)
        kept.append(waiting[~late])
        sums.append(real[~late])
        waiting = _halves(waiting[late])
    return np.concatenate(kept), np.concatenate(sums)


def plan_batches(lengths: Ints, room: int, specials: int, config: BatchConfig) -> list[Ints]:
    """Indices of the texts of each batch, longest first; texts without subwords are left out.

    Texts of similar length share a batch, so there is little padding, and packed attention has even work. Lengths
    exclude special tokens; a text longer than ``room`` is truncated.
    """
    order = _long_to_short(lengths)
    whole = np.minimum(lengths[order], room) + specials
    cut = within_sum if config.packed else within_budget
    return [order[chosen] for chosen in cut(whole, config.budget)]


def batches_by_length(lengths: Ints, budget: int) -> Iterator[Ints]:
    """Indices of the sequences of each batch, longest first; empty sequences are left out.

    The budget includes padding to the longest sequence; a sequence over the budget is a batch of its own.
    """
    order = _long_to_short(lengths)
    return (order[chosen] for chosen in within_budget(lengths[order], budget))


def within_budget(lengths: Ints, budget: int) -> Iterator[slice]:
    """Slices of texts, sorted longest first, with at most ``budget`` subwords including padding.

    A text over the budget is a slice of its own.
    """
    start = 0
    while start < len(lengths):
        count = max(1, budget // int(lengths[start]))
        yield slice(start, start + count)
        start += count


def within_sum(lengths: Ints, budget: int) -> Iterator[slice]:
    """Slices of texts in the given order, with at most ``budget`` subwords.

    A text over the budget is a slice of its own.
    """
    before, start = offsets_of(lengths), 0
    while start < len(lengths):
        end = int(np.searchsorted(before, before[start] + budget, side="right")) - 1
        yield slice(start, max(end, start + 1))
        start = max(end, start + 1)


def usual_budget(device: torch.device, width: int) -> int:
    """The default budget for a device and width; on a GPU with little free memory it is smaller, with a warning."""
    if device.type != "cuda":
        return ON_CPU
    free = torch.cuda.mem_get_info(device)[0]
    fits = int(SHARE_OF_MEMORY * free / (BYTES_FOR_EACH_NUMBER * width))
    if fits >= ON_GPU:
        return ON_GPU
    # A power of two, so that a run can be resumed even if slightly more or less memory is free.
    fits = 1 << max(fits, 1).bit_length() - 1
    warnings.warn(
        f"Only {free / 2**30:.1f} GiB of the GPU's memory are free, so {fits} subwords are read at a time "
        f"instead of {ON_GPU}; that can be slower.",
        stacklevel=3,
    )
    return fits


def _long_to_short(lengths: Ints) -> Ints:
    """Indices of the non-empty sequences, longest first."""
    order = np.argsort(-lengths, kind="stable")
    return order[lengths[order] > 0]


def _greedy_texts(lengths: Ints, row: Ints, base: int, room: int) -> Ints:
    first, last, paragraph = row.tolist()
    cuts, filled = [first], 0
    for sentence in range(first, last):
        length = int(lengths[sentence - base])
        if length and filled and filled + length > room:
            cuts.append(sentence)
            filled = 0
        filled += length
    edges = np.array([*cuts, last], dtype=np.int64)
    return np.stack([edges[:-1], edges[1:], np.full(len(cuts), paragraph)], axis=1)


def _halves(rows: Ints) -> Ints:
    middle = (rows[:, 0] + rows[:, 1]) // 2
    left = np.stack([rows[:, 0], middle, rows[:, 2]], axis=1)
    right = np.stack([middle, rows[:, 1], rows[:, 2]], axis=1)
    return np.concatenate([left, right])
