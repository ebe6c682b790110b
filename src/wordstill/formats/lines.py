"""Lines of text: blocks of them in bounded memory, and the numbers that they end in."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wordstill.errors import FormatError

BLOCK_BYTES = 8 << 20
MAX_LINE_BYTES = 64 << 20
"""Room for a word and some millions of numbers; what is longer is no line of vectors."""

LINE_END = b" \r\n"
NUMBER = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf(?:inity)?)", re.IGNORECASE
)


def skip_mark(handle: io.BufferedReader) -> None:
    """Skip the byte-order mark that some editors put before UTF-8 text."""
    if handle.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        handle.read(len(codecs.BOM_UTF8))


def mark_before(word: str) -> bytes:
    """What stands before a word that begins a file: a mark if it has one itself, since reading skips one."""
    return codecs.BOM_UTF8 if word.startswith(codecs.BOM_UTF8.decode()) else b""


def line_blocks(path: Path, handle: IO[bytes]) -> Iterator[list[bytes]]:
    """Lists of whole lines without their line feeds, about BLOCK_BYTES long each; none of them is empty."""
    held = b""
    number = 1
    while chunk := handle.read(BLOCK_BYTES):
        *lines, rest = chunk.split(b"\n")
        if rest and len(chunk) < BLOCK_BYTES:
            # The file ends here, without a line feed.
            lines.append(rest)
            rest = b""
        if lines:
            lines[0] = held + lines[0]
            yield lines
            number += len(lines)
            held = rest
        else:
            held += rest
        if len(held) > MAX_LINE_BYTES:
            raise FormatError(
                f"{path}:{number}: the line has more than {MAX_LINE_BYTES:,} bytes; "
                "lines of vectors are shorter. The file is damaged or of another kind."
            )
    if held:
        yield [held]


def count_numbers(line: bytes) -> int:
    """How many numbers a line ends in, not counting its first piece, which is the word or its beginning."""
    count = 0
    for piece in reversed(line.rstrip(LINE_END).split(b" ")[1:]):
        if not NUMBER.fullmatch(piece):
            break
        count += 1
    return count
