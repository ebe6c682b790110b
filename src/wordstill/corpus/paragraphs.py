"""From raw input to paragraphs: parts and blocks of files, decoded as lines, JSON or markup."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.mediawiki import prose
from wordstill.errors import DataError

PartKind = Literal["text", "jsonl", "documents", "mediawiki"]
Paragraph = list[str]
"""Lines of one paragraph."""
MAX_PARAGRAPH_LINES = 1000
"""With one sentence per line, a paragraph is cut after this many lines: some files have no empty ones."""
ASCII_BLANKS = " \t\r\f\v"


@dataclass(frozen=True)
class Part:
    """Whole lines of one file.

    A line is a paragraph or sentence (``text``), a JSON object (``jsonl``), or a JSON string with the text of a
    document (``documents``; with groups, a list of the text and the value of its group) or the markup of a page
    (``mediawiki``).
    """

    kind: PartKind
    source: str
    first_line: int
    payload: bytes
    consumed: int = 0
    """Stored bytes of all input read up to the end of this part."""
    document: int = 0
    """For plain text: the number of the last empty line before this part, which identifies its first document."""


@dataclass(frozen=True)
class Block:
    """A unit of work: parts grouped to about equal size, so that many small files make few blocks."""

    index: int
    parts: tuple[Part, ...]

    @property
    def consumed(self) -> int:
        """Bytes of input read up to the end of this block."""
        return self.parts[-1].consumed

    def digest(self) -> str:
        """SHA-256 of the content, independent of file names."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(f"{part.kind} {len(part.payload)}\n".encode())
            digest.update(part.payload)
        return digest.hexdigest()


def group_parts(parts: Iterable[Part], block_bytes: int) -> Iterator[Block]:
    """Group parts into blocks of at least ``block_bytes``."""
    index, size = 0, 0
    held: list[Part] = []
    for part in parts:
        held.append(part)
        size += len(part.payload)
        if size >= block_bytes:
            yield Block(index, tuple(held))
            index, size, held = index + 1, 0, []
    if held:
        yield Block(index, tuple(held))


class Document(NamedTuple):
    """A document or a part of one: plain text between empty lines, a row, or a page."""

    number: int
    """The same for all parts of a document, and different for consecutive documents."""
    group: str | None
    lines: Iterable[str]

    def paragraphs(self, config: PrepareConfig) -> Iterable[Paragraph]:
        """Its paragraphs; without ``sentences_per_line``, each line is one. Lines can be empty."""
        return _group_lines(self.lines) if config.sentences_per_line else ([line] for line in self.lines)


def read_paragraphs(block: Block, config: PrepareConfig) -> Iterator[Paragraph]:
    """The paragraphs of a block."""
    for document in read_documents(block, config):
        yield from document.paragraphs(config)


def read_documents(block: Block, config: PrepareConfig) -> Iterator[Document]:
    """The documents of a block in order, with their groups if there are any."""
    grouping = config.grouping
    for part in block.parts:
        file = int.from_bytes(hashlib.blake2b(part.source.encode(), digest_size=8).digest())
        group = grouping.of_source(part.source) if grouping and grouping.field is None else None
        for row, value, lines in _TEXTS[part.kind](part, config):
            if grouping and grouping.field is not None:
                group = grouping.label(value)
            yield Document((file + row) % (1 << 64), group, lines)


def _group_lines(lines: Iterable[str]) -> Iterator[Paragraph]:
    held: Paragraph = []
    for line in lines:
        empty = is_empty(line)
        if not empty:
            held.append(line)
        if held and (empty or len(held) == MAX_PARAGRAPH_LINES):
            yield held
            held = []
    if held:
        yield held


_Text = tuple[int, Any, Iterable[str]]
"""Number of a document, the value of its group, and its lines."""


def _text_lines(part: Part, config: PrepareConfig) -> Iterator[_Text]:
    if config.sentences_per_line or not config.keeps_documents:
        yield 0, None, (line for _, line in _decoded_lines(part, config))
        return
    document = part.document
    held: list[str] = []
    for number, line in _decoded_lines(part, config):
        if is_empty(line):
            yield document, None, held
            document, held = number, []
        else:
            held.append(line)
    yield document, None, held


def last_empty_line(payload: bytes, first_line: int) -> int | None:
    """The number of the last empty line of some whole lines."""
    lines = payload.removesuffix(b"\n").split(b"\n")
    found = (number for number in reversed(range(len(lines))) if is_empty(lines[number]))
    return next((first_line + number for number in found), None)


def is_empty(line: str | bytes) -> bool:
    """Whether a line has only ASCII spaces; other spaces count as text."""
    return not (line.strip(ASCII_BLANKS) if isinstance(line, str) else line.strip(ASCII_BLANKS.encode()))


def _jsonl_texts(part: Part, config: PrepareConfig) -> Iterator[_Text]:
    grouping = config.grouping
    field = None if grouping is None else grouping.field
    for number, line in _decoded_lines(part, config):
        if line.strip():
            where = f"{part.source}:{number}"
            record = _json_object(line, config.field, where)
            value = None if field is None else _group_value(record, field, where)
            text = _without_surrogates(_json_field(record, config.field, where), config, where)
            yield number, value, text.split("\n")


def _document_texts(part: Part, config: PrepareConfig) -> Iterator[_Text]:
    for number, line in enumerate(part.payload.split(b"\n"), part.first_line):
        content = json.loads(line)
        text, value = content if isinstance(content, list) else (content, None)
        yield number, value, _without_surrogates(text, config, part.source).split("\n")


def _page_texts(part: Part, config: PrepareConfig) -> Iterator[_Text]:
    for number, line in enumerate(part.payload.split(b"\n"), part.first_line):
        yield number, None, prose(json.loads(line))


_TEXTS: dict[str, Callable[[Part, PrepareConfig], Iterator[_Text]]] = {
    "text": _text_lines,
    "jsonl": _jsonl_texts,
    "documents": _document_texts,
    "mediawiki": _page_texts,
}


def _decoded_lines(part: Part, config: PrepareConfig) -> Iterator[tuple[int, str]]:
    """Numbered lines, decoded one by one, because one wide character would make a decoded block four times as large."""
    for number, line in enumerate(part.payload.split(b"\n"), part.first_line):
        try:
            yield number, line.decode("utf-8", config.errors)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{part.source}:{number}: byte {error.start + 1} of the line, {line[error.start]:#04x}, is "
                f"not UTF-8 ({error.reason}). Set the file's encoding with --encoding (encoding=), or insert "
                "U+FFFD with --errors replace (errors='replace')."
            ) from None


def _json_object(line: str, field: str, where: str) -> dict[str, Any]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not a line of JSON ({error}). Fix or remove the line.") from None
    if not isinstance(record, dict):
        raise DataError(f"{where}: expected a JSON object with the field {field!r}, got {type(record).__name__}.")
    return record


def _group_value(record: dict[str, Any], field: str, where: str) -> Any:
    if field not in record:
        raise DataError(
            f"{where}: no field {field!r} to group by. Available fields: {_names(record)}. Choose one with --group "
            "(group=), or write null where a document has no group."
        )
    return record[field]


def _json_field(record: dict[str, Any], field: str, where: str) -> str:
    if field not in record:
        there = _names(record)
        raise DataError(f"{where}: no field {field!r}. Available fields: {there}. Choose one with --field (field=).")
    text = record[field]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise DataError(f"{where}: the field {field!r} holds {type(text).__name__}, expected text.")
    return text


def _names(record: dict[str, Any]) -> str:
    return ", ".join(map(repr, islice(record, 20))) or "none"


def _without_surrogates(text: str, config: PrepareConfig, where: str) -> str:
    """Text without lone surrogates, which JSON can contain but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if config.errors == "strict":
            raise DataError(
                f"{where}: character {error.start} of the text is half of a surrogate pair "
                f"({text[error.start]!a}). Insert U+FFFD with --errors replace (errors='replace')."
            ) from None
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
