"""Reading that can start in the middle: batches are planned in windows, and a position names one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.core.threads import OrderedPool
from wordstill.corpus import Corpus, Vocabulary
from wordstill.teacher.assembly import Assembler
from wordstill.teacher.batch import Batch, BatchConfig, DeviceBatch
from wordstill.teacher.gathering import Gatherer
from wordstill.teacher.planning import plan_batches, plan_texts
from wordstill.teacher.subwords import SubwordSource, SubwordTable
from wordstill.teacher.tokenizer import EncodedTexts, SubwordTokenizer

Position = tuple[int, int]
"""Number of a window in reading order, and how many batches of it have been read."""
AnyBatch = Batch | DeviceBatch
"""On the host, or made on a device."""


class ResumableBatches(ABC):
    """Batches of a list of items (paragraphs, words) that is read in windows, always in the same way.

    Attributes:
        order: Seed of a random order of the windows, and of the batches inside each; None reads as it stands.
        builders: Threads that make batches ahead of the reader.
    """

    order: int | None = None
    builders: int = 1

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

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
        starts, (first, done) = self._starts(), position
        for window in range(first, len(starts)):
            makers = self._window(starts[window])
            if self.order is not None:
                chosen = np.random.default_rng([self.order, starts[window]]).permutation(len(makers))
                makers = [makers[number] for number in chosen]
            for number in range(done, len(makers)):
                after = (window, number + 1) if number + 1 < len(makers) else (window + 1, 0)
                yield after, makers[number]
            done = 0

    def _starts(self) -> list[int]:
        """First items of all windows in reading order."""
        starts, item = [], 0
        while item < len(self):
            starts.append(item)
            item = self._window_end(item)
        if self.order is not None:
            return [starts[number] for number in np.random.default_rng(self.order).permutation(len(starts))]
        return starts


def _make(planned: tuple[Position, Callable[[], AnyBatch]]) -> tuple[Position, AnyBatch]:
    after, make = planned
    return after, make()


WINDOW_FORMS = 1 << 18
BATCHES_IN_WINDOW = 8
BUILDERS, LARGE_BUDGET = 3, 1 << 15
"""Threads that make batches of a GPU's size: one alone would let a small model wait. numpy lets go of the
interpreter's lock for long arrays only."""


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
        gather: Makes the batches on a device; None makes them on the host.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        source: SubwordSource,
        tokenizer: SubwordTokenizer,
        config: BatchConfig,
        order: int | None = None,
        gather: Gatherer | None = None,
    ) -> None:
        self.corpus, self.source, self.config, self.order = corpus, source, config, order
        self.gather = gather
        self.builders = BUILDERS if config.budget >= LARGE_BUDGET and gather is None else 1
        self.assembler = Assembler(tokenizer, config.limit, vocabulary)
        self.ids_of_slots = vocabulary.word_ids(corpus)

    def __len__(self) -> int:
        """How many paragraphs there are."""
        return len(self.corpus)

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        stop = self._window_end(start)
        bounds = np.asarray(self.corpus.paragraphs[start : stop + 1])
        lengths = self.source.sentence_lengths(int(bounds[0]), int(bounds[-1]))
        room = 0 if self.config.unit == "sentence" else self.assembler.room
        texts, totals = plan_texts(lengths, bounds, start, room, self._measure)
        chosen = plan_batches(totals, self.assembler.room, self.assembler.specials, self.config)
        makers = [partial(self._batch, texts[rows]) for rows in chosen]
        if self.gather is None:
            return list(makers)
        window = self.gather.window(int(bounds[0]), int(bounds[-1]))
        return [
            partial(self.gather, window, texts[rows, :2], totals[rows], make)
            for rows, make in zip(chosen, makers)
        ]

    def _window_end(self, start: int) -> int:
        paragraphs, sentences = self.corpus.paragraphs, self.corpus.sentences
        forms = max(WINDOW_FORMS, BATCHES_IN_WINDOW * self.config.budget)
        wanted = sentences[paragraphs[start]] + forms
        sentence = int(np.searchsorted(sentences, wanted, side="right")) - 1
        paragraph = int(np.searchsorted(paragraphs, sentence, side="right")) - 1
        return min(max(paragraph, start + 1), len(self.corpus))

    def _measure(self, texts: Ints) -> Ints:
        return self.source.read(texts).text_lengths

    def _batch(self, texts: Ints) -> Batch:
        table = self.source.read(texts[:, :2])
        sentence_text = owners(texts[:, 1] - texts[:, 0])
        return self.assembler.assemble(
            table, sentence_text, self.ids_of_slots[table.word_slots], source_ids=texts[:, 2]
        )


WORDS_AT_ONCE = 8192


class WordListBatches(ResumableBatches):
    """Words or phrases, each alone in a text of its own, in batches. Those without subwords are left out.

    Args:
        words: The words as they are read.
        ids: Their ids in the vocabulary.
        tokenizer: The teacher's tokenizer.
        config: Size of the batches.
    """

    def __init__(
        self, words: Sequence[str], ids: Ints, tokenizer: SubwordTokenizer, config: BatchConfig
    ) -> None:
        self.words, self.ids, self.tokenizer, self.config = words, ids, tokenizer, config
        self.assembler = Assembler(tokenizer, config.limit)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    def _window_end(self, start: int) -> int:
        return min(start + max(WORDS_AT_ONCE, self.config.budget), len(self.words))

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        stop = self._window_end(start)
        # A leading space gives byte-level tokenizers the shape that a word has inside a text.
        texts = [f" {word}" for word in self.words[start:stop]]
        subwords = self.tokenizer.encode(texts)
        chosen = plan_batches(
            np.diff(subwords.offsets), self.assembler.room, self.assembler.specials, self.config
        )
        words = np.stack(subwords.align(np.arange(len(texts)), 1, subwords.characters))
        return [partial(self._batch, subwords, rows, words[:, rows], start) for rows in chosen]

    def _batch(self, subwords: EncodedTexts, rows: Ints, words: Ints, start: int) -> Batch:
        begins, lengths = subwords.offsets[rows], np.diff(subwords.offsets)[rows]
        bounds = offsets_of(lengths)
        word_start, word_end = words - begins + bounds[:-1]
        every = np.arange(len(rows), dtype=np.int64)
        table = SubwordTable(
            ids=subwords.ids[ranges(begins, lengths)],
            text_lengths=lengths,
            word_slots=every,
            word_start=word_start,
            word_end=word_end,
            words_in_sentence=np.ones(len(rows), dtype=np.int64),
            sentence_start=bounds[:-1],
            sentence_end=bounds[1:],
        )
        return self.assembler.assemble(
            table, every, self.ids[start + rows].astype(np.int32), source_ids=start + rows
        )
