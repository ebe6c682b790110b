"""Pairs of sentences to learn translating from, read from files, and those that are held out."""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

Pair = tuple[str, str]


def read_pairs(paths: Sequence[Path], seed: int, limit: int | None) -> list[Pair]:
    """Pairs of all files, each once, shuffled."""
    pairs = sorted({pair for path in paths for pair in lines_of(path)})
    random.Random(seed).shuffle(pairs)
    return pairs[:limit]


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
