"""Pairs of sentences as sub-words, in batches of a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from translator_pairs import Pair

LONGEST = 128
"""Sub-words of a sentence."""
NO_LABEL = -100

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Rows:
    """Sub-words of many sentences, one after the other."""

    ids: Ids
    offsets: NDArray[np.int64]
    """Where each sentence begins, and where the last one ends."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Rows:
        """Sentences given one by one."""
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(np.array([number for row in rows for number in row], dtype=np.int32), offsets)

    def __getitem__(self, number: int) -> Ids:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]


class Tokenised(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Sub-words of pairs.

    Args:
        pad: Number that fills up.
        sources: Of the sentences.
        targets: Of their translations.
    """

    def __init__(self, pad: int, sources: Rows, targets: Rows) -> None:
        self.pad, self.sources, self.targets = pad, sources, targets

    @classmethod
    def of(cls, tokenizer: Any, pairs: list[Pair]) -> Tokenised:
        """Pairs without those over the limit: a cut translation would teach to end too early."""
        backend = tokenizer.backend_tokenizer
        sides = [
            [encoding.ids for encoding in backend.encode_batch_fast([pair[side] for pair in pairs])]
            for side in (0, 1)
        ]
        kept = [row for row in zip(*sides) if max(map(len, row)) < LONGEST]
        return cls(int(tokenizer.pad_token_id), *(Rows.of([row[side] for row in kept]) for side in (0, 1)))

    def __len__(self) -> int:
        return len(self.sources.offsets) - 1

    def __getitem__(self, number: int) -> tuple[Ids, Ids]:
        return self.sources[number], self.targets[number]

    def reversed(self) -> Tokenised:
        """The same pairs for translating the other way."""
        return Tokenised(self.pad, self.targets, self.sources)

    def batches(self, tokens: int, seed: int) -> Batches:
        """Batches of pairs of like length."""
        lengths = np.maximum(np.diff(self.sources.offsets), np.diff(self.targets.offsets))
        return Batches(lengths, tokens, seed)

    def collate(self, pairs: list[tuple[Ids, Ids]]) -> dict[str, torch.Tensor]:
        """What the model takes; the decoder sees each target one place later."""
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        inputs, labels = padded(sources, self.pad), padded(targets, NO_LABEL)
        started = padded(targets, self.pad).roll(1, dims=1)
        started[:, 0] = self.pad
        return {
            "input_ids": inputs,
            "attention_mask": (inputs != self.pad).long(),
            "decoder_input_ids": started,
            "labels": labels,
        }


class Batches:
    """Numbers of the pairs of each batch: of like length, within a budget of sub-words, in random order."""

    def __init__(self, lengths: NDArray[np.int64], tokens: int, seed: int) -> None:
        self.lengths, self.tokens = lengths, tokens
        self.generator = np.random.default_rng(seed)
        self.count = len(self._made())

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        made = self._made()
        for number in self.generator.permutation(len(made)):
            yield made[number]

    def _made(self) -> list[list[int]]:
        # Equal lengths come in another order each time; long ones first, so that a batch fits its first one.
        order = np.lexsort((self.generator.random(len(self.lengths)), -self.lengths))
        made, start = [], 0
        while start < len(order):
            size = max(8, self.tokens // int(self.lengths[order[start]]))
            made.append(order[start : start + size].tolist())
            start += size
        return made


def padded(rows: Sequence[Ids], value: int) -> torch.Tensor:
    """[rows, longest] numbers, the shorter rows filled up."""
    lengths = np.array([len(row) for row in rows])
    matrix = np.full((len(rows), lengths.max()), value, dtype=np.int64)
    matrix[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(matrix)
