"""A spaCy pipeline with vectors: a folder that ``spacy.load`` opens.

    config.cfg, meta.json   the pipeline: no language, a tokenizer, and components that join phrases, if there are any
    tokenizer               splits texts into the words of `wordstill.vectors.sentences`, and what is between them
    entity_ruler            the phrases of the table, which become one token each
    vocab/strings.json      every string
    vocab/key2row           the row of each string's hash, as MessagePack
    vocab/vectors           the matrix, in numpy's format
    vocab/vectors.cfg       the kind of table (words, or floret's hashes), and whether tokens are lowercased
    vocab/lookups.bin       spaCy's other tables (none)

The vector of a ``Doc`` is the mean over all tokens. Tokens without a vector change only its length, so it has the
direction of `SentenceEncoder` with the plain mean; therefore entries without a letter or digit get no vector.
Folders with only a vocabulary can be read too. Reading needs spaCy for its hash function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_foreign
from wordstill.core.tensors import map_array
from wordstill.errors import FormatError, MissingExtra, UsageError
from wordstill.formats.base import STRICT, Format, ReadOptions, encode_word, head, make_table, not_this, to_float
from wordstill.formats.floret import LARGEST, FloretTable
from wordstill.formats.record import RECORD, json_text, parse_json, read_object, read_record, write_record
from wordstill.formats.static_tokenizer import other_spellings
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import pattern_for, phrases_of, word_pattern

STRINGS, KEYS, VECTORS, SETTINGS, LOOKUPS = "strings.json", "key2row", "vectors", "vectors.cfg", "lookups.bin"
RULER = ("config.cfg", "meta.json", "tokenizer", "cfg", "patterns.jsonl")
FILES = (STRINGS, KEYS, VECTORS, SETTINGS, LOOKUPS, RECORD, *RULER)
FLORET, PHRASE, OURS = "floret", "PHRASE", "spacy"


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read a vocabulary, or that of a pipeline; words may share a row."""
    if path.is_file():
        raise not_this(path, head(path), "a folder with a spaCy vocabulary")
    folder = path / "vocab" if (path / "vocab" / VECTORS).is_file() else path
    matrix = map_array(folder / VECTORS)
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise FormatError(f"{folder / VECTORS} is {matrix.dtype} of shape {matrix.shape}, expected a matrix.")
    settings = read_object(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    if settings.get("mode") == FLORET:
        none = np.empty((0, matrix.shape[1]), dtype=np.float32)
        subwords = _floret(folder / SETTINGS, matrix, settings)
        _, provenance = read_record(folder, 0)
        return make_table(folder, [], none, options, provenance=provenance, subwords=subwords)
    words, rows = _words(folder, len(matrix))
    if not np.array_equal(rows, np.arange(len(matrix))):
        matrix = matrix[rows]
    counts, provenance = read_record(folder, len(words))
    return make_table(folder, words, to_float(matrix), options, counts=counts, provenance=provenance)


def write(vectors: WordVectors, path: Path) -> None:
    """Write a pipeline with spaCy; floret rows without words become a table of spaCy's mode "floret"."""
    refuse_foreign(path, FILES)
    spacy = _spacy()
    for row, word in enumerate(vectors.words):
        encode_word(word, row)
        if not word:
            raise UsageError(f"The word '' (row {row}) is empty, which a spaCy vocabulary cannot store.")
    nlp = spacy.blank("xx")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab, prefix_search=re.compile(_token_pattern()).search)
    keys = SpacyKeys.of(vectors.words)
    nlp.vocab.vectors = _vectors(spacy, nlp.vocab.strings, vectors, keys)
    if keys.phrases:
        ruler = nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": keys.attribute})
        ruler.add_patterns([{"label": PHRASE, "pattern": phrase} for phrase in keys.phrases])
        nlp.add_pipe("merge_entities")
    with atomic_folder(path, overwrite=True) as folder:
        nlp.to_disk(folder)
        if nlp.vocab.vectors.mode != FLORET:
            # spaCy reads the attribute from here, but writes it for floret only.
            settings = json_text({"mode": "default", "attr": nlp.vocab.vectors.attr}, SETTINGS)
            (folder / "vocab" / SETTINGS).write_text(settings, encoding="utf-8")
        more = {OURS: {"words": len(vectors), "hidden": keys.hidden}} if keys.rows != keys.plain else None
        write_record(folder / "vocab", vectors, more=more)


def _token_pattern() -> str:
    """A pattern for a prefix of a string without spaces: a word, or repeated characters between words."""
    return rf"\A(?:{word_pattern().pattern}|(.)\1*)"


@dataclass(frozen=True)
class SpacyKeys:
    """The strings by which spaCy looks up the rows of a table."""

    rows: Mapping[str, int]
    """Words first, then other spellings."""
    plain: Mapping[str, int]
    """The words alone."""
    hidden: Mapping[str, str]
    """Entries without a vector in spaCy, by their row."""
    phrases: tuple[str, ...]
    attribute: str

    @classmethod
    def of(cls, words: Sequence[str]) -> SpacyKeys:
        """Choose the keys."""
        lower = all(word == word.lower() for word in words)
        plain = {word: row for row, word in enumerate(words)}
        hidden = {str(row): word for word, row in plain.items() if not pattern_for(word).search(word)}
        found = {phrase: plain[word] for phrase, word in phrases_of(words).items()}
        more = {} if lower else other_spellings({**plain, **found})
        rows = {word: row for word, row in plain.items() if str(row) not in hidden}
        several = {name: row for name, row in (found | more).items() if " " in name}
        several |= {name.replace(" ", "_"): row for name, row in several.items()}
        rows |= {name: row for name, row in (more | several).items() if name not in rows}
        return cls(rows, plain, hidden, tuple(several), "LOWER" if lower else "ORTH")


def _vectors(spacy: Any, strings: Any, vectors: WordVectors, keys: SpacyKeys) -> Any:
    table = vectors.subwords
    if not len(vectors) and isinstance(table, FloretTable):
        floret = {name: getattr(table, name) for name in LARGEST}
        data = np.array(table.rows, dtype=np.float32)
        return spacy.vectors.Vectors(strings=strings, data=data, mode=FLORET, bow=table.begin, eow=table.end, **floret)
    data = np.array(vectors.matrix, dtype=np.float32)
    found = spacy.vectors.Vectors(strings=strings, data=data, attr=keys.attribute)
    for word in keys.plain:
        strings.add(word)
    found.key2row = {strings.add(name): row for name, row in keys.rows.items()}
    return found


def recognizes(path: Path) -> bool:
    """Whether the folder, or the vocab in it, has spaCy's files."""
    return any((folder / VECTORS).is_file() and (folder / KEYS).is_file() for folder in (path, path / "vocab"))


def _keeps_subwords(vectors: WordVectors) -> bool:
    return not len(vectors) and isinstance(vectors.subwords, FloretTable)


def _spacy() -> Any:
    try:
        import spacy
        import spacy.tokenizer
        import spacy.vectors
    except ImportError:
        raise MissingExtra("spacy", "spacy", "A spaCy vocabulary") from None
    return spacy


def _words(folder: Path, rows: int) -> tuple[list[str], NDArray[np.int64]]:
    """The words that have a vector, in the order of their rows, and these rows."""
    numbers = _key_rows(folder / KEYS, rows)
    if not (folder / STRINGS).exists():
        raise FormatError(f"{folder / STRINGS} is missing; without it the words are not known.")
    strings = parse_json((folder / STRINGS).read_bytes(), folder / STRINGS)
    if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
        raise FormatError(f"{folder / STRINGS} is not a list of strings.")
    store = _spacy().strings.StringStore(string for string in strings if string)
    try:
        # Names of spaCy's own symbols, such as NOUN, are known to every store and not in the file.
        named = [(store[key], row) for key, row in numbers.items()]
    except KeyError as error:
        raise FormatError(f"{folder / STRINGS} lacks a word that is in {KEYS}, of hash {error}.") from None
    named = _own_words(folder / RECORD, named, rows)
    rows_of = np.array([row for _, row in named], dtype=np.int64)
    order = np.argsort(rows_of, kind="stable")
    return [named[place][0] for place in order], rows_of[order]


def _own_words(record: Path, named: list[tuple[str, int]], rows: int) -> list[tuple[str, int]]:
    """The words of a table that we wrote, without other spellings and with the entries that are not looked up."""
    saved = read_object(record).get(OURS) if record.exists() else None
    if saved is None:
        return named
    try:
        hidden = [(str(word), range(rows)[int(row)]) for row, word in saved["hidden"].items()]
        return named[: int(saved["words"]) - len(hidden)] + hidden
    except (AttributeError, LookupError, TypeError, ValueError):
        raise FormatError(f"{record}: {OURS!r} is {saved!r}, expected 'words' and 'hidden'.") from None


def _key_rows(path: Path, rows: int) -> dict[int, int]:
    import srsly

    try:
        numbers = srsly.msgpack_loads(path.read_bytes())
    except Exception as error:
        # The reader of MessagePack has no common kind of error.
        raise FormatError(f"{path} is missing or not MessagePack ({error or type(error).__name__}).") from None
    if not isinstance(numbers, dict):
        raise FormatError(f"{path} holds a {type(numbers).__name__}, expected a row for each key.")
    for key, row in numbers.items():
        if type(key) is not int or type(row) is not int or not 0 <= row < rows:
            raise FormatError(f"{path}: the key {key!r} has the row {row!r}, expected 0 to {rows - 1}.")
    return numbers


def _floret(path: Path, rows: NDArray[Any], settings: dict[str, Any]) -> FloretTable:
    for name, largest in LARGEST.items():
        if type(settings.get(name)) is not int or not 0 <= settings[name] <= largest:
            raise FormatError(f"{path}: {name!r} is {settings.get(name)!r}, expected 0 to {largest}.")
    marks = [settings.get("bow", "<"), settings.get("eow", ">")]
    if not all(isinstance(mark, str) for mark in marks) or not len(rows):
        raise FormatError(f"{path}: {len(rows)} rows and the marks {marks} are not a floret table.")
    return FloretTable(to_float(rows), *(settings[name] for name in LARGEST), *marks)


SPACY = Format("spacy", (".spacy",), read, write, recognizes, records=True, folder=True, keeps_subwords=_keeps_subwords)
