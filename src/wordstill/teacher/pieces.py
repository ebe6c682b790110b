"""Two ways from the store to the sub-words of a text, with one result.

`FormPieces` tokenises each distinct form of the store once and builds texts by gathers: it applies where the
tokenizer never joins characters across a blank. `TextPieces` tokenises the whole text every time: it always applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wordstill.corpus import Corpus
from wordstill.teacher.alignment import align, monotone_spans
from wordstill.teacher.ragged import Ints, offsets_of, owners, ranges
from wordstill.teacher.tokenisation import Subwords

FORMS_AT_ONCE = 50_000
PROBE_PARAGRAPHS = 64


@dataclass(frozen=True)
class TextPieceTable:
    """Sub-words of some texts without special tokens; a text is a run of sentences of one paragraph.

    Word and sentence ranges are half-open and count sub-words from the first text's first. ``word_slots`` points into
    the store's list of words of forms, so that a vocabulary can name each word.
    """

    ids: Ints
    text_lengths: Ints
    word_slots: Ints
    word_first: Ints
    word_last: Ints
    words_in_sentence: Ints
    sentence_first: Ints
    sentence_last: Ints


class PieceSource(Protocol):
    """Gives sub-words of runs of sentences of the corpus."""

    def sentence_lengths(self, first: int, last: int) -> Ints:
        """Number of sub-words of each of the sentences ``first`` to ``last`` (exclusive); whole paragraphs only."""
        ...

    def read(self, texts: Ints) -> TextPieceTable:
        """Sub-words of texts given as rows (first sentence, sentence after the last)."""
        ...


def piece_source(corpus: Corpus, subwords: Subwords) -> PieceSource:
    """The fast source where it is exact for this tokenizer and corpus, else the general one."""
    if corpus.glued == 0 and subwords.splits_at_blanks() and _joins_forms(corpus, subwords):
        return FormPieces(corpus, subwords)
    return TextPieces(corpus, subwords)


class FormPieces:
    """Tokenises each form of the store once. Memory: about 30 bytes for each distinct form."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        forms = corpus.forms
        ids, lengths, firsts, lasts = [], [], [], []
        for start in range(0, len(forms), FORMS_AT_ONCE):
            stop = min(start + FORMS_AT_ONCE, len(forms))
            pieces = subwords.encode(forms.slice(start, stop))
            ids.append(pieces.ids.astype(np.int32))
            lengths.append(np.diff(pieces.offsets).astype(np.int32))
            base = offsets_of(forms.lengths[start:stop])
            word_range = slice(int(forms.word_offsets[start]), int(forms.word_offsets[stop]))
            words_of_form = np.diff(forms.word_offsets[start : stop + 1])
            text_of_piece, form_of_word = owners(np.diff(pieces.offsets)), owners(words_of_form)
            first, last = align(
                pieces.starts + base[text_of_piece],
                pieces.ends + base[text_of_piece],
                forms.word_starts[word_range] + base[form_of_word],
                forms.word_ends[word_range] + base[form_of_word],
            )
            firsts.append((first - pieces.offsets[form_of_word]).astype(np.int32))
            lasts.append((last - pieces.offsets[form_of_word]).astype(np.int32))
        self.ids = np.concatenate(ids)
        self.lengths = np.concatenate(lengths)
        self.offsets = offsets_of(self.lengths)
        self.word_first = np.concatenate(firsts)
        self.word_last = np.concatenate(lasts)
        self.word_counts = np.diff(forms.word_offsets)

    def sentence_lengths(self, first: int, last: int) -> Ints:
        bounds = np.asarray(self.corpus.sentences[first : last + 1])
        before = offsets_of(self.lengths[self.corpus.tokens[bounds[0] : bounds[-1]]])
        return np.diff(before[bounds - bounds[0]])

    def read(self, texts: Ints) -> TextPieceTable:
        run = _SentenceRuns(self.corpus, texts)
        lengths = self.lengths[run.forms]
        before = offsets_of(lengths)
        ids = self.ids[ranges(self.offsets[run.forms], lengths)].astype(np.int64)
        words = self.word_counts[run.forms]
        slots = ranges(self.corpus.forms.word_offsets[run.forms], words)
        start_of_word = before[owners(words)]
        words_before = offsets_of(words)
        return TextPieceTable(
            ids=ids,
            text_lengths=np.diff(before[run.text_bounds]),
            word_slots=slots,
            word_first=start_of_word + self.word_first[slots],
            word_last=start_of_word + self.word_last[slots],
            words_in_sentence=np.diff(words_before[run.sentence_bounds]),
            sentence_first=before[run.sentence_bounds[:-1]],
            sentence_last=before[run.sentence_bounds[1:]],
        )


class TextPieces:
    """Tokenises whole texts and aligns by character offsets."""

    def __init__(self, corpus: Corpus, subwords: Subwords) -> None:
        self.corpus = corpus
        self.subwords = subwords

    def sentence_lengths(self, first: int, last: int) -> Ints:
        paragraphs = self.corpus.paragraphs
        low, high = np.searchsorted(paragraphs, [first, last])
        bounds = np.asarray(paragraphs[low : high + 1])
        table = self.read(np.stack([bounds[:-1], bounds[1:]], axis=1))
        return table.sentence_last - table.sentence_first

    def read(self, texts: Ints) -> TextPieceTable:
        run = _SentenceRuns(self.corpus, texts)
        forms = self.corpus.forms
        pieces = self.subwords.encode(run.strings())
        characters = offsets_of(forms.lengths[run.forms])
        base = characters[run.text_bounds[:-1]]
        text_of_piece = owners(np.diff(pieces.offsets))
        starts, ends = pieces.starts + base[text_of_piece], pieces.ends + base[text_of_piece]
        words = np.diff(forms.word_offsets)[run.forms]
        slots = ranges(forms.word_offsets[run.forms], words)
        start_of_word = characters[owners(words)]
        first, last = align(
            starts, ends, start_of_word + forms.word_starts[slots], start_of_word + forms.word_ends[slots]
        )
        sentence_bounds = np.searchsorted(monotone_spans(starts, ends)[0], characters[run.sentence_bounds])
        return TextPieceTable(
            ids=pieces.ids,
            text_lengths=np.diff(pieces.offsets),
            word_slots=slots,
            word_first=first,
            word_last=last,
            words_in_sentence=np.diff(offsets_of(words)[run.sentence_bounds]),
            sentence_first=sentence_bounds[:-1],
            sentence_last=sentence_bounds[1:],
        )


class _SentenceRuns:
    """The forms of some texts in reading order, with the bounds of texts and sentences among them."""

    def __init__(self, corpus: Corpus, texts: Ints) -> None:
        self.corpus = corpus
        sentences = ranges(texts[:, 0], texts[:, 1] - texts[:, 0])
        starts, stops = corpus.sentences[sentences], corpus.sentences[sentences + 1]
        self.forms = np.asarray(corpus.tokens)[ranges(starts, stops - starts)].astype(np.int64)
        self.sentence_bounds = offsets_of(stops - starts)
        self.text_bounds = self.sentence_bounds[offsets_of(texts[:, 1] - texts[:, 0])]

    def strings(self) -> list[str]:
        forms = self.corpus.forms
        bounds = self.text_bounds.tolist()
        return ["".join(forms[form] for form in self.forms[a:b]) for a, b in zip(bounds, bounds[1:])]


def _joins_forms(corpus: Corpus, subwords: Subwords) -> bool:
    """Whether, on a sample of this corpus, a text's sub-words are those of its forms end to end."""
    count = min(PROBE_PARAGRAPHS, len(corpus))
    for paragraph in np.linspace(0, len(corpus) - 1, count).astype(int):
        first, last = corpus.paragraphs[paragraph], corpus.paragraphs[paragraph + 1]
        run = _SentenceRuns(corpus, np.array([[first, last]]))
        whole = subwords.encode(run.strings()).ids
        parts = subwords.encode([corpus.forms[form] for form in run.forms]).ids
        if not np.array_equal(whole, parts):
            return False
    return True
