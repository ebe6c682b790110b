"""Groups of text: which one a document belongs to, by a field, its folder, its file's name, or its date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from wordstill.errors import UsageError

Kind = Literal["field", "folder", "file"]
MOST_GROUPS = 1000
YEAR = re.compile(r"(?<!\d)(\d{4})(?!\d)")
MONTH = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?!\d)")
PARTS = re.compile(r"([0-9]+)")
SPANS = {"year": 1, "decade": 10, "century": 100}


@dataclass(frozen=True)
class Grouping:
    """How a document's group is found.

    Args:
        kind: By a field (of JSONL, or a column of CSV or Parquet), the folder of its file, or the file's name.
        name: The field's name, or the regular expression that is looked for in the file's path.
        bins: Dates are put into bins: ``month``, ``year``, ``decade``, ``century`` or a number of years.
    """

    kind: Kind
    name: str = ""
    bins: str | None = None

    @classmethod
    def parse(cls, text: str, bins: str | None = None) -> Grouping:
        """From ``FIELD``, ``field:FIELD``, ``folder`` or ``file:REGEX``."""
        kind, colon, name = text.partition(":")
        if bins is not None and bins not in (*SPANS, "month") and not (bins.isdecimal() and int(bins)):
            raise UsageError(f"Bins are month, {', '.join(SPANS)} or a number of years; got {bins!r}.")
        if text == "folder":
            return cls("folder", bins=bins)
        if kind == "field" and name:
            return cls("field", name, bins)
        if kind == "file" and colon:
            try:
                re.compile(name)
            except re.error as error:
                raise UsageError(
                    f"--group {text}: not a regular expression ({error}). Example: file:(\\d{{4}})"
                ) from None
            return cls("file", name, bins)
        if not text.strip():
            raise UsageError("--group needs a field, folder or file:REGEX.")
        return cls("field", text, bins)

    @property
    def field(self) -> str | None:
        """The field that holds the group, if one does."""
        return self.name if self.kind == "field" else None

    def of_source(self, source: str) -> str | None:
        """The group of everything in a file; None where its path does not say."""
        if self.kind == "folder":
            found = PurePath(source).parent.name
        else:
            match = re.search(self.name, source.replace("\\", "/"))
            found = "" if match is None else match[1] if match.re.groups else match[0]
        return self.label(found)

    def label(self, value: Any) -> str | None:
        """The group that a value names; None for a missing one, or one without a date where there are bins."""
        if value is None or isinstance(value, bool | dict | list):
            return str(value).lower() if isinstance(value, bool) and self.bins is None else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = " ".join(str(value).split())
        if not text or self.bins is None:
            return text or None
        if self.bins == "month":
            month = MONTH.search(text)
            return month[0] if month else None
        year = YEAR.search(text)
        return None if year is None else _bin(int(year[1]), self.bins)


def _bin(year: int, bins: str) -> str:
    if bins == "year":
        return str(year)
    span = SPANS.get(bins) or int(bins)
    first = year - year % span
    return f"{first}s" if bins == "decade" else f"{first}-{first + span - 1}"


def in_order(names: set[str]) -> list[str]:
    """Names of groups as people sort them: numbers by their value, so that groups of time are a timeline."""

    def parts(name: str) -> list[tuple[bool, int, str]]:
        return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in PARTS.split(name)]

    return sorted(names, key=parts)
