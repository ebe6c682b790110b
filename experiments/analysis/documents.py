"""Documents for studies of folds and groups: runs of lines, because large texts do not mark documents."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from experiments.record import result_parser
from wordstill.core.text_io import open_bytes

DOCUMENT_WORDS = 400


def study_parser(module: str, description: str | None, work: str) -> argparse.ArgumentParser:
    """The arguments that studies over documents of one text share."""
    parser = result_parser(module, description, "analysis")
    parser.add_argument("text", type=Path, help="one paragraph on each line, compressed or not")
    parser.add_argument("--words", type=int, default=400_000, help="words of the text that are taken")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path(work), help="folder for text and tables")
    return parser


def documents(text: Path, words: int, skip: int = 0) -> list[str]:
    """Runs of paragraphs of at least 400 words, until there are so many words; the first ones can be skipped."""
    found, total = [], 0
    for document in islice(_runs(text), skip, None):
        found.append(document)
        total += len(document.split())
        if total >= words:
            break
    return found


def _runs(text: Path) -> Iterator[str]:
    held: list[str] = []
    size = 0
    with open_bytes(text) as reader:
        rest = b""
        while chunk := reader.read(1 << 20):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                held.append(line.decode().strip())
                size += len(held[-1].split())
                if size >= DOCUMENT_WORDS:
                    yield "\n".join(held)
                    held, size = [], 0
