"""Batches gathered from the subwords of each form, with numpy on the host or torch on a device."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints, offsets_of, owners, ranges
from wordstill.corpus import Corpus, Vocabulary
from wordstill.teacher.batch import Batch
from wordstill.teacher.tokenizer import SubwordTokenizer, room_beside_specials

Array: TypeAlias = Any
"""A numpy array or a torch tensor."""


class HostArrays:
    """Array operations with numpy."""

    xp: Any = np
    """The module of functions that have the same names in numpy and torch."""

    def send(self, *arrays: NDArray[np.integer]) -> tuple[Array, ...]:
        """Convert numpy arrays to arrays of this kind."""
        return arrays

    def aside(self) -> AbstractContextManager[Any]:
        """A context in which operations do not wait for those of the model."""
        return nullcontext()

    def offsets(self, lengths: Array) -> Array:
        """Where each run starts, and the total at the end."""
        return offsets_of(lengths)

    def repeat(self, values: Array, lengths: Array, total: int) -> Array:
        """Repeat each value ``lengths`` times; ``total`` is the sum of lengths."""
        return np.repeat(values, lengths)

    def arange(self, count: int) -> Array:
        """The integers from 0 to ``count`` - 1."""
        return np.arange(count, dtype=np.int64)

    def long(self, array: Array) -> Array:
        """The array as int64."""
        return array.astype(np.int64, copy=False)

    def owners(self, lengths: Array, total: int) -> Array:
        """For each of the ``total`` elements of the runs, the index of its run."""
        return self.repeat(self.arange(len(lengths)), lengths, total)

    def ranges(self, starts: Array, lengths: Array, total: int) -> Array:
        """The concatenated runs ``start, start + 1, …``, with ``total`` elements."""
        return self.arange(total) + self.repeat(starts - self.offsets(lengths)[:-1], lengths, total)


class DeviceArrays(HostArrays):
    """The same operations with torch on a device; on a GPU in a separate stream, without making the host wait."""

    xp = torch

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # torch does not type its streams. Without high priority, gathering would wait for the model's kernels.
        self.stream: Any = torch.cuda.Stream(device, priority=-1) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def send(self, *arrays: NDArray[np.integer]) -> tuple[Array, ...]:
        """Send arrays of one type in a single copy."""
        together = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return torch.split(send(together, self.device), [len(array) for array in arrays])

    def aside(self) -> AbstractContextManager[Any]:
        """Run in the separate stream, if there is one."""
        return nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def offsets(self, lengths: Array) -> Array:
        """Where each run starts, and the total at the end."""
        offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(lengths, dim=0, out=offsets[1:])
        return offsets

    def repeat(self, values: Array, lengths: Array, total: int) -> Array:
        """Repeat each value; without ``total``, the host would have to wait for a GPU to compute it."""
        return values.repeat_interleave(lengths, output_size=total)

    def arange(self, count: int) -> Array:
        """The integers from 0 to ``count`` - 1."""
        return torch.arange(count, device=self.device)

    def long(self, array: Array) -> Array:
        """The array as int64."""
        return array.long()


HOST = HostArrays()


def send(array: NDArray[np.integer], device: torch.device) -> Tensor:
    """Send an array [n] to a device, as int64 if it is int64, otherwise as int32."""
    kind = torch.int64 if array.dtype == np.int64 else torch.int32
    # Only copies from pinned memory are asynchronous.
    staged = torch.empty(len(array), dtype=kind, pin_memory=device.type == "cuda" and len(array) > 0)
    # Copied by numpy, because torch divides long copies among threads, which takes milliseconds on busy cores.
    np.copyto(staged.numpy(), array, casting="unsafe")
    return staged.to(device, non_blocking=True)


@dataclass(frozen=True)
class SubwordTable:
    """Subwords of some texts without special tokens; a text is a run of sentences of one paragraph.

    Word and sentence ranges are half-open and count subwords from the start of the first text. ``word_slots`` are
    indices into the store's list of words of forms, from which a vocabulary finds word ids.
    """

    text_lengths: Ints
    """[B] always on the host."""
    ids: Array
    word_slots: Array
    word_start: Array
    word_end: Array
    word_sentence: Array
    sentence_start: Array
    sentence_end: Array
    sentence_text: Array

    def followed_by(self, other: SubwordTable) -> SubwordTable:
        """Concatenate two tables on the host."""
        shifts = {"sentence_text": len(self.text_lengths), "word_sentence": len(self.sentence_text)}
        subwords = dict.fromkeys(("word_start", "word_end", "sentence_start", "sentence_end"), len(self.ids))
        joined = {
            name: np.concatenate([mine, getattr(other, name) + (shifts | subwords).get(name, 0)])
            for name, mine in vars(self).items()
        }
        return SubwordTable(**joined)

    def ordered(self, order: Ints) -> SubwordTable:
        """Reorder the texts of a table on the host."""
        lengths = self.text_lengths[order]
        start_of_text = offsets_of(self.text_lengths)[order]
        shift = offsets_of(lengths)[:-1] - start_of_text
        sentences, sentence_text = _regrouped(self.sentence_text, order)
        words, word_sentence = _regrouped(self.word_sentence, sentences)
        shift_of_sentence = shift[sentence_text]
        shift_of_word = shift_of_sentence[word_sentence]
        return SubwordTable(
            text_lengths=lengths,
            ids=self.ids[ranges(start_of_text, lengths)],
            word_slots=self.word_slots[words],
            word_start=self.word_start[words] + shift_of_word,
            word_end=self.word_end[words] + shift_of_word,
            word_sentence=word_sentence,
            sentence_start=self.sentence_start[sentences] + shift_of_sentence,
            sentence_end=self.sentence_end[sentences] + shift_of_sentence,
            sentence_text=sentence_text,
        )


class FormTable(NamedTuple):
    """The concatenated subwords of every form, and the range of each of the store's words in its form."""

    ids: Array
    lengths: Array
    word_start: Array
    word_end: Array
    offsets: Array

    def read(
        self, passage: Passage, texts: Ints, totals: Ints | None = None, arrays: HostArrays = HOST
    ) -> SubwordTable:
        """Gather the subwords of texts, given as rows (start, end) of sentences of a passage [B, 2].

        ``totals``, the subwords of each text [B], are required on a device only.
        """
        run = SentenceRuns(passage, texts, arrays)
        lengths = self.lengths[run.forms]
        before = arrays.offsets(lengths)
        if totals is None:
            totals = np.diff(before[run.text_bounds])
        start_of_word, sentence_bounds = before[run.word_form], before[run.sentence_bounds]
        return SubwordTable(
            text_lengths=totals,
            ids=self.ids[arrays.ranges(self.offsets[run.forms], lengths, int(totals.sum()))],
            word_slots=run.word_slots,
            word_start=start_of_word + self.word_start[run.word_slots],
            word_end=start_of_word + self.word_end[run.word_slots],
            word_sentence=run.word_sentence,
            sentence_start=sentence_bounds[:-1],
            sentence_end=sentence_bounds[1:],
            sentence_text=run.sentence_text,
        )


class Passage(NamedTuple):
    """The forms of consecutive sentences of the store. S sentences, F forms."""

    start: int
    """Index of the first sentence in the store."""
    host_offsets: Ints
    """[S + 1] where each sentence begins among the forms, on the host."""
    offsets: Array
    forms: Array
    word_offsets: Array
    """Where the words of each form begin in the store's list of words of forms."""

    @classmethod
    def of(cls, corpus: Corpus, start: int, end: int, arrays: HostArrays, word_offsets: Array) -> Passage:
        """The sentences from ``start`` to ``end``."""
        bounds = np.asarray(corpus.sentences[start : end + 1])
        offsets = bounds - bounds[0]
        (there,), (forms,) = arrays.send(offsets), arrays.send(corpus.form_ids[bounds[0] : bounds[-1]])
        return cls(start, offsets, there, forms, word_offsets)


class SentenceRuns:
    """Forms and words of some texts in reading order, and the bounds of texts and sentences among the forms.

    Texts are rows (start, end) of sentences of a passage.
    """

    def __init__(self, passage: Passage, texts: Ints, arrays: HostArrays = HOST) -> None:
        start, end = (texts - passage.start).T
        first_form = passage.host_offsets[start]
        sentences, forms = end - start, passage.host_offsets[end] - first_form
        self.text_bounds = offsets_of(forms)
        n_sentences, n_forms = int(sentences.sum()), int(self.text_bounds[-1])
        starts, counts, form_starts, form_counts = arrays.send(start, sentences, first_form, forms)
        self.sentence_text = arrays.owners(counts, n_sentences)
        sentence = arrays.ranges(starts, counts, n_sentences)
        sizes = passage.offsets[sentence + 1] - passage.offsets[sentence]
        self.sentence_bounds = arrays.offsets(sizes)
        self.forms = arrays.long(passage.forms[arrays.ranges(form_starts, form_counts, n_forms)])
        first_slot = passage.word_offsets[self.forms]
        words = passage.word_offsets[self.forms + 1] - first_slot
        # The only wait for a GPU, in the separate stream: the number of words is not known on the host.
        n_words = int(words.sum())
        self.word_form = arrays.owners(words, n_words)
        self.word_slots = arrays.ranges(first_slot, words, n_words)
        self.word_sentence = arrays.owners(sizes, n_forms)[self.word_form]


def whole_passage(corpus: Corpus) -> Passage:
    """All sentences of a corpus, on the host."""
    return Passage(0, corpus.sentences, corpus.sentences, corpus.form_ids, corpus.forms.word_offsets)


def _regrouped(owner: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Members of groups, given by ascending ``owner``, for a new order of the groups, and their new owners."""
    sizes = np.bincount(owner, minlength=len(order))
    return ranges(offsets_of(sizes)[order], sizes[order]), owners(sizes[order])


class Assembler:
    """Makes batches for one teacher.

    Args:
        tokenizer: The teacher's tokenizer, which defines special tokens.
        limit: Maximum length of a text in subwords, including special tokens.
        vocabulary: A vocabulary with phrases, which are found on the host only; None if there are no phrases.
        arrays: Where tables and batches are.

    Attributes:
        room: Maximum length of a text without special tokens.
        specials: Number of special tokens of each text.

    Raises:
        UsageError: The limit leaves no room beside the special tokens.
    """

    def __init__(
        self, tokenizer: SubwordTokenizer, limit: int, vocabulary: Vocabulary | None = None, arrays: HostArrays = HOST
    ) -> None:
        self.room = room_beside_specials(limit, tokenizer)
        self.specials = limit - self.room
        self.vocabulary, self.arrays = vocabulary, arrays
        with arrays.aside():
            self._prefix, self._suffix = (
                *arrays.send(np.array(tokenizer.prefix, dtype=np.int64)),
                *arrays.send(np.array(tokenizer.suffix, dtype=np.int64)),
            )

    def assemble(self, table: SubwordTable, word_ids: Array, source_ids: Ints) -> Batch:
        """Make a batch of the texts of a table, given the vocabulary id of each word [W] and `Batch.source_ids` [B]."""
        xp = self.arrays.xp
        lengths = np.minimum(table.text_lengths, self.room) + self.specials
        before, sizes, offsets = self.arrays.send(offsets_of(table.text_lengths)[:-1], lengths, offsets_of(lengths))
        shift = offsets[:-1] + len(self._prefix) - before
        text_end = offsets[1:] - len(self._suffix)
        shift_of_sentence, end_of_sentence = shift[table.sentence_text], text_end[table.sentence_text]
        sentence_end = xp.minimum(table.sentence_end + shift_of_sentence, end_of_sentence)
        text = table.sentence_text[table.word_sentence]
        shift_of_word = shift[text]
        start, end = table.word_start + shift_of_word, table.word_end + shift_of_word
        lost = (end > text_end[text]) | (start >= end)
        nowhere = offsets[text]
        batch = Batch(
            subwords=self._surrounded(table.ids, before, sizes, offsets, int(lengths.sum())),
            text_offsets=offsets,
            word_ids=xp.where(lost, -1, word_ids),
            word_start=xp.where(lost, nowhere, start),
            word_end=xp.where(lost, nowhere, end),
            word_sentence=table.word_sentence,
            sentence_start=xp.minimum(table.sentence_start + shift_of_sentence, sentence_end),
            sentence_end=sentence_end,
            sentence_text=table.sentence_text,
            n_words=len(word_ids),
            phrase_start=table.sentence_text[:0],
            phrase_end=table.sentence_text[:0],
            source_ids=source_ids,
            n_truncated=int((table.text_lengths > self.room).sum()),
        )
        return batch if self.vocabulary is None else _with_phrases(batch, self.vocabulary)

    def _surrounded(self, ids: Array, before: Array, sizes: Array, offsets: Array, total: int) -> Array:
        """[P] subwords with the special tokens of each text, truncated to the limit."""
        # Positions of special tokens first get an arbitrary subword.
        places = self.arrays.ranges(before - len(self._prefix), sizes, total)
        subwords = self.arrays.long(ids[self.arrays.xp.clip(places, 0, len(ids) - 1)])
        for tokens, starts in ((self._prefix, offsets[:-1]), (self._suffix, offsets[1:] - len(self._suffix))):
            subwords[starts[:, None] + self.arrays.arange(len(tokens))] = tokens
        return subwords


def _with_phrases(batch: Batch, vocabulary: Vocabulary) -> Batch:
    """A batch on the host with its phrases appended to the words."""
    phrases, start, end = vocabulary.phrases.find(batch.word_ids, batch.word_sentence)
    # Words that occur only in phrases have ids too, beyond the vocabulary.
    words = np.where(batch.word_ids < len(vocabulary), batch.word_ids, -1)
    return replace(
        batch,
        word_ids=np.concatenate([words, phrases]).astype(np.int32),
        word_start=np.concatenate([batch.word_start, batch.word_start[start]]),
        word_end=np.concatenate([batch.word_end, batch.word_end[end - 1]]),
        word_sentence=np.concatenate([batch.word_sentence, batch.word_sentence[start]]),
        phrase_start=start,
        phrase_end=end,
    )


def trial_batch(subwords: Ints, limit: int) -> Batch:
    """A batch of prefixes of a text, with different lengths, whose total exceeds the limit."""
    whole = len(subwords)
    lengths = [max(1, whole - shorter % whole) for shorter in range(limit // whole * 2 + 2)]
    return bare_batch([subwords[:length] for length in lengths])


def bare_batch(texts: Sequence[Ints]) -> Batch:
    """A batch of texts [n] without words."""
    none = np.empty(0, dtype=np.int64)
    return Batch(
        subwords=np.concatenate(texts),
        text_offsets=offsets_of(np.array([len(text) for text in texts])),
        word_ids=none.astype(np.int32),
        word_start=none,
        word_end=none,
        word_sentence=none,
        sentence_start=none,
        sentence_end=none,
        sentence_text=none,
        n_words=0,
        phrase_start=none,
        phrase_end=none,
        source_ids=np.arange(len(texts)),
    )
