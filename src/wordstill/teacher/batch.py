"""What the teacher reads at one time: sub-words of several texts, unpadded, and where their words are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.errors import UsageError


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
class BatchConfig:
    """How much the teacher reads at one time."""

    budget: int = 8192
    """Sub-words in a batch, padding counted."""
    limit: int = 512
    """Longest text in sub-words, special tokens counted."""
    unit: Unit = "paragraph"
    """What the teacher reads as one text: a whole paragraph, or each sentence by itself."""
    packed: bool = False
    """Whether texts lie end to end, without padding."""

    def __post_init__(self) -> None:
        if self.budget < 1:
            raise UsageError(
                f"A budget of {self.budget} sub-words for a batch is too small; give at least 1."
            )


@dataclass(frozen=True)
class Batch:
    """Texts packed end to end. P sub-words, B texts, S sentences, W words.

    All ranges are half-open and count sub-words from the start of the batch, special tokens included. The
    first ``running`` words are the running text in reading order; the rest are occurrences of multi-word
    phrases, whose words are ``phrase_first`` to ``phrase_last`` (inclusive).
    """

    pieces: Ints
    """[P] sub-word ids with each text's special tokens."""
    texts: Ints
    """[B + 1] where each text begins."""
    word_ids: NDArray[np.int32]
    """[W] vocabulary id, -1 outside the vocabulary or without any sub-word."""
    word_first: Ints
    word_last: Ints
    word_sentence: Ints
    """[W] number of the word's sentence in this batch."""
    sentence_first: Ints
    sentence_last: Ints
    sentence_text: Ints
    """[S] number of the sentence's text (its paragraph, or a part of one) in this batch."""
    running: int
    phrase_first: Ints
    phrase_last: Ints
    places: Ints
    """[B] what each text is: the number of its paragraph in the corpus, or of its word in the word list."""
    cut: int = 0
    """How many sentences were longer than the teacher's limit and lost their end."""

    @property
    def lengths(self) -> Ints:
        """[B] sub-words of each text."""
        return np.diff(self.texts)


FIELDS = (
    "pieces",
    "texts",
    "word_ids",
    "word_first",
    "word_last",
    "word_sentence",
    "sentence_first",
    "sentence_last",
    "sentence_text",
    "phrase_first",
    "phrase_last",
)


@dataclass(frozen=True)
class LoadedBatch:
    """The arrays of a batch as tensors (int64); `Batch` says what they are."""

    on_host: Callable[[], Batch]
    """Gives the batch itself."""
    lengths: Ints
    running: int
    cut: int
    highest: int
    """No sub-word has a higher id."""
    words_there: Tensor
    """``word_ids`` on the host, once the batch has arrived."""
    pieces: Tensor
    texts: Tensor
    word_ids: Tensor
    word_first: Tensor
    word_last: Tensor
    word_sentence: Tensor
    sentence_first: Tensor
    sentence_last: Tensor
    sentence_text: Tensor
    phrase_first: Tensor
    phrase_last: Tensor
    known: Tensor
    """[K] numbers of the words that are in the vocabulary."""
    arrival: Any = None
    """Event of the GPU when it is there."""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.pieces.device

    @cached_property
    def batch(self) -> Batch:
        """The batch on the host; one that was made on the device is made once more."""
        return self.on_host()

    @cached_property
    def host_words(self) -> NDArray[np.integer]:
        """[W] ``word_ids`` on the host; waits for the batch, which usually is there."""
        if self.arrival is not None:
            self.arrival.synchronize()
        return self.words_there.numpy()

    def await_arrival(self) -> None:
        """Let the device, not the host, wait until the batch is there."""
        if self.arrival is not None:
            stream = torch.cuda.current_stream(self.device)
            stream.wait_event(self.arrival)
            # Their memory must not be used again before this stream is through with them.
            for name in (*FIELDS, "known"):
                getattr(self, name).record_stream(stream)


class Loader:
    """Sends batches to a device; on a GPU from pinned memory, in a stream of its own, as one piece."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # torch does not type its streams and events.
        self.stream: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch | LoadedBatch) -> LoadedBatch:
        """Begin to send a batch that is not there yet; the host does not wait for it."""
        if isinstance(batch, LoadedBatch):
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
        return LoadedBatch(
            lambda: batch,
            batch.lengths,
            batch.running,
            batch.cut,
            int(batch.pieces.max(initial=0)),
            torch.from_numpy(batch.word_ids),
            **dict(zip((*FIELDS, "known"), torch.split(sent, sizes))),
            arrival=arrival,
        )
