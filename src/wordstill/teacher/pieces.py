"""Two ways from the store to the sub-words of a text, with one result.

`FormPieces` tokenises each distinct form of the store once and builds texts by gathers: it applies where the
tokenizer never joins characters across a blank. `TextPieces` tokenises the whole text every time: it always
applies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus
from wordstill.teacher.alignment import align, first_at
from wordstill.teacher.piece_table import PieceSource, SentenceRuns, TextPieceTable
from wordstill.teacher.ragged import Ints, offsets_of, owners, ranges
from wordstill.teacher.tokenisation import Subwords

FORMS_AT_ONCE = 50_000
PROBE_PARAGRAPHS = 64


def piece_source(corpus: Corpus, subwords: Subwords) -> PieceSource:
    """The fast source where it is exact for this tokenizer and corpus, else the general one."""
    if corpus.glued == 0 and subwords.splits_at_blanks() and _joins_forms(corpus, subwords):
        return FormPieces(corpus, subwords)
    return TextPieces(corpus, subwords)


class FormPieces:
    """Tokenises each form of the store once. Memory: some 40 bytes for each distinct form."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        starts = range(0, len(corpus.forms), FORMS_AT_ONCE)
        chunks = [
            _tokenise_forms(corpus, subwords, start, min(start + FORMS_AT_ONCE, len(corpus.forms)))
            for start in starts
        ]
        self.ids, self.lengths, self.word_first, self.word_last = map(np.concatenate, zip(*chunks))
        self.offsets = offsets_of(self.lengths)

    def sentence_lengths(self, first: int, last: int) -> Ints:
        """Sub-words of each sentence."""
        bounds = self.corpus.sentences[first : last + 1]
        before = offsets_of(self.lengths[self.corpus.tokens[bounds[0] : bounds[-1]]])
        lengths: Ints = np.diff(before[bounds - bounds[0]])
        return lengths

    def read(self, texts: Ints) -> TextPieceTable:
        """Sub-words of texts, gathered from those of their forms."""
        run = SentenceRuns(self.corpus, texts)
        lengths = self.lengths[run.forms]
        before = offsets_of(lengths)
        start_of_word = before[owners(run.words_of_form)]
        sentence_bounds = before[run.sentence_bounds]
        return TextPieceTable(
            ids=self.ids[ranges(self.offsets[run.forms], lengths)].astype(np.int64),
            text_lengths=np.diff(before[run.text_bounds]),
            word_slots=run.word_slots,
            word_first=start_of_word + self.word_first[run.word_slots],
            word_last=start_of_word + self.word_last[run.word_slots],
            words_in_sentence=run.words_in_sentence,
            sentence_first=sentence_bounds[:-1],
            sentence_last=sentence_bounds[1:],
        )


class TextPieces:
    """Tokenises whole texts and aligns by character offsets."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        self.subwords = subwords

    def sentence_lengths(self, first: int, last: int) -> Ints:
        """Sub-words of each sentence as a part of its paragraph."""
        paragraphs = self.corpus.paragraphs
        low, high = np.searchsorted(paragraphs, [first, last])
        bounds = paragraphs[low : high + 1]
        table = self.read(np.stack([bounds[:-1], bounds[1:]], axis=1))
        return table.sentence_last - table.sentence_first

    def read(self, texts: Ints) -> TextPieceTable:
        """Sub-words of texts. One across the end of a sentence written without blank belongs to it."""
        run, forms = SentenceRuns(self.corpus, texts), self.corpus.forms
        pieces = self.subwords.encode(run.strings())
        characters = offsets_of(forms.lengths[run.forms])
        text_lengths = np.diff(pieces.offsets)
        base = characters[run.text_bounds[:-1]][owners(text_lengths)]
        starts, ends = pieces.starts + base, pieces.ends + base
        start_of_word = characters[owners(run.words_of_form)]
        first, last = align(
            starts,
            ends,
            start_of_word + forms.word_starts[run.word_slots],
            start_of_word + forms.word_ends[run.word_slots],
        )
        sentence_bounds = first_at(characters[run.sentence_bounds], starts, ends)
        return TextPieceTable(
            ids=pieces.ids,
            text_lengths=text_lengths,
            word_slots=run.word_slots,
            word_first=first,
            word_last=last,
            words_in_sentence=run.words_in_sentence,
            sentence_first=sentence_bounds[:-1],
            sentence_last=sentence_bounds[1:],
        )


class _FormChunk(NamedTuple):
    """Sub-words of a run of forms: ids, how many each form has, and the range of each word in its form."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int32]
    word_first: NDArray[np.int32]
    word_last: NDArray[np.int32]


def _tokenise_forms(corpus: Corpus, subwords: Subwords, start: int, stop: int) -> _FormChunk:
    forms = corpus.forms
    pieces = subwords.encode(forms.slice(start, stop))
    lengths = np.diff(pieces.offsets)
    form_of_word = owners(np.diff(forms.word_offsets[start : stop + 1]))
    slots = slice(int(forms.word_offsets[start]), int(forms.word_offsets[stop]))
    characters = offsets_of(forms.lengths[start:stop])
    base_of_piece, base_of_word = characters[owners(lengths)], characters[form_of_word]
    first, last = align(
        pieces.starts + base_of_piece,
        pieces.ends + base_of_piece,
        forms.word_starts[slots] + base_of_word,
        forms.word_ends[slots] + base_of_word,
    )
    start_of_form = pieces.offsets[form_of_word]
    return _FormChunk(
        pieces.ids.astype(np.int32),
        lengths.astype(np.int32),
        (first - start_of_form).astype(np.int32),
        (last - start_of_form).astype(np.int32),
    )


def _joins_forms(corpus: Corpus, subwords: Subwords) -> bool:
    """Whether, on a sample of this corpus, a text's sub-words are those of its forms end to end."""
    count = min(PROBE_PARAGRAPHS, len(corpus))
    for paragraph in np.linspace(0, len(corpus) - 1, count).astype(int):
        first, last = corpus.paragraphs[paragraph], corpus.paragraphs[paragraph + 1]
        run = SentenceRuns(corpus, np.array([[first, last]]))
        whole = subwords.encode(run.strings()).ids
        parts = subwords.encode([corpus.forms[form] for form in run.forms.tolist()]).ids
        if not np.array_equal(whole, parts):
            return False
    return True
