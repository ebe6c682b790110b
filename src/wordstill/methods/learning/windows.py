"""Skip-gram windows: the slots around every centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.methods.learning.negatives import NegativeSampler
from wordstill.teacher.states import WordStates

if TYPE_CHECKING:
    from wordstill.methods.learning.window_learner import WindowConfig


@dataclass(frozen=True)
class Examples:
    """B centers with P slots each. An empty slot names a row that another slot of the centre names too."""

    centers: Tensor
    """[B] numbers of the centers among the words of the batch."""
    rows: Tensor
    """[B, P] words of the vocabulary."""
    weights: Tensor
    """[B, P] weight of each slot, 0 where it is empty."""
    words: Tensor
    """[B] the centers' own words of the vocabulary."""

    def split(self, size: int) -> list[Examples]:
        """Pieces of so many centers, in order."""
        parts = (self.centers, self.rows, self.weights, self.words)
        return [Examples(*each) for each in zip(*(torch.split(part, size) for part in parts))]


class Windows:
    """Finds every known word of a running text with the known words around it in its sentence.

    Frequent words are thinned out both as centers and as neighbours, as in word2vec; the text that the
    teacher reads stays whole. Centres without any filled slot are left out.

    Args:
        rule: What a window is.
        sampler: Says how much frequent words are thinned out.
        device: Where the states will be.
    """

    def __init__(self, rule: WindowConfig, sampler: NegativeSampler, device: torch.device) -> None:
        self.rule, self.sampler = rule, sampler
        self.offsets, self.weights = (each.to(device) for each in _offsets(rule))

    def __call__(self, states: WordStates, rng: np.random.Generator) -> Examples:
        """The examples of a batch."""
        running = states.batch.n_words
        ids, sentence = states.word_ids[:running], states.word_sentence[:running]
        centers = states.to_device(self._centers(states.batch.host_word_ids[:running], rng))
        usable = torch.zeros(running, dtype=torch.bool, device=states.device)
        usable.index_fill_(0, centers, True)
        places = centers[:, None] + self.offsets
        inside = (places >= 0) & (places < running)
        places = places.clamp_(0, max(running - 1, 0))
        present = inside & usable[places] & (sentence[places] == sentence[centers][:, None])
        slots = present * self.weights
        filled = slots != 0
        if not self.rule.self_weight:
            keep = filled.any(dim=1)
            centers, places, slots, filled = centers[keep], places[keep], slots[keep], filled[keep]
        # argmax finds the first filled slot.
        spare = places.gather(1, filled.int().argmax(dim=1, keepdim=True))
        return Examples(centers, ids[torch.where(filled, places, spare)], slots, ids[centers])

    def _centers(self, ids: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
        """Numbers of the words that take part [n], in random order.

        They are drawn on the host, which then knows how many without waiting.
        """
        centers = np.flatnonzero((ids >= 0) & self.sampler.kept(np.maximum(ids, 0), rng))
        return rng.permutation(centers)


def _offsets(rule: WindowConfig) -> tuple[Tensor, Tensor]:
    """Offsets of the slots from the centre [P], and their weights [P]."""
    offsets = [place for place in range(-rule.window, rule.reach + 1) if place or rule.self_weight]
    return torch.tensor(offsets), torch.tensor([1.0 if place else rule.self_weight for place in offsets])
