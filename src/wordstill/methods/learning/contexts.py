"""The context of a word as X2Static has it: the mean of its sentence, with the released oddities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.teacher.batches.batch import Batch
from wordstill.teacher.states import WordStates

Averaged = Literal["subwords", "words"]


class ContextConfig(Protocol):
    """What decides on a context."""

    @property
    def layer(self) -> int:
        """Which layer's states."""
        ...

    @property
    def averaged(self) -> Averaged:
        """What the mean is over."""
        ...

    @property
    def leave_out(self) -> bool:
        """Whether the word itself is left out."""
        ...

    @property
    def specials(self) -> bool:
        """Whether it is the whole text with its special tokens."""
        ...

    @property
    def miscount(self) -> bool:
        """Whether sentences are found by counting sub-words that are full stops."""
        ...


def sentence_contexts(
    states: WordStates, config: ContextConfig, ends: tuple[int, ...]
) -> Callable[[Tensor], Tensor]:
    """What gives the contexts [n, d] of words, given by their numbers in the batch [n].

    Args:
        states: What the teacher said.
        config: What a context is.
        ends: Sub-words that end a sentence, for the miscount.
    """
    layer, sentence = config.layer, states.word_sentence
    if config.averaged == "words":
        everything = len(states.word_ids)
        means = states.windows(layer, everything, everything, include_self=not config.leave_out)
        return lambda words: means[words]
    if config.specials:
        return lambda words: states.texts(layer)[states.loaded.sentence_text[sentence[words]]]
    if config.miscount:
        means = states.ranges(layer, *miscounted_sentences(states.loaded.batch, ends))
    else:
        means = states.sentences(layer)
    if config.leave_out:
        return lambda words: _without(states, layer, means, words)
    return lambda words: means[sentence[words]]


def miscounted_sentences(batch: Batch, ends: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last sub-word (exclusive) of what the released code takes for each sentence [S].

    It takes the n-th stretch between sub-words that are full stops for the n-th sentence of a paragraph; a
    sentence for which no stretch is left gets the last one.
    """
    first, last = np.empty_like(batch.sentence_first), np.empty_like(batch.sentence_last)
    for text in range(len(batch.texts) - 1):
        own = np.flatnonzero(batch.sentence_text == text)
        if not len(own):
            continue
        begin, end = int(batch.sentence_first[own[0]]), int(batch.sentence_last[own[-1]])
        stops = begin + 1 + np.flatnonzero(np.isin(batch.pieces[begin:end], ends))
        bounds = np.unique(np.concatenate([[begin], stops, [end]]))
        number = np.minimum(np.arange(len(own)), len(bounds) - 2)
        first[own], last[own] = bounds[number], bounds[number + 1]
    return first, last


def _without(states: WordStates, layer: int, means: Tensor, words: Tensor) -> Tensor:
    """The sentence's mean less the word's own sub-words; zeros where nothing is left."""
    batch, sentence = states.loaded, states.word_sentence[words]
    size = (batch.sentence_last - batch.sentence_first)[sentence, None]
    part = (batch.word_last - batch.word_first)[words, None]
    rest = means[sentence] * size - states.words(layer)[words] * part
    return torch.where(size > part, rest / (size - part).clamp(min=1), 0.0)
