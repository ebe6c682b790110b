"""From a corpus to batches: texts that fit the teacher, sorted by length inside a window, cut by a token budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus, Vocabulary
from wordstill.teacher.batch import Batch
from wordstill.teacher.pieces import PieceSource, TextPieceTable
from wordstill.teacher.ragged import Ints, offsets_of, owners, ranges
from wordstill.teacher.tokenisation import Subwords

WINDOW_FORMS = 1 << 18
WORDS_AT_ONCE = 8192


@dataclass(frozen=True)
class BatchConfig:
    """How much the teacher reads at one time."""

    budget: int = 8192
    """Sub-words in a batch, padding counted."""
    limit: int = 512
    """Longest text in sub-words, special tokens counted."""


class TextBatches:
    """Every sentence of a corpus once, in batches that depend on the corpus and the settings only.

    A text is a paragraph; one over the limit is split at sentence ends. Only a single sentence over the limit is cut.
    """

    def __init__(
        self, corpus: Corpus, vocabulary: Vocabulary, source: PieceSource, subwords: Subwords, config: BatchConfig
    ) -> None:
        self.corpus, self.vocabulary, self.source, self.subwords = corpus, vocabulary, source, subwords
        self.config = config
        self.ids_of_slots = vocabulary.word_ids(corpus)

    def __iter__(self) -> Iterator[Batch]:
        return (batch for _, batch in self.since((0, 0)))

    def since(self, position: tuple[int, int]) -> Iterator[tuple[tuple[int, int], Batch]]:
        """Batches from a position on, each with the position after it, for checkpoints.

        A position is the first paragraph of a window and the number of its batches already read.
        """
        start, done = position
        while start < len(self.corpus):
            stop = self._window_end(start)
            plan = list(self._plan(start, stop))
            for number in range(done, len(plan)):
                ended = number + 1 == len(plan)
                yield ((stop, 0) if ended else (start, number + 1)), self._batch(plan[number])
            start, done = stop, 0

    def _window_end(self, start: int) -> int:
        paragraphs, sentences = self.corpus.paragraphs, self.corpus.sentences
        wanted = sentences[paragraphs[start]] + WINDOW_FORMS
        sentence = int(np.searchsorted(sentences, wanted, side="right")) - 1
        paragraph = int(np.searchsorted(paragraphs, sentence, side="right")) - 1
        return min(max(paragraph, start + 1), len(self.corpus))

    def _plan(self, start: int, stop: int) -> Iterator[Ints]:
        """Batches of the paragraphs from ``start`` to ``stop`` as rows (first sentence, after the last, paragraph)."""
        bounds = np.asarray(self.corpus.paragraphs[start : stop + 1])
        specials = len(self.subwords.prefix) + len(self.subwords.suffix)
        lengths = self.source.sentence_lengths(int(bounds[0]), int(bounds[-1]))
        texts, totals = _texts_within(lengths, bounds, self.config.limit - specials, start)
        order = np.argsort(-totals, kind="stable")
        order = order[totals[order] > 0]
        padded = np.minimum(totals[order], self.config.limit - specials) + specials
        for chosen in _within_budget(padded, self.config.budget):
            yield texts[order[chosen]]

    def _batch(self, texts: Ints) -> Batch:
        table = self.source.read(texts[:, :2])
        sentence_text = owners(texts[:, 1] - texts[:, 0])
        ids = self.ids_of_slots[table.word_slots]
        return assemble(
            table, sentence_text, ids, texts[:, 2], self.subwords, self.config.limit, self.vocabulary
        )


class WordListBatches:
    """Words or phrases, each alone in a text of its own, in batches.

    Args:
        words: The words as they are read.
        ids: Their ids in the vocabulary.
        subwords: The teacher's tokenizer.
        config: Size of the batches.
    """

    def __init__(self, words: Sequence[str], ids: Ints, subwords: Subwords, config: BatchConfig) -> None:
        self.words, self.ids, self.subwords, self.config = words, ids, subwords, config

    def since(self, position: tuple[int, int]) -> Iterator[tuple[tuple[int, int], Batch]]:
        """Batches from a position (first word of a window, batches of it already read) on."""
        start, done = position
        while start < len(self.words):
            stop = min(start + WORDS_AT_ONCE, len(self.words))
            # A leading blank gives byte-level tokenizers the shape that a word has inside a text.
            pieces = self.subwords.encode([f" {word}" for word in self.words[start:stop]])
            lengths = np.diff(pieces.offsets)
            order = np.argsort(-lengths, kind="stable")
            specials = len(self.subwords.prefix) + len(self.subwords.suffix)
            padded = np.minimum(lengths[order] + specials, self.config.limit)
            plan = [order[chosen] for chosen in _within_budget(padded, self.config.budget)]
            for number in range(done, len(plan)):
                ended = number + 1 == len(plan)
                chosen = plan[number]
                part = pieces.ids[ranges(pieces.offsets[chosen], lengths[chosen])]
                after = (stop, 0) if ended else (start, number + 1)
                yield after, self._batch(part, lengths[chosen], self.ids[start + chosen])
            start, done = stop, 0

    def _batch(self, pieces: Ints, lengths: Ints, words: Ints) -> Batch:
        bounds = offsets_of(lengths)
        one = np.ones(len(words), dtype=np.int64)
        table = TextPieceTable(pieces, lengths, words, bounds[:-1], bounds[1:], one, bounds[:-1], bounds[1:])
        every = np.arange(len(words), dtype=np.int64)
        return assemble(table, every, words.astype(np.int32), words, self.subwords, self.config.limit, None)


def assemble(
    table: TextPieceTable,
    sentence_text: Ints,
    word_ids: NDArray[np.int32],
    places: Ints,
    subwords: Subwords,
    limit: int,
    vocabulary: Vocabulary | None,
) -> Batch:
    """Put special tokens around each text, cut what is over the limit, and find phrases."""
    prefix, suffix = np.array(subwords.prefix, dtype=np.int64), np.array(subwords.suffix, dtype=np.int64)
    room = limit - len(prefix) - len(suffix)
    kept = np.minimum(table.text_lengths, room)
    old, texts = offsets_of(table.text_lengths), offsets_of(kept + len(prefix) + len(suffix))
    pieces = np.empty(int(texts[-1]), dtype=np.int64)
    pieces[ranges(texts[:-1], np.full(len(kept), len(prefix)))] = np.tile(prefix, len(kept))
    pieces[ranges(texts[1:] - len(suffix), np.full(len(kept), len(suffix)))] = np.tile(suffix, len(kept))
    pieces[ranges(texts[:-1] + len(prefix), kept)] = table.ids[ranges(old[:-1], kept)]

    shift = texts[:-1] + len(prefix) - old[:-1]
    end = texts[1:] - len(suffix)
    sentence_first = table.sentence_first + shift[sentence_text]
    sentence_last = np.minimum(table.sentence_last + shift[sentence_text], end[sentence_text])
    sentence = owners(table.words_in_sentence)
    text = sentence_text[sentence]
    first, last = table.word_first + shift[text], table.word_last + shift[text]
    lost = (last > end[text]) | (first >= last)
    first, last = np.where(lost, texts[text], first), np.where(lost, texts[text], last)

    running = len(word_ids)
    known = np.where(lost, np.int32(-1), word_ids).astype(np.int32)
    phrase_first = phrase_last = np.empty(0, dtype=np.int64)
    if vocabulary is not None:
        phrase_ids, phrase_first, phrase_last = vocabulary.phrases.find(known, sentence)
        known = np.concatenate([np.where(known < len(vocabulary), known, -1), phrase_ids]).astype(np.int32)
    return Batch(
        pieces=pieces,
        texts=texts,
        word_ids=known,
        word_first=np.concatenate([first, first[phrase_first]]),
        word_last=np.concatenate([last, last[phrase_last]]),
        word_sentence=np.concatenate([sentence, sentence[phrase_first]]),
        sentence_first=np.minimum(sentence_first, sentence_last),
        sentence_last=sentence_last,
        sentence_text=sentence_text,
        running=running,
        phrase_first=phrase_first,
        phrase_last=phrase_last,
        places=places,
        cut=int((table.text_lengths > room).sum()),
    )


def _texts_within(lengths: Ints, bounds: Ints, room: int, first_paragraph: int) -> tuple[Ints, Ints]:
    """Cut paragraphs into texts of at most ``room`` sub-words at sentence ends; rows and their lengths."""
    before = offsets_of(lengths)
    totals = np.diff(before[bounds - bounds[0]])
    fits = totals <= room
    paragraphs = np.arange(first_paragraph, first_paragraph + len(totals))
    rows = [np.stack([bounds[:-1], bounds[1:], paragraphs], axis=1)[fits]]
    sums = [totals[fits]]
    for index in np.flatnonzero(~fits):
        cuts = _greedy_cuts(lengths, int(bounds[index] - bounds[0]), int(bounds[index + 1] - bounds[0]), room)
        edges = np.array(cuts, dtype=np.int64)
        owner = np.full(len(edges) - 1, paragraphs[index])
        rows.append(np.stack([edges[:-1] + bounds[0], edges[1:] + bounds[0], owner], axis=1))
        sums.append(before[edges[1:]] - before[edges[:-1]])
    return np.concatenate(rows), np.concatenate(sums)


def _greedy_cuts(lengths: Ints, start: int, stop: int, room: int) -> list[int]:
    cuts, filled = [start], 0
    for sentence in range(start, stop):
        length = int(lengths[sentence])
        if filled and filled + length > room:
            cuts.append(sentence)
            filled = 0
        filled += length
    return [*cuts, stop]


def _within_budget(lengths: Ints, budget: int) -> Iterator[slice]:
    """Slices of texts sorted from long to short, each at most ``budget`` sub-words when padded to its longest."""
    start = 0
    while start < len(lengths):
        count = max(1, budget // int(lengths[start]))
        yield slice(start, start + count)
        start += count
