"""A sample of the occurrences of words in a text, with the teacher's state of each; numpy only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.vectors.oov import near_in_spelling

Ints = NDArray[np.int64]
INTEGERS = {"counts": "int64", "offsets": "int64", "sentences": "int64", "positions": "int32", "sizes": "uint8"}
"""Integer arrays, and their types on disk."""


class WordUses(NamedTuple):
    """The kept occurrences of one word, in reading order. n occurrences."""

    word: str
    total: int
    """How often the word occurs in the text."""
    states: NDArray[np.float32]
    """[n, width]."""
    sentences: Ints
    """[n] index of the sentence in the prepared text."""
    positions: Ints
    """[n] index of the word in its sentence, from 0; for a phrase, of its first word."""
    sizes: Ints
    """[n] words of the phrase, 1 for a word."""

    def __len__(self) -> int:
        return len(self.states)


class Occurrences:
    """States of occurrences, word by word. R words, T occurrences.

    Args:
        words: The distinct words.
        counts: How often each occurs in the text [R].
        offsets: Where the occurrences of each begin [R + 1].
        states: [T, width] float16; may be memory-mapped.
        sentences: Index of the sentence in the prepared text [T].
        positions: Index of the word in its sentence [T].
        sizes: Number of words of the phrase [T].
        layer: The layer of the states.
        means: Mean state of each word [R, width]; None computes them from the states.

    Raises:
        UsageError: The sizes are inconsistent.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: Ints,
        offsets: Ints,
        states: NDArray[np.float16],
        sentences: Ints,
        positions: NDArray[np.int32],
        sizes: NDArray[np.uint8],
        layer: int,
        means: NDArray[np.float32] | None = None,
    ) -> None:
        self.words, self.layer = tuple(words), layer
        self.counts, self.offsets, self.states = counts, offsets, states
        self.sentences, self.positions, self.sizes = sentences, positions, sizes
        if means is not None:
            self.means = means
        self._rows = {word: row for row, word in enumerate(self.words)}
        self._verify: Callable[[], None] | None = None
        total, shapes = len(states), [np.shape(each) for each in (sentences, positions, sizes)]
        steps = np.diff(offsets)
        fits = offsets.shape == (len(self.words) + 1,) and counts.shape == (len(self.words),) and states.ndim == 2
        if not fits or len(self._rows) != len(self.words) or shapes != [(total,)] * 3:
            raise UsageError(f"Occurrences of {len(self.words)} words and {total} states do not fit their places.")
        if offsets[0] != 0 or offsets[-1] != total or (steps < 0).any() or self.means.shape != (len(steps), self.width):
            raise UsageError(f"The offsets of the occurrences do not go from 0 to {total}.")

    @cached_property
    def means(self) -> NDArray[np.float32]:
        """[R, width] the mean state of each word."""
        rows = [
            self.states[start:end].astype(np.float32).mean(axis=0) for start, end in zip(self.offsets, self.offsets[1:])
        ]
        return np.stack(rows) if rows else np.zeros((0, self.width), dtype=np.float32)

    @property
    def width(self) -> int:
        """Size of a state."""
        return int(self.states.shape[1])

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays that are written to a file; words are concatenated as UTF-8."""
        encoded = [word.encode("utf-8") for word in self.words]
        return {
            "states": self.states,
            "means": self.means,
            **{name: np.asarray(getattr(self, name), dtype=kind) for name, kind in INTEGERS.items()},
            "letters": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "word_ends": np.cumsum([len(word) for word in encoded], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], layer: int) -> Occurrences:
        """Occurrences from their `arrays`.

        Raises:
            UsageError: Names, types or sizes are wrong.
        """
        kinds = {"states": "float16", "means": "float32", "letters": "uint8", "word_ends": "int64", **INTEGERS}
        found = {name: str(array.dtype) for name, array in arrays.items()}
        if found != kinds:
            raise UsageError(f"Occurrences have the arrays {found}, expected {kinds}.")
        letters, ends = arrays["letters"].tobytes(), arrays["word_ends"].tolist()
        try:
            words = [letters[start:end].decode("utf-8") for start, end in zip([0, *ends], ends)]
        except UnicodeDecodeError:
            raise UsageError("The words of the occurrences are not UTF-8.") from None
        rest = {name: array for name, array in arrays.items() if name not in ("letters", "word_ends")}
        return cls(words, layer=layer, **rest)

    def __len__(self) -> int:
        return len(self.states)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __repr__(self) -> str:
        return f"<Occurrences: {len(self):,} of {len(self.words):,} words, layer {self.layer}>"

    def of(self, word: str) -> WordUses:
        """The kept occurrences of a word.

        Raises:
            UsageError: None were kept.
        """
        row = self._rows.get(word)
        if row is None:
            near = near_in_spelling(word, self.words)
            guess = f" Near it in spelling: {', '.join(map(repr, near))}." if near else ""
            raise UsageError(
                f"No occurrence of {word!r} was kept; {len(self.words):,} words have some.{guess} To keep those of "
                "rare words, distill again with --occurrences-of FILE."
            )
        return self.of_row(row)

    def of_row(self, row: int) -> WordUses:
        """The kept occurrences of a word, given by its index in ``words``."""
        self.check()
        part = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        return WordUses(
            self.words[row],
            int(self.counts[row]),
            self.states[part].astype(np.float32),
            np.asarray(self.sentences[part]),
            self.positions[part].astype(np.int64),
            self.sizes[part].astype(np.int64),
        )

    def verify_on_use(self, verify: Callable[[], None]) -> None:
        """Call ``verify``, which checks the file's checksum, before any occurrence is used for the first time."""
        self._verify = verify

    def check(self) -> None:
        """Verify the file's checksum, unless that has been done."""
        if self._verify is not None:
            self._verify()
            self._verify = None
