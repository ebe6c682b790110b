"""Settings of the preparation of a text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from wordstill.core.settings import Config, Range
from wordstill.corpus.division.grouping import Grouping
from wordstill.corpus.filters import get_filter
from wordstill.corpus.segmenters import SEGMENTERS
from wordstill.errors import UsageError, unknown_name

InputFormat = Literal["auto", "text", "jsonl", "csv", "conllu", "parquet", "mediawiki"]
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[a-z]{2,8})*", re.IGNORECASE)
DecodingErrors = Literal["strict", "replace"]


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
    """How words are found: a name of :data:`wordstill.corpus.segmenters.SEGMENTERS`, such as ``chinese``."""

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
