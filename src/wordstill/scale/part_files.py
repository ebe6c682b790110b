"""Parts: the states of a run's methods for one shard, in a file without empty rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.files import atomic_path
from wordstill.core.guard import reading
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.errors import DataError
from wordstill.methods.base import Observer
from wordstill.teacher.device import to_arrays

ROWS, SHAPE = "@rows", "@shape"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Part:
    """The states of methods, by label, and the number of truncated sentences."""

    states: dict[str, Arrays]
    cut: int = 0

    @classmethod
    def of(cls, methods: Mapping[str, Observer], cut: int = 0) -> Part:
        """The part of some methods."""
        return cls({label: to_arrays(method.state_dict()) for label, method in methods.items()}, cut)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without rows of zeros, which need not be sent between machines."""
        return _unpacked, ({label: pack(state) for label, state in self.states.items()}, self.cut)

    def load_into(self, methods: Mapping[str, Observer]) -> None:
        """Load these states into methods."""
        for label, method in methods.items():
            method.load_state_dict({name: torch.from_numpy(array) for name, array in self.states[label].items()})

    def write(self, path: Path, facts: Mapping[str, Any] | None = None) -> None:
        """Write the file atomically, with a checksum."""
        packed: Arrays = {}
        for label, state in self.states.items():
            packed |= {f"{label}/{name}": array for name, array in pack(state).items()}
        metadata = {"cut": str(self.cut), "facts": json.dumps(facts or {}, sort_keys=True)}
        with atomic_path(path) as temporary:
            write_tensors(temporary, packed, metadata, checksum=True)

    @classmethod
    def read(cls, path: Path) -> tuple[Part, dict[str, Any]]:
        """Read a part and its metadata.

        Raises:
            DataError: The file is damaged.
        """
        with reading(path, remedy="Start again with --overwrite."):
            # Tensors cannot be read-only, and copying would take longer than everything else.
            arrays, metadata = read_checked(path, private=True)
            try:
                cut, facts = int(metadata["cut"]), json.loads(metadata["facts"])
            except (KeyError, ValueError) as error:
                raise DataError(f"{path} is not a part of a run ({error}).") from None
            states: dict[str, Arrays] = {}
            for name, array in arrays.items():
                label, _, rest = name.partition("/")
                states.setdefault(label, {})[rest] = array
            return _unpacked(states, cut), facts


def _unpacked(states: Mapping[str, Arrays], cut: int) -> Part:
    return Part({label: unpack(state) for label, state in states.items()}, cut)


def pack(state: Arrays) -> Arrays:
    """The same arrays, with tables reduced to their nonzero rows."""
    packed: Arrays = {}
    for name, array in state.items():
        filled = np.flatnonzero(array.reshape(len(array), -1).any(axis=1)) if array.ndim > 1 and array.size else None
        if filled is None or 2 * len(filled) > len(array):
            packed[name] = array
        else:
            packed[name] = array[filled]
            packed[name + ROWS], packed[name + SHAPE] = filled, np.array(array.shape, dtype=np.int64)
    return packed


def unpack(packed: Arrays) -> Arrays:
    """Restore the arrays given to `pack`."""
    state: Arrays = {}
    for name, array in packed.items():
        if name.endswith((ROWS, SHAPE)):
            continue
        if name + ROWS not in packed:
            state[name] = array
            continue
        rows, shape = packed[name + ROWS], tuple(packed[name + SHAPE].tolist())
        if shape[1:] != array.shape[1:] or (len(rows) and not 0 <= rows.min() <= rows.max() < shape[0]):
            raise DataError(f"{name} has rows outside its table of shape {shape}")
        try:
            state[name] = np.zeros(shape, dtype=array.dtype)
        except (MemoryError, ValueError):
            raise DataError(f"{name} claims a table of shape {shape}, which does not fit in memory") from None
        state[name][rows] = array
    return state
