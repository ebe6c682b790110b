"""JSON files beside the vectors: provenance, and counts that a format cannot store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError, UsageError
from wordstill.vectors import WordVectors

RECORD = "wordstill.json"
"""A file that we add to the folders of other tools, which ignore it."""


def json_text(value: Mapping[str, Any], what: str) -> str:
    """JSON with sorted keys, so that equal content gives equal bytes."""
    try:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False, default=_plain)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}.") from None
    return text + "\n"


def provenance_text(vectors: WordVectors) -> str:
    """The provenance as JSON."""
    return json_text(vectors.provenance, "The provenance")


def parse_json(text: bytes | str, where: object) -> Any:
    """Parse JSON; ``where`` names the file, or part of a file, in errors."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where} is not JSON ({error}).") from None


def parse_object(text: bytes | str, where: object) -> dict[str, Any]:
    """Parse a JSON object."""
    value = parse_json(text, where)
    if not isinstance(value, dict):
        raise FormatError(f"{where} is a JSON {type(value).__name__}, expected an object.")
    return value


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file."""
    if not path.is_file():
        raise FormatError(f"{path} is missing.")
    return parse_object(path.read_bytes(), path)


def write_record(
    folder: Path, vectors: WordVectors, *, counts: bool = True, more: Mapping[str, Any] | None = None
) -> None:
    """Write provenance, counts and ``more`` into the folder of another tool."""
    record: dict[str, Any] = dict(more or {})
    if counts and vectors.counts is not None:
        record["counts"] = vectors.counts.tolist()
    if vectors.provenance:
        record["provenance"] = vectors.provenance
    if record:
        (folder / RECORD).write_bytes(json_text(record, "The provenance").encode("utf-8"))


def read_record(folder: Path, rows: int) -> tuple[NDArray[np.int64] | None, dict[str, Any]]:
    """Read the counts, if any, and the provenance of a table with this number of rows."""
    path = folder / RECORD
    if not path.exists():
        return None, {}
    record = read_object(path)
    provenance, counts = record.get("provenance", {}), record.get("counts")
    if not isinstance(provenance, dict):
        raise FormatError(f"{path}: 'provenance' is {provenance!r}, expected an object.")
    if counts is None:
        return None, provenance
    if not isinstance(counts, list) or len(counts) != rows:
        raise FormatError(f"{path}: 'counts' is not a list of {rows} numbers.")
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in counts):
        raise FormatError(f"{path}: 'counts' has what is not a whole number from 0 to 2^63 - 1.")
    return np.array(counts, dtype=np.int64), provenance


def _plain(value: Any) -> Any:
    """Convert numpy numbers and arrays to Python's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a string, number, list or mapping")
