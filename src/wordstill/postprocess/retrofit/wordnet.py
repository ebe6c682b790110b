"""Lexicons from wordnets: the data files of Princeton WordNet, and wordnets of the package ``wn``.

A database is a folder with ``data.noun``, ``data.verb``, ``data.adj`` and ``data.adv``. A line is
``offset file type words (word number)... pointers (symbol offset type source-target)... | gloss``;
the number of words and both ends of a pointer are hexadecimal, and a pointer with the ends 0000 is between
whole synsets. See wndb(5WN) of Princeton WordNet 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from wordstill.core.guard import reading
from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError, MissingExtra, UsageError, unknown_name
from wordstill.postprocess.retrofit.lexicon import Lexicon, Link, all_pairs, read_lexicon

Relation = Literal["synonyms", "hypernyms", "antonyms"]
WN = "wn:"
FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
HYPERNYMS = ("@", "@i")
ANTONYM = "!"
RELATED = {"hypernyms": ("hypernym", "instance_hypernym"), "antonyms": ("antonym",)}
"""Their names in the package ``wn``."""
SATELLITE = "s"
MARKER = re.compile(r"\((a|p|ip)\)$")
"""Syntactic marker after an adjective."""


def open_lexicon(source: str | Path, *, format: str | None = None, relations: Sequence[str] = ("synonyms",)) -> Lexicon:
    """Read a lexicon.

    Args:
        source: A file of words (see `read_lexicon`), a folder of a WordNet database, or ``wn:`` and the name
            of a wordnet, such as ``wn:oewn:2024``.
        format: The format of a file; None chooses it by the suffix.
        relations: Which relations of a wordnet are links; word files have no relations.
    """
    if str(source).startswith(WN):
        return read_wn(str(source).removeprefix(WN), relations)
    path = Path(source)
    if path.is_dir():
        return read_wordnet(path, relations)
    if not path.is_file():
        raise DataError(
            f"There is no lexicon {str(source)!r}. Use a file, a WordNet folder, or {WN}NAME for a wordnet "
            "of the package wn."
        )
    return read_lexicon(path, format)


def read_wordnet(folder: Path, relations: Sequence[str] = ("synonyms",)) -> Lexicon:
    """Read a WordNet database folder.

    Args:
        folder: The folder with the data files, or one with a folder ``dict`` of them.
        relations: ``synonyms`` links the words of a synset, ``hypernyms`` those of a synset and its direct
            hypernyms, ``antonyms`` words that are marked as opposites.
    """
    chosen = _checked_relations(relations)
    place = folder if is_wordnet(folder) else folder / "dict"
    if not is_wordnet(place):
        raise DataError(f"{folder} is not a WordNet database: it has none of the files {', '.join(FILES)}.")
    origin = {"wordnet": folder.name, "relations": list(chosen)}
    with reading(folder):
        synsets = {synset.key: synset for name in FILES for synset in _synsets(place / name)}
        lexicon = Lexicon.from_links(_database_links(synsets, chosen), origin)
    if not len(lexicon):
        raise DataError(f"The WordNet database {folder} links no words by {' or '.join(chosen)}.")
    return lexicon


def read_wn(name: str, relations: Sequence[str] = ("synonyms",)) -> Lexicon:
    """Read a wordnet of any language by its name in ``wn``, such as ``oewn:2024``; see `read_wordnet`."""
    chosen = _checked_relations(relations)
    try:
        import wn
    except ImportError as error:
        raise MissingExtra("wn", "retrofit", "Reading a wordnet by name") from error
    try:
        wordnet = wn.Wordnet(name)
    except wn.Error as error:
        raise DataError(
            f"The package wn has no wordnet {name!r} ({error}). Get it with: python -m wn download {name}"
        ) from None
    lexicon = Lexicon.from_links(_package_links(wordnet, chosen), {"wn": name, "relations": list(chosen)})
    if not len(lexicon):
        raise DataError(f"The wordnet {name!r} links no words by {' or '.join(chosen)}.")
    return lexicon


def is_wordnet(folder: Path) -> bool:
    """Whether a folder has a data file of a WordNet database."""
    return any((folder / name).is_file() for name in FILES)


@dataclass(frozen=True)
class _Pointer:
    symbol: str
    target: tuple[str, str]
    ends: tuple[int, int]
    """Source and target word, counted from 1; 0 for the whole synset."""


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
        # The license at the top is indented by two spaces.
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
    lemmas = tuple(_with_spaces(MARKER.sub("", lemma)) for lemma in fields[4:after:2])
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


def _database_links(synsets: dict[tuple[str, str], _Synset], relations: Iterable[Relation]) -> Iterator[Link]:
    for synset in synsets.values():
        if "synonyms" in relations:
            yield from all_pairs(synset.lemmas)
        for pointer in synset.pointers:
            if "hypernyms" in relations and pointer.symbol in HYPERNYMS:
                yield from _cross_pairs(synset.lemmas, _target(synsets, synset, pointer).lemmas)
            if "antonyms" in relations and pointer.symbol == ANTONYM:
                other = _target(synsets, synset, pointer)
                yield from _cross_pairs(_end(synset, pointer.ends[0]), _end(other, pointer.ends[1]))


def _target(synsets: dict[tuple[str, str], _Synset], source: _Synset, pointer: _Pointer) -> _Synset:
    try:
        return synsets[pointer.target]
    except KeyError:
        part, offset = pointer.target
        raise DataError(
            f"{source.place}: points to the synset {offset} ({part}), which is missing. A data file is cut "
            f"off or missing; expected {', '.join(FILES)}."
        ) from None


def _end(synset: _Synset, number: int) -> tuple[str, ...]:
    if number > len(synset.lemmas):
        raise DataError(f"{synset.place}: has {len(synset.lemmas)} words, but word {number} is pointed to.")
    return synset.lemmas[number - 1 : number] if number else synset.lemmas


def _package_links(wordnet: Any, relations: Sequence[Relation]) -> Iterator[Link]:
    known: dict[str, list[str]] = {}

    def lemmas(synset: Any) -> list[str]:
        # Looked up once each, because every lookup is a database query.
        if synset.id not in known:
            known[synset.id] = [_with_spaces(lemma) for lemma in synset.lemmas()]
        return known[synset.id]

    for synset in wordnet.synsets():
        if "synonyms" in relations:
            yield from all_pairs(lemmas(synset))
        for names in (names for relation, names in RELATED.items() if relation in relations):
            for other in synset.get_related(*names):
                yield from _cross_pairs(lemmas(synset), lemmas(other))
    if "antonyms" in relations:
        for sense in wordnet.senses():
            for opposite in sense.get_related("antonym"):
                yield _with_spaces(sense.word().lemma()), _with_spaces(opposite.word().lemma()), 1.0


def _checked_relations(relations: Sequence[str]) -> tuple[Relation, ...]:
    """The relations, each once, if all of them are known."""
    if not relations:
        raise UsageError(f"No relation was named. Name at least one of {', '.join(get_args(Relation))}.")
    for name in relations:
        if name not in get_args(Relation):
            raise unknown_name("relation", name, get_args(Relation))
    return tuple(name for name in get_args(Relation) if name in relations)


def _cross_pairs(lemmas: Sequence[str], others: Sequence[str]) -> Iterator[Link]:
    """Links from each lemma to each of the others."""
    return ((one, other, 1.0) for one, other in product(lemmas, others))


def _with_spaces(lemma: str) -> str:
    """A lemma with spaces in place of underscores."""
    return lemma.replace("_", " ")
