"""A language model that is trained further, with a linear layer for sentences or for words."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordstill.evaluate.extrinsic.config import ParentConfig
from wordstill.evaluate.extrinsic.examples import Words
from wordstill.evaluate.extrinsic.learner import on_device, on_gpu
from wordstill.evaluate.extrinsic.word_table import Ids, Sentences, length_sorted
from wordstill.teacher.limits import room_beside_specials, text_limit
from wordstill.teacher.outputs import wanted_states
from wordstill.teacher.subwords.alignment import align
from wordstill.teacher.subwords.tokenisation import Subwords

WEIGHT_DECAY = 0.01
LONGEST_GRADIENT = 1.0


@dataclass(frozen=True, eq=False)
class ParentRows:
    """Sentences as sub-words, with numbers of classes or of tags."""

    pieces: Sentences
    targets: Ids
    """Of sentences, or of all words end to end."""
    firsts: Sentences | None = None
    """The place of the first sub-word of each word in its sentence; None where sentences have the targets."""


class ParentWithHead(nn.Module):
    """The model, dropout and a linear layer."""

    def __init__(self, parent: nn.Module, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.parent = parent
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, classes)


class ParentLearner:
    """Trains and asks a model with a linear layer.

    A sentence is the mean of the last states of its sub-words, which suits encoders and decoders alike; a
    word is the last state of its first sub-word.

    Args:
        model: A transformers model that gives hidden states; every training begins with a copy of it.
        tokenizer: Its fast tokenizer.
        name: What it is called.
        classes: How many there are.
        config: Settings.
        device: Where it runs.
    """

    clip: float | None = LONGEST_GRADIENT

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        name: str,
        classes: int,
        config: ParentConfig,
        device: torch.device,
    ) -> None:
        self.name, self.classes, self.config, self.device = name, classes, config, device
        self.subwords = Subwords(tokenizer, name)
        usual = text_limit(model, tokenizer, self.subwords, None)
        self.room = room_beside_specials(min(usual, config.max_length), self.subwords)
        settings = model.config.get_text_config()
        self.width, self.depth = int(settings.hidden_size), int(settings.num_hidden_layers)
        model.config.use_cache = settings.use_cache = False
        self.model = model.to(torch.float32)

    def encode(self, sentences: Sequence[Words], targets: Ids, *, of_words: bool) -> ParentRows:
        """Sentences as sub-words; what is longer than the limit is cut off."""
        subwords = self.subwords
        found = subwords.encode([" ".join(sentence) for sentence in sentences])
        rows, firsts = [], []
        for number, sentence in enumerate(sentences):
            place = slice(found.offsets[number], found.offsets[number + 1])
            rows.append([*subwords.prefix, *found.ids[place][: self.room].tolist(), *subwords.suffix])
            if of_words:
                firsts.append(self._first_places(sentence, found.starts[place], found.ends[place]))
        return ParentRows(Sentences.of(rows), targets, Sentences.of(firsts) if of_words else None)

    def new_model(self) -> nn.Module:
        """A copy of the model with a fresh linear layer."""
        return ParentWithHead(copy.deepcopy(self.model), self.width, self.classes, self.config.dropout)

    def optimiser(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """AdamW."""
        return torch.optim.AdamW(
            model.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY, fused=on_gpu(self.device)
        )

    def rate(self, learning_rate: float, epoch: int) -> float:
        """Constant."""
        return learning_rate

    def losses(
        self, model: nn.Module, part: ParentRows, random: np.random.Generator
    ) -> Iterator[tuple[Tensor, int]]:
        """Cross-entropy of every batch of one epoch."""
        for places in length_sorted(part.pieces.lengths, self.config.batch, random):
            targets = on_device(part.targets[_targets_of(part, places)], self.device)
            yield nn.functional.cross_entropy(self._scores(model, part, places), targets), len(places)

    def correct(self, model: nn.Module, part: ParentRows) -> float:
        """Accuracy."""
        return float((self.predict(model, part) == part.targets).mean())

    @torch.inference_mode()
    def predict(self, model: nn.Module, part: ParentRows) -> Ids:
        """The number of the best class of each sentence or word."""
        predicted = np.zeros(len(part.targets), dtype=np.int64)
        for places in length_sorted(part.pieces.lengths, 2 * self.config.batch, None):
            best = self._scores(model, part, places).argmax(dim=1)
            predicted[_targets_of(part, places)] = best.cpu().numpy()
        return predicted

    def join(self, first: ParentRows, second: ParentRows) -> ParentRows:
        """Two parts as one."""
        firsts = first.firsts + second.firsts if first.firsts and second.firsts else None
        targets = np.concatenate([first.targets, second.targets])
        return ParentRows(first.pieces + second.pieces, targets, firsts)

    def size(self, part: ParentRows) -> int:
        """Sentences of a part."""
        return len(part.pieces)

    def _scores(self, model: nn.Module, part: ParentRows, places: Ids) -> Tensor:
        """Scores of the classes for all sentences, or for all words in the order of ``_targets_of``."""
        assert isinstance(model, ParentWithHead)
        ids = on_device(part.pieces.padded(places, fill=self.subwords.pad_id), self.device)
        lengths = on_device(part.pieces.lengths[places], self.device)
        inside = torch.arange(ids.shape[1], device=self.device) < lengths[:, None]
        output = model.parent(input_ids=ids, attention_mask=inside.long())
        states = wanted_states(output, (self.depth,), self.depth, self.name)[self.depth]
        if part.firsts is None:
            pooled = (states * inside[:, :, None]).sum(dim=1) / lengths[:, None]
        else:
            sentence = np.repeat(np.arange(len(places)), part.firsts.lengths[places])
            word = part.firsts.rows[_targets_of(part, places)]
            pooled = states[on_device(sentence, self.device), on_device(word, self.device)]
        scores: Tensor = model.head(model.dropout(pooled))
        return scores

    def _first_places(self, sentence: Words, starts: Ids, ends: Ids) -> list[int]:
        """Where the first sub-word of each word stands; that of the beginning for a word that was cut off."""
        lengths = np.array([len(word) for word in sentence])
        word_ends = np.cumsum(lengths + 1) - 1
        first, last = align(starts, ends, word_ends - lengths, word_ends)
        there = (first < last) & (first < self.room)
        return np.where(there, first + len(self.subwords.prefix), 0).tolist()  # type: ignore[no-any-return]


def _targets_of(part: ParentRows, places: Ids) -> Ids:
    """Places of the targets of some sentences, in order."""
    if part.firsts is None:
        return places
    starts = part.firsts.starts
    return np.concatenate([np.arange(starts[place], starts[place + 1]) for place in places])
