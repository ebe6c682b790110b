"""Snapshots: tables at several sizes of the text from one pass."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.phrases import count_phrases
from wordstill.errors import UsageError
from wordstill.formats.artifact import ARTIFACT
from wordstill.methods import Method
from wordstill.vectors import WordVectors

FOLDER = "snapshots"
PARAGRAPHS_AT_ONCE, FORMS_AT_ONCE = 1 << 16, 1 << 24
UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?)", re.IGNORECASE)


def read_sizes(text: str) -> tuple[int, ...]:
    """Parse numbers of words such as ``500k,1M,2.5M``.

    Raises:
        UsageError: One is not a whole number of words, or they are not ascending.
    """
    sizes = [_size(part.strip(), text) for part in text.split(",")]
    if any(size >= after for size, after in pairwise(sizes)):
        raise UsageError(f"Sizes must grow, as in 1M,3M,10M; got {text!r}.")
    return tuple(sizes)


def size_name(words: int) -> str:
    """A number of words in the format of `read_sizes`, in the largest unit that keeps it short."""
    for unit in ("G", "M", "k"):
        if words >= UNITS[unit] and words * 100 % UNITS[unit] == 0:
            return f"{words / UNITS[unit]:g}{unit}"
    return str(words)


class Beginning:
    """The first paragraphs of a text with at least so many words; all of them if there are fewer.

    Attributes:
        paragraphs: Number of paragraphs.
        words: Number of words in them.
    """

    def __init__(self, corpus: Corpus, words: int) -> None:
        self.corpus, self.paragraphs, self.words = corpus, 0, 0
        per_form = np.diff(corpus.forms.word_offsets)
        while self.words < words and self.paragraphs < len(corpus):
            end = min(self.paragraphs + PARAGRAPHS_AT_ONCE, len(corpus))
            ends = corpus.sentences[corpus.paragraphs[self.paragraphs : end + 1]]
            held = np.concatenate([[0], np.cumsum(per_form[corpus.form_ids[ends[0] : ends[-1]]])])[ends - ends[0]]
            taken = min(int(np.searchsorted(held, words - self.words)), len(held) - 1)
            self.paragraphs, self.words = self.paragraphs + taken, self.words + int(held[taken])

    def counts(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """How often each word of the whole text's vocabulary occurs in these paragraphs [V]."""
        corpus, ids = self.corpus, vocabulary.word_ids(self.corpus)
        sentences = corpus.sentences[: corpus.paragraphs[self.paragraphs] + 1]
        forms = np.zeros(len(corpus.forms), dtype=np.int64)
        for start in range(0, int(sentences[-1]), FORMS_AT_ONCE):
            end = min(start + FORMS_AT_ONCE, int(sentences[-1]))
            forms += np.bincount(corpus.form_ids[start:end], minlength=len(forms))
        uses = np.repeat(forms, np.diff(corpus.forms.word_offsets))
        known = (ids >= 0) & (ids < len(vocabulary))
        counts = np.bincount(ids[known], weights=uses[known], minlength=len(vocabulary)).astype(np.int64)
        if len(vocabulary.phrases):
            found = count_phrases(corpus, ids, vocabulary.phrases, sentences=sentences)
            for phrase, (count, _) in found.items():
                counts[phrase] = count
        return counts


@dataclass(frozen=True)
class Point:
    """One size: the number of words asked for, and the paragraphs."""

    asked: int
    beginning: Beginning


class Snapshots:
    """Makes a table of every method after each of some amounts of text, and keeps it until the run is complete.

    The table of an accumulator is the same as from these paragraphs alone, without words that are not frequent enough
    in them, and without required words that do not occur in them. A learner gives its current table: it has read these
    paragraphs once, in random order, and its learning-rate schedule has not ended.

    Args:
        corpus: The text.
        sizes: Numbers of words, ascending; those beyond the text are skipped with a warning.
        folder: Where to keep the tables; None keeps them in memory.
    """

    def __init__(self, corpus: Corpus, sizes: Sequence[int], folder: Path | None) -> None:
        self.folder = folder
        self.points = [Point(size, Beginning(corpus, size)) for size in sizes if size < corpus.n_words]
        if beyond := [size_name(size) for size in sizes if size >= corpus.n_words]:
            warnings.warn(
                f"The text has {corpus.n_words:,} words, so there is no table at {', '.join(beyond)}, only that of "
                "the whole text.",
                stacklevel=4,
            )
        self._taken: dict[str, WordVectors] = {}

    @property
    def pauses(self) -> list[tuple[int, int]]:
        """The numbers of paragraphs and words after which snapshots are taken."""
        return [(point.beginning.paragraphs, point.beginning.words) for point in self.points]

    def take(self, point: Point, methods: Mapping[str, Method], facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Finish a copy of every method with the counts of the text so far; ``facts`` has their provenance."""
        for label, method in methods.items():
            table = _so_far(method, point.beginning, facts[label])
            name = f"{label}-{size_name(point.asked)}"
            if self.folder is None:
                self._taken[name] = table
            else:
                table.save(self.folder / name, ARTIFACT.name, overwrite=True)

    def tables(self, labels: Sequence[str]) -> dict[str, WordVectors]:
        """All snapshots by label and size, method by method."""
        names = [f"{label}-{size_name(point.asked)}" for label in labels for point in self.points]
        if self.folder is None:
            return {name: self._taken[name] for name in names}
        return {name: WordVectors.load(self.folder / name, ARTIFACT.name) for name in names}


def _so_far(method: Method, beginning: Beginning, facts: Mapping[str, Any]) -> WordVectors:
    vocabulary = method.run.vocabulary
    counts = beginning.counts(vocabulary)
    shown = copy.copy(method)
    shown.run = method.run.so_far(counts, beginning.words)
    text = {**facts["corpus"], "words": beginning.words, "of_words": beginning.corpus.n_words}
    table = shown.finish({**facts, "corpus": text})
    kept = (counts >= vocabulary.config.min_count) | vocabulary.required()
    frequent = (vocabulary.keys[number] for number in np.flatnonzero(kept))
    return table.subset([word for word in frequent if word in table])


def _size(part: str, text: str) -> int:
    found = SIZE.fullmatch(part)
    unit = "" if found is None else found[2].lower().replace("m", "M").replace("g", "G")
    words = 0.0 if found is None else float(found[1]) * UNITS[unit]
    if not words or words != round(words):
        raise UsageError(f"Sizes are numbers of words, as in 500k,1M,10M; got {part!r} in {text!r}.")
    return round(words)
