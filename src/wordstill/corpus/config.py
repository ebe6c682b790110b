"""Settings for preparing text, and the groups of its documents."""

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
    """How to find the group of a document.

    Args:
        kind: By a field (of JSONL, or a column of CSV or Parquet), the folder of its file, or the file's path.
        name: The field's name, or the regular expression to search in the path.
        bins: Bins for dates: ``month``, ``year``, ``decade``, ``century`` or a number of years.
    """

    kind: Kind
    name: str = ""
    bins: str | None = None

    @classmethod
    def parse(cls, text: str, bins: str | None = None) -> Grouping:
        """Parse ``FIELD``, ``field:FIELD``, ``folder`` or ``file:REGEX``."""
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
        """The field with the group; None if it comes from the path."""
        return self.name if self.kind == "field" else None

    def of_source(self, source: str) -> str | None:
        """The group of a file, from its path; None if there is no match."""
        if self.kind == "folder":
            found = PurePath(source).parent.name
        else:
            match = re.search(self.name, source.replace("\\", "/"))
            found = "" if match is None else match[1] if match.re.groups else match[0]
        return self.label(found)

    def label(self, value: Any) -> str | None:
        """The group named by a value; None if it is missing, or has no date to put into bins."""
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
    """Names of groups in natural order: numbers by value, so that dates are a timeline."""

    def parts(name: str) -> list[tuple[bool, int, str]]:
        return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in PARTS.split(name)]

    return sorted(names, key=parts)


@dataclass(frozen=True)
class PrepareConfig(Config):
    """Settings of :func:`wordstill.corpus.prepare`; the defaults suit plain text."""

    format: InputFormat = "auto"
    """Format of the input files; ``auto`` detects it by the name and first bytes of each."""

    field: str = "text"
    """JSONL field, or CSV or Parquet column, with the text."""

    sentences_per_line: bool = False
    """Every line is one sentence and an empty line ends a paragraph. Otherwise every line is a paragraph."""

    filter: str = "none"
    """Which paragraphs to keep: a name in :data:`wordstill.corpus.filters.FILTERS`."""

    share: Annotated[float, Range(0, 1, above=True)] = 1.0
    """Share of the paragraphs to keep; chosen by their content, so that a smaller share is a subset of a larger one."""

    language: str | None = None
    """Keep only paragraphs in this language (ISO 639-1, such as ``en``); None keeps all."""

    splitter_language: str = "en"
    """Language of the rules of the default sentence splitter."""

    segmenter: str = "words"
    """How to split text into words: a name in :data:`wordstill.corpus.segment.SEGMENTERS`, such as ``chinese``."""

    errors: DecodingErrors = "strict"
    """Undecodable bytes stop the run (``strict``) or become U+FFFD (``replace``)."""

    encoding: str = "utf-8"
    """Character encoding of text, JSONL and CSV files."""

    group: str | None = None
    """What to group documents by: a JSONL field or CSV or Parquet column (``party``, ``field:party``), ``folder``, or a
    pattern in the file's path (``file:REGEX``); None makes no groups."""

    bins: str | None = None
    """Bins for groups that are dates: ``month``, ``year``, ``decade``, ``century`` or a number of years."""

    documents: bool = False
    """Whether the store records which document each paragraph is from; implied by ``group``. A document is a row, a
    page, or plain text between empty lines (with ``sentences_per_line``, the whole file)."""

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
        """How to find the group of a document; None makes no groups."""
        return None if self.group is None else Grouping.parse(self.group, self.bins)

    @property
    def keeps_documents(self) -> bool:
        """Whether the store records documents."""
        return self.documents or self.group is not None
