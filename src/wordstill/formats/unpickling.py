"""The contents of a pickle without its code: nothing that a pickle names is looked up or called.

Each name of gensim or numpy that a saved table of vectors needs stands for something inert of ours; any other
name is an error. Python's own unpickler in Python is used, not the one in C, which reserves whatever memory a
pickle asks for.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError

NUMERIC = re.compile(r"[<>|=]?[fiu][1248]")


class Inert:
    """An object of another library, reduced to its attributes."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("an object whose attributes are no dict")
        self.__dict__.update((str(name), value) for name, value in state.items())


class _Type:
    """The type of an array's numbers."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        if not isinstance(code, str) or not NUMERIC.fullmatch(code):
            raise pickle.UnpicklingError(f"an array of {code!r}, which are not numbers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if order not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError(f"numbers in the byte order {order!r}")
        self.dtype = self.dtype.newbyteorder(order)


class Array:
    """An array, made when its bytes are known to be as many as its shape needs."""

    value: NDArray[Any]

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Type) or not isinstance(data, bytes) or not isinstance(shape, tuple):
            raise pickle.UnpicklingError("an array that is not of numbers")
        flat = np.frombuffer(data, dtype=kind.dtype)
        self.value = flat.reshape(shape, order="F" if fortran else "C")


def _scalar(kind: Any, data: Any = b"") -> Any:
    if not isinstance(kind, _Type) or not isinstance(data, bytes) or len(data) != kind.dtype.itemsize:
        raise pickle.UnpicklingError("a number that is none")
    return np.frombuffer(data, dtype=kind.dtype)[0]


def _nothing(*_: Any) -> None:
    """Stands for a class that is only named, as the argument of another."""


STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("gensim.models.keyedvectors", "KeyedVectors"): Inert,
    ("numpy", "ndarray"): _nothing,
    ("numpy", "dtype"): _Type,
    ("numpy", "float32"): _nothing,
    ("numpy", "float64"): _nothing,
    ("numpy", "float16"): _nothing,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}


class _Unpickler(pickle._Unpickler):
    # A byte array would be reserved as long as its header says, whatever follows.
    dispatch = {  # noqa: RUF012
        code: load for code, load in pickle._Unpickler.dispatch.items() if code != pickle.BYTEARRAY8[0]
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None


def load(path: Path) -> Inert:
    """The attributes of the one object in a pickle.

    Raises:
        FormatError: It is damaged, or it holds anything but words, numbers and arrays of a table of vectors.
    """
    stream = io.BytesIO(path.read_bytes())
    try:
        value = _Unpickler(stream).load()
    except Exception as error:
        # Damage can raise anything at all, since the opcodes work on whatever is on the stack.
        raise FormatError(
            f"{path}: the pickle is damaged near byte {stream.tell()} or is no gensim KeyedVectors: "
            f"{error or type(error).__name__}. Pickles are never run; if gensim can open it, save "
            "its vectors with save_word2vec_format."
        ) from None
    if not isinstance(value, Inert):
        raise FormatError(
            f"{path}: the pickle holds a {type(value).__name__}, expected gensim's KeyedVectors."
        )
    return value
