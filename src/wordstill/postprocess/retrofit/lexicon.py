"""Lexicons: weighted links between words, and the text files that hold them."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import sha256_of
from wordstill.core.guard import Limits, reading
from wordstill.core.text_io import numbered_lines, without_suffix
from wordstill.errors import DataError, unknown_name

Link = tuple[str, str, float]

PAIR_SUFFIXES = (".csv", ".tsv")
TABS, SPACES = re.compile(r"\t"), re.compile(r"[ \t]+")
LARGEST_GROUP = 5000
"""Maximum number of words in a group, all pairs of which are linked."""


@dataclass(frozen=True, eq=False)
class Lexicon:
    """An undirected graph over words: each link once, from the smaller word number to the larger."""

    words: tuple[str, ...]
    first: NDArray[np.int64]
    """The number of the first word of each link, shape (links,)."""
    second: NDArray[np.int64]
    weights: NDArray[np.float32]
    """The strength of each link, above 0, shape (links,)."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Its source, for provenance."""

    @classmethod
    def from_links(cls, links: Iterable[Link], origin: Mapping[str, Any] | None = None) -> Lexicon:
        """Collect links between words.

        A link of a word with itself is skipped; of repeated links, in either direction, the larger weight
        counts.
        """
        numbers: dict[str, int] = {}
        first, second, weights = array("q"), array("q"), array("f")
        limits = Limits.chosen()
        for count, (one, other, weight) in enumerate(links, 1):
            if count > limits.links:
                limits.refuse("links", count, "The lexicon has", "links")
            first.append(numbers.setdefault(one, len(numbers)))
            second.append(numbers.setdefault(other, len(numbers)))
            weights.append(weight)
        ends = np.array([first, second], dtype=np.int64).reshape(2, -1)
        return cls(tuple(numbers), *_deduplicated(ends, np.array(weights, np.float32), len(numbers)), origin or {})

    @classmethod
    def union(cls, lexicons: Iterable[Lexicon]) -> Lexicon:
        """The links of several lexicons together."""
        parts = list(lexicons)
        if len(parts) == 1:
            return parts[0]
        links = (link for part in parts for link in part.links())
        return cls.from_links(links, {"union": [dict(part.origin) for part in parts]})

    def __len__(self) -> int:
        return len(self.weights)

    def links(self) -> Iterable[Link]:
        """Every link as two words and a weight."""
        ends = zip(self.first.tolist(), self.second.tolist(), self.weights.tolist())
        return ((self.words[one], self.words[other], weight) for one, other, weight in ends)


def read_lexicon(path: Path, format: str | None = None) -> Lexicon:
    """Read a lexicon from a file in UTF-8.

    Args:
        path: The file.
        format: ``neighbours``: a word and its neighbors on each line, as in the files of Faruqui et al.
            2015. ``groups``: words on each line that are all linked. ``pairs``: two words and an optional
            weight, separated by commas or tabs. None means ``pairs`` for ``.csv`` and ``.tsv``, and
            ``neighbours`` for any other file. Words of the first two are separated by spaces, or by tabs if
            the first line has one, so that words can contain spaces.
    """
    by_name = "pairs" if without_suffix(path.name).lower().endswith(PAIR_SUFFIXES) else "neighbours"
    chosen = format or by_name
    if chosen not in _FORMATS:
        raise unknown_name("format of a lexicon", chosen, _FORMATS)
    links, expected = _FORMATS[chosen]
    with reading(path):
        lexicon = Lexicon.from_links(links(path))
    if not len(lexicon):
        raise DataError(f"{path} links no words. Expected lines of {expected}.")
    origin = {"file": path.name, "sha256": sha256_of(path), "format": chosen, "links": len(lexicon)}
    return Lexicon(lexicon.words, lexicon.first, lexicon.second, lexicon.weights, origin)


def _deduplicated(
    ends: NDArray[np.int64], weights: NDArray[np.float32], words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Each pair of different words once, with its largest weight, in the order of word numbers."""
    low, high = ends.min(axis=0), ends.max(axis=0)
    keys = low * words + high
    order = np.argsort(keys, kind="stable")
    order = order[(low != high)[order]]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    if not len(starts):
        return low[:0], high[:0], weights[:0]
    kept = order[starts]
    return low[kept], high[kept], np.maximum.reduceat(weights[order], starts)


def _neighbors(path: Path) -> Iterator[Link]:
    for _, (head, *others) in _word_lines(path):
        yield from ((head, other, 1.0) for other in others)


def _groups(path: Path) -> Iterator[Link]:
    for place, words in _word_lines(path):
        if len(words) > LARGEST_GROUP:
            raise DataError(
                f"{place}: a group of {len(words):,} words; the limit is {LARGEST_GROUP:,}. Split it, or "
                "give a word with its neighbors on each line instead."
            )
        yield from all_pairs(words)


def all_pairs(words: Sequence[str]) -> Iterator[Link]:
    """Links between all pairs of words, after checking their number."""
    Limits.chosen().refuse("links", len(words) * (len(words) - 1) // 2, f"A group of {len(words):,} words has", "links")
    return ((one, other, 1.0) for one, other in combinations(words, 2))


def _word_lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The words of each non-empty line, with the line's location."""
    delimiter: re.Pattern[str] | None = None
    for number, line in numbered_lines(path):
        if not line.strip(" \t"):
            continue
        if delimiter is None:
            delimiter = TABS if "\t" in line.strip(" \t") else SPACES
        words = [word.strip(" ") for word in delimiter.split(line)]
        yield f"{path}:{number}", [word for word in words if word]


def _pairs(path: Path) -> Iterator[Link]:
    delimiter: str | None = None
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        first_line = delimiter is None
        if delimiter is None:
            delimiter = "\t" if "\t" in line else ","
        place = f"{path}:{number}"
        fields = _fields(line, delimiter, place)
        if first_line and len(fields) == 3 and not _is_number(fields[2]):
            continue
        yield _pair(fields, place)


def _fields(line: str, delimiter: str, place: str) -> list[str]:
    try:
        row = next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"{place}: not comma-separated values ({error}): {line[:80]!r}.") from None
    return [field.strip() for field in row]


def _pair(fields: list[str], place: str) -> Link:
    if len(fields) not in (2, 3) or not fields[0] or not fields[1]:
        raise DataError(f"{place}: expected two words and perhaps a weight, but got {fields!r}.")
    text = fields[2] if len(fields) == 3 else "1"
    # As it is stored: a number can be finite and above 0 in float64 only.
    with np.errstate(over="ignore", under="ignore"):
        weight = float(np.float32(text)) if _is_number(text) else math.nan
    if not 0 < weight < math.inf:
        raise DataError(f"{place}: expected a finite weight above 0 but got {text!r}.")
    return fields[0], fields[1], weight


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_FORMATS: Mapping[str, tuple[Callable[[Path], Iterator[Link]], str]] = {
    "neighbours": (_neighbors, "a word and its neighbors"),
    "groups": (_groups, "words that belong together"),
    "pairs": (_pairs, "two words and perhaps a weight"),
}
