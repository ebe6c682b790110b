"""Subwords of the texts of a corpus, tokenized in two ways with the same result.

`FormSubwords` tokenizes each distinct form of the store once and gathers the subwords of texts from them. It requires
a tokenizer that never joins characters across a space, and texts with a space before every form. `TextSubwords`
tokenizes whole texts: it works for every tokenizer and text, and takes about fifty times as long. `MixedSubwords`
chooses for each text.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import version
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.processes import in_processes
from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus import Corpus
from wordstill.corpus.words import KeptArrays
from wordstill.teacher.gathering import FormTable, SentenceRuns, SubwordTable, whole_passage
from wordstill.teacher.tokenizer import EncodedTexts, SubwordTokenizer, align

FORMS_AT_ONCE = 50_000
PROBE_FORMS, PROBE_PARAGRAPHS = 2_000, 64
MOSTLY_UNSPACED = 0.2
"""Unspaced forms per paragraph above which tokenizing by form would gain little."""
LEAST_KEPT = 50_000
"""Minimum number of forms for caching; fewer are tokenized in a second."""
LEAST_SHARED, CHUNKS = 200_000, 4
"""Minimum number of forms for several processes, and chunks per process."""
THREADS = "TOKENIZERS_PARALLELISM"
TOGETHER = 64
"""Maximum number of texts that are tokenized as one."""


def subword_source(corpus: Corpus, tokenizer: SubwordTokenizer) -> SubwordSource:
    """The fastest source that is exact for this tokenizer and corpus."""
    if corpus.n_unspaced > MOSTLY_UNSPACED * len(corpus) or not tokenizer.splits_at_spaces():
        return TextSubwords(corpus, tokenizer)
    source = MixedSubwords(corpus, tokenizer) if corpus.n_unspaced else FormSubwords(corpus, tokenizer)
    return source if _agrees_on_sample(source, corpus, tokenizer) else TextSubwords(corpus, tokenizer)


class SubwordSource(Protocol):
    """A source of subwords for consecutive sentences of a corpus."""

    def sentence_lengths(self, start: int, end: int) -> Ints:
        """Number of subwords of each sentence from ``start`` to ``end``; whole paragraphs only."""
        ...

    def read(self, texts: Ints) -> SubwordTable:
        """Subwords of texts, given as rows (start, end) of sentences."""
        ...


class FormSubwords:
    """Tokenizes each form of the store once. Memory: about 40 bytes for each distinct form.

    The subwords of a large store are cached beside it, if possible, for runs with the same tokenizer.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: SubwordTokenizer,
        forms_at_once: int = FORMS_AT_ONCE,
        least_kept: int = LEAST_KEPT,
        processes: int | None = None,
    ) -> None:
        self.corpus, self._passage = corpus, whole_passage(corpus)
        place = KeptSubwords(corpus, tokenizer) if len(corpus.forms) >= least_kept else None
        chunk = None if place is None else place.chunk()
        if chunk is None:
            chunk = self._tokenized(corpus, tokenizer, forms_at_once, processes or usual_processes(corpus))
            if place is not None:
                place.save(chunk._asdict())
        self.table = FormTable(*chunk, offsets_of(chunk.lengths)[:-1])

    @staticmethod
    def _tokenized(corpus: Corpus, tokenizer: SubwordTokenizer, forms_at_once: int, processes: int) -> _FormChunk:
        joinable = joining_changes_nothing(tokenizer, _sample(corpus))
        encode = encode_joined if joinable else SubwordTokenizer.encode

        def tokenized(chunk: tuple[int, int]) -> _FormChunk:
            return _form_chunk(corpus, encode(tokenizer, corpus.forms.slice(*chunk)), *chunk)

        size = forms_at_once if processes == 1 else min(forms_at_once, len(corpus.forms) // (CHUNKS * processes) + 1)
        with _single_threads(processes):
            chunks = dict(in_processes(tokenized, _chunks(corpus, size), processes, lambda: None))
        return _FormChunk(*map(np.concatenate, zip(*(chunks[chunk] for chunk in sorted(chunks)))))

    def sentence_lengths(self, start: int, end: int) -> Ints:
        """Number of subwords of each sentence."""
        bounds = self.corpus.sentences[start : end + 1]
        before = offsets_of(self.table.lengths[self.corpus.form_ids[bounds[0] : bounds[-1]]])
        lengths: Ints = np.diff(before[bounds - bounds[0]])
        return lengths

    def read(self, texts: Ints) -> SubwordTable:
        """Subwords of texts, gathered from those of their forms."""
        return self.table.read(self._passage, texts)


class KeptSubwords(KeptArrays):
    """A cache of the subwords of all forms, in a file beside the store for each tokenizer."""

    def __init__(self, corpus: Corpus, tokenizer: SubwordTokenizer) -> None:
        self.forms = corpus.forms
        made_by = f"{version('tokenizers')} {tokenizer.definition}"
        key = hashlib.sha256(made_by.encode()).hexdigest()
        path = corpus.path / f"subwords-{key[:16]}.safetensors"
        super().__init__(path, {"store": corpus.hash, "tokenizer": key}, "The subwords of the text")

    def chunk(self) -> _FormChunk | None:
        """The cached subwords; None if there are none, or they do not fit the store."""
        arrays = self.load()
        if arrays is None or set(arrays) != set(_FormChunk._fields):
            return None
        chunk, words = _FormChunk(**arrays), len(self.forms.word_starts)
        sizes = (len(chunk.lengths), len(chunk.word_start), len(chunk.word_end), len(chunk.ids))
        return chunk if sizes == (len(self.forms), words, words, int(chunk.lengths.sum())) else None


class TextSubwords:
    """Tokenizes whole texts and aligns by character offsets."""

    def __init__(self, corpus: Corpus, tokenizer: SubwordTokenizer) -> None:
        self.corpus, self.tokenizer, self._passage = corpus, tokenizer, whole_passage(corpus)

    def sentence_lengths(self, start: int, end: int) -> Ints:
        """Number of subwords of each sentence within its paragraph."""
        paragraphs = self.corpus.paragraphs
        low, high = np.searchsorted(paragraphs, [start, end])
        bounds = paragraphs[low : high + 1]
        table = self.read(np.stack([bounds[:-1], bounds[1:]], axis=1))
        lengths: Ints = table.sentence_end - table.sentence_start
        return lengths

    def read(self, texts: Ints) -> SubwordTable:
        """Subwords of texts. A subword across a sentence boundary without a space belongs to the earlier sentence."""
        run, forms = SentenceRuns(self._passage, texts), self.corpus.forms
        subwords = self.tokenizer.encode(_strings(self.corpus, run))
        characters = offsets_of(forms.lengths[run.forms])
        text_lengths = np.diff(subwords.offsets)
        base = characters[run.text_bounds[:-1]][owners(text_lengths)]
        starts, ends = subwords.starts + base, subwords.ends + base
        start_of_word = characters[run.word_form]
        word_start, word_end = align(
            starts,
            ends,
            start_of_word + forms.word_starts[run.word_slots],
            start_of_word + forms.word_ends[run.word_slots],
        )
        sentence_bounds = np.searchsorted(np.maximum.accumulate(starts), characters[run.sentence_bounds])
        return SubwordTable(
            text_lengths=text_lengths,
            ids=subwords.ids,
            word_slots=run.word_slots,
            word_start=word_start,
            word_end=word_end,
            word_sentence=run.word_sentence,
            sentence_start=sentence_bounds[:-1],
            sentence_end=sentence_bounds[1:],
            sentence_text=run.sentence_text,
        )


class MixedSubwords:
    """Tokenizes forms once, except for texts with unspaced forms, which are tokenized as a whole."""

    def __init__(self, corpus: Corpus, tokenizer: SubwordTokenizer) -> None:
        self.corpus, self._passage = corpus, whole_passage(corpus)
        self.by_form, self.by_text = FormSubwords(corpus, tokenizer), TextSubwords(corpus, tokenizer)
        self.bare = np.concatenate([_unspaced_forms(corpus, *chunk) for chunk in _chunks(corpus, FORMS_AT_ONCE)])

    def sentence_lengths(self, start: int, end: int) -> Ints:
        """Number of subwords of each sentence within its paragraph."""
        lengths = self.by_form.sentence_lengths(start, end)
        low, high = np.searchsorted(self.corpus.paragraphs, [start, end])
        bounds = self.corpus.paragraphs[low : high + 1]
        rows = np.stack([bounds[:-1], bounds[1:]], axis=1)
        unspaced = rows[self._unspaced(rows)]
        if len(unspaced):
            table = self.by_text.read(unspaced)
            places = ranges(unspaced[:, 0] - start, unspaced[:, 1] - unspaced[:, 0])
            lengths[places] = table.sentence_end - table.sentence_start
        return lengths

    def read(self, texts: Ints) -> SubwordTable:
        """Subwords of texts, each by form or as a whole."""
        unspaced = self._unspaced(texts)
        if not unspaced.any():
            return self.by_form.read(texts)
        table = self.by_form.read(texts[~unspaced]).followed_by(self.by_text.read(texts[unspaced]))
        order = np.argsort(np.concatenate([np.flatnonzero(~unspaced), np.flatnonzero(unspaced)]))
        return table.ordered(order)

    def _unspaced(self, texts: Ints) -> NDArray[np.bool_]:
        """Whether each text has an unspaced form after its first one."""
        run = SentenceRuns(self._passage, texts)
        bare = offsets_of(self.bare[run.forms])
        start, end = run.text_bounds[:-1], run.text_bounds[1:]
        unspaced: NDArray[np.bool_] = bare[end] - bare[start] > self.bare[run.forms[start]]
        return unspaced


def joining_changes_nothing(tokenizer: SubwordTokenizer, texts: Sequence[str]) -> bool:
    """Whether texts have the same subwords when joined as separately."""
    one, other = encode_joined(tokenizer, texts), tokenizer.encode(texts)
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))


def encode_joined(tokenizer: SubwordTokenizer, texts: Sequence[str], together: int = TOGETHER) -> EncodedTexts:
    """Faster `SubwordTokenizer.encode` for a tokenizer that never joins characters across a space.

    A text that begins with a space is joined to the previous one. A subword belongs to the text in which it starts;
    if a subword without characters starts between two texts, these are tokenized separately.
    """
    apart = np.fromiter((text[:1] != " " for text in texts), dtype=np.bool_, count=len(texts))
    apart[::together] = True
    subwords, doubtful = _encode_runs(tokenizer, texts, apart)
    if doubtful.any():
        subwords, _ = _encode_runs(tokenizer, texts, apart | doubtful)
    return tokenizer.with_empty_space_marks(subwords)


def _encode_runs(
    tokenizer: SubwordTokenizer, texts: Sequence[str], apart: NDArray[np.bool_]
) -> tuple[EncodedTexts, NDArray[np.bool_]]:
    """Subwords of T texts, and which texts are in a run with subwords that could belong to either of two texts.

    Texts that are ``apart`` [T] are not joined to the previous one.
    """
    begins = np.flatnonzero(apart)
    bounds = np.append(begins, len(texts))
    told = tokenizer.encode_raw(["".join(texts[start:end]) for start, end in pairwise(bounds.tolist())])
    characters = offsets_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    run = owners(np.diff(told.offsets))
    first, last = begins[run], bounds[1:][run] - 1
    starts, ends = told.starts + characters[first], told.ends + characters[first]
    owner = np.clip(np.searchsorted(characters, starts, side="right") - 1, first, last)
    lengths = np.bincount(owner, minlength=len(texts))
    doubtful = np.zeros(len(begins), dtype=np.bool_)
    doubtful[run[(starts == ends) & (first < last)]] = True
    subwords = EncodedTexts(
        told.ids, starts - characters[owner], ends - characters[owner], offsets_of(lengths), np.diff(characters)
    )
    return subwords, np.repeat(doubtful, np.diff(bounds))


class _FormChunk(NamedTuple):
    """Subwords of consecutive forms: ids, number per form, and the range of each word in its form."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int32]
    word_start: NDArray[np.int32]
    word_end: NDArray[np.int32]


def usual_processes(corpus: Corpus) -> int:
    """Number of processes that tokenize the forms of a store; threads would wait for the GIL to read the results."""
    may_fork = sys.platform.startswith("linux") and not multiprocessing.current_process().daemon
    return torch.get_num_threads() if may_fork and len(corpus.forms) >= LEAST_SHARED else 1


@contextmanager
def _single_threads(processes: int) -> Iterator[None]:
    """Keep several processes from starting threads of their own."""
    before = os.environ.get(THREADS)
    if processes > 1:
        os.environ[THREADS] = "false"
    try:
        yield
    finally:
        if processes > 1:
            os.environ.pop(THREADS)
        if before is not None:
            os.environ[THREADS] = before


def _strings(corpus: Corpus, run: SentenceRuns) -> list[str]:
    """The texts as strings."""
    return [
        "".join(map(corpus.forms.__getitem__, run.forms[start:end].tolist()))
        for start, end in pairwise(run.text_bounds.tolist())
    ]


def _chunks(corpus: Corpus, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of ``size`` forms."""
    for start in range(0, len(corpus.forms), size):
        yield start, min(start + size, len(corpus.forms))


def _sample(corpus: Corpus) -> list[str]:
    """Forms at even distances in their sorted order."""
    count = min(PROBE_FORMS, len(corpus.forms))
    return [corpus.forms[number] for number in np.linspace(0, len(corpus.forms) - 1, count, dtype=np.int64)]


def _unspaced_forms(corpus: Corpus, start: int, end: int) -> NDArray[np.int8]:
    return np.array([not form.startswith(" ") for form in corpus.forms.slice(start, end)], dtype=np.int8)


def _form_chunk(corpus: Corpus, subwords: EncodedTexts, start: int, end: int) -> _FormChunk:
    forms = corpus.forms
    lengths = np.diff(subwords.offsets)
    form_of_word = owners(np.diff(forms.word_offsets[start : end + 1]))
    slots = slice(int(forms.word_offsets[start]), int(forms.word_offsets[end]))
    word_start, word_end = subwords.align(form_of_word, forms.word_starts[slots], forms.word_ends[slots])
    start_of_form = subwords.offsets[form_of_word]
    return _FormChunk(
        subwords.ids.astype(np.int32),
        lengths.astype(np.int32),
        (word_start - start_of_form).astype(np.int32),
        (word_end - start_of_form).astype(np.int32),
    )


def _agrees_on_sample(source: SubwordSource, corpus: Corpus, tokenizer: SubwordTokenizer) -> bool:
    """Whether a source gives the same subwords as whole texts, on a sample of the corpus."""
    count = min(PROBE_PARAGRAPHS, len(corpus))
    chosen = np.linspace(0, len(corpus) - 1, count).astype(np.int64)
    texts = np.stack([corpus.paragraphs[chosen], corpus.paragraphs[chosen + 1]], axis=1)
    whole = tokenizer.encode([corpus.text(int(paragraph)) for paragraph in chosen])
    return all(
        np.array_equal(source.read(text[None]).ids, whole.ids[start:end])
        for text, start, end in zip(texts, whole.offsets[:-1], whole.offsets[1:])
    )
