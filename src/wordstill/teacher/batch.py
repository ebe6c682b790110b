"""What the teacher reads at one time: subwords of several texts, unpadded, and where their words are."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.core.settings import Config, Range

Unit = Literal["paragraph", "sentence"]


@dataclass(frozen=True)
class BatchConfig(Config):
    """How much the teacher reads at one time."""

    budget: Annotated[int, Range(1)] = 8192
    """Subwords in a batch, padding counted."""
    limit: int = 512
    """Longest text in subwords, special tokens counted."""
    unit: Unit = "paragraph"
    """What the teacher reads as one text: a whole paragraph, or each sentence by itself."""
    packed: bool = False
    """Whether texts lie end to end, without padding."""


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
    """[W] vocabulary id, -1 outside the vocabulary or without any subword."""
    word_start: Ints
    word_end: Ints
    word_sentence: Ints
    """[W] number of the word's sentence in this batch."""
    sentence_start: Ints
    sentence_end: Ints
    sentence_text: Ints
    """[S] number of the sentence's text (its paragraph, or a part of one) in this batch."""
    n_words: int
    phrase_start: Ints
    phrase_end: Ints
    source_ids: Ints
    """[B] what each text is: the number of its paragraph in the corpus, or of its word in the word list."""
    n_truncated: int = 0
    """How many sentences were longer than the teacher's limit and lost their end."""
    source_sentences: Ints | None = None
    """[B] number of each text's first sentence in the corpus; None for anything but running text."""
    masked: Ints | None = None
    """[M] numbers of the words whose subwords were masked, at most one in a text; None where all can be read."""

    @property
    def lengths(self) -> Ints:
        """[B] subwords of each text."""
        return np.diff(self.text_offsets)


ON_HOST = ("n_words", "source_ids", "n_truncated", "source_sentences", "masked")
FIELDS = tuple(field.name for field in fields(Batch) if field.name not in ON_HOST)
"""What a device has of a batch."""


@dataclass(frozen=True)
class DeviceBatch:
    """The arrays of a batch as tensors (int64); `Batch` says what they are."""

    lengths: Ints
    n_words: int
    n_truncated: int
    source_ids: Ints
    source_sentences: Ints | None
    max_subword: int
    """No subword has a higher id."""
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
    """[K] numbers of the words that are in the vocabulary."""
    arrival: Any = None
    """Event of the GPU when it is there."""
    masked: Ints | None = None

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.subwords.device

    @cached_property
    def host_word_ids(self) -> NDArray[np.integer]:
        """[W] ``word_ids`` on the host; waits for the batch, which usually is there."""
        if self.arrival is not None:
            self.arrival.synchronize()
        return self.arriving_word_ids.numpy()

    def await_arrival(self) -> None:
        """Let the device, not the host, wait until the batch is there."""
        if self.arrival is not None:
            stream = torch.cuda.current_stream(self.device)
            stream.wait_event(self.arrival)
            # Their memory must not be used again before this stream is through with them.
            for name in (*FIELDS, "known"):
                getattr(self, name).record_stream(stream)


class DeviceLoader:
    """Sends batches to a device; on a GPU from pinned memory, in a stream of its own, in one copy."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # torch does not type its streams and events.
        self.stream: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch | DeviceBatch) -> DeviceBatch:
        """Begin to send a batch that is not there yet; the host does not wait for it."""
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
    """A batch whose arrays are tensors of a device already, made in the current stream (None on a CPU)."""
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
