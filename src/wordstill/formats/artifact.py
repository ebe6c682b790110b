"""Wordstill's own folder: a memory-mapped matrix with counts, the words, provenance, and a model card.

    vectors.safetensors   "vectors" (rows, dim) float32, float16 or int8; for int8 also "scales" (rows) float32, by
                          which rows are multiplied; "counts" (rows) int64 if known.
                          Schema 2, "pq" (see `ProductRows`): "codes" (rows, parts) uint8, "codebooks" (256, dim)
                          and "lengths" (rows, or 1) float16 or float32, "columns" (dim) int32; "counts" int32
                          if they fit
    words.txt             UTF-8, a word per line; line feed, carriage return and backslash are escaped
    subwords.safetensors  subword vectors, if the table has any: "rows" (hashes, dim), or the arrays of
                          `NgramVectors`; kind and settings are metadata
    occurrences.safetensors  a sample of the words' occurrences, if kept: the arrays of `Occurrences`; the layer is
                          metadata
    folds.safetensors     vectors for folds of the text, if kept: the arrays of `Folds`; names are metadata
    config.json           version, sizes, provenance, and the SHA-256 of the files above and of itself
    README.md             a model card made from the provenance; it may be edited freely

Writing is deterministic. Opening reads the words but not the matrix; int8 and codes are decoded on access.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, sha256_of
from wordstill.core.guard import reading
from wordstill.core.resume import OWN_CHECKSUM, signed, unsigned
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.core.threads import OrderedPool
from wordstill.errors import DataError, FormatError, UsageError, WordstillError
from wordstill.formats.base import STRICT, Format, ReadOptions, encode_word, head, make_table, not_this, to_float
from wordstill.formats.card import card
from wordstill.formats.floret import LARGEST, FloretTable
from wordstill.formats.record import json_text, parse_object, provenance_text, read_object
from wordstill.vectors.char_ngrams import NgramTable, NgramVectors
from wordstill.vectors.compressed import CompressedRows, Int8Rows, Matrix, ProductRows, quantize
from wordstill.vectors.folds import Folds
from wordstill.vectors.occurrences import Occurrences
from wordstill.vectors.oov import SubwordVectors
from wordstill.vectors.table import WordVectors

SUBWORDS, FOLDS, OCCURRENCES = "subwords.safetensors", "folds.safetensors", "occurrences.safetensors"
KINDS: dict[str, type[NgramTable] | type[NgramVectors] | type[FloretTable]] = {
    "fasttext": NgramTable,
    "ngrams": NgramVectors,
    "floret": FloretTable,
}
FOLD_NAMES = ("groups", "dealt")
SUBWORD_ARRAYS = ("rows", "keys", "places", "origin")
SUBWORD_LIMITS = {**LARGEST, "buckets": 2**31 - 1}
COMPRESSED: dict[str, type[Int8Rows] | type[ProductRows]] = {"int8": Int8Rows, "pq": ProductRows}
SCHEMAS = {"float32": 1, "float16": 1, "int8": 1, "pq": 2}
"""Schema by number type, so that older versions can still read the types that they know."""
TENSORS, WORDS, CONFIG, CARD = "vectors.safetensors", "words.txt", "config.json", "README.md"
MAPS = ("map-tsne.safetensors", "map-umap.safetensors")
"""Maps that `wordstill explore` caches in the folder; they are removed when the table is replaced."""
ATTENTION = "attention.safetensors"
"""The projection of a method with trained attention, for `wordstill plot attention`; removed with the table too."""
HASHED = (TENSORS, WORDS)
MOST_AT_ONCE = 4
"""Number of tables written at the same time, since each has to wait for checksums and the disk."""
SUMS = "sums.safetensors"
"""The sums behind a table, kept on request, so that text can be added later."""
REPLACEABLE = {TENSORS, WORDS, CONFIG, CARD, SUBWORDS, FOLDS, ATTENTION, OCCURRENCES, *MAPS, SUMS, "evaluation.json"}
"""Files of a result; a folder with any other file is never overwritten."""

ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
UNESCAPES = {escaped: char for char, escaped in ESCAPES.items()}
ESCAPABLE = re.compile(r"[\\\n\r]")
ESCAPED = re.compile(r"\\.?")

FIELDS = {"rows": int, "dim": int, "dtype": str, "counts": bool, "provenance": dict, "sha256": dict}


def read(path: Path, options: ReadOptions = STRICT, *, verify: bool = False) -> WordVectors:
    """Open the folder, after verifying the SHA-256 of the words.

    The matrix is verified when it is first used as a whole, or at once with ``verify``.
    """
    if path.is_file():
        raise not_this(path, head(path), "a folder with vectors")
    for name in (CONFIG, *HASHED):
        _must_be_there(path / name)
    config = _config(path / CONFIG, options)
    for name in {SUBWORDS, FOLDS, OCCURRENCES} & config["sha256"].keys():
        _must_be_there(path / name)
    if verify:
        _verify(path, config, (*HASHED, SUBWORDS, FOLDS, OCCURRENCES))
    matrix, counts = _arrays(path / TENSORS, config)
    subwords = _read_subwords(path / SUBWORDS, config["dim"]) if SUBWORDS in config["sha256"] else None
    data = (path / WORDS).read_bytes()
    words = _parse_words(path / WORDS, data, config["rows"])
    provenance = config["provenance"]
    recorded = hashlib.sha256(data).hexdigest() == config["sha256"].get(WORDS)
    if recorded and not options.repair:
        # We wrote these words, so they are distinct, and their index can be built on first use.
        try:
            table = WordVectors(words, matrix, counts=counts, provenance=provenance, subwords=subwords, distinct=True)
        except WordstillError as error:
            raise FormatError(f"{path}: {error}") from None
        table.verify_on_use(partial(_verify, path, config))
    else:
        table = make_table(
            path / WORDS, words, matrix, options, first_line=1, counts=counts, provenance=provenance, subwords=subwords
        )
        if not recorded:
            options.fault("words other than those recorded were taken as they are", _changed(path / WORDS, config))
    if OCCURRENCES in config["sha256"]:
        table.occurrences = _read_occurrences(path / OCCURRENCES, config)
    if FOLDS in config["sha256"] and recorded and not options.repair:
        table.folds = _read_folds(path / FOLDS, config)
    return table


def write(vectors: WordVectors, path: Path) -> None:
    """Write the folder; a folder with anything but a wordstill table is not replaced."""
    if vectors.compressed is not None:
        _write(vectors, path, vectors.compressed.arrays, vectors.storage)
    else:
        _write(vectors, path, {"vectors": vectors.matrix}, vectors.storage)


def write_int8(vectors: WordVectors, path: Path) -> None:
    """Write the folder as int8 with scales, a quarter of the size of float32."""
    rows = quantize(vectors)
    _write(vectors, path, rows.arrays, rows.kind)


def recognizes(path: Path) -> bool:
    """Whether the folder has one of the files that only this format has."""
    return path.is_dir() and any((path / name).is_file() for name in HASHED)


def _write(vectors: WordVectors, path: Path, arrays: Mapping[str, NDArray[Any]], dtype: str) -> None:
    if path.is_dir() and (
        others := {entry.name for entry in path.iterdir()}
        - {TENSORS, WORDS, SUBWORDS, FOLDS, OCCURRENCES, CONFIG, CARD, ATTENTION, *MAPS}
    ):
        raise UsageError(f"{path} holds other files ({', '.join(sorted(others)[:3])}) and is not replaced.")
    provenance = parse_object(provenance_text(vectors), "The provenance")
    words = b"".join(_written(word, row) for row, word in enumerate(vectors.words))
    tensors = dict(arrays)
    if vectors.counts is not None:
        narrow = SCHEMAS[dtype] > 1 and vectors.counts.max(initial=0) <= np.iinfo(np.int32).max
        tensors["counts"] = vectors.counts.astype(np.int32) if narrow else vectors.counts
    with atomic_folder(path, overwrite=True) as folder:
        write_tensors(folder / TENSORS, tensors, {"format": "wordstill"})
        (folder / WORDS).write_bytes(words)
        _write_subwords(folder, vectors)
        _write_folds(folder, vectors)
        if vectors.occurrences is not None:
            layer = {"layer": str(vectors.occurrences.layer)}
            write_tensors(folder / OCCURRENCES, vectors.occurrences.arrays, layer)
        config = {
            "format": "wordstill",
            "schema": SCHEMAS[dtype],
            "rows": len(vectors),
            "dim": vectors.dim,
            "dtype": dtype,
            "counts": vectors.counts is not None,
            "provenance": provenance,
            "sha256": {entry.name: sha256_of(entry) for entry in sorted(folder.iterdir())},
        }
        (folder / CONFIG).write_bytes(json_text(signed(config, OWN_CHECKSUM), CONFIG).encode("utf-8"))
        (folder / CARD).write_bytes(card(vectors, provenance).encode("utf-8"))


def write_artifacts(
    tables: Mapping[str, WordVectors],
    out: Path,
    attention: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
    *,
    overwrite: bool = False,
    beside: Callable[[str, Path], None] | None = None,
) -> None:
    """Write one table to ``out``, or several to its subfolders, with their attention; all of them or none.

    ``beside``, called with label and folder, adds further files to a table's folder. Several tables are written at the
    same time.
    """

    def write(label: str) -> None:
        # The format is given, because the suffix of an output such as vectors.v2 could imply another one.
        place = place_of(label, tables, folder)
        tables[label].save(place, ARTIFACT.name, overwrite=True)
        if weights := (attention or {}).get(label):
            write_tensors(place / ATTENTION, weights, {"format": "wordstill"}, checksum=True)
        if beside is not None:
            beside(label, place)

    with atomic_folder(out, overwrite=overwrite) as folder:
        for _ in OrderedPool(write, min(len(tables), MOST_AT_ONCE)).map(tables):
            pass


def read_artifacts(out: Path) -> dict[str, WordVectors]:
    """The tables that `write_artifacts` wrote, by folder name."""
    folders = [out, *sorted(path for path in out.iterdir() if path.is_dir())] if out.is_dir() else []
    return {path.name: WordVectors.load(path, ARTIFACT.name) for path in folders if (path / CONFIG).is_file()}


def place_of(label: str, tables: Collection[str], folder: Path) -> Path:
    """The folder of a table in an output."""
    return folder if len(tables) == 1 else folder / label


def _config(path: Path, options: ReadOptions) -> dict[str, Any]:
    """The validated content of config.json, which has no checksum in tables of earlier versions."""
    config = read_object(path)
    if config.get("format") != "wordstill":
        raise FormatError(f'{path} does not say "format": "wordstill".')
    if config.get("schema") not in SCHEMAS.values():
        known = " and ".join(map(str, sorted(set(SCHEMAS.values()))))
        raise FormatError(
            f"{path}: schema {config.get('schema')!r}, this version reads {known}. A newer wordstill may read it."
        )
    if config.keys() - {"format", "schema", *FIELDS}:
        try:
            config = unsigned(config, OWN_CHECKSUM)
        except DataError as error:
            changed = f"{path} is damaged or was changed: {error}. Get it again, or use convert --repair (repair=True)."
            options.fault("settings other than those recorded were taken as they are", FormatError(changed))
    for field, kind in FIELDS.items():
        if type(config.get(field)) is not kind:
            raise FormatError(f"{path}: {field!r} is {config.get(field)!r}, expected {kind.__name__}.")
    return config


def _must_be_there(path: Path) -> None:
    if not path.is_file():
        raise FormatError(f"{path} is missing; the folder is not a whole table of vectors.")


def _verify(path: Path, config: dict[str, Any], names: tuple[str, ...] = (*HASHED, SUBWORDS)) -> None:
    for name in sorted(({*HASHED} | config["sha256"].keys()) & {*names}):
        with reading(path / name, FormatError):
            if sha256_of(path / name) != config["sha256"].get(name):
                raise _changed(path / name, config)


def _changed(path: Path, config: dict[str, Any]) -> FormatError:
    return FormatError(
        f"{path} is damaged or was changed: SHA-256 {sha256_of(path)}, expected {config['sha256'].get(path.name)}. "
        "Get it again, or take it as it is with convert --repair (repair=True)."
    )


def _arrays(path: Path, config: dict[str, Any]) -> tuple[Matrix | CompressedRows, NDArray[np.int64] | None]:
    """The memory-mapped matrix or compressed rows, and the counts, with the sizes in config.json."""
    tensors, _ = map_tensors(path)
    dtype, shape = config["dtype"], (config["rows"], config["dim"])
    got = {name: f"{tensor.dtype} {tensor.shape}" for name, tensor in sorted(tensors.items())}
    expected = dict.fromkeys((field.name for field in fields(COMPRESSED[dtype])), dtype) if dtype in COMPRESSED else {}
    if "codes" not in expected:
        expected["vectors"] = f"{dtype} {shape}"
    if config["counts"]:
        expected["counts"] = f"{'int32' if got.get('counts', '').startswith('int32') else 'int64'} {shape[:1]}"
    strange = [name for name, text in expected.items() if text != dtype and text != got.get(name)]
    if dtype not in SCHEMAS or strange or set(got) != set(expected):
        raise FormatError(f"{path} has {got}, expected {expected} ({CONFIG}; {', '.join(SCHEMAS)}).")
    counts = tensors.pop("counts", None)
    if dtype not in COMPRESSED:
        return tensors["vectors"], counts
    try:
        rows = COMPRESSED[dtype](**tensors)
    except UsageError as error:
        raise FormatError(f"{path}: {error}") from None
    if rows.shape != shape:
        raise FormatError(f"{path} has rows of shape {rows.shape}, expected {shape} ({CONFIG}).")
    return rows, counts


def _parse_words(path: Path, data: bytes, rows: int) -> list[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}:{line}: not UTF-8 at byte {error.start} of the file.") from None
    words = text.split("\n")
    if words.pop():
        raise FormatError(f"{path}:{len(words) + 1}: the last line has no end; the file is cut short.")
    if len(words) != rows:
        raise FormatError(f"{path} has {len(words)} words, expected {rows} ({CONFIG}).")
    if "\\" in text:
        words = [_unescaped(path, word, line) if "\\" in word else word for line, word in enumerate(words, 1)]
    return words


def _unescaped(path: Path, word: str, line: int) -> str:
    try:
        return ESCAPED.sub(lambda match: UNESCAPES[match[0]], word)
    except KeyError as error:
        known = ", ".join(UNESCAPES)
        raise FormatError(f"{path}:{line}: {error.args[0]!r} is not an escape, expected one of {known}.") from None


def _written(word: str, row: int) -> bytes:
    if ESCAPABLE.search(word):
        word = ESCAPABLE.sub(lambda match: ESCAPES[match[0]], word)
    return encode_word(word, row) + b"\n"


def _write_subwords(folder: Path, vectors: WordVectors) -> None:
    """Write the subword vectors and their settings."""
    for kind, made in KINDS.items():
        if isinstance(vectors.subwords, made):
            parts = {field.name: getattr(vectors.subwords, field.name) for field in fields(made)}
            settings = {name: value for name, value in parts.items() if name not in SUBWORD_ARRAYS}
            metadata = {"kind": kind, "settings": json.dumps(settings, sort_keys=True)}
            tensors = {name: value for name, value in parts.items() if name in SUBWORD_ARRAYS}
            write_tensors(folder / SUBWORDS, tensors, metadata)


def _read_occurrences(path: Path, config: dict[str, Any]) -> Occurrences:
    """Memory-map the states; the file is verified when they are first used."""
    tensors, metadata = map_tensors(path)
    layer = metadata.get("layer", "")
    try:
        if not (layer.isdecimal() and layer.isascii() and len(layer) < 6):
            raise UsageError(f"The layer is {layer!r}, expected a number.")
        occurrences = Occurrences.from_arrays(tensors, int(layer))
    except UsageError as error:
        raise FormatError(f"{path}: {error}") from None
    occurrences.verify_on_use(partial(_verify, path.parent, config, (OCCURRENCES,)))
    return occurrences


def _read_subwords(path: Path, dim: int) -> SubwordVectors:
    """Memory-map the rows, which must have the dimension of the vectors."""
    tensors, metadata = map_tensors(path)
    made = KINDS.get(metadata.get("kind", ""))
    settings = parse_object(metadata.get("settings", "{}"), f"{path}: the settings")
    rows = tensors.get("rows")
    if made is None or rows is None or rows.ndim != 2 or rows.shape[1] != dim or not len(rows):
        raise FormatError(f"{path} does not hold rows of {dim} numbers of a known kind ({', '.join(KINDS)}).")
    for given, wanted in (
        (tensors, {field.name for field in fields(made)} & set(SUBWORD_ARRAYS)),
        (settings, {field.name for field in fields(made)} - set(SUBWORD_ARRAYS)),
    ):
        if set(given) != wanted:
            raise FormatError(f"{path} has the settings {sorted(given)}, expected {sorted(wanted)}.")
    for name, value in settings.items():
        limit, least = SUBWORD_LIMITS.get(name), 1 if name == "hash_count" else 0
        sound = isinstance(value, str) if limit is None else type(value) is int and least <= value <= limit
        if not sound:
            raise FormatError(f"{path}: the setting {name!r} is {value!r}, which makes no sense.")
    try:
        parts: dict[str, Any] = {**tensors, "rows": to_float(rows), **settings}
        return made(**parts)
    except UsageError as error:
        raise FormatError(f"{path}: {error}") from None


def _write_folds(folder: Path, vectors: WordVectors) -> None:
    if vectors.folds is not None:
        parts = {field.name: getattr(vectors.folds, field.name) for field in fields(Folds)}
        names = {name: json.dumps(parts.pop(name), ensure_ascii=False) for name in FOLD_NAMES}
        write_tensors(folder / FOLDS, parts, names)


def _read_folds(path: Path, config: dict[str, Any]) -> Folds:
    """Memory-map the vectors of folds, which must fit the table."""
    tensors, metadata = map_tensors(path)
    expected = {field.name for field in fields(Folds)} - set(FOLD_NAMES)
    rows = tensors.get("rows")
    if set(tensors) != expected or rows is None or rows.ndim != 2 or rows.shape[1] != config["dim"]:
        raise FormatError(f"{path} has {sorted(tensors)}, expected {sorted(expected)} with rows of {config['dim']}.")
    try:
        parts: dict[str, Any] = {name: array.view(np.ndarray) for name, array in tensors.items()}
        folds = Folds(**parts | {name: tuple(map(str, json.loads(metadata[name]))) for name in FOLD_NAMES})
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise FormatError(f"{path}: {error}") from None
    if len(folds.words) and not 0 <= folds.words[0] <= folds.words[-1] < config["rows"]:
        raise FormatError(f"{path} has rows of words up to {folds.words[-1]}, expected {config['rows']} words.")
    folds.verify_on_use(partial(_verify, path.parent, config, (FOLDS,)))
    return folds


ARTIFACT = Format(
    "wordstill",
    ("", ".wordstill"),
    read,
    write,
    recognizes,
    folder=True,
    records=True,
    float16=True,
    write_int8=write_int8,
    keeps_subwords=lambda vectors: isinstance(vectors.subwords, tuple(KINDS.values())),
)
