"""The distinct words of a store: spellings, counts, and the index of each form's words among them.

`prepare` computes them and caches them in a file beside the store, so that building a vocabulary needs no pass over all
forms. If that file is missing or damaged, they are counted again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_path
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.corpus.disk_arrays import in_byte_order
from wordstill.errors import DataError

log = logging.getLogger("wordstill")

FILE = "words.safetensors"
LINE_FEED = ord("\n")
CHUNK_WORDS = 1 << 15
KINDS = {"text": ("uint8", 1), "counts": ("int64", 1), "of_slot": ("uint32", 1)}
"""Type and dimensions of each array."""


class KeptArrays:
    """A cache of arrays in a file beside a store, with a checksum.

    Args:
        path: The file.
        facts: Identifies what the arrays were computed from.
        what: Their name in messages.
    """

    def __init__(self, path: Path, facts: Mapping[str, str], what: str) -> None:
        self.path, self.facts, self.what = path, dict(facts), what

    def load(self) -> dict[str, NDArray[Any]] | None:
        """The cached arrays; None if there are none, or they belong to something else."""
        if not self.path.exists():
            return None
        try:
            arrays, facts = read_checked(self.path)
        except (DataError, OSError, ValueError):
            return None
        return arrays if facts == self.facts else None

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Cache the arrays; raises if that fails."""
        with atomic_path(self.path) as path:
            write_tensors(path, arrays, self.facts, checksum=True)

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Cache the arrays, or log a warning if that fails."""
        try:
            self.write(arrays)
        except (DataError, OSError) as error:
            log.warning("%s are not kept for the next run: %s", self.what, error)


@dataclass(frozen=True, eq=False)
class StoreWords:
    """The distinct words of a store, in ascending order of their UTF-8 bytes. W words, N words of all forms."""

    text: NDArray[np.uint8]
    """The words, each followed by a line feed, which no form contains."""
    counts: NDArray[np.int64]
    """Occurrences of each word [W]."""
    of_slot: NDArray[np.uint32]
    """Index of each word of every form, in the order of the forms' ``word_starts`` [N]."""

    @classmethod
    def counted(cls, words: Iterable[list[str]], counts: NDArray[np.int64]) -> StoreWords:
        """Count the words of all forms, given as lists, each with the count of its form [N]."""
        numbering = WordNumbers()
        numbers = np.concatenate([np.empty(0, dtype=np.uint32), *map(numbering.of, words)])
        spelled = list(numbering)
        order, places = in_byte_order(spelled)
        text = "".join(f"{spelled[number]}\n" for number in order).encode()
        totals = sum_by(numbers, counts, len(spelled))
        return cls(np.frombuffer(text, dtype=np.uint8), totals[order], places[numbers])

    @classmethod
    def load(cls, folder: Path, store: str, slots: int) -> StoreWords | None:
        """The cache beside the store with that hash and number of words in its forms; None if there is none."""
        arrays = _kept(folder, store).load()
        if arrays is None or {name: (array.dtype.name, array.ndim) for name, array in arrays.items()} != KINDS:
            return None
        words = cls(**arrays)
        try:
            size = words.text.tobytes().decode().count("\n")
        except UnicodeDecodeError:
            return None
        fits = len(words.counts) == size and len(words.of_slot) == slots and words.of_slot.max(initial=0) < max(size, 1)
        return words if fits else None

    def write(self, folder: Path, store: str) -> None:
        """Write the cache of the store with that hash; raises if that fails."""
        _kept(folder, store).write(vars(self))

    def save(self, folder: Path, store: str) -> None:
        """Write the cache of the store with that hash, if possible."""
        _kept(folder, store).save(vars(self))

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[str]:
        """The spellings in order."""
        for chunk in self.chunks():
            yield from chunk.split("\n")[:-1]

    def chunks(self, at_once: int = CHUNK_WORDS) -> Iterator[str]:
        """The spellings in order, in texts of ``at_once`` lines."""
        ends = np.flatnonzero(self.text == LINE_FEED)[at_once - 1 :: at_once] + 1
        start = 0
        for end in (*ends.tolist(), len(self.text)):
            yield self.text[start:end].tobytes().decode()
            start = end


class WordNumbers(defaultdict[str, int]):
    """Numbers distinct words in order of first occurrence."""

    def __init__(self) -> None:
        super().__init__(count().__next__)

    def of(self, words: list[str]) -> NDArray[np.uint32]:
        """The number of each word [n]."""
        return np.fromiter(map(self.__getitem__, words), dtype=np.uint32, count=len(words))


def sum_by(numbers: NDArray[np.uint32], counts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Totals of counts [n] by number [n]; exact up to 2 ** 53."""
    totals: NDArray[np.int64] = np.bincount(numbers, counts, minlength=size).astype(np.int64)
    return totals


def _kept(folder: Path, store: str) -> KeptArrays:
    return KeptArrays(folder / FILE, {"store": store}, "The words of the text")
