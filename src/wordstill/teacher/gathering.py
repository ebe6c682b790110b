"""Batches made on a GPU, by gathers from tables that lie there, so that the host has only to plan them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.ragged import Ints, offsets_of
from wordstill.corpus import Vocabulary
from wordstill.teacher.batch import Batch, DeviceBatch, send
from wordstill.teacher.subwords import FormSubwords, SubwordSource
from wordstill.teacher.tokenizer import SubwordTokenizer, room_beside_specials


def running_sum(lengths: Tensor) -> Tensor:
    """Where each run starts, and the total at the end."""
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64, device=lengths.device)
    torch.cumsum(lengths, dim=0, out=offsets[1:])
    return offsets


def owners_of(lengths: Tensor, total: int) -> Tensor:
    """For each element of the runs, the number of its run."""
    numbers = torch.arange(len(lengths), device=lengths.device)
    return numbers.repeat_interleave(lengths, output_size=total)


def runs(starts: Tensor, lengths: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """For each element of the runs ``start, start + 1, …`` the number of its run, and the element."""
    owner = owners_of(lengths, total)
    shift = starts - running_sum(lengths)[:-1]
    return owner, torch.arange(total, device=starts.device) + shift[owner]


class Window(NamedTuple):
    """The forms of a run of sentences of the store, on the device. F forms, S sentences."""

    first: int
    """Number of the first sentence in the store."""
    sentences: Ints
    """[S + 1] where each begins among the forms; on the host."""
    bounds: Tensor
    """[S + 1] the same on the device."""
    forms: Tensor
    """[F]."""


class Gatherer:
    """Makes on a device the batches that `TextBatches` makes on the host, for texts without phrases.

    The device gets the forms of a window of paragraphs as they lie in the store, and then, for each batch,
    where its texts begin; subwords, words and sentences are gathered there, in a stream of their own.

    Args:
        source: The subwords of every form.
        vocabulary: Names the words; it has no phrases.
        tokenizer: Knows the special tokens.
        limit: Longest text in subwords, special tokens counted.
        device: Where batches are made.
    """

    def __init__(
        self,
        source: FormSubwords,
        vocabulary: Vocabulary,
        tokenizer: SubwordTokenizer,
        limit: int,
        device: torch.device,
    ) -> None:
        self.corpus, self.device = source.corpus, device
        self.room = room_beside_specials(limit, tokenizer)
        # torch does not type its streams. Without a high priority gathers wait for the model's kernels.
        self.stream: Any = torch.cuda.Stream(device, priority=-1) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        words = vocabulary.word_ids(source.corpus)
        word_offsets = source.corpus.forms.word_offsets
        with self._aside():
            self.ids, self.lengths, self.starts = map(
                self._send, (source.ids, source.lengths, source.offsets[:-1])
            )
            self.word_starts, self.word_counts = map(self._send, (word_offsets[:-1], np.diff(word_offsets)))
            self.word_start, self.word_end = map(self._send, (source.word_start, source.word_end))
            self.word_ids = self._send(np.where(words < len(vocabulary), words, -1))
            self.prefix, self.suffix = (
                torch.tensor(each, dtype=torch.int64, device=device)
                for each in (tokenizer.prefix, tokenizer.suffix)
            )
        self.max_subword = max([int(source.ids.max(initial=0)), *tokenizer.prefix, *tokenizer.suffix])

    def window(self, first: int, last: int) -> Window:
        """Send the forms of the sentences ``first`` to ``last`` (exclusive) to the device."""
        bounds = np.asarray(self.corpus.sentences[first : last + 1])
        forms, sentences = self.corpus.form_ids[bounds[0] : bounds[-1]], bounds - bounds[0]
        with self._aside():
            return Window(first, sentences, self._send(sentences), self._send(forms))

    def __call__(
        self, window: Window, texts: Ints, totals: Ints, on_host: Callable[[], Batch]
    ) -> DeviceBatch:
        """Begin to make a batch.

        Args:
            window: Where its texts are.
            texts: Rows (first sentence, sentence after the last) [B, 2].
            totals: Subwords of each text, however long it is, without special tokens [B].
            on_host: Makes the same batch on the host.
        """
        kept = np.minimum(totals, self.room)
        specials = len(self.prefix) + len(self.suffix)
        lengths = kept + specials
        bounds = offsets_of(lengths)
        first, last = (texts - window.first).T
        first_form = window.sentences[first]
        sentences, forms = last - first, window.sentences[last] - first_form
        with self._aside():
            sent = self._send(
                np.concatenate(
                    [first, sentences, first_form, forms, offsets_of(totals)[:-1], lengths, bounds]
                )
            )
            parts = torch.split(sent, [len(texts)] * 6 + [len(texts) + 1])
            sizes = _Sizes(*(int(each.sum()) for each in (sentences, forms, totals, lengths)))
            tensors = self._gathered(window, _Texts(*parts), sizes)
            arriving_word_ids = self._returned(tensors["word_ids"])
            # The host waits for this stream only, to learn how many words there are and how many are known.
            known = torch.nonzero(tensors["word_ids"] >= 0).flatten()
            arrival = None if self.stream is None else self.stream.record_event()
        return DeviceBatch(
            on_host,
            lengths=lengths,
            n_words=len(arriving_word_ids),
            n_truncated=int((totals > self.room).sum()),
            max_subword=self.max_subword,
            **tensors,
            known=known,
            arriving_word_ids=arriving_word_ids,
            arrival=arrival,
        )

    def _gathered(self, window: Window, texts: _Texts, sizes: _Sizes) -> dict[str, Tensor]:
        """Everything that is known of the batch, by the names of `DeviceBatch`."""
        sentence_text, sentence = runs(texts.first_sentence, texts.sentences, sizes.sentences)
        form_bounds = running_sum(window.bounds[sentence + 1] - window.bounds[sentence])
        _, place = runs(texts.first_form, texts.forms, sizes.forms)
        forms = window.forms[place]
        before = running_sum(self.lengths[forms])
        shift = texts.bounds[:-1] + len(self.prefix) - texts.first_subword
        end = texts.bounds[1:] - len(self.suffix)
        sentence_bounds, ends = before[form_bounds], end[sentence_text]
        sentence_end = torch.minimum(sentence_bounds[1:] + shift[sentence_text], ends)
        sentence_start = torch.minimum(sentence_bounds[:-1] + shift[sentence_text], sentence_end)
        nothing = sentence_text[:0]
        return {
            "subwords": self._subwords(forms, before, texts, sizes),
            "text_offsets": texts.bounds,
            **self._words(forms, before, form_bounds, sentence_text, texts.bounds, shift, end),
            "sentence_start": sentence_start,
            "sentence_end": sentence_end,
            "sentence_text": sentence_text,
            "phrase_start": nothing,
            "phrase_end": nothing,
        }

    def _subwords(self, forms: Tensor, before: Tensor, texts: _Texts, sizes: _Sizes) -> Tensor:
        """[P] subwords with the special tokens of each text."""
        # Special tokens first get a neighbour's subword, wherever it is.
        _, place = runs(texts.first_subword - len(self.prefix), texts.lengths, sizes.lengths)
        place = place.clamp_(0, sizes.subwords - 1)
        form = owners_of(before.diff(), sizes.subwords)[place]
        subwords = self.ids[self.starts[forms[form]] + place - before[form]].long()
        for tokens, begin in (
            (self.prefix, texts.bounds[:-1]),
            (self.suffix, texts.bounds[1:] - len(self.suffix)),
        ):
            places = begin[:, None] + torch.arange(len(tokens), device=self.device)
            subwords[places] = tokens.expand(places.shape)
        return subwords

    def _words(
        self,
        forms: Tensor,
        before: Tensor,
        form_bounds: Tensor,
        sentence_text: Tensor,
        bounds: Tensor,
        shift: Tensor,
        end: Tensor,
    ) -> dict[str, Tensor]:
        """Of each word its id, its range of subwords and its sentence [W]."""
        counts = self.word_counts[forms]
        form, slot = runs(self.word_starts[forms], counts, int(counts.sum()))
        sentence = owners_of(form_bounds.diff(), len(forms))[form]
        text = sentence_text[sentence]
        start = before[form] + shift[text]
        first, last = start + self.word_start[slot], start + self.word_end[slot]
        lost = (last > end[text]) | (first >= last)
        return {
            "word_ids": torch.where(lost, -1, self.word_ids[slot]).long(),
            "word_start": torch.where(lost, bounds[text], first),
            "word_end": torch.where(lost, bounds[text], last),
            "word_sentence": sentence,
        }

    def _aside(self) -> AbstractContextManager[Any]:
        """In the stream of its own, where there is one."""
        return nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def _send(self, array: NDArray[np.integer]) -> Tensor:
        return send(array, self.device)

    def _returned(self, tensor: Tensor) -> Tensor:
        """A tensor on the host; there when the stream is through with it."""
        if self.stream is None:
            return tensor
        pinned = torch.empty(len(tensor), dtype=tensor.dtype, pin_memory=True)
        return pinned.copy_(tensor, non_blocking=True)


class _Texts(NamedTuple):
    """Where the texts of a batch are, on the device [B]."""

    first_sentence: Tensor
    sentences: Tensor
    first_form: Tensor
    forms: Tensor
    first_subword: Tensor
    """Before special tokens are added and ends are cut."""
    lengths: Tensor
    """After that."""
    bounds: Tensor
    """[B + 1] where each begins, after that."""


class _Sizes(NamedTuple):
    """How much the texts of a batch have together; the names are those of `_Texts`."""

    sentences: int
    forms: int
    subwords: int
    lengths: int


Place = Literal["auto", "host", "device"]
"""``auto`` is the device where it is a GPU and can make them."""


def gatherer(
    place: Place,
    source: SubwordSource,
    vocabulary: Vocabulary,
    tokenizer: SubwordTokenizer,
    limit: int,
    device: torch.device,
) -> Gatherer | None:
    """What makes batches on a GPU; None where they are to be made on the host, or can only be made there.

    Args:
        place: Where they are wanted; if that cannot be the device that was asked for, a warning says why.
        source: The subwords of the text.
        vocabulary: Names the words.
        tokenizer: Knows the special tokens.
        limit: Longest text in subwords, special tokens counted.
        device: Where the teacher is.
    """
    if place == "host":
        return None
    if device.type != "cuda":
        reason = f"the teacher is on the {device.type}"
    elif not isinstance(source, FormSubwords):
        reason = "words of this text cannot be split into subwords apart from their neighbours"
    elif len(vocabulary.phrases):
        reason = "phrases have to be found"
    else:
        return Gatherer(source, vocabulary, tokenizer, limit, device)
    if place == "device":
        warnings.warn(f"Batches are made on the host, not on the device: {reason}.", stacklevel=2)
    return None
