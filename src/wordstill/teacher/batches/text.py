"""A corpus in batches: sorted by length inside a window, cut by a token budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from wordstill.corpus import Corpus, Vocabulary
from wordstill.teacher.batches.assembly import Assembler
from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.batches.config import BatchConfig
from wordstill.teacher.batches.gathering import Gatherer
from wordstill.teacher.batches.planning import plan_batches, plan_texts
from wordstill.teacher.batches.positions import AnyBatch, ResumableBatches
from wordstill.teacher.ragged import Ints, owners
from wordstill.teacher.subwords.piece_table import PieceSource
from wordstill.teacher.subwords.tokenisation import Subwords

WINDOW_FORMS = 1 << 18
BATCHES_IN_WINDOW = 8
BUILDERS, LARGE_BUDGET = 3, 1 << 15
"""Threads that make batches of a GPU's size: one alone would let a small model wait. numpy lets go of the
interpreter's lock for long arrays only."""


class TextBatches(ResumableBatches):
    """Every sentence of a corpus once, in batches that depend on the corpus and the settings only.

    A text is a paragraph, or a sentence if the settings say so; a paragraph over the limit is split at
    sentence ends. Only a single sentence over the limit is cut. A text without any sub-word (a paragraph of
    invisible characters, say) is left out.

    Args:
        corpus: The text.
        vocabulary: Names the words.
        source: Gives the sub-words.
        subwords: The teacher's tokenizer.
        config: Size of the batches.
        order: Seed of a random order of reading; None reads from beginning to end.
        gather: Makes the batches on a device; None makes them on the host.
    """

    def __init__(
        self,
        corpus: Corpus,
        vocabulary: Vocabulary,
        source: PieceSource,
        subwords: Subwords,
        config: BatchConfig,
        order: int | None = None,
        gather: Gatherer | None = None,
    ) -> None:
        self.corpus, self.source, self.config, self.order = corpus, source, config, order
        self.gather = gather
        self.builders = BUILDERS if config.budget >= LARGE_BUDGET and gather is None else 1
        self.assembler = Assembler(subwords, config.limit, vocabulary)
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
            table, sentence_text, self.ids_of_slots[table.word_slots], places=texts[:, 2]
        )
