"""Dependency trees of a parsed text as arrays on disk, with words as vocabulary ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import disk_errors
from wordstill.corpus import Vocabulary
from wordstill.corpus.conllu import Tree, read_trees
from wordstill.corpus.disk_arrays import ArrayWriter, read_array
from wordstill.corpus.vocabulary import key_of

STRETCH_WORDS = 1 << 20
NO_HEAD = -1


@dataclass(frozen=True)
class Arcs:
    """The arcs between words of the vocabulary in whole sentences. W words, A arcs."""

    ids: NDArray[np.int64]
    """Vocabulary ids, -1 for words outside the vocabulary [W]."""
    sentence: NDArray[np.int64]
    """Sentence of each word, from 0 [W]."""
    dependents: NDArray[np.int64]
    """Index of the dependent word of each arc [A]."""
    heads: NDArray[np.int64]
    """Index of the head word of each arc [A]."""
    relations: NDArray[np.int64]
    """Index of the relation of each arc [A]."""

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[Arcs]:
        """The same arcs in batches of shuffled sentences."""
        sentences = int(self.sentence[-1]) + 1 if len(self.sentence) else 0
        batch = np.argsort(rng.permutation(sentences)) // size
        words = np.argsort(batch[self.sentence], kind="stable")
        place = np.argsort(words)
        of_arc = batch[self.sentence[self.dependents]]
        arcs = np.argsort(of_arc, kind="stable")
        numbers = np.arange(int(batch.max(initial=-1)) + 2)
        word_bounds = np.searchsorted(batch[self.sentence][words], numbers)
        arc_bounds = np.searchsorted(of_arc[arcs], numbers)
        for start, end, first, last in zip(word_bounds, word_bounds[1:], arc_bounds, arc_bounds[1:]):
            chosen, own = words[start:end], arcs[first:last]
            _, sentence = np.unique(self.sentence[chosen], return_inverse=True)
            ends = (place[self.dependents[own]] - start, place[self.heads[own]] - start)
            yield Arcs(self.ids[chosen], sentence, *ends, self.relations[own])


class TreeText:
    """A parsed text as baselines read it.

    Args:
        files: CoNLL-U files.
        vocabulary: The words that get a vector.
        folder: Where the arrays are stored, 12 bytes for each word.
        change: A transformation of each tree.

    Attributes:
        relations: The names of the relations.
        words: Number of running words of the vocabulary with an arc to another one.
        occurring: Which words of the vocabulary have such an arc [V].

    Raises:
        DataError: A file has no trees, or is not CoNLL-U.
    """

    def __init__(
        self,
        files: Sequence[Path],
        vocabulary: Vocabulary,
        folder: Path,
        change: Callable[[Tree], Tree] = lambda tree: tree,
    ) -> None:
        self.folder = folder
        numbers: dict[str, int] = {}
        with disk_errors(folder), ExitStack() as stack:
            writers = [
                stack.enter_context(ArrayWriter(self._file(name), np.int32)) for name in ("ids", "heads", "relations")
            ]
            ends = stack.enter_context(ArrayWriter(self._file("ends"), np.int64))
            ids = _Ids(vocabulary)
            for file in files:
                for tree in map(change, read_trees(file)):
                    relations = [numbers.setdefault(name, len(numbers)) for name in tree.relations]
                    for writer, values in zip(writers, ([ids[word] for word in tree.words], tree.heads, relations)):
                        writer.extend(values)
                    ends.extend([writers[0].length])
        self.relations = list(numbers)
        self._ids, self._heads, self._relations, self._ends = (
            read_array(self._file(name)) for name in ("ids", "heads", "relations", "ends")
        )
        self._bounds = self._groups()
        self.occurring = np.zeros(len(vocabulary), dtype=bool)
        self.words = 0
        for arcs in self.read():
            linked = np.union1d(arcs.dependents, arcs.heads)
            self.occurring[arcs.ids[linked]] = True
            self.words += len(linked)

    @property
    def stretches(self) -> int:
        """Number of stretches."""
        return len(self._bounds) - 1

    def read(self, order: Sequence[int] | NDArray[np.int64] | None = None) -> Iterator[Arcs]:
        """The stretches, in the order of the text or in the given one."""
        for number in range(self.stretches) if order is None else order:
            yield self.arcs(int(self._bounds[number]), int(self._bounds[number + 1]))

    def arcs(self, start: int, end: int) -> Arcs:
        """The arcs of the sentences from ``start`` up to ``end``."""
        before, ends = self._start(start), self._ends[start:end]
        words = slice(before, int(ends[-1]) if len(ends) else before)
        lengths = np.diff(ends, prepend=before)
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        own = (ends - lengths - before)[sentence]
        ids = self._ids[words].astype(np.int64)
        heads = self._heads[words].astype(np.int64)
        known = np.flatnonzero((heads != NO_HEAD) & (ids >= 0))
        known = known[ids[heads[known] + own[known]] >= 0]
        relations = self._relations[words][known].astype(np.int64)
        return Arcs(ids, sentence, known, heads[known] + own[known], relations)

    def _start(self, sentence: int) -> int:
        return int(self._ends[sentence - 1]) if sentence else 0

    def _groups(self) -> NDArray[np.int64]:
        """Bounds [G + 1] of groups of sentences with about as many words as a stretch has."""
        bounds = [0]
        while bounds[-1] < len(self._ends):
            last = int(np.searchsorted(self._ends, self._start(bounds[-1]) + STRETCH_WORDS, side="right"))
            bounds.append(max(last, bounds[-1] + 1))
        return np.array(bounds)

    def _file(self, name: str) -> Path:
        return self.folder / f"tree-{name}.npy"


class _Ids(dict[str, int]):
    """Vocabulary ids by spelling, -1 for words outside the vocabulary; each is looked up once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._rule = vocabulary.config.key
        self._known = {key: number for number, key in enumerate(vocabulary.keys)}

    def __missing__(self, word: str) -> int:
        found = self[word] = self._known.get(key_of(word, self._rule), -1)
        return found
