"""SemEval-2012 task 2: how well pairs of words illustrate a relation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import exactly, filled_lines, finite_number

Pair = tuple[str, str]
RATING = re.compile(r'\s*(\S+)\s+"([^"]*)"\s*')
PROTOTYPES_BEGIN = "Consider the following word pairs:"
PROTOTYPES_END = "What relation"


@dataclass(frozen=True)
class Choice:
    """One answer of a person: which of four pairs illustrates the relation least, and which most."""

    pairs: tuple[int, ...]
    """Numbers of rated pairs."""
    least: int
    most: int


@dataclass(frozen=True, eq=False)
class Relation:
    """A sub-category: typical pairs, rated pairs, and the answers behind the ratings."""

    name: str
    prototypes: tuple[Pair, ...]
    pairs: tuple[Pair, ...]
    gold: NDArray[np.float64]
    """Per cent of answers with the pair as the best example less those with it as the worst."""
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Relations:
    """All sub-categories, the official training part first."""

    relations: tuple[Relation, ...]

    def __len__(self) -> int:
        return len(self.relations)


def read_relations(folder: Path) -> Relations:
    """Read the folder with the parts ``dev`` (the official Training) and ``test``."""
    ratings = [path for part in ("dev", "test") for path in sorted((folder / part).glob("GoldRatings-*.txt"))]
    if not ratings:
        raise DataError(f"{folder} holds no file dev/GoldRatings-*.txt or test/GoldRatings-*.txt.")
    return Relations(tuple(_relation(path) for path in sorted(ratings, key=_order)))


def _order(path: Path) -> tuple[str, int, str]:
    number, letter = re.fullmatch(r"GoldRatings-(\d+)(\w)", path.stem).groups()  # type: ignore[union-attr]
    return path.parent.name, int(number), letter


def _relation(ratings: Path) -> Relation:
    name = ratings.stem.removeprefix("GoldRatings-")
    pairs, gold = _ratings(ratings)
    place = {pair: number for number, pair in enumerate(pairs)}
    prototypes = _prototypes(ratings.with_name(f"Phase1Questions-{name}.txt"))
    choices = _choices(ratings.with_name(f"Phase2Answers-{name}.txt"), place)
    return Relation(name, prototypes, pairs, gold, choices)


def _ratings(path: Path) -> tuple[tuple[Pair, ...], NDArray[np.float64]]:
    pairs, gold = [], []
    for place, line in filled_lines(path):
        if line.startswith("#"):
            continue
        found = RATING.fullmatch(line)
        score = finite_number(found[1]) if found else None
        if found is None or score is None:
            raise DataError(f"{place}: expected a number and a pair, '50.0 \"a:b\"', but got {line!r}.")
        pairs.append(_pair(found[2], place))
        gold.append(score)
    return tuple(pairs), np.array(gold, dtype=np.float64)


def _prototypes(path: Path) -> tuple[Pair, ...]:
    found, inside = [], False
    for place, line in filled_lines(path):
        if line.startswith(PROTOTYPES_END):
            break
        if inside:
            found.append(_pair(line.strip(), place))
        inside = inside or line.startswith(PROTOTYPES_BEGIN)
    if not found:
        raise DataError(f"{path}: no pairs stand between {PROTOTYPES_BEGIN!r} and {PROTOTYPES_END!r}.")
    return tuple(found)


def _choices(path: Path, place_of: dict[Pair, int]) -> tuple[Choice, ...]:
    """The answers; incomplete ones, and those that name a pair which has no rating, are left out."""
    choices = []
    for place, line in filled_lines(path):
        if line.startswith("#"):
            continue
        fields = exactly([field.strip('"') for field in line.split("\t")], 7, "seven fields", place)
        if not all(fields[:6]):
            continue
        numbers = [place_of.get(_pair(field, place), -1) for field in fields[:6]]
        if min(numbers) >= 0:
            choices.append(Choice(tuple(numbers[:4]), numbers[4], numbers[5]))
    return tuple(choices)


def _pair(text: str, place: str) -> Pair:
    first, colon, second = text.partition(":")
    if not (first and colon and second):
        raise DataError(f"{place}: expected a pair 'a:b' but got {text!r}.")
    return first.strip(), second.strip()
