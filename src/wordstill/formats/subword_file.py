"""What gives vectors to words outside a table, as a file in our folder.

subwords.safetensors   "rows" (hashes, dim); the settings are in its metadata
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from wordstill.backoff import Subwords
from wordstill.errors import FormatError
from wordstill.formats.base import to_float
from wordstill.formats.fasttext_ngrams import NgramTable
from wordstill.formats.floret import MAX_HASHES, FloretTable
from wordstill.formats.record import parse_object
from wordstill.formats.tensors import map_tensors, write_tensors
from wordstill.vectors import WordVectors

SUBWORDS = "subwords.safetensors"
KINDS: dict[str, type[NgramTable] | type[FloretTable]] = {"fasttext": NgramTable, "floret": FloretTable}
LIMITS = {"minn": 100, "maxn": 100, "hash_count": MAX_HASHES, "hash_seed": (1 << 32) - 1}


def keeps_subwords(vectors: WordVectors) -> bool:
    """Whether the table has sub-words of a kind that can be written."""
    return isinstance(vectors.subwords, tuple(KINDS.values()))


def write_subwords(folder: Path, vectors: WordVectors) -> None:
    """Write the rows and settings."""
    for kind, made in KINDS.items():
        if isinstance(vectors.subwords, made):
            names = [field.name for field in fields(made) if field.name != "rows"]
            settings = {name: getattr(vectors.subwords, name) for name in names}
            metadata = {"kind": kind, "settings": json.dumps(settings, sort_keys=True)}
            write_tensors(folder / SUBWORDS, {"rows": vectors.subwords.rows}, metadata)


def read_subwords(path: Path, dim: int) -> Subwords:
    """Memory-map the rows; they must be as long as the vectors."""
    tensors, metadata = map_tensors(path)
    made = KINDS.get(metadata.get("kind", ""))
    settings = parse_object(metadata.get("settings", "{}"), f"{path}: the settings")
    rows = tensors.get("rows")
    if made is None or rows is None or rows.ndim != 2 or rows.shape[1] != dim or not len(rows):
        raise FormatError(f"{path} does not hold rows of {dim} numbers of a known kind ({', '.join(KINDS)}).")
    wanted = {field.name for field in fields(made) if field.name != "rows"}
    if set(settings) != wanted:
        raise FormatError(f"{path} has the settings {sorted(settings)}, expected {sorted(wanted)}.")
    for name, value in settings.items():
        limit = LIMITS.get(name)
        sound = isinstance(value, str) if limit is None else type(value) is int and 0 <= value <= limit
        if not sound:
            raise FormatError(f"{path}: the setting {name!r} is {value!r}, which makes no sense.")
    return made(rows=to_float(rows), **settings)
