"""The context of a word as X2Static has it: the mean of its sentence."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from wordstill.teacher.states import WordStates

Averaged = Literal["subwords", "words"]


def sentence_contexts(
    states: WordStates, words: Tensor, layer: int, averaged: Averaged, *, leave_out: bool
) -> Tensor:
    """[n, d] contexts of words, given by their numbers in the batch [n].

    Args:
        states: What the teacher said.
        words: Whose contexts.
        layer: Which layer's states.
        averaged: What the mean is over.
        leave_out: Leave out the word itself; its context is zeros where nothing is left.
    """
    if averaged == "words":
        everything = len(states.word_ids)
        return states.windows(layer, everything, everything, include_self=not leave_out)[words]
    sentence = states.word_sentence[words]
    means = states.sentences(layer)[sentence]
    if not leave_out:
        return means
    batch = states.loaded
    size = (batch.sentence_last - batch.sentence_first)[sentence, None]
    part = (batch.word_last - batch.word_first)[words, None]
    rest = means * size - states.words(layer)[words] * part
    return torch.where(size > part, rest / (size - part).clamp(min=1), 0.0)
