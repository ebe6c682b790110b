"""The content of a page: tables with their maps, a prepared text, lists of words, and an evaluation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.concordance import Concordance
from wordstill.analysis.senses import Senses
from wordstill.core.guard import reading
from wordstill.corpus import Corpus
from wordstill.errors import DataError, UsageError, WordstillError, unknown_name
from wordstill.evaluation.result import FILE_NAME
from wordstill.explore.layout import LayoutMethod, MapMaker, available_methods, check_method
from wordstill.explore.replies import Near
from wordstill.vectors.oov import UnknownWord
from wordstill.vectors.table import WordVectors

MOST_ANSWERS = 200
MOST_WORDS = 200
FIRST_SHOWN = "still"
"""The table that the page opens with, if there are several: that of the default method."""


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table with its name on the page, its path if it has one, and its maps."""

    name: str
    vectors: WordVectors
    path: Path | None
    maps: MapMaker

    @cached_property
    def senses(self) -> Senses | None:
        """The senses of its words; None if no occurrences were kept."""
        return None if self.vectors.occurrences is None else Senses(self.vectors)

    @cached_property
    def frequent(self) -> NDArray[np.int64]:
        """The rows of the words on the map, the most frequent first."""
        rows, counts = self.maps.rows, self.vectors.counts
        return rows if counts is None else rows[np.argsort(-counts[rows], kind="stable")]

    def row(self, word: str) -> int:
        """The row of a word, if necessary in another case."""
        word = word.strip()
        for form in (word, word.lower(), word.capitalize(), word.upper()):
            found = self.vectors.find([form])[0]
            if isinstance(found, int):
                return found
        raise UnknownWord(word, self.vectors.words)

    def spelled(self, word: str) -> str:
        """A word as spelled in the table."""
        return self.vectors.words[self.row(word)]

    def listed(self, text: str) -> list[str]:
        """The words of a comma-separated list, as spelled in the table."""
        words = [part.strip() for part in text.split(",") if part.strip()]
        if not words or len(words) > MOST_WORDS:
            raise UsageError(f"Expected 1 to {MOST_WORDS} words with commas between, got {len(words)}.")
        return [self.spelled(word) for word in words]

    def count(self, row: int) -> int | None:
        """How often a word occurs in the text; None if the table has no counts."""
        return None if self.vectors.counts is None else int(self.vectors.counts[row])

    def near(self, row: int, score: float) -> Near:
        """A word of a reply, with a score."""
        return Near(self.vectors.words[row], round(score, 4), self.count(row))

    def scored(self, words: Iterable[tuple[str, float]]) -> list[Near]:
        """Words of a reply, with scores."""
        return [self.near(self.vectors.index(word), score) for word, score in words]


class Library:
    """The data that endpoints answer from.

    Args:
        tables: Tables by name.
        paths: Their paths, beside which maps are saved.
        corpus: The text from which sentences are shown.
        scores: An evaluation, as from `Evaluation.to_json`.
        lists: Lists of words by name, to color the map by.
        method: The first layout on the page.
        seed: Of maps and clusters.
    """

    def __init__(
        self,
        tables: Mapping[str, WordVectors],
        paths: Mapping[str, Path] | None = None,
        corpus: Corpus | None = None,
        scores: Mapping[str, Any] | None = None,
        lists: Mapping[str, Sequence[str]] | None = None,
        *,
        method: str | None = None,
        seed: int = 0,
    ) -> None:
        if not tables:
            raise UsageError("There is no table to look at.")
        if empty := [name for name, vectors in tables.items() if not len(vectors)]:
            raise DataError(f"The table {empty[0]!r} has no words, so there is nothing to look at.")
        self.tables: dict[str, LoadedTable] = {}
        for name, vectors in sorted(tables.items(), key=lambda item: item[0] != FIRST_SHOWN):
            path = (paths or {}).get(name)
            self.tables[name] = LoadedTable(name, vectors, path, MapMaker(vectors, path, seed))
        self.corpus = corpus
        self.scores = scores
        self.lists = {name: list(words) for name, words in (lists or {}).items()}
        self.method: LayoutMethod = check_method(method) if method else available_methods()[0]
        self.seed = seed
        self._concordances: dict[str, Concordance] = {}
        self._lock = threading.Lock()

    def table(self, name: str) -> LoadedTable:
        """The table with that name; the first for an empty name."""
        if not name:
            return next(iter(self.tables.values()))
        if name not in self.tables:
            raise unknown_name("table", name, self.tables)
        return self.tables[name]

    def concordance(self, name: str) -> Concordance | None:
        """The concordance of a table, made once; None without a text."""
        if self.corpus is None:
            return None
        with self._lock:
            if name not in self._concordances:
                self._concordances[name] = Concordance(self.corpus, self.table(name).vectors)
            return self._concordances[name]

    def warm_up(self) -> None:
        """Compute in advance what the first requests need; errors are left to these requests."""
        for number, table in enumerate(self.tables.values()):
            with suppress(WordstillError):
                # Only the first map, because several at once would all be slow.
                if not number:
                    table.maps.look(self.method)
                _ = table.vectors.unit
                if (found := self.concordance(table.name)) is not None:
                    found.count(table.vectors.words[0])
                if table.senses is not None:
                    _ = table.senses.map


def bounded(number: int, most: int) -> int:
    """A requested number of answers, limited to ``most``."""
    if number < 1:
        raise UsageError(f"Expected a number from 1 to {most}, got {number}.")
    return min(number, most)


def read_scores(path: Path) -> dict[str, Any]:
    """An evaluation that ``wordstill evaluate --out`` wrote."""
    with reading(path, remedy="Make one: wordstill evaluate --out"):
        content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or not isinstance(content.get("tables"), dict):
        raise DataError(f"{path} is not an evaluation: it has no tables. Make one: wordstill evaluate --out")
    return content


def find_scores(tables: Sequence[Path]) -> Path | None:
    """The evaluation of some tables: in a table's folder, or in one of the two folders above it."""
    for table in tables:
        for folder in (table, *table.resolve().parents[:2]):
            if (folder / FILE_NAME).is_file():
                return folder / FILE_NAME
    return None
