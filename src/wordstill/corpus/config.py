"""Settings of the preparation of a text."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal

from wordstill.core.settings import Config
from wordstill.corpus.filters import get_filter
from wordstill.errors import UsageError

InputFormat = Literal["auto", "text", "jsonl", "parquet", "mediawiki"]
DecodingErrors = Literal["strict", "replace"]


@dataclass(frozen=True)
class PrepareConfig(Config):
    """Settings of :func:`wordstill.corpus.prepare`; every field has a default that suits plain text."""

    format: InputFormat = "auto"
    """Format of the input files; ``auto`` goes by the name and the first bytes of each."""

    field: str = "text"
    """JSONL field or Parquet column that holds the text."""

    sentences_per_line: bool = False
    """Every line is one sentence and an empty line ends a paragraph. Otherwise every line is a paragraph."""

    filter: str = "none"
    """Which paragraphs are kept: a name of :data:`wordstill.corpus.filters.FILTERS`."""

    language: str | None = None
    """Keep only paragraphs in this language (ISO 639-1, such as ``en``); None keeps all."""

    splitter_language: str = "en"
    """Language whose abbreviations and full stops the default sentence splitter knows."""

    errors: DecodingErrors = "strict"
    """Undecodable bytes stop the run (``strict``) or become U+FFFD (``replace``)."""

    encoding: str = "utf-8"
    """Character encoding of text and JSONL files."""

    def __post_init__(self) -> None:
        super().__post_init__()
        get_filter(self.filter)
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise UsageError(
                f"Unknown encoding {self.encoding!r}; Python knows names such as utf-8, latin-1, cp1252."
            ) from error
