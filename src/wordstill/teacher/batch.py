"""What the teacher reads at one time: subwords of several texts, unpadded, and where their words are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.core.settings import Config, Range


def send(array: NDArray[np.integer], device: torch.device) -> Tensor:
    """An array [n] as a tensor there: of 64 bits, or of 32 where it has no more."""
    kind = torch.int64 if array.dtype == np.int64 else torch.int32
    # Only from pinned memory does a copy not wait.
    staged = torch.empty(len(array), dtype=kind, pin_memory=device.type == "cuda" and len(array) > 0)
    # By numpy: torch shares longer copies among threads, which takes milliseconds where cores are busy.
    np.copyto(staged.numpy(), array, casting="unsafe")
    return staged.to(device, non_blocking=True)


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

    @property
    def lengths(self) -> Ints:
        """[B] subwords of each text."""
        return np.diff(self.text_offsets)


FIELDS = (
    "subwords",
    "text_offsets",
    "word_ids",
    "word_start",
    "word_end",
    "word_sentence",
    "sentence_start",
    "sentence_end",
    "sentence_text",
    "phrase_start",
    "phrase_end",
)


@dataclass(frozen=True)
class DeviceBatch:
    """The arrays of a batch as tensors (int64); `Batch` says what they are."""

    on_host: Callable[[], Batch]
    """Gives the batch itself."""
    lengths: Ints
    n_words: int
    n_truncated: int
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

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.subwords.device

    @cached_property
    def host(self) -> Batch:
        """The batch on the host; one that was made on the device is made once more."""
        return self.on_host()

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
            lambda: batch,
            batch.lengths,
            batch.n_words,
            batch.n_truncated,
            int(batch.subwords.max(initial=0)),
            torch.from_numpy(batch.word_ids),
            **dict(zip((*FIELDS, "known"), torch.split(sent, sizes))),
            arrival=arrival,
        )
