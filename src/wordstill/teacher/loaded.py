"""A batch on the device of the teacher, sent there while the last one is still read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.teacher.batch import Batch

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
    """A batch and its arrays as tensors (int64); `Batch` says what they are.

    Attributes:
        known: Numbers of the words that are in the vocabulary [K].
    """

    batch: Batch
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
    arrival: Any = None
    """Event of the GPU when it is there."""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.pieces.device

    def await_arrival(self) -> None:
        """Let the device, not the host, wait until the batch is there."""
        if self.arrival is not None:
            stream = torch.cuda.current_stream(self.device)
            stream.wait_event(self.arrival)
            # All tensors are views of one; it must not be used again before this stream is through with it.
            self.pieces.record_stream(stream)


class Loader:
    """Sends batches to a device; on a GPU from pinned memory, in a stream of its own, as one piece."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # torch does not type its streams and events.
        self.stream: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch) -> LoadedBatch:
        """Begin to send a batch; the host does not wait for it."""
        arrays = [getattr(batch, field) for field in FIELDS] + [np.flatnonzero(batch.word_ids >= 0)]
        sizes = [len(array) for array in arrays]
        joined = torch.empty(sum(sizes), dtype=torch.int64, pin_memory=self.stream is not None)
        np.concatenate(arrays, out=joined.numpy(), casting="same_kind")
        if self.stream is None:
            return LoadedBatch(batch, *torch.split(joined.to(self.device), sizes))
        with torch.cuda.stream(self.stream):
            sent = joined.to(self.device, non_blocking=True)
            arrival = self.stream.record_event()
        return replace(LoadedBatch(batch, *torch.split(sent, sizes)), arrival=arrival)
