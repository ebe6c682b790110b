"""Pairs of words with a human score, and how the published files and a user's own file of them are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import (
    finite_number,
    guess_delimiter,
    own_lines,
    read_lines,
    split_fields,
)

LEMMA_SUFFIXES = ("-n", "-v", "-j")


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Pairs in the order and with the repetitions of their file."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    """The human score of each pair, shape (pairs,)."""

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class PairReader:
    """Reads one published layout; called with a path, it gives the ``WordPairs`` of that file."""

    delimiter: str | None = "\t"
    """What stands between fields; None for any run of blanks."""
    columns: tuple[int, int, int] = (0, 1, 2)
    """Where the first word, the second word and the mean human score stand."""
    header: int = 0
    """Lines before the first pair."""
    lemma_suffix: bool = False
    """Whether every word carries a part of speech (``sun-n``), which is taken off."""
    only: tuple[int, str] | None = None
    """Of a subset: the column that tells its pairs, and what stands there."""

    def __call__(self, path: Path) -> WordPairs:
        """Read the file at ``path``."""
        rows: list[tuple[str, str, float]] = []
        for number, line in read_lines(path):
            if number <= self.header or not line.strip():
                continue
            place = f"{path}:{number}"
            fields = split_fields(line, self.delimiter, place)
            first, second, score = _pair(fields, self.columns, place)
            if self.only is not None and fields[self.only[0]] != self.only[1]:
                continue
            if self.lemma_suffix:
                first, second = _lemma(first, place), _lemma(second, place)
            rows.append((first, second, score))
        return _collect(rows, path)


def read_own_pairs(path: Path) -> WordPairs:
    """Read a user's own file: ``word1 word2 score`` on each line, separated by tabs, commas or blanks.

    The separator is the one of the first line. One header line, blank lines and lines that begin with ``# ``
    are passed over; any other line that is not two words and a number is an error that names its place.
    """
    rows: list[tuple[str, str, float]] = []
    delimiter: str | None = None
    started = False
    for place, line in own_lines(path):
        if not started:
            delimiter = guess_delimiter(line)
        fields = split_fields(line, delimiter, place)
        if started or not _is_header(fields):
            rows.append(_own_pair(fields, delimiter, place))
        started = True
    return _collect(rows, path)


def _own_pair(fields: list[str], delimiter: str | None, place: str) -> tuple[str, str, float]:
    if len(fields) != 3:
        raise DataError(
            f"{place}: expected 'word1 word2 score' separated by {_spoken(delimiter)}, as in the file's "
            f"first line, but got {len(fields)} field(s): {fields!r}."
        )
    return _pair(fields, (0, 1, 2), place)


def _pair(fields: list[str], columns: tuple[int, int, int], place: str) -> tuple[str, str, float]:
    if len(fields) <= max(columns):
        raise DataError(
            f"{place}: expected at least {max(columns) + 1} fields but got {len(fields)}: {fields!r}."
        )
    first, second, score = (fields[column] for column in columns)
    if not first or not second:
        raise DataError(f"{place}: a word of the pair is empty: {fields!r}.")
    value = finite_number(score)
    if value is None:
        raise DataError(f"{place}: expected a finite number as the score of the pair but got {score!r}.")
    return first, second, value


def _lemma(word: str, place: str) -> str:
    if not word.endswith(LEMMA_SUFFIXES):
        raise DataError(f"{place}: expected a word ending in {' or '.join(LEMMA_SUFFIXES)} but got {word!r}.")
    return word[:-2]


def _collect(rows: Iterable[tuple[str, str, float]], path: Path) -> WordPairs:
    columns = list(zip(*rows))
    if not columns:
        raise DataError(f"{path} holds no pairs. Expected lines of 'word1 word2 score'.")
    return WordPairs(columns[0], columns[1], np.array(columns[2], dtype=np.float64))


def _is_header(fields: list[str]) -> bool:
    """Whether the first line names columns: a word, not a number, stands where a pair has its score."""
    if len(fields) < 3:
        return False
    try:
        float(fields[-1])
    except ValueError:
        return True
    return False


def _spoken(delimiter: str | None) -> str:
    return {"\t": "tabs", ",": "commas", None: "blanks"}[delimiter]
