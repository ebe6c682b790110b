"""The one promise of every reader: whatever is wrong with the data becomes an error of ours, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from wordstill.errors import DataError, WordstillError, in_one_line

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves the cursor, changes the terminal, turns the direction of text or cannot be encoded; not tabs and line
feeds."""


class ByUser(str):
    """A name that the user gave, which a file could not have given."""

    __slots__ = ()


@contextmanager
def reading(what: object, error: type[DataError] = DataError, remedy: str = "Get the file again.") -> Iterator[None]:
    """Turn any exception while ``what`` is read into one error that names it.

    Errors of ours pass, and so do warnings that a user has made errors. The original exception is the cause, so
    that ``--debug`` shows where it came from.
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
    r"""Text for a terminal: what could control it is shown as an escape.

    >>> printable("\x1b]0;title\x07word")
    '\\x1b]0;title\\x07word'
    """
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
