"""Raw pieces of input on their way from the reading process to the working ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

PartKind = Literal["text", "jsonl", "documents", "mediawiki"]


@dataclass(frozen=True)
class Part:
    """Whole lines of one file.

    The lines are paragraphs or sentences (``text``), JSON objects (``jsonl``), or JSON strings, each the text
    of a document (``documents``) or of a page with its markup (``mediawiki``).
    """

    kind: PartKind
    source: str
    first_line: int
    payload: bytes
    consumed: int = 0
    """Bytes of input, as stored and over all files, that were read when this part was complete."""


@dataclass(frozen=True)
class Block:
    """The unit of work: parts of about equal size together, so that many small files make few blocks."""

    index: int
    parts: tuple[Part, ...]

    @property
    def consumed(self) -> int:
        """Bytes of input that were read up to the end of this block."""
        return self.parts[-1].consumed

    def digest(self) -> str:
        """Identifies the content, wherever it was read from."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(f"{part.kind} {len(part.payload)}\n".encode())
            digest.update(part.payload)
        return digest.hexdigest()


def group_parts(parts: Iterable[Part], block_bytes: int) -> Iterator[Block]:
    """Put parts together until they have ``block_bytes``."""
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
