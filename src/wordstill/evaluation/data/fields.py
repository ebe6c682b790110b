"""Lines and fields of data files, with errors that name file and line, and the columns of a user's own files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError


def filled_lines(path: Path, comment: str | None = None) -> Iterator[tuple[str, str]]:
    """The lines that are neither empty nor comments, each with its place (``file:number``) for messages."""
    for number, line in numbered_lines(path):
        if line.strip() and not (comment and line.startswith(comment)):
            yield f"{path}:{number}", line


def split_fields(line: str, delimiter: str | None, place: str) -> list[str]:
    """The fields of a line, stripped; None splits at runs of spaces."""
    if delimiter is None:
        return line.split()
    if delimiter in (",", ";"):
        try:
            return [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]
        except csv.Error as error:
            raise DataError(f"{place}: not comma-separated values: {error}.") from error
    return [field.strip() for field in line.split(delimiter)]


def exactly(fields: list[str], count: int, form: str, place: str) -> list[str]:
    """The fields, if there are exactly this many."""
    if len(fields) != count:
        raise DataError(f"{place}: expected {form}, but got {len(fields)} field(s): {fields!r}.")
    return fields


def finite_number(text: str) -> float | None:
    """The text as a finite number; None if it is not one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def required_number(text: str, what: str, place: str) -> float:
    """The text as a finite number; anything else is an error."""
    value = finite_number(text)
    if value is None:
        raise DataError(f"{place}: expected a finite number as {what} but got {text!r}.")
    return value


def own_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a user's own file with their places, without empty lines and those that begin with ``# ``."""
    for place, line in filled_lines(path):
        if line.rstrip() != "#" and not line.startswith("# "):
            yield place, line


COLUMNS = "#"
"""Between the name of a file and the columns to use: ``pairs.csv#1,2,4`` or ``pairs.csv#word1,word2,score``."""
MISSING = frozenset({"", "n/a", "na", "nan", "null", "none", "-", "?"})
"""What files write for a missing number; such a cell is not a title."""
SPOKEN = {"\t": "tabs", ",": "commas", ";": "semicolons", None: "blanks"}
STS_BENCHMARK = ("main-captions", "main-forums", "main-forum", "main-news")
"""First fields of the benchmark's seven columns, which have no titles."""


class Role(NamedTuple):
    """What a column holds."""

    name: str
    titles: tuple[str, ...]
    """Titles that published files give it, in lower case."""
    number: bool = False


_SCORE = Role(
    "score",
    ("score", "sim", "similarity", "relatedness", "rating", "human", "human (mean)", "mean", "average", "gold", "value",
     "simlex999", "relatedness_score", "similarity_score", "label"),
    number=True,
)  # fmt: skip
PAIRS = (
    Role("word1", ("word1", "word 1", "word_1", "w1", "first", "term1", "worda")),
    Role("word2", ("word2", "word 2", "word_2", "w2", "second", "term2", "wordb")),
    _SCORE,
)
SENTENCES = (
    Role("sentence1", ("sentence1", "sentence 1", "sentence_1", "sentence_a", "s1", "text1", "first")),
    Role("sentence2", ("sentence2", "sentence 2", "sentence_2", "sentence_b", "s2", "text2", "second")),
    _SCORE,
)
CATEGORIES = (
    Role("word", ("word", "term", "concept", "noun", "verb")),
    Role("class", ("class", "category", "label", "group", "cluster")),
)


class Row(NamedTuple):
    """The fields of a line in the order of the roles, with its place."""

    place: str
    fields: list[str]


def split_columns(path: Path) -> tuple[Path, tuple[str, ...]]:
    """A file and the columns chosen after its name; a file that really has that name has none."""
    name, mark, columns = path.name.rpartition(COLUMNS)
    if not mark or path.exists():
        return path, ()
    return path.with_name(name), tuple(column.strip() for column in columns.split(","))


def own_rows(path: Path, roles: Sequence[Role], *, blanks: bool = True) -> Iterator[Row]:
    """The rows of a file, each with the fields of the roles.

    Args:
        path: The file, with any chosen columns after its name.
        roles: The columns to read.
        blanks: Whether fields may be separated by spaces.

    Raises:
        DataError: It is not clear which columns are meant, or a row has more or fewer fields than the first.
    """
    file, chosen = split_columns(path)
    lines = own_lines(file)
    start = list(islice(lines, 2))
    if not start:
        return
    delimiter = guess_delimiter(start[0][1], blanks=blanks)
    head, *second = (split_fields(line, delimiter, place) for place, line in start)
    places, titled = _places(head, second[0] if second else [], roles, chosen, start[0][0])
    # Titles with spaces in them would count as several fields.
    expected = len(second[0]) if titled and second and delimiter is None else len(head)
    for place, line in chain(start[1:] if titled else start, lines):
        fields = split_fields(line, delimiter, place)
        if len(fields) != expected:
            raise DataError(
                f"{place}: expected {' '.join(role.name for role in roles)!r} separated by {SPOKEN[delimiter]}, as in "
                f"the file's first line, but got {len(fields)} field(s): {fields!r}."
            )
        yield Row(place, [fields[column] for column in places])


def guess_delimiter(line: str, *, blanks: bool = True) -> str | None:
    """The separator of a file, by its first line: a tab, a semicolon, a comma, else runs of spaces."""
    if "\t" in line:
        return "\t"
    if ";" in line and ("," not in line or line.count(";") > line.count(",")):
        fields = [field.strip() for field in line.split(";")]
        # A semicolon may also be a part of a word.
        by_number = len(fields) >= 3 and all(fields) and finite_number(fields[-1]) is not None
        if " " not in line.strip() or by_number or any(map(_is_title, fields)):
            return ";"
    return "," if "," in line else None if blanks else "\t"


def _is_title(field: str) -> bool:
    return any(field.lower() in role.titles for role in (*PAIRS, *SENTENCES, *CATEGORIES))


def _places(
    head: list[str], second: list[str], roles: Sequence[Role], chosen: Sequence[str], place: str
) -> tuple[list[int], bool]:
    """The column of each role, and whether the first line has titles."""
    titles = [title.lower() for title in head]
    if chosen:
        return _chosen(head, titles, roles, chosen, place)
    named = [[column for column, title in enumerate(titles) if title in role.titles] for role in roles]
    if not _numbers(head) and all(len(found) == 1 for found in named):
        return [found[0] for found in named], True
    if roles is SENTENCES and len(head) >= 7 and titles[0] in STS_BENCHMARK:
        return [5, 6, 4], False
    no_data = not _numbers(head) or (len(second) != len(head) and finite_number(head[-1]) is None)
    titled = roles[-1].number and no_data and len(head) >= len(roles) and titles[-1] not in MISSING
    return _by_content(second if titled and second else head, roles, place), titled


def _by_content(row: list[str], roles: Sequence[Role], place: str) -> list[int]:
    """The column of each role in a row without titles: all in order, or the texts in order and the only number."""
    numbers, wants_number = _numbers(row), roles[-1].number
    if len(row) == len(roles) and (not wants_number or not numbers or len(row) - 1 in numbers):
        return list(range(len(row)))
    if wants_number and len(numbers) == 1 and len(row) >= len(roles):
        texts = [column for column in range(len(row)) if column not in numbers]
        return [*texts[: len(roles) - 1], numbers[0]]
    if len(row) < len(roles):
        raise DataError(f"{place}: expected {_names(roles)}, but got {len(row)} field(s): {row!r}.")
    raise DataError(
        f"{place}: it is not clear which of the {len(row)} field(s) are {_names(roles)}: {row!r}. Choose columns by "
        f"number or title, as in FILE{COLUMNS}{','.join(map(str, range(1, len(roles) + 1)))}."
    )


def _numbers(row: list[str]) -> list[int]:
    return [column for column, field in enumerate(row) if finite_number(field) is not None]


def _chosen(
    head: list[str], titles: list[str], roles: Sequence[Role], chosen: Sequence[str], place: str
) -> tuple[list[int], bool]:
    if len(chosen) != len(roles):
        raise DataError(f"{place}: {len(chosen)} columns were chosen, expected {len(roles)}: {_names(roles)}.")
    places = []
    for column in chosen:
        number = int(column) - 1 if column.isdecimal() else None
        if (number is None and column.lower() not in titles) or (number is not None and not 0 <= number < len(head)):
            raise DataError(
                f"{place}: there is no column {column!r}. The first line has: {', '.join(map(repr, head))}."
            )
        places.append(titles.index(column.lower()) if number is None else number)
    score = titles[places[-1]]
    is_title = roles[-1].number and finite_number(score) is None and score not in MISSING
    return places, is_title or not all(column.isdecimal() for column in chosen)


def _names(roles: Sequence[Role]) -> str:
    return ", ".join(role.name for role in roles)
