"""Batches of a text or word list, planned in windows, so that reading can resume at any position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of, ranges
from wordstill.core.threads import OrderedPool
from wordstill.corpus import Corpus, Vocabulary
from wordstill.teacher.batch import Batch, BatchConfig, DeviceBatch, made_on_device, plan_batches, plan_texts
from wordstill.teacher.gathering import HOST, Assembler, DeviceArrays, FormTable, HostArrays, Passage, SubwordTable
from wordstill.teacher.subwords import FormSubwords, SubwordSource
from wordstill.teacher.tokenizer import EncodedTexts, SubwordTokenizer

Position = tuple[int, int]
"""Index of a window in reading order, and how many of its batches have been read."""
AnyBatch = Batch | DeviceBatch
"""A batch on the host, or made on a device."""
WINDOW_FORMS = 1 << 18
BATCHES_IN_WINDOW = {True: 8, False: 64}
"""For packed and for padded texts. With more batches, lengths within a batch vary less: 64 leave 2 % padding."""
BUILDERS, LARGE_BUDGET = 3, 1 << 15
"""Threads that make batches of a GPU's size; a small model would have to wait for a single one. numpy releases the
GIL for long arrays only."""
WORDS_AT_ONCE = 8192


class ResumableBatches(ABC):
    """Batches of a list of items (paragraphs, words), divided into windows deterministically.

    Attributes:
        order: Seed of a random order of the windows, and of the batches in each; None keeps the order of the items.
        builders: Threads that make batches ahead of the reader.
        start: Index of the first item to read.
    """

    order: int | None = None
    builders: int = 1
    start: int = 0

    @abstractmethod
    def __len__(self) -> int:
        """End of the items, counting those before the start."""

    @abstractmethod
    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        """Functions that make the batches of the window beginning at item ``start``."""

    @abstractmethod
    def _window_end(self, start: int) -> int:
        """End of the window beginning at item ``start``."""

    def since(self, position: Position) -> Iterator[tuple[Position, AnyBatch]]:
        """Batches from a position on, each with the position after it; the first position is (0, 0)."""
        return OrderedPool(_make, self.builders).map(self._makers(position))

    def _makers(self, position: Position) -> Iterator[tuple[Position, Callable[[], AnyBatch]]]:
        starts, (first, done) = self.starts(), position
        for window in range(first, len(starts)):
            makers = self._window(starts[window])
            if self.order is not None:
                chosen = np.random.default_rng([self.order, starts[window]]).permutation(len(makers))
                makers = [makers[number] for number in chosen]
            for number in range(done, len(makers)):
                after = (window, number + 1) if number + 1 < len(makers) else (window + 1, 0)
                yield after, makers[number]
            done = 0

    def starts(self) -> list[int]:
        """First item of every window, in reading order."""
        starts, item = [], self.start
        while item < len(self):
            starts.append(item)
            item = self._window_end(item)
        if self.order is not None:
            return [starts[number] for number in np.random.default_rng(self.order).permutation(len(starts))]
        return starts


class TextBatches(ResumableBatches):
    """Every sentence of a corpus once, in batches that depend only on the corpus and the settings.

    A text is a paragraph, or a sentence if ``config.unit`` says so. A paragraph over the limit is split at sentence
    ends; only a single sentence over the limit is truncated. Texts without subwords (such as a paragraph of invisible
    characters) are left out.

    Args:
        corpus: The text.
        vocabulary: The words that get ids.
        source: The subwords of sentences.
        tokenizer: The teacher's tokenizer.
        config: Size of the batches.
        order: Seed of a random reading order; None reads from beginning to end.
        arrays: Where batches are made, see `batch_arrays`.
        window_forms: Forms of a window; None chooses by the budget.
        paragraphs: Start and end of the paragraphs to read; None reads all.
        masking: Masks words in every batch, which must be made on the host; None masks none.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        source: SubwordSource,
        tokenizer: SubwordTokenizer,
        config: BatchConfig,
        order: int | None = None,
        arrays: HostArrays = HOST,
        window_forms: int | None = None,
        paragraphs: tuple[int, int] | None = None,
        masking: Masking | None = None,
    ) -> None:
        self.masking = masking
        self.corpus, self.source, self.config, self.order = corpus, source, config, order
        self.start, self.end = paragraphs or (0, len(corpus))
        self.window_forms = window_forms or max(WINDOW_FORMS, BATCHES_IN_WINDOW[config.packed] * config.budget)
        self.forms = _FormsOnDevice(source, tokenizer, arrays) if isinstance(arrays, DeviceArrays) else None
        self.builders = BUILDERS if config.budget >= LARGE_BUDGET and self.forms is None else 1
        phrases = vocabulary if len(vocabulary.phrases) else None
        self.assembler = Assembler(tokenizer, config.limit, phrases, arrays)
        ids = vocabulary.word_ids(corpus)
        if phrases is None:
            ids = np.where(ids < len(vocabulary), ids, -1).astype(np.int32)
        with arrays.aside():
            (self.ids_of_slots,) = arrays.send(ids)

    def __len__(self) -> int:
        """End of the paragraphs to read."""
        return self.end

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        end = self._window_end(start)
        bounds = np.asarray(self.corpus.paragraphs[start : end + 1])
        lengths = self.source.sentence_lengths(int(bounds[0]), int(bounds[-1]))
        room = 0 if self.config.unit == "sentence" else self.assembler.room
        texts, totals = plan_texts(lengths, bounds, start, room, self._measure)
        chosen = plan_batches(totals, self.assembler.room, self.assembler.specials, self.config)
        if self.forms is None:
            return [partial(self._on_host, texts[rows]) for rows in chosen]
        passage = self.forms.passage(int(bounds[0]), int(bounds[-1]))
        return [partial(self._on_device, self.forms, passage, texts[rows], totals[rows]) for rows in chosen]

    def _window_end(self, start: int) -> int:
        paragraphs, sentences = self.corpus.paragraphs, self.corpus.sentences
        wanted = sentences[paragraphs[start]] + self.window_forms
        sentence = int(np.searchsorted(sentences, wanted, side="right")) - 1
        paragraph = int(np.searchsorted(paragraphs, sentence, side="right")) - 1
        return min(max(paragraph, start + 1), self.end)

    def _measure(self, texts: Ints) -> Ints:
        return self.source.read(texts).text_lengths

    def _on_host(self, texts: Ints) -> Batch:
        batch = self._assembled(self.source.read(texts[:, :2]), texts)
        return batch if self.masking is None else self.masking(batch, int(texts[0, 0]))

    def _on_device(self, forms: _FormsOnDevice, passage: Passage, texts: Ints, totals: Ints) -> DeviceBatch:
        with forms.arrays.aside():
            batch = self._assembled(forms.table.read(passage, texts[:, :2], totals, forms.arrays), texts)
            lengths = np.minimum(totals, self.assembler.room) + self.assembler.specials
            return made_on_device(batch, lengths, forms.max_subword, forms.arrays.stream)

    def _assembled(self, table: SubwordTable, texts: Ints) -> Batch:
        batch = self.assembler.assemble(table, self.ids_of_slots[table.word_slots], source_ids=texts[:, 2])
        return replace(batch, source_sentences=texts[:, 0])


class WordListBatches(ResumableBatches):
    """Batches of words or phrases, each in a text of its own. Those without subwords are left out.

    Args:
        words: The words in the spelling to read.
        ids: Their ids in the vocabulary.
        tokenizer: The teacher's tokenizer.
        config: Size of the batches.
        window_words: Words of a window; None chooses by the budget.
        prompt: The text around every word, which takes the place of ``{}``. Other words of the text get no ids.
    """

    def __init__(
        self,
        words: Sequence[str],
        ids: Ints,
        tokenizer: SubwordTokenizer,
        config: BatchConfig,
        window_words: int | None = None,
        prompt: str = "{}",
    ) -> None:
        self.window_words = window_words or max(WORDS_AT_ONCE, config.budget)
        self.words, self.ids, self.tokenizer, self.config = words, ids, tokenizer, config
        self.before, _, self.after = prompt.partition("{}")
        self.assembler = Assembler(tokenizer, config.limit)

    def __len__(self) -> int:
        """Number of words."""
        return len(self.words)

    def _window_end(self, start: int) -> int:
        return min(start + self.window_words, len(self.words))

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        end = self._window_end(start)
        # With a leading space, byte-level tokenizers treat a word as they do inside a text.
        texts = [f" {self.before}{word}{self.after}" for word in self.words[start:end]]
        subwords = self.tokenizer.encode(texts)
        chosen = plan_batches(np.diff(subwords.offsets), self.assembler.room, self.assembler.specials, self.config)
        word_end = subwords.characters - len(self.after)
        words = np.stack(subwords.align(np.arange(len(texts)), 1 + len(self.before), word_end))
        return [partial(self._batch, subwords, rows, words[:, rows], start) for rows in chosen]

    def _batch(self, subwords: EncodedTexts, rows: Ints, words: Ints, start: int) -> Batch:
        begins, lengths = subwords.offsets[rows], np.diff(subwords.offsets)[rows]
        bounds = offsets_of(lengths)
        word_start, word_end = words - begins + bounds[:-1]
        every = np.arange(len(rows), dtype=np.int64)
        table = SubwordTable(
            text_lengths=lengths,
            ids=subwords.ids[ranges(begins, lengths)],
            word_slots=every,
            word_start=word_start,
            word_end=word_end,
            word_sentence=every,
            sentence_start=bounds[:-1],
            sentence_end=bounds[1:],
            sentence_text=every,
        )
        return self.assembler.assemble(table, self.ids[start + rows].astype(np.int32), source_ids=start + rows)


def batch_arrays(source: SubwordSource, vocabulary: Vocabulary, device: torch.device) -> HostArrays:
    """Where batches are made: on the GPU, unless subwords depend on neighboring words or there are phrases."""
    gathered = isinstance(source, FormSubwords) and not len(vocabulary.phrases)
    return DeviceArrays(device) if device.type == "cuda" and gathered else HOST


class _FormsOnDevice:
    """The subwords of every form, kept on a device; the text is sent window by window."""

    def __init__(self, source: SubwordSource, tokenizer: SubwordTokenizer, arrays: DeviceArrays) -> None:
        if not isinstance(source, FormSubwords):
            raise TypeError("Only the subwords of forms can be gathered on a device.")
        self.corpus, self.arrays = source.corpus, arrays
        self.max_subword = max([int(source.table.ids.max(initial=0)), *tokenizer.prefix, *tokenizer.suffix])
        with arrays.aside():
            self.table = FormTable(*(arrays.send(each)[0] for each in source.table))
            (self.word_offsets,) = arrays.send(source.corpus.forms.word_offsets)

    def passage(self, start: int, end: int) -> Passage:
        """The sentences from ``start`` to ``end``, sent to the device."""
        with self.arrays.aside():
            return Passage.of(self.corpus, start, end, self.arrays, self.word_offsets)


def _make(planned: tuple[Position, Callable[[], AnyBatch]]) -> tuple[Position, AnyBatch]:
    after, make = planned
    return after, make()


@dataclass(frozen=True, eq=False)
class Masking:
    """Masks one word of every text in a batch, a different one in each round.

    Words are drawn after subsampling frequent ones. If no word of a text is left, none is masked.
    """

    mask_id: int
    """The mask token, which replaces each subword of the word."""
    keep: NDArray[np.float32]
    """Probability that subsampling keeps an occurrence of each word [V]."""
    number: int
    """Index of the round, from 0."""
    seed: tuple[int, ...]

    def __call__(self, batch: Batch, place: int) -> Batch:
        """The masked batch. ``place`` identifies the batch and is the same in every round."""
        rng = np.random.default_rng([*self.seed, place])
        can_be, order = rng.random((2, len(batch.word_ids)))
        usable = (batch.word_ids >= 0) & (batch.word_end > batch.word_start)
        words = np.flatnonzero(usable & (can_be < self.keep[np.where(usable, batch.word_ids, 0)]))
        text = batch.sentence_text[batch.word_sentence[words]]
        sequence = np.lexsort((order[words], text))
        words, text = words[sequence], text[sequence]
        rank = np.arange(len(words)) - np.searchsorted(text, text)
        masked = np.sort(words[rank == self.number])
        subwords = batch.subwords.copy()
        starts = batch.word_start[masked]
        subwords[ranges(starts, batch.word_end[masked] - starts)] = self.mask_id
        return replace(batch, subwords=subwords, masked=masked)
