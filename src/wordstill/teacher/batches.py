"""Batches of a text or of a word list, planned in windows, so that reading can resume at any position."""

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
"""Number of a window in reading order, and how many batches of it have been read."""
AnyBatch = Batch | DeviceBatch
"""On the host, or made on a device."""
WINDOW_FORMS = 1 << 18
BATCHES_IN_WINDOW = {True: 8, False: 64}
"""Of packed and of padded texts. The more there are, the more texts of nearly one length: 64 leave 2 % padding."""
BUILDERS, LARGE_BUDGET = 3, 1 << 15
"""Threads that make batches of a GPU's size: one alone would let a small model wait. numpy lets go of the
interpreter's lock for long arrays only."""
"""``auto`` is the device where it is a GPU and can make batches."""
WORDS_AT_ONCE = 8192


class ResumableBatches(ABC):
    """Batches of a list of items (paragraphs, words) that is read in windows, always in the same way.

    Attributes:
        order: Seed of a random order of the windows, and of the batches inside each; None reads as it stands.
        builders: Threads that make batches ahead of the reader.
        start: Number of the item that reading begins with.
    """

    order: int | None = None
    builders: int = 1
    start: int = 0

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are, with those before the start."""

    @abstractmethod
    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        """What makes each batch of the window that begins with the item ``start``."""

    @abstractmethod
    def _window_end(self, start: int) -> int:
        """The item after the window that begins with the item ``start``."""

    def since(self, position: Position) -> Iterator[tuple[Position, AnyBatch]]:
        """Batches from a position on, each with the position after it. Reading begins at (0, 0)."""
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
        """First items of all windows in reading order."""
        starts, item = [], self.start
        while item < len(self):
            starts.append(item)
            item = self._window_end(item)
        if self.order is not None:
            return [starts[number] for number in np.random.default_rng(self.order).permutation(len(starts))]
        return starts


class TextBatches(ResumableBatches):
    """Every sentence of a corpus once, in batches that depend on the corpus and the settings only.

    A text is a paragraph, or a sentence if the settings say so; a paragraph over the limit is split at
    sentence ends. Only a single sentence over the limit is cut. A text without any subword (a paragraph of
    invisible characters, say) is left out.

    Args:
        corpus: The text.
        vocabulary: Names the words.
        source: Gives the subwords.
        tokenizer: The teacher's tokenizer.
        config: Size of the batches.
        order: Seed of a random order of reading; None reads from beginning to end.
        arrays: Where batches are made, see `batch_arrays`.
        window_forms: Forms of a window, which is planned as a whole; None suits the budget.
        paragraphs: The first paragraph and the one after the last; None reads all.
        masking: Masks words of every batch, which must be made on the host; None masks none.
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
        """The paragraph after the last that is read."""
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
    """Words or phrases, each in a text of its own, in batches. Those without subwords are left out.

    Args:
        words: The words as they are read.
        ids: Their ids in the vocabulary.
        tokenizer: The teacher's tokenizer.
        config: Size of the batches.
        window_words: Words of a window, which is planned as a whole; None suits the budget.
        prompt: The text of every word, with ``{}`` in its place. The word is the only one of that sentence.
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
        """How many words there are."""
        return len(self.words)

    def _window_end(self, start: int) -> int:
        return min(start + self.window_words, len(self.words))

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        end = self._window_end(start)
        # A leading space gives byte-level tokenizers the shape that a word has inside a text.
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
    """Where batches are made: on a GPU, unless a word's subwords depend on its neighbors or phrases are wanted."""
    gathered = isinstance(source, FormSubwords) and not len(vocabulary.phrases)
    return DeviceArrays(device) if device.type == "cuda" and gathered else HOST


class _FormsOnDevice:
    """The subwords of every form on a device, which gets the text itself window by window."""

    def __init__(self, source: SubwordSource, tokenizer: SubwordTokenizer, arrays: DeviceArrays) -> None:
        if not isinstance(source, FormSubwords):
            raise TypeError("Only the subwords of forms can be gathered on a device.")
        self.corpus, self.arrays = source.corpus, arrays
        self.max_subword = max([int(source.table.ids.max(initial=0)), *tokenizer.prefix, *tokenizer.suffix])
        with arrays.aside():
            self.table = FormTable(*(arrays.send(each)[0] for each in source.table))
            (self.word_offsets,) = arrays.send(source.corpus.forms.word_offsets)

    def passage(self, start: int, end: int) -> Passage:
        """The sentences from ``start`` up to ``end``, sent to the device."""
        with self.arrays.aside():
            return Passage.of(self.corpus, start, end, self.arrays, self.word_offsets)


def _make(planned: tuple[Position, Callable[[], AnyBatch]]) -> tuple[Position, AnyBatch]:
    after, make = planned
    return after, make()


@dataclass(frozen=True, eq=False)
class Masking:
    """Masks one word of every text in a batch; each of several rounds takes another word of the text.

    Words are drawn after frequent ones are thinned out. A text without a word left is read as it is.
    """

    mask_id: int
    """The subword that takes the place of each one of the word."""
    keep: NDArray[np.float32]
    """Probability that an occurrence of each word of the vocabulary can be drawn [V]."""
    number: int
    """Number of the round, from 0."""
    seed: tuple[int, ...]

    def __call__(self, batch: Batch, place: int) -> Batch:
        """The batch with masks. ``place`` is the same for the same batch in every round."""
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
