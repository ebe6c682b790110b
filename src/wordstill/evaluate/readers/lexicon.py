"""Lexicons: a word and the words that belong to it."""

from __future__ import annotations

from pathlib import Path

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import filled_lines

Lexicon = dict[str, tuple[str, ...]]


def read_lexicon(path: Path) -> Lexicon:
    """``word neighbour neighbour …`` on each line; an entry may have no neighbours.

    A word that stands on several lines keeps the neighbours of all of them.
    """
    entries: Lexicon = {}
    for _, line in filled_lines(path):
        word, *neighbours = line.split()
        entries[word] = tuple(dict.fromkeys((*entries.get(word, ()), *neighbours)))
    if not entries:
        raise DataError(f"{path} holds no entries. Expected lines of 'word neighbour …'.")
    return entries
