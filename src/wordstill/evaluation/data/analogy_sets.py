"""Analogy questions: ``a`` is to ``b`` as ``c`` is to ``d``, by section."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.guard import Limits
from wordstill.errors import DataError
from wordstill.evaluation.data.fields import exactly, filled_lines, finite_number, own_lines, split_fields
from wordstill.evaluation.data.registry import Dataset, DatasetFile

FORM = "the four words of a question, 'a b c d'"
DEFAULT_SECTION = "all"


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions in the order of their file."""

    holds: ClassVar[str] = "questions"

    words: tuple[tuple[str, str, str, str], ...]
    section: NDArray[np.int64]
    """The number of each question's section, shape (questions,)."""
    sections: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


def read_sections(path: Path) -> Questions:
    """Read Google's format: lines of four words, and lines with ``: name`` that begin a section."""
    return _by_section(path, filled_lines(path))


def read_own_questions(path: Path) -> Questions:
    """Read a user's own file, in Google's format or as pairs, with or without sections.

    Lines of two words, ``a`` and ``b``, are pairs in the same relation, as in BATS: every two pairs of a section
    make two questions. Of several answers separated by ``/``, the first is used.
    """
    lines = list(own_lines(path))
    if any(len(line.split()) == 2 and not line.startswith(":") for _, line in lines):
        return _of_pairs(path, lines)
    return _by_section(path, lines)


def read_typed(path: Path) -> Questions:
    """Read the format of MSR's ``msr.csv``: number, relation, three words and the answer, with a header line."""
    rows = []
    for number, (place, line) in enumerate(filled_lines(path)):
        if number:
            _, relation, *words = exactly(split_fields(line, ",", place), 6, "six fields", place)
            rows.append((relation, _question(words, place)))
    return _collect(rows, path)


def read_tabbed(path: Path) -> Questions:
    """Read the format of MSR's ``msr.txt``: four words separated by tabs, without the relation."""
    rows = [(DEFAULT_SECTION, _question(split_fields(line, "\t", place), place)) for place, line in filled_lines(path)]
    return _collect(rows, path)


def _by_section(path: Path, lines: Iterable[tuple[str, str]]) -> Questions:
    section, rows = DEFAULT_SECTION, []
    for place, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
            if not section:
                raise DataError(f"{place}: a section has no name; expected ': name'.")
        else:
            rows.append((section, _question(line.split(), place)))
    return _collect(rows, path)


def _of_pairs(path: Path, lines: Iterable[tuple[str, str]]) -> Questions:
    section, pairs = DEFAULT_SECTION, dict[str, list[tuple[str, str]]]()
    for place, line in lines:
        if line.startswith(":"):
            section = line[1:].strip()
            continue
        first, second = exactly(line.split(), 2, "pairs of two words, as in the other lines", place)
        pairs.setdefault(section, []).append((first, second.partition("/")[0]))
    questions = sum(len(found) * (len(found) - 1) for found in pairs.values())
    Limits.chosen().refuse("questions", questions, f"{path}: its pairs make", "questions")
    return _collect(
        [(name, (*one, *other)) for name, found in pairs.items() for one, other in permutations(found, 2)], path
    )


def _question(words: list[str], place: str) -> tuple[str, str, str, str]:
    first, second, third, fourth = exactly(words, 4, FORM, place)
    if not all(words):
        raise DataError(f"{place}: expected {FORM}, but one is empty: {words!r}.")
    return first, second, third, fourth


def _collect(rows: list[tuple[str, tuple[str, str, str, str]]], path: Path) -> Questions:
    if not rows:
        raise DataError(f"{path} holds no questions. Expected lines of 'a b c d'.")
    sections = tuple(dict.fromkeys(section for section, _ in rows))
    place = {section: number for number, section in enumerate(sections)}
    numbers = np.array([place[section] for section, _ in rows], dtype=np.int64)
    return Questions(tuple(words for _, words in rows), numbers, sections)


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
    """A relation: typical pairs, rated pairs, and the answers that the ratings were computed from."""

    name: str
    prototypes: tuple[Pair, ...]
    pairs: tuple[Pair, ...]
    gold: NDArray[np.float64]
    """Per cent of answers with the pair as the best example less those with it as the worst."""
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Relations:
    """All relations, the official training part first."""

    holds: ClassVar[str] = "relations"

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
    for place, line in filled_lines(path, "#"):
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
        raise DataError(f"{path}: no pairs between {PROTOTYPES_BEGIN!r} and {PROTOTYPES_END!r}.")
    return tuple(found)


def _choices(path: Path, place_of: dict[Pair, int]) -> tuple[Choice, ...]:
    """The answers, without incomplete ones and those that name a pair without a rating."""
    choices = []
    for place, line in filled_lines(path, "#"):
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


ANALOGY: tuple[Dataset, ...] = (
    Dataset(
        "google",
        "Google analogies",
        19_544,
        "Mikolov et al. 2013, arXiv 1301.3781",
        "not stated",
        "piskvorky/gensim@37f90ec1",
        (
            DatasetFile(
                "analogy/google/questions-words.txt", read_sections, "gensim/test/test_data/questions-words.txt"
            ),
            DatasetFile.of_gensim("questions-words.txt", read_sections),
        ),
        task="analogy",
        home="https://code.google.com/archive/p/word2vec/",
        caveat="Sections 1 to 5 are semantic (8,869 questions), 6 to 14 syntactic (10,675).",
    ),
    Dataset(
        "msr",
        "MSR analogies",
        8_000,
        "Mikolov, Yih & Zweig 2013, NAACL",
        "not stated",
        "vecto-ai/word-benchmarks@9b61d0e0",
        (
            DatasetFile("analogy/MSR/msr.csv", read_typed, "word-analogy/monolingual/en/msr.csv"),
            DatasetFile("analogy/MSR/msr.txt", read_tabbed),
        ),
        task="analogy",
        home="https://aclanthology.org/N13-1090/",
        caveat="Possessives (dog's) are words of their own; msr.txt has the same questions without types.",
    ),
    Dataset(
        "semeval2012",
        "SemEval-2012 task 2",
        79,
        "Jurgens et al. 2012, SemEval",
        "not stated",
        "commonsense/conceptnet5@fda1b396",
        (DatasetFile("analogy/SemEval-2012-task2", read_relations, "conceptnet5/support_data/semeval12-2"),),
        task="relation",
        home="https://sites.google.com/site/semeval2012task2/",
        caveat="10 sub-categories are the official Training part, 69 the test; scores are over all 79.",
    ),
)
