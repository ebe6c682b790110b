"""Words or phrases in batches, each alone in a text of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from wordstill.teacher.batches.assembly import Assembler
from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.batches.config import BatchConfig
from wordstill.teacher.batches.planning import plan_batches
from wordstill.teacher.batches.positions import AnyBatch, ResumableBatches
from wordstill.teacher.ragged import Ints, offsets_of, owners, ranges
from wordstill.teacher.subwords.alignment import align
from wordstill.teacher.subwords.piece_table import TextPieceTable
from wordstill.teacher.subwords.tokenisation import Pieces, Subwords

WORDS_AT_ONCE = 8192


class WordListBatches(ResumableBatches):
    """Words or phrases, each alone in a text of its own, in batches. Those without sub-words are left out.

    Args:
        words: The words as they are read.
        ids: Their ids in the vocabulary.
        subwords: The teacher's tokenizer.
        config: Size of the batches.
    """

    def __init__(self, words: Sequence[str], ids: Ints, subwords: Subwords, config: BatchConfig) -> None:
        self.words, self.ids, self.subwords, self.config = words, ids, subwords, config
        self.assembler = Assembler(subwords, config.limit)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    def _window_end(self, start: int) -> int:
        return min(start + max(WORDS_AT_ONCE, self.config.budget), len(self.words))

    def _window(self, start: int) -> list[Callable[[], AnyBatch]]:
        stop = self._window_end(start)
        # A leading blank gives byte-level tokenizers the shape that a word has inside a text.
        texts = [f" {word}" for word in self.words[start:stop]]
        pieces = self.subwords.encode(texts)
        chosen = plan_batches(
            np.diff(pieces.offsets), self.assembler.room, self.assembler.specials, self.config
        )
        characters = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return [partial(self._batch, pieces, rows, characters[rows], start) for rows in chosen]

    def _batch(self, pieces: Pieces, rows: Ints, characters: Ints, start: int) -> Batch:
        lengths = np.diff(pieces.offsets)[rows]
        chosen = ranges(pieces.offsets[rows], lengths)
        bounds, base = offsets_of(lengths), offsets_of(characters)
        base_of_piece = base[owners(lengths)]
        first, last = align(
            pieces.starts[chosen] + base_of_piece,
            pieces.ends[chosen] + base_of_piece,
            base[:-1] + 1,
            base[1:],
        )
        every = np.arange(len(rows), dtype=np.int64)
        table = TextPieceTable(
            ids=pieces.ids[chosen],
            text_lengths=lengths,
            word_slots=every,
            word_first=first,
            word_last=last,
            words_in_sentence=np.ones(len(rows), dtype=np.int64),
            sentence_first=bounds[:-1],
            sentence_last=bounds[1:],
        )
        return self.assembler.assemble(
            table, every, self.ids[start + rows].astype(np.int32), places=start + rows
        )
