"""A batch on the device of the teacher, sent there while the last one is still read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.ragged import Ints

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
