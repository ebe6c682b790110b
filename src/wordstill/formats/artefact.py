"""Our own folder: a memory-mapped matrix with counts, the words, where they came from, and a card to read.

    vectors.safetensors   "vectors" (rows, dim) float32 or float16, "counts" (rows) int64 if they are known
    words.txt             UTF-8, a word per line; line feed, carriage return and backslash are escaped
    config.json           version, sizes, provenance, and the SHA-256 of the two files above
    README.md             a model card made from the provenance; it may be edited freely

The same table gives the same bytes. Opening reads the words and not the matrix.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError, UsageError
from wordstill.files import atomic_folder, sha256_of
from wordstill.formats.base import Format, encode_word, make_table
from wordstill.formats.card import card
from wordstill.formats.sniff import head, not_this
from wordstill.formats.tensors import map_tensors, write_tensors
from wordstill.vectors import Matrix, WordVectors

SCHEMA = 1
TENSORS, WORDS, CONFIG, CARD = "vectors.safetensors", "words.txt", "config.json", "README.md"
HASHED = (TENSORS, WORDS)

ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
UNESCAPES = {escaped: char for char, escaped in ESCAPES.items()}
ESCAPABLE = re.compile(r"[\\\n\r]")
ESCAPED = re.compile(r"\\.?")

DTYPES = ("float32", "float16")
FIELDS = {"rows": int, "dim": int, "dtype": str, "counts": bool, "provenance": dict, "sha256": dict}


def read(path: Path, *, verify: bool = False) -> WordVectors:
    """Open the folder.

    Args:
        path: The folder.
        verify: Whether to read everything and compare it with the recorded SHA-256; sizes are always checked.
    """
    if path.is_file():
        raise not_this(path, head(path), "a folder with vectors")
    for name in (CONFIG, *HASHED):
        if not (path / name).is_file():
            raise FormatError(f"{path / name} is missing; the folder is not a whole table of vectors.")
    config = _config(path / CONFIG)
    if verify:
        _verify(path, config)
    matrix, counts = _arrays(path / TENSORS, config)
    words = _read_words(path / WORDS, config["rows"])
    return make_table(
        path / WORDS, words, matrix, first_line=1, counts=counts, provenance=config["provenance"]
    )


def write(vectors: WordVectors, path: Path) -> None:
    """Write the folder; one that holds anything but a table of ours is not replaced."""
    if path.is_dir() and (
        others := {entry.name for entry in path.iterdir()} - {TENSORS, WORDS, CONFIG, CARD}
    ):
        raise UsageError(f"{path} holds other files ({', '.join(sorted(others)[:3])}) and is not replaced.")
    provenance = json.loads(_json_text(dict(vectors.provenance), "The provenance"))
    words = b"".join(_written(word, row) for row, word in enumerate(vectors.words))
    tensors: dict[str, NDArray[Any]] = {"vectors": vectors.matrix}
    if vectors.counts is not None:
        tensors["counts"] = vectors.counts
    with atomic_folder(path, overwrite=True) as folder:
        write_tensors(folder / TENSORS, tensors, {"format": "wordstill"})
        (folder / WORDS).write_bytes(words)
        config = {
            "format": "wordstill",
            "schema": SCHEMA,
            "rows": len(vectors),
            "dim": vectors.dim,
            "dtype": str(vectors.matrix.dtype),
            "counts": vectors.counts is not None,
            "provenance": provenance,
            "sha256": {name: sha256_of(folder / name) for name in HASHED},
        }
        (folder / CONFIG).write_bytes(_json_text(config, CONFIG).encode("utf-8"))
        (folder / CARD).write_bytes(card(vectors, provenance).encode("utf-8"))


def recognises(path: Path) -> bool:
    """Whether the folder has one of the files that only ours have."""
    return path.is_dir() and any((path / name).is_file() for name in HASHED)


def _config(path: Path) -> dict[str, Any]:
    """The settings, with the right types."""
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}).") from None
    if not isinstance(config, dict) or config.get("format") != "wordstill":
        raise FormatError(f'{path} does not say "format": "wordstill".')
    if config.get("schema") != SCHEMA:
        raise FormatError(
            f"{path}: schema {config.get('schema')!r}, this version reads {SCHEMA}. "
            "A newer wordstill may read it."
        )
    for field, kind in FIELDS.items():
        if type(config.get(field)) is not kind:
            raise FormatError(f"{path}: {field!r} is {config.get(field)!r}, expected {kind.__name__}.")
    return config


def _verify(path: Path, config: dict[str, Any]) -> None:
    for name in HASHED:
        got, expected = sha256_of(path / name), config["sha256"].get(name)
        if got != expected:
            raise FormatError(f"{path / name} is damaged or was changed: SHA-256 {got}, expected {expected}.")


def _arrays(path: Path, config: dict[str, Any]) -> tuple[Matrix, NDArray[np.int64] | None]:
    """The memory-mapped matrix and counts, of the sizes the settings say."""
    tensors, _ = map_tensors(path)
    expected = {"vectors": f"{config['dtype']} {(config['rows'], config['dim'])}"}
    if config["counts"]:
        expected["counts"] = f"int64 {(config['rows'],)}"
    got = {name: f"{tensor.dtype} {tensor.shape}" for name, tensor in sorted(tensors.items())}
    if got != expected or config["dtype"] not in DTYPES:
        raise FormatError(f"{path} has {got}, expected {expected} ({CONFIG}; {' or '.join(DTYPES)}).")
    return tensors["vectors"], tensors.get("counts")


def _read_words(path: Path, rows: int) -> list[str]:
    data = path.read_bytes()
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
        raise FormatError(
            f"{path}:{line}: {error.args[0]!r} is no escape, expected one of {known}."
        ) from None


def _written(word: str, row: int) -> bytes:
    if ESCAPABLE.search(word):
        word = ESCAPABLE.sub(lambda match: ESCAPES[match[0]], word)
    return encode_word(word, row) + b"\n"


def _json_text(value: dict[str, Any], what: str) -> str:
    """JSON with sorted keys, the same bytes for the same content."""
    try:
        text = json.dumps(
            value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False, default=_plain
        )
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}.") from None
    return text + "\n"


def _plain(value: Any) -> Any:
    """The numbers and arrays of numpy as Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a string, number, list or mapping")


ARTEFACT = Format("wordstill", ("", ".wordstill"), read, write, recognises, folder=True)
