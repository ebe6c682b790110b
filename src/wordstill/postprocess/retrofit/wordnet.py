"""Lexicons from a WordNet database: a folder with ``data.noun``, ``data.verb``, ``data.adj``, ``data.adv``.

A line is ``offset file type words (word number)... pointers (symbol offset type source-target)... | gloss``;
the number of words and both ends of a pointer are hexadecimal, and a pointer with the ends 0000 is between
whole synsets. See wndb(5WN) of Princeton WordNet 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wordstill.errors import DataError
from wordstill.postprocess.retrofit.lexicon import Lexicon, Link
from wordstill.postprocess.retrofit.lines import numbered_lines
from wordstill.postprocess.retrofit.relations import Relation, across, checked_relations, mutual, spelt

FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
HYPERNYMS = ("@", "@i")
ANTONYM = "!"
SATELLITE = "s"
MARKER = re.compile(r"\((a|p|ip)\)$")
"""Where an adjective may stand; written after it."""


def read_wordnet(folder: Path, relations: Sequence[str] = ("synonyms",)) -> Lexicon:
    """Read a WordNet database folder.

    Args:
        folder: The folder with the data files, or one with a folder ``dict`` of them.
        relations: ``synonyms`` links the words of a synset, ``hypernyms`` those of a synset and of the ones
            directly above it, ``antonyms`` words that are marked as opposites.
    """
    wanted = checked_relations(relations)
    place = folder if is_wordnet(folder) else folder / "dict"
    if not is_wordnet(place):
        raise DataError(f"{folder} is no WordNet database: it has none of the files {', '.join(FILES)}.")
    synsets = {synset.key: synset for name in FILES for synset in _synsets(place / name)}
    origin = {"wordnet": folder.name, "relations": list(wanted)}
    lexicon = Lexicon.from_links(_links(synsets, wanted), origin)
    if not len(lexicon):
        raise DataError(f"The WordNet database {folder} links no words by {' or '.join(wanted)}.")
    return lexicon


def is_wordnet(folder: Path) -> bool:
    """Whether a folder has a data file of a WordNet database."""
    return any((folder / name).is_file() for name in FILES)


@dataclass(frozen=True)
class _Pointer:
    symbol: str
    target: tuple[str, str]
    ends: tuple[int, int]
    """Which word points to which, counted from 1; 0 for the whole synset."""


@dataclass(frozen=True)
class _Synset:
    key: tuple[str, str]
    """Part of speech and offset."""
    lemmas: tuple[str, ...]
    pointers: tuple[_Pointer, ...]
    place: str


def _synsets(path: Path) -> Iterator[_Synset]:
    if not path.is_file():
        return
    for number, line in numbered_lines(path):
        # The licence at the top is indented by two blanks.
        if not line.strip() or line.startswith("  "):
            continue
        place = f"{path}:{number}"
        try:
            yield _parsed(line.partition("|")[0].split(), place)
        except (ValueError, IndexError):
            raise DataError(f"{place}: not a line of a WordNet data file: {line[:80]!r}.") from None


def _parsed(fields: list[str], place: str) -> _Synset:
    count = int(fields[3], 16)
    after = 4 + 2 * count
    lemmas = tuple(spelt(MARKER.sub("", fields[place])) for place in range(4, after, 2))
    rest = fields[after + 1 :]
    pointers = tuple(
        _Pointer(
            rest[start],
            (_part(rest[start + 2]), rest[start + 1]),
            (int(rest[start + 3][:2], 16), int(rest[start + 3][2:], 16)),
        )
        for start in range(0, 4 * int(fields[after]), 4)
    )
    return _Synset((_part(fields[2]), fields[0]), lemmas, pointers, place)


def _part(kind: str) -> str:
    """The part of speech; a satellite adjective is an adjective."""
    return "a" if kind == SATELLITE else kind


def _links(synsets: dict[tuple[str, str], _Synset], relations: Iterable[Relation]) -> Iterator[Link]:
    for synset in synsets.values():
        if "synonyms" in relations:
            yield from mutual(synset.lemmas)
        for pointer in synset.pointers:
            if "hypernyms" in relations and pointer.symbol in HYPERNYMS:
                yield from across(synset.lemmas, _target(synsets, synset, pointer).lemmas)
            if "antonyms" in relations and pointer.symbol == ANTONYM:
                other = _target(synsets, synset, pointer)
                yield from across(_end(synset, pointer.ends[0]), _end(other, pointer.ends[1]))


def _target(synsets: dict[tuple[str, str], _Synset], source: _Synset, pointer: _Pointer) -> _Synset:
    try:
        return synsets[pointer.target]
    except KeyError:
        part, offset = pointer.target
        raise DataError(
            f"{source.place}: points to the synset {offset} ({part}), which is not there. A data file is cut "
            f"off or missing; expected {', '.join(FILES)}."
        ) from None


def _end(synset: _Synset, number: int) -> tuple[str, ...]:
    if number > len(synset.lemmas):
        raise DataError(f"{synset.place}: has {len(synset.lemmas)} words, but word {number} is pointed to.")
    return synset.lemmas[number - 1 : number] if number else synset.lemmas
