"""One-dimensional ``.npy`` files written as streams, so that no array has to fit into memory."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray


class ArrayWriter:
    """Appends to a ``.npy`` file; the file is a valid array once the writer is closed."""

    def __init__(self, path: Path, dtype: type[np.generic]) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.length = 0
        self._file = path.open("w+b")
        self._write_header()

    def extend(self, values: ArrayLike) -> None:
        """Add numbers at the end."""
        numbers = np.ascontiguousarray(values, dtype=self.dtype)
        self._file.write(numbers.data)
        self.length += len(numbers)

    def close(self) -> None:
        """Write the final length."""
        self._write_header()
        self._file.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()

    def _write_header(self) -> None:
        # numpy pads the header for an axis of any length, so that it can be written again in place.
        self._file.seek(0)
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.length,)}
        npy.write_array_header_1_0(self._file, header)
        self._file.seek(0, 2)


def read_array(path: Path) -> NDArray[Any]:
    """The array of a ``.npy`` file, mapped into memory and read-only; no pickle is ever read."""
    # A plain view: indexing an instance of np.memmap costs several times as much.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
