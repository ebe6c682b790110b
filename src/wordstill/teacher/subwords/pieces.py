"""Two ways from the store to the sub-words of a text, with one result.

`FormPieces` tokenises each distinct form of the store once and builds texts by gathers: it applies where the
tokenizer never joins characters across a blank, to texts with a blank before every form. `TextPieces`
tokenises the whole text every time: it always applies, and takes some fifty times as long. `MixedPieces`
decides for each text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus
from wordstill.teacher.ragged import Ints, offsets_of, owners, ranges
from wordstill.teacher.subwords.alignment import align
from wordstill.teacher.subwords.joined import encode_joined, joining_changes_nothing
from wordstill.teacher.subwords.piece_table import PieceSource, SentenceRuns, TextPieceTable
from wordstill.teacher.subwords.tokenisation import Pieces, Subwords

FORMS_AT_ONCE = 50_000
PROBE_FORMS, PROBE_PARAGRAPHS = 2_000, 64
MOSTLY_GLUED = 0.2
"""From so many glued forms for each paragraph on, the fast way would gain little."""


def piece_source(corpus: Corpus, subwords: Subwords) -> PieceSource:
    """The fast source where it is exact for this tokenizer and corpus, else the general one."""
    if corpus.glued > MOSTLY_GLUED * len(corpus) or not subwords.splits_at_blanks():
        return TextPieces(corpus, subwords)
    source = MixedPieces(corpus, subwords) if corpus.glued else FormPieces(corpus, subwords)
    return source if _agrees_on_sample(source, corpus, subwords) else TextPieces(corpus, subwords)


class FormPieces:
    """Tokenises each form of the store once. Memory: some 40 bytes for each distinct form."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        encode = encode_joined if joining_changes_nothing(subwords, _sample(corpus)) else Subwords.encode
        chunks = [
            _form_chunk(corpus, encode(subwords, corpus.forms.slice(start, stop)), start, stop)
            for start, stop in _chunks(corpus)
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
        sentence_bounds = np.searchsorted(np.maximum.accumulate(starts), characters[run.sentence_bounds])
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


class MixedPieces:
    """Tokenises forms once, but the whole of a text in which some form has no blank before it."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        self.by_form, self.by_text = FormPieces(corpus, subwords), TextPieces(corpus, subwords)
        self.bare = np.concatenate([_without_blank(corpus, *chunk) for chunk in _chunks(corpus)])

    def sentence_lengths(self, first: int, last: int) -> Ints:
        """Sub-words of each sentence as a part of its paragraph."""
        lengths = self.by_form.sentence_lengths(first, last)
        low, high = np.searchsorted(self.corpus.paragraphs, [first, last])
        bounds = self.corpus.paragraphs[low : high + 1]
        rows = np.stack([bounds[:-1], bounds[1:]], axis=1)
        glued = rows[self._glued(rows)]
        if len(glued):
            table = self.by_text.read(glued)
            places = ranges(glued[:, 0] - first, glued[:, 1] - glued[:, 0])
            lengths[places] = table.sentence_last - table.sentence_first
        return lengths

    def read(self, texts: Ints) -> TextPieceTable:
        """Sub-words of texts, of each in the way that it needs."""
        glued = self._glued(texts)
        if not glued.any():
            return self.by_form.read(texts)
        table = self.by_form.read(texts[~glued]).followed_by(self.by_text.read(texts[glued]))
        order = np.argsort(np.concatenate([np.flatnonzero(~glued), np.flatnonzero(glued)]))
        sentences = texts[:, 1] - texts[:, 0]
        return table.ordered(order, np.concatenate([sentences[~glued], sentences[glued]]))

    def _glued(self, texts: Ints) -> NDArray[np.bool_]:
        """Whether each text has a form after its first one that has no blank before it."""
        run = SentenceRuns(self.corpus, texts)
        bare = offsets_of(self.bare[run.forms])
        first, last = run.text_bounds[:-1], run.text_bounds[1:]
        glued: NDArray[np.bool_] = bare[last] - bare[first] > self.bare[run.forms[first]]
        return glued


class _FormChunk(NamedTuple):
    """Sub-words of a run of forms: ids, how many each form has, and the range of each word in its form."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int32]
    word_first: NDArray[np.int32]
    word_last: NDArray[np.int32]


def _chunks(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """Ranges of forms that are worked on at once."""
    for start in range(0, len(corpus.forms), FORMS_AT_ONCE):
        yield start, min(start + FORMS_AT_ONCE, len(corpus.forms))


def _sample(corpus: Corpus) -> list[str]:
    """Forms from all over a corpus; they are in the order of the alphabet."""
    count = min(PROBE_FORMS, len(corpus.forms))
    return [corpus.forms[number] for number in np.linspace(0, len(corpus.forms) - 1, count, dtype=np.int64)]


def _without_blank(corpus: Corpus, start: int, stop: int) -> NDArray[np.int8]:
    return np.array([not form.startswith(" ") for form in corpus.forms.slice(start, stop)], dtype=np.int8)


def _form_chunk(corpus: Corpus, pieces: Pieces, start: int, stop: int) -> _FormChunk:
    forms = corpus.forms
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


def _agrees_on_sample(source: PieceSource, corpus: Corpus, subwords: Subwords) -> bool:
    """Whether, on a sample of this corpus, a source gives the sub-words of the whole texts."""
    count = min(PROBE_PARAGRAPHS, len(corpus))
    chosen = np.linspace(0, len(corpus) - 1, count).astype(np.int64)
    texts = np.stack([corpus.paragraphs[chosen], corpus.paragraphs[chosen + 1]], axis=1)
    whole = subwords.encode([corpus.text(int(paragraph)) for paragraph in chosen])
    return all(
        np.array_equal(source.read(text[None]).ids, whole.ids[first:last])
        for text, first, last in zip(texts, whole.offsets[:-1], whole.offsets[1:])
    )
