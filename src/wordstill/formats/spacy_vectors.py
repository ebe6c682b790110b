"""The vectors of a spaCy vocabulary: a folder that ``Vocab.from_disk`` and ``Vectors.from_disk`` open.

    strings.json   every string
    key2row        the row of each string's hash, as MessagePack
    vectors        the matrix, in numpy's format
    vectors.cfg    the kind of table: words, or floret's hashes
    lookups.bin    spaCy's other tables, of which there are none

The folder of a whole pipeline is read through the ``vocab`` in it. spaCy does the hashing, so it is needed
for reading too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_foreign
from wordstill.core.tensors import map_array
from wordstill.errors import FormatError, MissingExtra, UsageError
from wordstill.formats.base import STRICT, Format, ReadOptions, encode_word, make_table, to_float
from wordstill.formats.floret import LARGEST, FloretTable
from wordstill.formats.record import RECORD, parse_json, read_object, read_record, write_record
from wordstill.formats.sniff import head, not_this
from wordstill.vectors import WordVectors

STRINGS, KEYS, VECTORS, SETTINGS, LOOKUPS = "strings.json", "key2row", "vectors", "vectors.cfg", "lookups.bin"
FLORET = "floret"


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read a vocabulary, or the one inside a pipeline; words that share a row each get it."""
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
    """Let spaCy write a vocabulary; floret's rows without words become a table of its mode "floret"."""
    refuse_foreign(path, (STRINGS, KEYS, VECTORS, SETTINGS, LOOKUPS, RECORD))
    spacy = _spacy()
    table = vectors.subwords
    vocab = spacy.vocab.Vocab()
    for row, word in enumerate(vectors.words):
        encode_word(word, row)
        if not word:
            raise UsageError(f"The word '' (row {row}) is empty, which a spaCy vocabulary cannot store.")
    keys = [vocab.strings.add(word) for word in vectors.words]
    if not keys and isinstance(table, FloretTable):
        floret = {name: getattr(table, name) for name in LARGEST}
        data = np.array(table.rows, dtype=np.float32)
        vocab.vectors = spacy.vectors.Vectors(
            strings=vocab.strings, data=data, mode=FLORET, bow=table.begin, eow=table.end, **floret
        )
    else:
        data = np.array(vectors.matrix, dtype=np.float32)
        vocab.vectors = spacy.vectors.Vectors(strings=vocab.strings, data=data)
        vocab.vectors.key2row = dict(zip(keys, range(len(keys))))
    with atomic_folder(path, overwrite=True) as folder:
        vocab.to_disk(folder)
        write_record(folder, vectors)


def recognizes(path: Path) -> bool:
    """Whether the folder, or the vocab in it, has spaCy's files."""
    return any((folder / VECTORS).is_file() and (folder / KEYS).is_file() for folder in (path, path / "vocab"))


def _keeps_subwords(vectors: WordVectors) -> bool:
    return not len(vectors) and isinstance(vectors.subwords, FloretTable)


def _spacy() -> Any:
    try:
        import spacy.vectors
        import spacy.vocab
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
        words = [store[key] for key in numbers]
    except KeyError as error:
        raise FormatError(f"{folder / STRINGS} lacks a word that is in {KEYS}, of hash {error}.") from None
    rows_of = np.fromiter(numbers.values(), dtype=np.int64, count=len(numbers))
    order = np.argsort(rows_of, kind="stable")
    return [words[place] for place in order], rows_of[order]


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
