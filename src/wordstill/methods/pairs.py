"""Which words predict which: the slots of a window around every centre."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.methods.noise import Noise
from wordstill.teacher.batch import Batch
from wordstill.teacher.ragged import Ints


@dataclass(frozen=True)
class Examples:
    """B centres with P slots each. An empty slot names a row that another slot of the centre names too."""

    centres: Tensor
    """[B] numbers of the centres among the words of the batch."""
    rows: Tensor
    """[B, P] words of the vocabulary."""
    weights: Tensor
    """[B, P] weight of each slot, 0 where it is empty."""

    def pick(self, order: Tensor) -> Examples:
        """Some of them, by number."""
        return Examples(self.centres[order], self.rows[order], self.weights[order])

    def on(self, move: Callable[[Tensor], Tensor]) -> Examples:
        """The same on a device, as ``move`` brings tensors there."""
        return Examples(move(self.centres), move(self.rows), move(self.weights))

    def split(self, size: int) -> list[Examples]:
        """Pieces of so many centres, in order."""
        parts = (self.centres, self.rows, self.weights)
        return [Examples(*each) for each in zip(*(torch.split(part, size) for part in parts))]


class WindowRule(Protocol):
    """What decides on a window."""

    @property
    def window(self) -> int:
        """Words to the left."""
        ...

    @property
    def reach(self) -> int:
        """Words to the right."""
        ...

    @property
    def self_weight(self) -> float:
        """Weight of the centre itself."""
        ...

    @property
    def shifted(self) -> bool:
        """Whether the centre slips among its neighbours as released."""
        ...


def window_examples(batch: Batch, rule: WindowRule, noise: Noise, chance: np.random.Generator) -> Examples:
    """Every known word of the running text with the known words around it in its sentence; on the host.

    Frequent words are thinned out both as centres and as neighbours, as in word2vec; the text that the
    teacher reads stays whole. Centres without any neighbour are left out.
    """
    running = batch.running
    ids, sentence = batch.word_ids[:running], batch.word_sentence[:running]
    usable = (ids >= 0) & noise.kept(np.maximum(ids, 0), chance)
    centres = np.flatnonzero(usable)
    offsets, weights = _offsets(rule)
    places = centres[:, None] + offsets
    inside = (places >= 0) & (places < running)
    places = places.clip(0, max(running - 1, 0))
    present = inside & usable[places] & (sentence[places] == sentence[centres][:, None])
    if rule.shifted:
        first = np.searchsorted(sentence, sentence, side="left")
        present &= ~_skipped(centres - first[centres], offsets, rule.window)
    slots = present * weights
    filled = slots != 0
    keep = filled.any(axis=1)
    centres, places, slots, filled = centres[keep], places[keep], slots[keep], filled[keep]
    # argmax finds the first filled slot.
    spare = np.take_along_axis(places, filled.argmax(axis=1)[:, None], axis=1)
    rows = ids[np.where(filled, places, spare)].astype(np.int64)
    return Examples(*map(torch.from_numpy, (centres, rows, slots)))


def single_pairs(examples: Examples) -> Examples:
    """Each filled slot as an example of its own, in reading order."""
    centre, slot = torch.nonzero(examples.weights != 0, as_tuple=True)
    chosen = (centre, slot)
    return Examples(
        examples.centres[centre], examples.rows[chosen][:, None], examples.weights[chosen][:, None]
    )


def _offsets(rule: WindowRule) -> tuple[Ints, NDArray[np.float32]]:
    """Places of the slots beside the centre [P], and their weights [P]."""
    with_self = rule.shifted or rule.self_weight > 0
    offsets = [place for place in range(-rule.window, rule.reach + 1) if place or with_self]
    own = 1.0 if rule.shifted else rule.self_weight
    weights = [1.0 if place else own for place in offsets]
    return np.array(offsets), np.array(weights, dtype=np.float32)


def _skipped(position: Ints, offsets: Ints, window: int) -> NDArray[np.bool_]:
    """[B, P] slots that the released code leaves out.

    It numbers the words of a window from the window's start, and leaves out the one whose number there is the
    centre's number in the sentence. Only where the window starts with the sentence that is the centre.
    """
    start = np.maximum(position - window, 0)
    skipped: NDArray[np.bool_] = position[:, None] + offsets - start[:, None] == position[:, None]
    return skipped
