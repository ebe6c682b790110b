"""Safety of readers: any defect of a file becomes one error in one line, and limits bound what a file may cost.

A file of a few bytes can claim or unpack to gigabytes, and a damaged one can keep a parser busy forever. The defaults
of `Limits` are far above what valid files need. ``--limits line_bytes=1GB,seconds=900``, or the same text in the
environment variable ``WORDSTILL_LIMITS``, changes them for every reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from wordstill.errors import DataError, UsageError, WordstillError, in_one_line, unknown_name

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters other than tabs and line feeds that control a terminal, change text direction or cannot be encoded."""
VARIABLE = "WORDSTILL_LIMITS"
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)b?", re.IGNORECASE)


class ByUser(str):
    """A name given by the user, rather than by a file."""

    __slots__ = ()


@contextmanager
def reading(what: object, error: type[DataError] = DataError, remedy: str = "Get the file again.") -> Iterator[None]:
    """Turn any exception while ``what`` is read into one error that names it.

    `WordstillError` passes unchanged, and so do warnings that were turned into errors. The original exception is the
    cause, so that ``--debug`` shows where it came from.
    """
    try:
        yield
    except (WordstillError, Warning):
        raise
    except OSError as refused:
        raise DataError(f"Cannot read {what}: {refused.strerror or refused}.") from refused
    except MemoryError as full:
        raise error(f"{what} needs more memory than there is. If it is not damaged, read it in parts.") from full
    except RecursionError as deep:
        raise error(f"{what} is nested too deeply to be read. {remedy}") from deep
    except Exception as strange:
        raise error(f"{what} is damaged or of another kind ({in_one_line(strange)}). {remedy}") from strange


def printable(text: str) -> str:
    r"""Text for a terminal, with control characters as escapes.

    >>> printable("\x1b]0;title\x07word")
    '\\x1b]0;title\\x07word'
    """
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


@dataclass(frozen=True)
class Limits:
    """What reading one file may cost."""

    ratio: int | None = 100
    """Most bytes for each stored one: numbers as text shrink to a third, rarely to a tenth. None: any."""

    free_bytes: int = 256 << 20
    """Decompressed bytes that any file may have, however small it is."""

    memory_bytes: int = 256 << 20
    """Maximum window of a decompressor."""

    child_bytes: int = 1 << 30
    """Memory of a child process that reads Parquet."""

    line_bytes: int = 16 << 20
    """Maximum length of a line."""

    page_bytes: int = 32 << 20
    """Markup of one page, or of anything between two pages."""

    page_elements: int = 100_000
    """XML elements of one page, or between two pages."""

    page_steps: int = 50_000_000
    """Characters that the parser of a page may visit: each bracket or tag that is never closed costs the whole page."""

    depth: int = 100
    """Nesting of XML elements."""

    objects: int = 100_000_000
    """Instructions of a pickle."""

    links: int = 5_000_000
    """Links of a lexicon."""

    questions: int = 1_000_000
    """Analogy questions made from the pairs of a file, every two of a section."""

    dim: int = 1 << 20
    """Numbers of one vector."""

    word_bytes: int = 1 << 16
    """The longest word of a binary file."""

    seconds: float = 300.0
    """Time that a child process may need for one block of rows."""

    @classmethod
    def chosen(cls, **defaults: Any) -> Limits:
        """The limits of a reader, with the user's changes."""
        return cls(**defaults | parse_limits(os.environ.get(VARIABLE, "")))

    def check(self, name: object, decompressed: int, stored: int, error: type[DataError] = DataError) -> None:
        """Raise if a file decompresses to far more bytes than it has stored."""
        if self.ratio is not None and decompressed > max(self.free_bytes, self.ratio * stored):
            raise error(
                f"{name}: {stored:,} bytes unpack to more than {decompressed - 1:,}, over {self.ratio} times "
                f"as many. If the file is sound, unpack it first, or {self.advice('ratio')}"
            )

    def refuse(
        self, limit: str, found: float, where: str, unit: str = "bytes", error: type[DataError] = DataError
    ) -> None:
        """Raise if a number exceeds a limit."""
        most = getattr(self, limit)
        if found > most:
            raise error(f"{where} more than {most:,} {unit}. If the file is sound, {self.advice(limit)}")

    @staticmethod
    def advice(limit: str) -> str:
        """How to raise a limit."""
        return f"raise the limit with --limits {limit}=N (${VARIABLE})."


def parse_limits(text: str) -> dict[str, Any]:
    """Limits by name from a text such as ``line_bytes=1GB,seconds=900``.

    >>> parse_limits("line_bytes=1.5GB, seconds=900")
    {'line_bytes': 1500000000, 'seconds': 900}
    """
    found: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in (names := [field.name for field in fields(Limits)]):
            raise unknown_name("limit", name, names)
        match = NUMBER.fullmatch(value)
        if match is None:
            raise UsageError(f"The limit {name} is {value!r}, expected a number such as 500, 64MB or 1.5GB.")
        found[name] = int(float(match[1]) * UNITS[match[2].lower()])
    return found
