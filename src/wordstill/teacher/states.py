"""What the teacher saw: the common currency between one forward pass and every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.teacher.batch import Batch

Pooling = Literal["mean", "max", "min"]


class WordStates:
    """Sub-word states of the wanted layers, and means over words, sentences and windows of them.

    Shapes: P sub-words, W words (running text first, then phrases), S sentences, d the teacher's width.
    Results are float32; those of words and sentences are cached, so that methods share them.

    Args:
        batch: What the teacher read.
        hidden: For each wanted layer the packed states [P, d] in the teacher's precision.
    """

    def __init__(self, batch: Batch, hidden: Mapping[int, Tensor]) -> None:
        self.batch = batch
        self.hidden = dict(hidden)
        self.device = next(iter(self.hidden.values())).device
        self.word_ids = self._tensor(batch.word_ids)
        self.word_sentence = self._tensor(batch.word_sentence)
        self._word_range = self._tensor(batch.word_first), self._tensor(batch.word_last)
        self._sentence_range = self._tensor(batch.sentence_first), self._tensor(batch.sentence_last)
        self._cache: dict[tuple[object, ...], Tensor] = {}
        self._prefix: tuple[int, Tensor] | None = None

    @property
    def width(self) -> int:
        """Size of a state."""
        return int(next(iter(self.hidden.values())).shape[1])

    @property
    def known(self) -> Tensor:
        """Numbers of the words that are in the vocabulary."""
        key = ("known",)
        if key not in self._cache:
            self._cache[key] = torch.nonzero(self.word_ids >= 0).flatten()
        return self._cache[key]

    def words(self, layer: int, pooling: Pooling = "mean") -> Tensor:
        """[W, d] each word's state: its sub-words pooled. Words without sub-words have zeros."""
        key = ("words", layer, pooling)
        if key not in self._cache:
            first, last = self._word_range
            if pooling == "mean":
                self._cache[key] = range_means(self._prefix_sums(layer), first, last)
            else:
                self._cache[key] = range_extremes(self.hidden[layer], first, last, pooling)
        return self._cache[key]

    def sentences(self, layer: int) -> Tensor:
        """[S, d] mean over a sentence's sub-words, special tokens left out."""
        key = ("sentences", layer)
        if key not in self._cache:
            self._cache[key] = range_means(self._prefix_sums(layer), *self._sentence_range)
        return self._cache[key]

    def texts(self, layer: int) -> Tensor:
        """[B, d] mean over all sub-words of a text, its special tokens among them."""
        key = ("texts", layer)
        if key not in self._cache:
            bounds = self._tensor(self.batch.texts)
            self._cache[key] = range_means(self._prefix_sums(layer), bounds[:-1], bounds[1:])
        return self._cache[key]

    def ranges(self, layer: int, first: NDArray[np.int64], last: NDArray[np.int64]) -> Tensor:
        """[R, d] means over any ranges of sub-words; zeros for an empty one."""
        return range_means(self._prefix_sums(layer), self._tensor(first), self._tensor(last))

    def windows(self, layer: int, left: int, right: int, include_self: bool) -> Tensor:
        """[W, d] mean over the states of the words around a word in its sentence; zeros where there is none.

        Args:
            layer: Which layer.
            left: Words before it, at most.
            right: Words after it, at most.
            include_self: Whether the word itself, or every word of the phrase, takes part.
        """
        batch, running = self.batch, self.batch.running
        words = self.words(layer)[:running]
        present = (batch.word_last > batch.word_first)[:running]
        first_word = np.concatenate([np.arange(running), batch.phrase_first])
        last_word = np.concatenate([np.arange(running), batch.phrase_last]) + 1
        sentence = batch.word_sentence
        low = np.maximum(np.searchsorted(sentence[:running], sentence, side="left"), first_word - left)
        high = np.minimum(np.searchsorted(sentence[:running], sentence, side="right"), last_word + right)

        state_sums = prefix_sums(words)
        seen = np.concatenate([[0], np.cumsum(present)])
        sums = state_sums[self._tensor(high)] - state_sums[self._tensor(low)]
        sizes = seen[high] - seen[low]
        if not include_self:
            sums = sums - (state_sums[self._tensor(last_word)] - state_sums[self._tensor(first_word)])
            sizes = sizes - (seen[last_word] - seen[first_word])
        return (sums / self._tensor(np.maximum(sizes, 1))[:, None]).float()

    def _prefix_sums(self, layer: int) -> Tensor:
        # One layer's sums are kept: they are the largest thing here, and methods walk layer by layer.
        if self._prefix is None or self._prefix[0] != layer:
            self._prefix = (layer, prefix_sums(self.hidden[layer]))
        return self._prefix[1]

    def _tensor(self, array: NDArray[np.integer]) -> Tensor:
        whole = np.ascontiguousarray(array, dtype=np.int64)
        return torch.from_numpy(whole).to(self.device, non_blocking=True)


def prefix_sums(values: Tensor) -> Tensor:
    """[n + 1, d] sums of the first rows; in float64 a difference of two is exact enough for any range."""
    sums = torch.zeros(values.shape[0] + 1, values.shape[1], dtype=torch.float64, device=values.device)
    torch.cumsum(values.double(), dim=0, out=sums[1:])
    return sums


def range_means(sums: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """[R, d] means of the rows ``first`` to ``last`` (exclusive); zeros for an empty range."""
    return ((sums[last] - sums[first]) / (last - first).clamp(min=1)[:, None]).float()


def range_extremes(values: Tensor, first: Tensor, last: Tensor, pooling: Pooling) -> Tensor:
    """[R, d] extreme value of each column in the rows ``first`` to ``last``; zeros for an empty range."""
    lengths = last - first
    owner = torch.repeat_interleave(torch.arange(len(first), device=values.device), lengths)
    inside = torch.arange(len(owner), device=values.device) - torch.repeat_interleave(
        lengths.cumsum(0) - lengths, lengths
    )
    rows = values[first[owner] + inside].float()
    result = torch.zeros(len(first), values.shape[1], device=values.device)
    index = owner[:, None].expand_as(rows)
    return result.scatter_reduce_(0, index, rows, "amax" if pooling == "max" else "amin", include_self=False)
