"""gensim's own ``KeyedVectors.save``: a pickle, and large arrays beside it as ``.npy``.

Written by gensim; read without it and without running the pickle: nothing that a pickle names is looked up or
called. Each name of gensim or numpy that a saved table of vectors needs stands for something inert of ours;
any other name is an error. Python's own unpickler in Python is used, not the one in C, which reserves all
the memory a pickle asks for. Counts are gensim's attribute "count"; the provenance is an attribute of that
name, as JSON.
"""

from __future__ import annotations

import io
import pickle
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import disk_errors, sync_folder
from wordstill.core.guard import Limits
from wordstill.core.tensors import map_array
from wordstill.errors import FormatError, MissingExtra
from wordstill.formats.base import STRICT, Format, ReadOptions, check_words, head, make_table, not_this, to_float
from wordstill.formats.record import parse_object, provenance_text
from wordstill.vectors import WordVectors

NAME = b"gensim.models.keyedvectors"
PICKLE = b"\x80"
NUMERIC = re.compile(r"[<>|=]?[fiu][1248]")
SIDES = (".vectors.npy", ".norms.npy")


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read what gensim 4 saved; large vectors are memory-mapped."""
    start = head(path)
    if not _is_ours(start):
        raise not_this(path, start, "a table saved by gensim")
    saved = load(path, options.limits)
    words = _attribute(path, saved, "index_to_key", list)
    if not all(type(word) is str for word in words):
        raise FormatError(f"{path}: 'index_to_key' has keys that are not strings.")
    matrix = to_float(_vectors(path, saved))
    expandos = getattr(saved, "expandos", None)
    counts = expandos.get("count") if isinstance(expandos, dict) else None
    text = getattr(saved, "provenance", "{}")
    if not isinstance(text, str):
        raise FormatError(f"{path}: 'provenance' is a {type(text).__name__}, expected JSON.")
    return make_table(
        path,
        words,
        matrix,
        options,
        counts=_counts(path, counts, len(words)) if counts is not None else None,
        provenance=parse_object(text, f"{path}: 'provenance'"),
    )


def write(vectors: WordVectors, path: Path) -> None:
    """Let gensim save the table; its files take their names when all are whole, the pickle last."""
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise MissingExtra("gensim", "train", "Writing gensim's own format") from None
    keyed = KeyedVectors(vectors.dim, dtype=vectors.matrix.dtype)
    # Without this, the time and the path would go into the file.
    keyed.lifecycle_events = None
    check_words(vectors)
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
            # Two files cannot be replaced in one step: over an old table all goes into one.
            keyed.save(str(Path(folder) / path.name), **({"separately": []} if path.exists() else {}))
            sync_folder(Path(folder))
            _put(Path(folder), path)


def recognizes(path: Path) -> bool:
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
    beside = getattr(saved, "__numpys", [])
    if not isinstance(beside, list) or "vectors" not in [name for name in beside if isinstance(name, str)]:
        inside: Array = _attribute(path, saved, "vectors", Array)
        if inside.value is None:
            raise FormatError(f"{path}: 'vectors' is an array without numbers.")
        return inside.value
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


def load(path: Path, limits: Limits) -> Inert:
    """The attributes of the one object in a pickle, which may hold only words, numbers and arrays."""
    stream = io.BytesIO(path.read_bytes())
    try:
        value = _Unpickler(stream, limits).load()
    except Exception as error:
        # Damage can raise anything at all, since the opcodes work on whatever is on the stack.
        raise FormatError(
            f"{path}: the pickle is damaged near byte {stream.tell()} or is not a gensim KeyedVectors: "
            f"{error or type(error).__name__}. Pickles are never executed; if gensim can open it, save "
            "its vectors with save_word2vec_format."
        ) from None
    if not isinstance(value, Inert):
        raise FormatError(f"{path}: the pickle holds a {type(value).__name__}, expected gensim's KeyedVectors.")
    return value


class Inert:
    """An object of another library, reduced to its attributes."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("an object whose attributes are no dict")
        if not all(type(name) is str for name in state):
            raise pickle.UnpicklingError("an attribute whose name is no text")
        self.__dict__.update(state)


class _Type:
    """The type of an array's numbers."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        if not isinstance(code, str) or not NUMERIC.fullmatch(code):
            raise pickle.UnpicklingError(
                f"an array of {code if isinstance(code, str) else type(code).__name__}, which are not numbers"
            )
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if not isinstance(order, str) or order not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("numbers in an unknown byte order")
        self.dtype = np.dtype(f"{order}{self.dtype.str[1:]}")


class Array:
    """An array, made when its bytes are known to be as many as its shape needs."""

    value: NDArray[Any] | None = None

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Type) or not isinstance(data, bytes) or not isinstance(shape, tuple):
            raise pickle.UnpicklingError("an array that is not of numbers")
        if len(shape) > 2 or not all(type(size) is int and size >= 0 for size in shape):
            raise pickle.UnpicklingError("an array of a shape that makes no sense")
        flat = np.frombuffer(data, dtype=kind.dtype)
        self.value = flat.reshape(shape, order="F" if fortran else "C")


def _scalar(kind: Any, data: Any = b"") -> Any:
    if not isinstance(kind, _Type) or not isinstance(data, bytes) or len(data) != kind.dtype.itemsize:
        raise pickle.UnpicklingError("a number that is none")
    return np.frombuffer(data, dtype=kind.dtype)[0]


def nothing(*_: Any) -> None:
    """Stands for a class that is only named, as the argument of another."""


REFUSED = {code[0] for code in (pickle.BYTEARRAY8, pickle.EMPTY_SET, pickle.ADDITEMS, pickle.DICT)}
"""A byte array would be reserved as long as its header says; sets and old dicts hash whatever is put into them."""

STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("gensim.models.keyedvectors", "KeyedVectors"): Inert,
    ("numpy", "dtype"): _Type,
    **{("numpy", name): nothing for name in ("ndarray", "float16", "float32", "float64")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}


class _Instructions(dict[int, Callable[[Any], None]]):
    """The instructions that a table of vectors needs, counted as they are looked up."""

    def __init__(self, limits: Limits) -> None:
        super().__init__({code: load for code, load in pickle._Unpickler.dispatch.items() if code not in REFUSED})
        self[pickle.SETITEM[0]], self[pickle.SETITEMS[0]] = _set_item, _set_items
        self[pickle.BUILD[0]], self[pickle.FROZENSET[0]] = _build, _frozen_set
        self._limits, self._count = limits, 0

    def __getitem__(self, code: int) -> Callable[[Any], None]:
        self._count += 1
        if self._count > self._limits.objects:
            self._limits.refuse("objects", self._count, "The pickle has", "instructions")
        return super().__getitem__(code)


class _Unpickler(pickle._Unpickler):
    def __init__(self, stream: io.BytesIO, limits: Limits) -> None:
        super().__init__(stream)
        self.dispatch = _Instructions(limits)  # type: ignore[misc]

    def find_class(self, module: str, name: str) -> Any:
        try:
            return STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None


def _set_item(unpickler: Any) -> None:
    value, key = unpickler.stack.pop(), unpickler.stack.pop()
    _put_items(unpickler.stack[-1], [key, value])


def _set_items(unpickler: Any) -> None:
    items = unpickler.pop_mark()
    _put_items(unpickler.stack[-1], items)


def _put_items(table: Any, items: list[Any]) -> None:
    """Only texts and numbers are keys: to hash tuples inside each other takes time without end."""
    if type(table) is not dict or len(items) % 2 or not all(type(key) in (str, int) for key in items[::2]):
        raise pickle.UnpicklingError("a dict whose keys are not words")
    table.update(zip(items[::2], items[1::2]))


def _frozen_set(unpickler: Any) -> None:
    items = unpickler.pop_mark()
    if not all(type(item) in (str, int) for item in items):
        raise pickle.UnpicklingError("a set of what are not words")
    unpickler.append(frozenset(items))


def _build(unpickler: Any) -> None:
    """Give attributes to an object of ours, and to nothing else that a pickle can name."""
    state = unpickler.stack.pop()
    if not isinstance(unpickler.stack[-1], Inert | _Type | Array):
        raise pickle.UnpicklingError("attributes of what has none")
    unpickler.stack[-1].__setstate__(state)


GENSIM = Format("gensim", (".kv", ".wordvectors"), read, write, recognizes, records=True, float16=True)
