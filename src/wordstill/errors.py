"""All errors. A message says what was given, where, what was expected, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def in_one_line(error: BaseException) -> str:
    """Type and first line of another package's error, for our own message."""
    return f"{type(error).__name__}: {error}".strip().split("\n")[0]


class WordstillError(Exception):
    """Base of all errors caused by input rather than by a bug; shown without a traceback."""

    exit_code = 1


class UsageError(WordstillError):
    """An invalid setting: an unknown name, an existing output, contradictory options."""

    exit_code = 2


class DataError(WordstillError):
    """Text, a data set or a store that is missing, damaged or in the wrong format."""


class FormatError(DataError):
    """A file of vectors that is broken or in the wrong format."""


class TeacherError(WordstillError):
    """A model or tokenizer that cannot be loaded or used, or that gives non-finite states."""


class TrainingError(WordstillError):
    """Training diverged."""


class MissingExtra(WordstillError, ImportError):
    """A feature needs a package that is not installed."""

    exit_code = 2

    def __init__(self, package: str, extra: str | None, feature: str) -> None:
        wanted = package if extra is None else f"'wordstill[{extra}]'"
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed. Install it with: pip install {wanted}"
        )
        self.package = package
        self.extra = extra
        self.feature = feature

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str | None, str]]:
        # Raised in worker processes, so it must be picklable.
        return MissingExtra, (self.package, self.extra, self.feature)


class PluginError(WordstillError):
    """A plug-in that cannot be imported, or whose name is already in use."""


class Interrupted(WordstillError):
    """The user stopped a run; finished work is saved if the run has an output."""

    exit_code = 130

    def __init__(self, work: str, done: int, total: int, unit: str, *, saved: bool = True) -> None:
        end = "done and saved" if saved else "done, and nothing is saved"
        super().__init__(f"Stopped while {work}: {done:,} of {total:,} {unit} {end}.")


def natural_order(name: str) -> list[str | int]:
    """A sort key in which 10 comes after 9."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", name)]


def unknown_name(kind: str, got: str, known: Iterable[str], hint: str = "") -> UsageError:
    """An error for an unknown name, with the most similar known names."""
    names = sorted(known, key=natural_order)
    near = difflib.get_close_matches(got, names, n=3, cutoff=0.5)
    guess = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    tail = f" {hint}" if hint else ""
    return UsageError(f"Unknown {kind} {got!r}.{guess} Known: {', '.join(names)}.{tail}")
