"""Pairs of sentences to learn translating from: read from files, held out, and as sub-words in batches."""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

LONGEST = 128
"""Sub-words of a sentence."""
NO_LABEL = -100

Pair = tuple[str, str]
Rows = list[list[int]]


def read_pairs(paths: Sequence[Path], seed: int, limit: int | None, *, reverse: bool) -> list[Pair]:
    """Pairs of all files, each once, shuffled, in the wanted direction."""
    pairs = sorted({pair for path in paths for pair in lines_of(path)})
    random.Random(seed).shuffle(pairs)
    pairs = pairs[:limit]
    return [(second, first) for first, second in pairs] if reverse else pairs


def apart_from(held_out: list[Pair], pairs: list[Pair]) -> list[Pair]:
    """Pairs of which neither side is held out: a sentence often stands there with several translations."""
    sources, targets = ({pair[side] for pair in held_out} for side in (0, 1))
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


def lines_of(path: Path) -> Iterator[Pair]:
    """Sentence and translation of every line that has both."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            columns = line.rstrip("\n").split("\t")
            if len(columns) >= 2 and columns[0].strip() and columns[1].strip():
                yield columns[0].strip(), columns[1].strip()


class Tokenised(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Sub-words of pairs, without those over the limit: a cut translation would teach to end too early."""

    def __init__(self, tokenizer: Any, pairs: list[Pair]) -> None:
        backend = tokenizer.backend_tokenizer
        sources, targets = (
            [encoding.ids for encoding in backend.encode_batch([pair[side] for pair in pairs])]
            for side in (0, 1)
        )
        kept = [row for row in zip(sources, targets) if max(map(len, row)) < LONGEST]
        self.sources, self.targets = [row[0] for row in kept], [row[1] for row in kept]
        self.pad = int(tokenizer.pad_token_id)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, number: int) -> tuple[list[int], list[int]]:
        return self.sources[number], self.targets[number]

    def batches(self, tokens: int, seed: int) -> Batches:
        """Batches of pairs of like length."""
        lengths = np.array(
            [max(len(source), len(target)) for source, target in zip(self.sources, self.targets)]
        )
        return Batches(lengths, tokens, seed)

    def collate(self, pairs: list[tuple[list[int], list[int]]]) -> dict[str, torch.Tensor]:
        """What the model takes; the decoder sees each target one place later."""
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        inputs = padded(sources, self.pad)
        started = [[self.pad, *target[:-1]] for target in targets]
        return {
            "input_ids": inputs,
            "attention_mask": (inputs != self.pad).long(),
            "decoder_input_ids": padded(started, self.pad),
            "labels": padded(targets, NO_LABEL),
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


def padded(rows: Rows, value: int) -> torch.Tensor:
    """[rows, longest] numbers, the shorter rows filled up."""
    matrix = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    return torch.from_numpy(matrix)
