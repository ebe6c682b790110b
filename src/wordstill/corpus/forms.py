"""The distinct surface forms of a corpus."""

from __future__ import annotations

import mmap
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.arrays import read_array

FORM_CACHE = 1 << 17


class Forms:
    """The distinct surface forms with their words, in ascending order of their UTF-8 bytes.

    Attributes:
        counts: Occurrences of every form [F].
        lengths: Length of every form in characters [F].
        word_offsets: Words of form ``i`` are ``word_offsets[i]`` to ``word_offsets[i + 1]`` [F + 1].
        word_starts: First character of every word inside its form, whose leading blank counts [N].
        word_ends: Character after the last of every word [N].
    """

    def __init__(self, path: Path) -> None:
        self.counts: NDArray[np.int64] = read_array(path / "form_counts.npy")
        self.lengths: NDArray[np.uint32] = read_array(path / "form_lengths.npy")
        self.word_offsets: NDArray[np.int64] = read_array(path / "form_words.npy")
        self.word_starts: NDArray[np.uint32] = read_array(path / "word_starts.npy")
        self.word_ends: NDArray[np.uint32] = read_array(path / "word_ends.npy")
        self._offsets: NDArray[np.int64] = read_array(path / "form_offsets.npy")
        with (path / "forms.bin").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._read = lru_cache(FORM_CACHE)(self._read_uncached)

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"form {index} of {len(self)}")
        return self._read(int(index))

    def slice(self, start: int, stop: int) -> list[str]:
        """The forms from ``start`` up to ``stop``, faster than one by one."""
        text = self._bytes[int(self._offsets[start]) : int(self._offsets[stop])].decode()
        ends = np.cumsum(self.lengths[start:stop], dtype=np.int64).tolist()
        return [text[begin:end] for begin, end in zip([0, *ends], ends)]

    def _read_uncached(self, index: int) -> str:
        return self._bytes[int(self._offsets[index]) : int(self._offsets[index + 1])].decode()
