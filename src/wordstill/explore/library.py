"""What a page is about: tables with their maps, a prepared text, lists of words, and an evaluation."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordstill.analysis.concordance import Concordance
from wordstill.corpus import Corpus
from wordstill.errors import DataError, UsageError, WordstillError, unknown_name
from wordstill.evaluation.result import FILE_NAME
from wordstill.explore.layout import LayoutMethod, MapMaker, available_methods, check_method
from wordstill.vectors.table import WordVectors


@dataclass(frozen=True)
class LoadedTable:
    """A table with the name that the page gives it, its file if it has one, and its maps."""

    name: str
    vectors: WordVectors
    path: Path | None
    maps: MapMaker


class Library:
    """Everything that questions are asked of.

    Args:
        tables: Tables by name.
        paths: Where they came from; maps are kept there.
        corpus: The text that sentences are shown from.
        scores: An evaluation as `Evaluation.to_json` writes it.
        lists: Lists of words by name, to color the map by.
        method: The layout that the page shows first.
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
        for name, vectors in tables.items():
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
        """The table of that name, the first for an empty name."""
        if not name:
            return next(iter(self.tables.values()))
        if name not in self.tables:
            raise unknown_name("table", name, self.tables)
        return self.tables[name]

    def concordance(self, name: str) -> Concordance | None:
        """The sentences of a table's words, or None without a text; made once."""
        if self.corpus is None:
            return None
        with self._lock:
            if name not in self._concordances:
                self._concordances[name] = Concordance(self.corpus, self.table(name).vectors)
            return self._concordances[name]

    def warm_up(self) -> None:
        """Make ahead what the first questions need; what fails is told to whoever asks for it."""
        for table in self.tables.values():
            with suppress(WordstillError):
                table.maps.look(self.method)
                _ = table.vectors.unit
                if (found := self.concordance(table.name)) is not None:
                    found.count(table.vectors.words[0])


def read_scores(path: Path) -> dict[str, Any]:
    """An evaluation that ``wordstill evaluate --out`` wrote."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read as an evaluation: {error}. Make one: wordstill evaluate --out"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("tables"), dict):
        raise DataError(f"{path} is not an evaluation: it has no tables. Make one: wordstill evaluate --out")
    return content


def find_scores(tables: Sequence[Path]) -> Path | None:
    """The evaluation nearest to some tables: in a table's folder, or in one of the two folders above it."""
    for table in tables:
        for folder in (table, *table.resolve().parents[:2]):
            if (folder / FILE_NAME).is_file():
                return folder / FILE_NAME
    return None
