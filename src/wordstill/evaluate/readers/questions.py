"""Analogy questions: ``a`` is to ``b`` as ``c`` is to ``d``, by section."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import exactly, filled_lines, own_lines, split_fields

FORM = "the four words of a question, 'a b c d'"
DEFAULT_SECTION = "all"


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions in the order of their file."""

    words: tuple[tuple[str, str, str, str], ...]
    section: NDArray[np.int64]
    """The number of each question's section, shape (questions,)."""
    sections: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)


def read_sections(path: Path) -> Questions:
    """Google's form: lines of four words, and lines with ``: name`` that begin a section."""
    return _by_section(path, filled_lines(path))


def read_own_questions(path: Path) -> Questions:
    """A user's own file, in Google's form; the sections may be left out."""
    return _by_section(path, own_lines(path))


def read_typed(path: Path) -> Questions:
    """The form of MSR's ``msr.csv``: number, relation, three words and the answer, with a header line."""
    rows = []
    for number, (place, line) in enumerate(filled_lines(path)):
        if number:
            _, relation, *words = exactly(split_fields(line, ",", place), 6, "six fields", place)
            rows.append((relation, _question(words, place)))
    return _collect(rows, path)


def read_tabbed(path: Path) -> Questions:
    """The form of MSR's ``msr.txt``: four words between tabs, the relation not being told."""
    rows = [
        (DEFAULT_SECTION, _question(split_fields(line, "\t", place), place))
        for place, line in filled_lines(path)
    ]
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
