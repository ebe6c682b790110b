"""Readers of input files, one per format: from a source to parts of whole lines, about as large as a block."""

from __future__ import annotations

import codecs
import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain

from wordstill.core.contained import contained
from wordstill.core.guard import Limits, reading
from wordstill.core.parquet_rows import parquet_tasks, parquet_texts
from wordstill.core.threads import OrderedPool
from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.conllu import SUFFIX as CONLLU_SUFFIX
from wordstill.corpus.conllu import conllu_texts
from wordstill.corpus.mediawiki import read_pages
from wordstill.corpus.paragraphs import MAX_PARAGRAPH_LINES, Part, PartKind, is_empty, last_empty_line
from wordstill.corpus.sources import LIMITS, Source, Stream
from wordstill.errors import DataError, MissingExtra

BINARY_PROBE_BYTES = 1 << 13
UTF8_MARK = codecs.BOM_UTF8
PARQUET_MAGIC = b"PAR1"
DELIMITERS = ",;\t|"
TOO_LONG = "larger than field limit"
"""Part of the message of `csv` for a field over its limit."""
PARQUET_RATIO = 1000
"""Limit of decompression: repeated rows take almost no space in a file."""
PARQUET_THREADS = 4
"""Maximum processes to read one file."""
KIND_OF_SUFFIX = {
    ".csv": "csv", ".tsv": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "text", ".parquet": "parquet", CONLLU_SUFFIX: "conllu"
}  # fmt: skip
MARKUP = {
    "HTML": ((b"<!doctype html", b"<html"), (".html", ".htm", ".xhtml")),
    "PDF": ((b"%pdf-",), (".pdf",)),
    "RTF": ((b"{\\rtf",), (".rtf",)),
    "XML": ((b"<?xml",), (".xml",)),
}
"""Formats that are not plain text but may look like it: first bytes and suffixes."""


def read_parts(sources: Sequence[Source], config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    """The content of all sources in order, in parts of about ``part_bytes`` that end at line ends."""
    before = 0
    for source in sources:
        with source.open() as stream:
            kind = config.format if config.format != "auto" else detect_kind(stream)
            parts = READERS[kind](stream, config, part_bytes)
            while True:
                # Not around the yield: errors of the consumer are not reading errors.
                with reading(source.name):
                    part = next(parts, None)
                if part is None:
                    break
                yield replace(part, consumed=before + stream.consumed)
        before += source.size or 0


def detect_kind(stream: Stream) -> str:
    """The format of a file by its first bytes and its name; a JSON array is refused, because it cannot be streamed."""
    head = stream.head
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if b"<mediawiki" in head[:BINARY_PROBE_BYTES]:
        return "mediawiki"
    _refuse_markup(stream)
    named = KIND_OF_SUFFIX.get(stream.source.suffix)
    if named:
        return named
    first_line = head.removeprefix(UTF8_MARK).lstrip().split(b"\n", 1)[0]
    if stream.source.suffix == ".json" and first_line.startswith(b"["):
        raise DataError(f"{stream.source.name} is one JSON array. Write it as JSON lines, one object on each.")
    return "jsonl" if _is_json_object(first_line) else "text"


def _refuse_markup(stream: Stream) -> None:
    start = stream.head.removeprefix(UTF8_MARK).lstrip()[:32].lower()
    for kind, (beginnings, suffixes) in MARKUP.items():
        if start.startswith(beginnings) or stream.source.suffix in suffixes:
            raise DataError(
                f"{stream.source.name} is {kind}, whose markup would be taken for words. Convert it to plain text "
                "first, or use --format text (format='text') to read it as it is."
            )


def _is_json_object(line: bytes) -> bool:
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _read_lines(kind: PartKind, stream: Stream, config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    if config.format == "auto":
        _refuse_binary(stream, config)
    cut = _paragraph_cut if kind == "text" and config.sentences_per_line else _line_cut
    line, document, held = 1, 0, b""
    for chunk in _utf8_chunks(stream, config, part_bytes):
        held += chunk
        if len(held) < part_bytes:
            continue
        end = cut(held)
        if end:
            yield Part(kind, stream.source.name, line, held[:end], document=document)
            if config.keeps_documents:
                document = last_empty_line(held[:end], line) or document
            line += held.count(b"\n", 0, end)
            held = held[end:]
        elif b"\n" not in held:
            stream.limits.refuse("line_bytes", len(held), f"{stream.source.name}:{line}: the line has")
    if held:
        yield Part(kind, stream.source.name, line, held, document=document)


def _read_parquet(stream: Stream, config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    return _documents("documents", stream, read_column(stream, config.field, _group_field(config)), part_bytes)


def _read_csv(stream: Stream, config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    chunks = _utf8_chunks(stream, config, part_bytes)
    texts = column_texts(chunks, stream.source.name, config.field, config.errors, _group_field(config))
    return _documents("documents", stream, texts, part_bytes)


def _read_conllu(stream: Stream, config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    name = stream.source.name
    lines = text_lines(_utf8_chunks(stream, config, part_bytes), name, config.errors)
    return _documents(
        "documents", stream, conllu_texts(lines, name, sentences_per_line=config.sentences_per_line), part_bytes
    )


def _group_field(config: PrepareConfig) -> str | None:
    return None if config.grouping is None else config.grouping.field


def _read_mediawiki(stream: Stream, config: PrepareConfig, part_bytes: int) -> Iterator[Part]:
    return _documents("mediawiki", stream, read_pages(stream), part_bytes)


def _documents(
    kind: PartKind, stream: Stream, texts: Iterable[str | bytes | list[str]], part_bytes: int
) -> Iterator[Part]:
    held: list[bytes] = []
    size, number = 0, 1
    for text in texts:
        # As JSON, because a text may contain line feeds.
        held.append(text if isinstance(text, bytes) else json.dumps(text, ensure_ascii=False).encode())
        size += len(held[-1])
        if size >= part_bytes:
            yield Part(kind, stream.source.name, number, b"\n".join(held))
            number += len(held)
            held, size = [], 0
    if held:
        yield Part(kind, stream.source.name, number, b"\n".join(held))


def _utf8_chunks(stream: Stream, config: PrepareConfig, chunk_bytes: int) -> Iterator[bytes]:
    """The stream in UTF-8; input declared as UTF-8 is passed on unchecked, without its byte-order mark."""
    encoding = codecs.lookup(config.encoding).name
    if encoding in ("utf-8", "utf-8-sig"):
        yield stream.read(max(chunk_bytes, len(UTF8_MARK))).removeprefix(UTF8_MARK)
        yield from iter(lambda: stream.read(chunk_bytes), b"")
        return
    decoder = codecs.getincrementaldecoder(encoding)(config.errors)
    position = 0
    while True:
        chunk = stream.read(chunk_bytes)
        try:
            yield decoder.decode(chunk, final=not chunk).encode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{stream.source.name}: the bytes near offset {position + error.start} are not {encoding} "
                f"({error.reason}). Set another one with --encoding (encoding=), or insert U+FFFD with "
                "--errors replace (errors='replace')."
            ) from None
        if not chunk:
            return
        position += len(chunk)


def _refuse_binary(stream: Stream, config: PrepareConfig) -> None:
    encoding = codecs.lookup(config.encoding).name
    offset = stream.head.find(b"\x00", 0, BINARY_PROBE_BYTES)
    if offset < 0 or encoding.startswith(("utf-16", "utf-32")):
        return
    if stream.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        advice = "It begins like UTF-16: give --encoding utf-16 (encoding='utf-16')."
    else:
        advice = "Leave it out, or give --format text (format='text') if it is text nevertheless."
    raise DataError(f"{stream.source.name} looks binary: it has a zero byte at offset {offset}. {advice}")


def _line_cut(held: bytes) -> int:
    """Where to cut after whole lines; 0 if there is no line end yet."""
    return held.rfind(b"\n") + 1


def _paragraph_cut(held: bytes) -> int:
    """Where to cut after whole paragraphs of one sentence per line; a long paragraph may be cut too."""
    end = held.rfind(b"\n")
    while end >= 0:
        start = held.rfind(b"\n", 0, end)
        if is_empty(held[start + 1 : end]):
            return end + 1
        end = start
    whole_lines = held.count(b"\n") // MAX_PARAGRAPH_LINES * MAX_PARAGRAPH_LINES
    end = -1
    for _ in range(whole_lines):
        end = held.find(b"\n", end + 1)
    return end + 1


def column_texts(
    chunks: Iterable[bytes], name: str, column: str, errors: str, group: str | None = None
) -> Iterator[str | list[str]]:
    """The texts of a CSV column in order, each with its value in the column ``group`` if one is given.

    Rows without text are skipped.

    Args:
        chunks: The file in UTF-8. Its first row has the titles; the separator is the most frequent one in it.
        name: File name, for messages.
        column: Title of the column.
        errors: How to handle undecodable bytes, as in `bytes.decode`.
        group: Title of the column with each row's group.

    Raises:
        DataError: There is no such column, or a row has more or fewer fields than the first.
    """
    limits = Limits.chosen(**LIMITS)
    # csv's own limit of 131,072 characters is too short for documents.
    before = csv.field_size_limit(limits.line_bytes)
    lines = text_lines(chunks, name, errors)
    try:
        first = next(lines, "")
        delimiter = max(DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
        head = [title.strip() for title in next(rows, [])]
        for wanted, option in ((column, "field"), (group, "group")):
            if wanted is not None and wanted not in head:
                raise DataError(
                    f"{name}: no column {wanted!r}. The first line names: {', '.join(map(repr, head)) or 'nothing'}. "
                    f"Choose one with --{option} ({option}=)."
                )
        place, group_place = head.index(column), None if group is None else head.index(group)
        for row in rows:
            if row and len(row) != len(head):
                raise DataError(
                    f"{name}:{rows.line_num}: {len(row)} fields, expected {len(head)} as in the first line. "
                    "Quote fields that contain the separator or a line break."
                )
            if row and row[place]:
                yield row[place] if group_place is None else [row[place], row[group_place]]
    except csv.Error as error:
        if TOO_LONG in str(error):
            limits.refuse("line_bytes", limits.line_bytes + 1, f"{name}:{rows.line_num}: a field has", "characters")
        raise DataError(f"{name}:{rows.line_num}: not well-formed CSV ({error}). Correct the quotes.") from None
    finally:
        csv.field_size_limit(before)


def text_lines(chunks: Iterable[bytes], name: str, errors: str) -> Iterator[str]:
    """Decoded lines with their line ends, which csv needs inside fields; ``errors`` as in `bytes.decode`."""
    decoder, held, limits = codecs.getincrementaldecoder("utf-8")(errors), "", Limits.chosen(**LIMITS)
    try:
        for chunk in chunks:
            *whole, held = (held + decoder.decode(chunk)).split("\n")
            limits.refuse("line_bytes", len(held), f"{name}: a line has")
            yield from (f"{line}\n" for line in whole)
        if held := held + decoder.decode(b"", final=True):
            yield held
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: not UTF-8 ({error.reason}). Set the encoding with --encoding (encoding=), or insert U+FFFD "
            "with --errors replace (errors='replace')."
        ) from None


def read_column(
    stream: Stream, column: str, group: str | None = None, *, task_bytes: int = 8 << 20, ahead_bytes: int = 24 << 20
) -> Iterator[bytes]:
    """The texts of a Parquet column in order, as JSON, with their values in ``group``; rows without text are skipped.

    Arrow reads row groups in child processes, which damaged data may crash: each task has at least ``task_bytes``, and
    reads at most ``ahead_bytes`` before its turn.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtra("pyarrow", "distill", "Reading Parquet files")
    name, limits = stream.source.name, replace(stream.limits, ratio=stream.limits.ratio or PARQUET_RATIO)
    if stream.source.path is None or stream.codec:
        raise DataError(f"{name}: Parquet must be read from an uncompressed file, not from a pipe.")
    size, unpacked = stream.source.size or 0, 0
    asked = {"path": str(stream.source.path), "name": name, "column": column, "group": group}
    tasks = json.loads(b"".join(contained(parquet_tasks, {**asked, "least": task_bytes}, name, limits)))

    def begun(groups: list[int]) -> Iterator[bytes]:
        """The messages of some row groups, of which the first ``ahead_bytes`` are read at once."""
        messages, held, size = contained(parquet_texts, {**asked, "groups": groups}, name, limits), [], 0
        while size < ahead_bytes and (message := next(messages, b"")):
            held.append(message)
            size += len(message)
        return chain(held, messages)

    threads = min(os.cpu_count() or 1, PARQUET_THREADS)
    with closing(OrderedPool(begun, threads).map(tasks)) as read:
        for message in chain.from_iterable(read):
            share, _, lines = message.partition(b"\n")
            stream.position = size * int(share) // 1000
            unpacked += len(lines)
            limits.check(name, unpacked, size)
            yield from lines.split(b"\n") if lines else ()


READERS: dict[str, Callable[[Stream, PrepareConfig, int], Iterator[Part]]] = {
    "text": partial(_read_lines, "text"),
    "jsonl": partial(_read_lines, "jsonl"),
    "csv": _read_csv,
    "conllu": _read_conllu,
    "parquet": _read_parquet,
    "mediawiki": _read_mediawiki,
}
