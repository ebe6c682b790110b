"""`WordStates`: the teacher's states for one batch, pooled over words and sentences, as every method receives them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from wordstill.teacher.batch import Batch, DeviceBatch, DeviceLoader
from wordstill.teacher.gathering import send

Subject = TypeVar("Subject")
Made = TypeVar("Made")


class WordStates:
    """Subword states of some layers for one batch, and their means over words, sentences and windows.

    Shapes: P subwords, W words (running text first, then phrases), S sentences, d the teacher's width.
    Results are float32; those for words and sentences are cached, so that methods share them.

    Args:
        batch: The batch that the teacher read.
        hidden: The packed states [P, d] of each layer in the teacher's precision.

    Attributes:
        word_ids: Vocabulary id of each word [W], -1 outside the vocabulary.
        word_sentence: Index of each word's sentence [W].
        known: Indices of the words that are in the vocabulary [K].
    """

    def __init__(self, batch: Batch | DeviceBatch, hidden: Mapping[int, Tensor]) -> None:
        self.hidden = dict(hidden)
        self.device = next(iter(self.hidden.values())).device
        # A loader creates a CUDA stream, which is not needed for a batch on the device.
        self.batch = batch if isinstance(batch, DeviceBatch) else DeviceLoader(self.device)(batch)
        self.batch.await_arrival()
        self.word_ids, self.word_sentence = self.batch.word_ids, self.batch.word_sentence
        self.known = self.batch.known
        self._cache: dict[tuple[object, ...], Tensor] = {}
        self._made: dict[Hashable, Any] = {}
        self._pool: tuple[int, RangeMeans] | None = None

    @property
    def width(self) -> int:
        """Size of a state."""
        return int(next(iter(self.hidden.values())).shape[1])

    def words(self, layer: int, pooling: Pooling = "mean") -> Tensor:
        """[W, d] states of words, pooled over subwords; zeros for words without subwords."""
        key = ("words", layer, pooling)
        if key not in self._cache:
            start, end = self.batch.word_start, self.batch.word_end
            if pooling == "mean":
                self._cache[key] = self._means(layer)(start, end)
            else:
                self._cache[key] = range_extremes(self.hidden[layer], start, end, pooling)
        return self._cache[key]

    def sentences(self, layer: int) -> Tensor:
        """[S, d] mean over the subwords of each sentence, without special tokens."""
        key = ("sentences", layer)
        if key not in self._cache:
            self._cache[key] = self._means(layer)(self.batch.sentence_start, self.batch.sentence_end)
        return self._cache[key]

    def windows(
        self, layer: int, left: int, right: int, *, include_self: bool, chosen: Tensor | None = None, sums: bool = False
    ) -> Tensor:
        """[W, d] mean state of the words around each word in its sentence; zeros if there are none.

        The window has at most ``left`` words before and ``right`` words after it, and with ``include_self`` the word
        itself, or every word of the phrase. With ``chosen`` words [n], the result is [n, d]. ``sums`` returns sums
        instead of means.
        """
        batch, n_words = self.batch, self.batch.n_words
        every = torch.arange(n_words, device=self.device)
        start_word = torch.cat([every, batch.phrase_start])
        end_word = torch.cat([every + 1, batch.phrase_end])
        sentence = self.word_sentence
        if chosen is not None:
            start_word, end_word, sentence = start_word[chosen], end_word[chosen], sentence[chosen]
        running_sentence = self.word_sentence[:n_words].contiguous()
        low = torch.searchsorted(running_sentence, sentence).maximum(start_word - left)
        high = torch.searchsorted(running_sentence, sentence, right=True).minimum(end_word + right)

        seen = torch.zeros(n_words + 1, dtype=torch.int64, device=self.device)
        torch.cumsum((batch.word_end > batch.word_start)[:n_words], dim=0, out=seen[1:])
        means = RangeMeans(self.words(layer)[:n_words])
        sizes, total = seen[high] - seen[low], means(low, high, sums=True)
        if not include_self:
            sizes = sizes - (seen[end_word] - seen[start_word])
            total = total - means(start_word, end_word, sums=True)
        return total if sums else total / sizes.clamp(min=1)[:, None]

    def adjacent(self, layer: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """States of running words, and the rows of the words before and after each word in its sentence.

        Returns:
            States [n_words + 1, d], the last row of zeros, and two arrays of rows [W]; a missing neighbor has the row
            of zeros.
        """
        batch, n_words = self.batch, self.batch.n_words
        every = torch.arange(n_words, device=self.device)
        values = self.words(layer)[:n_words]
        sentence = torch.cat([self.word_sentence[:n_words], self.word_sentence.new_full((1,), -1)])

        def place(neighbor: Tensor) -> Tensor:
            inside = (neighbor >= 0) & (neighbor < n_words)
            found = torch.where(inside, neighbor, n_words)
            return torch.where(sentence[found] == self.word_sentence, found, n_words)

        before = place(torch.cat([every, batch.phrase_start]) - 1)
        after = place(torch.cat([every + 1, batch.phrase_end]))
        return torch.cat([values, values.new_zeros(1, values.shape[1])]), (before, after)

    def places(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Positions of words [n] in the corpus: index of the sentence, index in the sentence, and number of words.

        Raises:
            ValueError: The batch is not running text.
        """
        batch, n_words = self.batch, self.batch.n_words
        if batch.source_sentences is None:
            raise ValueError("Only words of running text have a position in the corpus.")
        first_word = torch.cat([torch.arange(n_words, device=self.device), batch.phrase_start])[chosen]
        sizes = torch.cat(
            [torch.ones(n_words, dtype=torch.int64, device=self.device), batch.phrase_end - batch.phrase_start]
        )
        sentence = self.word_sentence[chosen]
        text = batch.sentence_text[sentence]
        # Sentences of a text are consecutive, here and in the corpus; so are the words of a sentence.
        before = torch.searchsorted(batch.sentence_text, text)
        number = self.to_device(batch.source_sentences)[text] + sentence - before
        position = first_word - torch.searchsorted(self.word_sentence[:n_words].contiguous(), sentence)
        return number, position, sizes[chosen]

    def once(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """A value computed from this batch that several methods share: computed once by name."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made

    def _means(self, layer: int) -> RangeMeans:
        # Kept for one layer only, because it can be large, and methods go layer by layer.
        if self._pool is None or self._pool[0] != layer:
            self._pool = (layer, RangeMeans(self.hidden[layer]))
        return self._pool[1]

    def to_device(self, array: NDArray[np.integer]) -> Tensor:
        """An array of the host on the device, without waiting for the GPU's queue."""
        return send(array, self.device)


class NonFiniteMonitor(Generic[Subject]):
    """Checks every batch for NaN and infinity; on a GPU results arrive some batches later."""

    def __init__(self) -> None:
        self._pending: deque[tuple[Any, Tensor, Subject]] = deque()

    def check(self, numbers: Iterable[Tensor], subject: Subject) -> Subject | None:
        """Check the tensors of a subject; returns a subject, perhaps an earlier one, whose values may be non-finite."""
        # A sum can overflow although all values are finite, so the caller must check again.
        finite = torch.stack([torch.isfinite(each.sum()) for each in numbers]).all()
        if not finite.is_cuda:
            return None if bool(finite) else subject
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(finite, non_blocking=True)
        known = torch.cuda.current_stream(finite.device).record_event()
        self._pending.append((known, answer, subject))
        return self._first_bad(wait=False)

    def flush(self) -> Subject | None:
        """Wait for all results; returns the first subject whose values may be non-finite, if there is one."""
        return self._first_bad(wait=True)

    def _first_bad(self, *, wait: bool) -> Subject | None:
        while self._pending and (wait or self._pending[0][0].query()):
            known, answer, subject = self._pending.popleft()
            known.synchronize()
            if not bool(answer):
                return subject
        return None


Pooling = Literal["mean", "max", "min"]
TIMES_SHARED = 8
"""Average number of ranges that share a row from which on prefix sums are faster."""


class RangeMeans:
    """Means over ranges of the rows of a matrix [n, d].

    Ranges with little overlap are summed one by one. On a CPU, ranges with much overlap are differences of prefix
    sums, so that a long range costs no more than a short one; float64 is exact enough for these differences.
    """

    def __init__(self, values: Tensor, times_shared: int = TIMES_SHARED) -> None:
        self._most_rows = times_shared * len(values)
        self._kernel = _kernel() if values.is_cuda else None
        self._values = values if self._kernel is not None else values.float()
        self._sums: Tensor | None = None

    def __call__(self, start: Tensor, end: Tensor, *, sums: bool = False) -> Tensor:
        """[R, d] float32 means or sums of the rows ``start`` to ``end`` [R]; zeros for an empty range."""
        if self._kernel is not None:
            return self._kernel(self._values, start, end, sums)
        lengths = end - start
        rows = int(lengths.sum())
        if rows <= self._most_rows:
            indices = _rows_of(start, lengths, rows)
            begins = lengths.cumsum(0) - lengths
            return embedding_bag(indices, self._values, begins, mode="sum" if sums else "mean")
        if self._sums is None:
            self._sums = prefix_sums(self._values)
        total = self._sums[end] - self._sums[start]
        return (total if sums else total / lengths.clamp(min=1)[:, None]).float()


def prefix_sums(values: Tensor) -> Tensor:
    """[n + 1, d] prefix sums of the rows in float64."""
    sums = torch.zeros(values.shape[0] + 1, values.shape[1], dtype=torch.float64, device=values.device)
    torch.cumsum(values, dim=0, dtype=torch.float64, out=sums[1:])
    return sums


def range_extremes(values: Tensor, start: Tensor, end: Tensor, pooling: Pooling) -> Tensor:
    """[R, d] maximum or minimum of each column over the rows ``start`` to ``end``; zeros for an empty range."""
    lengths = end - start
    owner = torch.repeat_interleave(torch.arange(len(start), device=values.device), lengths)
    rows = values[_rows_of(start, lengths, len(owner))].float()
    result = torch.zeros(len(start), values.shape[1], device=values.device)
    index = owner[:, None].expand_as(rows)
    return result.scatter_reduce_(0, index, rows, "amax" if pooling == "max" else "amin", include_self=False)


def _rows_of(start: Tensor, lengths: Tensor, rows: int) -> Tensor:
    """[rows] the concatenated rows of all ranges."""
    shift = start + lengths - lengths.cumsum(0)
    return torch.arange(rows, device=start.device) + shift.repeat_interleave(lengths, output_size=rows)


def _kernel() -> Callable[[Tensor, Tensor, Tensor, bool], Tensor] | None:
    try:
        from wordstill.teacher.teacher_kernels import range_sums
    except ImportError:
        return None
    return range_sums
