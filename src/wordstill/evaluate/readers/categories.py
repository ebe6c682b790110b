"""Words with the class that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import filled_lines, guess_delimiter, own_lines, split_fields


@dataclass(frozen=True)
class Categories:
    """Words in the order and with the repetitions of their file: a word may stand in several classes."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    coarser: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Other, coarser classes of the same words, by the name of the division."""

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class CategoryReader:
    """Reads one published layout with a header line."""

    delimiter: str
    word: int
    label: int
    suffix: str = ""
    """What ends every word and is taken off, as the part of speech in ``chicken_N``."""
    coarser: tuple[tuple[str, int], ...] = ()
    """Names of coarser divisions, and the columns where their classes stand."""
    split_label: str | None = None
    """The name of a coarser division that stands behind a hyphen in the class itself."""

    def __call__(self, path: Path) -> Categories:
        """Read the file at ``path``; rows without a word are passed over."""
        rows: list[tuple[str, ...]] = []
        for number, (place, line) in enumerate(filled_lines(path)):
            if number:
                rows.append(self._row(split_fields(line, self.delimiter, place), place))
        # AP holds one row without a word for each of its classes.
        columns = list(zip(*(row for row in rows if row[0])))
        if not columns:
            raise DataError(f"{path} holds no words with classes.")
        names = [name for name, _ in self.coarser] + ([self.split_label] if self.split_label else [])
        return Categories(columns[0], columns[1], dict(zip(names, columns[2:])))

    def _row(self, fields: list[str], place: str) -> tuple[str, ...]:
        wanted = [self.word, self.label, *(column for _, column in self.coarser)]
        if len(fields) <= max(wanted):
            raise DataError(
                f"{place}: expected at least {max(wanted) + 1} fields but got {len(fields)}: {fields!r}."
            )
        word, label, *coarser = (fields[column] for column in wanted)
        if self.suffix and not word.endswith(self.suffix):
            raise DataError(f"{place}: expected a word ending in {self.suffix!r} but got {word!r}.")
        if self.split_label:
            coarser.append(label.rpartition("-")[2])
        return word.removesuffix(self.suffix), label, *coarser


def read_own_categories(path: Path) -> Categories:
    """A user's own file: ``word class`` on each line, separated by tabs, commas or blanks."""
    rows = list(_own_rows(own_lines(path)))
    if not rows:
        raise DataError(f"{path} holds no words. Expected lines of 'word class'.")
    words, labels = zip(*rows)
    return Categories(words, labels)


def _own_rows(lines: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    delimiter, started = None, False
    for place, line in lines:
        if not started:
            delimiter, started = guess_delimiter(line), True
        fields = split_fields(line, delimiter, place)
        if len(fields) != 2 or not all(fields):
            raise DataError(f"{place}: expected 'word class', but got {len(fields)} field(s): {fields!r}.")
        yield fields[0], fields[1]
