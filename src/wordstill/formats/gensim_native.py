"""gensim's own ``KeyedVectors.save``: a pickle, and large arrays beside it as ``.npy``.

Read without gensim and without running the pickle, see `wordstill.formats.unpickling`; written by gensim.
Counts are gensim's attribute "count"; the provenance is an attribute of that name, as JSON.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError, MissingExtra
from wordstill.files import disk_errors, sync_folder
from wordstill.formats.base import Format, encode_word, make_table, to_float
from wordstill.formats.npy import map_array
from wordstill.formats.reading import STRICT, Reading
from wordstill.formats.record import parse_object, provenance_text
from wordstill.formats.sniff import head, not_this
from wordstill.formats.unpickling import Array, Inert, load
from wordstill.vectors import WordVectors

NAME = b"gensim.models.keyedvectors"
PICKLE = b"\x80"
SIDES = (".vectors.npy", ".norms.npy")


def read(path: Path, how: Reading = STRICT) -> WordVectors:
    """Read what gensim 4 saved; large vectors are memory-mapped."""
    start = head(path)
    if not _is_ours(start):
        raise not_this(path, start, "a table saved by gensim")
    saved = load(path)
    words = _attribute(path, saved, "index_to_key", list)
    if not all(type(word) is str for word in words):
        raise FormatError(f"{path}: 'index_to_key' has keys that are not strings.")
    matrix = to_float(_vectors(path, saved))
    expandos = getattr(saved, "expandos", None)
    counts = expandos.get("count") if isinstance(expandos, dict) else None
    text = getattr(saved, "provenance", "{}")
    if not isinstance(text, str):
        raise FormatError(f"{path}: 'provenance' is {text!r}, expected JSON.")
    return make_table(
        path,
        words,
        matrix,
        how,
        counts=_counts(path, counts, len(words)) if counts is not None else None,
        provenance=parse_object(text, f"{path}: 'provenance'"),
    )


def write(vectors: WordVectors, path: Path) -> None:
    """Let gensim save the table; its files take their names when all are whole, the pickle last."""
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise MissingExtra("gensim", "eval", "Writing gensim's own format") from None
    keyed = KeyedVectors(vectors.dim, dtype=vectors.matrix.dtype)
    # Without this, the time and the path would go into the file.
    keyed.lifecycle_events = None
    for row, word in enumerate(vectors.words):
        encode_word(word, row)
    keyed.index_to_key = list(vectors.words)
    keyed.key_to_index = {word: row for row, word in enumerate(keyed.index_to_key)}
    keyed.vectors = np.array(vectors.matrix)
    if vectors.counts is not None:
        keyed.expandos["count"] = np.array(vectors.counts)
    if vectors.provenance:
        keyed.provenance = provenance_text(vectors)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.tmp-", dir=path.parent) as folder:
            keyed.save(str(Path(folder) / path.name))
            sync_folder(Path(folder))
            _put(Path(folder), path)


def recognises(path: Path) -> bool:
    """Whether it is a pickle that names gensim's table of vectors."""
    return path.is_file() and _is_ours(head(path))


def _is_ours(start: bytes) -> bool:
    return start.startswith(PICKLE) and NAME in start


def _put(folder: Path, path: Path) -> None:
    """Move the saved files to their place, and delete arrays that a table before had there."""
    names = [f"{path.name}{end}" for end in SIDES]
    written = [name for name in names if (folder / name).exists()]
    for name in [*written, path.name]:
        (folder / name).replace(path.with_name(name))
    for name in set(names) - set(written):
        path.with_name(name).unlink(missing_ok=True)


def _attribute(path: Path, saved: Inert, name: str, kind: type) -> Any:
    value = getattr(saved, name, None)
    if not isinstance(value, kind):
        raise FormatError(
            f"{path}: {name!r} is {type(value).__name__}, expected {kind.__name__}. If an older gensim saved "
            "it, open and save it with gensim 4."
        )
    return value


def _vectors(path: Path, saved: Inert) -> NDArray[Any]:
    """The matrix in the pickle, or in the file beside it."""
    if "vectors" not in getattr(saved, "__numpys", ()):
        return _attribute(path, saved, "vectors", Array).value  # type: ignore[no-any-return]
    side = path.with_name(f"{path.name}.vectors.npy")
    if not side.is_file():
        raise FormatError(f"{side} is missing; it belongs to {path} and holds its numbers.")
    return map_array(side)


def _counts(path: Path, counts: Any, rows: int) -> NDArray[np.int64]:
    """Counts for all rows; gensim adds those of words that came later, which are zero, only when asked."""
    value = counts.value if isinstance(counts, Array) else None
    if value is None or value.ndim != 1 or len(value) > rows or value.dtype.kind not in "iu":
        raise FormatError(f"{path}: the attribute 'count' is not an array of {rows} whole numbers.")
    return np.pad(value.astype(np.int64), (0, rows - len(value)))


GENSIM = Format("gensim", (".kv", ".wordvectors"), read, write, recognises, records=True, float16=True)
