"""Settings of the preparation of a text, and the groups that its documents belong to."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Literal

from wordstill.core.settings import Config, Range
from wordstill.corpus.filters import get_filter
from wordstill.corpus.segment import SEGMENTERS
from wordstill.errors import UsageError, unknown_name

Kind = Literal["field", "folder", "file"]
MOST_GROUPS = 1000
YEAR = re.compile(r"(?<!\d)(\d{4})(?!\d)")
MONTH = re.compile(r"(?<!\d)(\d{4})-(\d{2})(?!\d)")
PARTS = re.compile(r"([0-9]+)")
SPANS = {"year": 1, "decade": 10, "century": 100}
InputFormat = Literal["auto", "text", "jsonl", "csv", "conllu", "parquet", "mediawiki"]
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[a-z]{2,8})*", re.IGNORECASE)
DecodingErrors = Literal["strict", "replace"]


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


@dataclass(frozen=True)
class PrepareConfig(Config):
    """Settings of :func:`wordstill.corpus.prepare`; every field has a default that suits plain text."""

    format: InputFormat = "auto"
    """Format of the input files; ``auto`` goes by the name and the first bytes of each."""

    field: str = "text"
    """JSONL field, or CSV or Parquet column, that holds the text."""

    sentences_per_line: bool = False
    """Every line is one sentence and an empty line ends a paragraph. Otherwise every line is a paragraph."""

    filter: str = "none"
    """Which paragraphs are kept: a name of :data:`wordstill.corpus.filters.FILTERS`."""

    share: Annotated[float, Range(0, 1, above=True)] = 1.0
    """Which share of the paragraphs is kept: by their content, so that a smaller share is part of a larger one."""

    language: str | None = None
    """Keep only paragraphs in this language (ISO 639-1, such as ``en``); None keeps all."""

    splitter_language: str = "en"
    """Language whose abbreviations and full stops the default sentence splitter knows."""

    segmenter: str = "words"
    """How words are found: a name of :data:`wordstill.corpus.segment.SEGMENTERS`, such as ``chinese``."""

    errors: DecodingErrors = "strict"
    """Undecodable bytes stop the run (``strict``) or become U+FFFD (``replace``)."""

    encoding: str = "utf-8"
    """Character encoding of text, JSONL and CSV files."""

    group: str | None = None
    """Which group each document belongs to: a JSONL field or CSV or Parquet column (``party``, ``field:party``),
    ``folder``, or a pattern in the file's path (``file:REGEX``); None keeps none."""

    bins: str | None = None
    """Groups are dates, put into bins: ``month``, ``year``, ``decade``, ``century`` or a number of years."""

    documents: bool = False
    """Whether the store keeps which document each paragraph is from; it always does with ``group``. A document is a
    row, a page, or what stands between empty lines of plain text (with ``sentences_per_line`` the whole file)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        get_filter(self.filter)
        if self.bins is not None and self.group is None:
            raise UsageError(f"bins={self.bins!r} needs a group: name the field of the date with --group (group=).")
        _ = self.grouping
        if self.segmenter not in SEGMENTERS:
            raise unknown_name("segmenter", self.segmenter, SEGMENTERS)
        if not LANGUAGE_CODE.fullmatch(self.splitter_language):
            raise UsageError(
                f"splitter_language must be a code such as en or pt-br; got {self.splitter_language!r}. "
                "Sentences of languages without rules of their own are split by the usual marks."
            )
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise UsageError(
                f"Unknown encoding {self.encoding!r}; Python knows names such as utf-8, latin-1, cp1252."
            ) from error

    @property
    def grouping(self) -> Grouping | None:
        """How a document's group is found; None keeps no groups."""
        return None if self.group is None else Grouping.parse(self.group, self.bins)

    @property
    def keeps_documents(self) -> bool:
        """Whether the store keeps documents."""
        return self.documents or self.group is not None
