"""Which words predict which: the slots of a window around every centre."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from wordstill.methods.noise import Noise
from wordstill.teacher.batch import Batch


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


def window_examples(batch: Batch, rule: WindowRule, noise: Noise, generator: torch.Generator) -> Examples:
    """Every known word of the running text with the known words around it in its sentence; on the host.

    Frequent words are thinned out both as centres and as neighbours, as in word2vec; the text that the
    teacher reads stays whole. Centres without any neighbour are left out.
    """
    running = batch.running
    ids = torch.from_numpy(batch.word_ids[:running]).long()
    sentence = torch.from_numpy(batch.word_sentence[:running])
    usable = ids >= 0
    usable = usable & noise.kept(ids.clamp(min=0), generator)
    centres = torch.nonzero(usable).flatten()
    offsets, weights = _offsets(rule)
    places = centres[:, None] + offsets
    inside = (places >= 0) & (places < running)
    places = places.clamp(0, max(running - 1, 0))
    present = inside & usable[places] & (sentence[places] == sentence[centres][:, None])
    if rule.shifted:
        first = torch.searchsorted(sentence, sentence, side="left")
        present &= ~_skipped(centres - first[centres], offsets, rule.window)
    slots = present * weights
    filled = slots != 0
    keep = filled.any(dim=1)
    centres, places, slots, filled = centres[keep], places[keep], slots[keep], filled[keep]
    # argmax finds the first filled slot.
    spare = places.gather(1, filled.int().argmax(dim=1, keepdim=True))
    return Examples(centres, ids[torch.where(filled, places, spare)], slots)


def single_pairs(examples: Examples) -> Examples:
    """Each filled slot as an example of its own, in reading order."""
    centre, slot = torch.nonzero(examples.weights != 0, as_tuple=True)
    chosen = (centre, slot)
    return Examples(
        examples.centres[centre], examples.rows[chosen][:, None], examples.weights[chosen][:, None]
    )


def _offsets(rule: WindowRule) -> tuple[Tensor, Tensor]:
    """Places of the slots beside the centre [P], and their weights [P]."""
    with_self = rule.shifted or rule.self_weight > 0
    offsets = [place for place in range(-rule.window, rule.reach + 1) if place or with_self]
    own = 1.0 if rule.shifted else rule.self_weight
    weights = [1.0 if place else own for place in offsets]
    return torch.tensor(offsets), torch.tensor(weights)


def _skipped(position: Tensor, offsets: Tensor, window: int) -> Tensor:
    """[B, P] slots that the released code leaves out.

    It numbers the words of a window from the window's start, and leaves out the one whose number there is the
    centre's number in the sentence. Only where the window starts with the sentence that is the centre.
    """
    start = (position - window).clamp(min=0)
    return position[:, None] + offsets - start[:, None] == position[:, None]
