"""A cache of the teacher's states for all triples, computed once, in bfloat16 and memory-mapped.

states.npy   [triples, 3, layers, width], the bits of bfloat16 as int16
cache.json   whose states they are, how many are there, and the SHA-256 of each block of them
"""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.files import disk_errors
from wordstill.core.guard import reading
from wordstill.core.progress import count_bar
from wordstill.core.resume import keep_record, locked, write_record
from wordstill.core.tensors import map_array
from wordstill.errors import DataError, Interrupted
from wordstill.meaning.triples import ROLES, Triple, Triples
from wordstill.teacher.spans import StateReader

STATES, RECORD, BLOCKS = "states.npy", "cache.json", "blocks"
SCHEMA = 2
"""2 added checksums."""
BLOCK = 8192


class StateCache:
    """States of triples on disk, and the content of ``cache.json``.

    Attributes:
        dropped: Triples with a word that the tokenizer drops; they have no rows.
    """

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.dropped: int = record["dropped"]
        with reading(folder / STATES):
            self._bits: NDArray[np.int16] = np.asarray(map_array(folder / STATES))[: record["rows"]]

    @classmethod
    def build(
        cls, folder: Path, reader: StateReader, triples: Triples, *, block: int = BLOCK, progress: bool = False
    ) -> StateCache:
        """Compute the states of triples, in blocks; those that an interrupted run computed are kept.

        Raises:
            UsageError: Another run is reading states into the folder.
            DataError: The folder holds states of another teacher or of other triples, or the disk is full.
            Interrupted: Ctrl-C or SIGTERM came; the blocks that were read are kept.
        """
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, folder):
            remedy = "delete the folder or choose another"
            record = keep_record(folder / RECORD, state_settings(reader, triples), remedy)
            if "read" not in record:
                _reserve(folder / STATES, (len(triples), len(ROLES), *reader.shape))
                record = write_record(folder / RECORD, {**record, "read": 0, "rows": 0, "dropped": 0, BLOCKS: []})
            _verify(folder, record, remedy)
            done, total = record["read"], len(triples)
            with count_bar("states", total, "triples", show=progress, done=done) as bar:
                try:
                    while done < total:
                        record = _extend(folder, record, reader, triples[done : done + block])
                        bar.update(record["read"] - done)
                        done = record["read"]
                except KeyboardInterrupt:
                    raise Interrupted("reading states", done, total, "triples") from None
        return cls(folder, record)

    def __len__(self) -> int:
        return len(self._bits)

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and width."""
        return int(self._bits.shape[2]), int(self._bits.shape[3])

    @property
    def nbytes(self) -> int:
        """Size of all states."""
        return int(self._bits.nbytes)

    def rows(self, numbers: NDArray[np.int64] | slice) -> Tensor:
        """[n, 3, layers, width] states of some triples in bfloat16, on the CPU."""
        return torch.from_numpy(np.array(self._bits[numbers])).view(torch.bfloat16)


def state_settings(reader: StateReader, triples: Triples) -> dict[str, Any]:
    """The settings that determine the states of triples."""
    return {
        "schema": SCHEMA,
        "teacher": reader.teacher.identity,
        "precision": reader.teacher.precision,
        "layers": list(reader.layers),
        "triples": triples.hash,
    }


def _extend(folder: Path, record: dict[str, Any], reader: StateReader, block: Sequence[Triple]) -> dict[str, Any]:
    occurrences = [getattr(triple, role) for role in ROLES for triple in block]
    states, found = reader.states(occurrences)
    whole = found.reshape(len(ROLES), len(block)).all(axis=0)
    kept = states.view(len(ROLES), len(block), *reader.shape).transpose(0, 1)
    bits = kept[torch.from_numpy(whole).to(kept.device)].bfloat16().cpu().contiguous().view(torch.int16)
    first, count = record["rows"], int(whole.sum())
    data = bits.numpy().astype("<i2", copy=False).tobytes()
    with disk_errors(folder), (folder / STATES).open("r+b") as file:
        # Written as a file, so that a full disk is an error; with mapped memory it would end the process.
        npy.read_magic(file)
        npy.read_array_header_1_0(file)
        file.seek(first * len(ROLES) * math.prod(reader.shape) * bits.itemsize, os.SEEK_CUR)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return write_record(
        folder / RECORD,
        {
            **record,
            "read": record["read"] + len(block),
            "rows": first + count,
            "dropped": record["dropped"] + len(block) - count,
            BLOCKS: [*record[BLOCKS], [count, hashlib.sha256(data).hexdigest()]],
        },
    )


def _reserve(path: Path, shape: tuple[int, ...]) -> None:
    """Create a sparse file of full length for an int16 array."""
    with disk_errors(path.parent), path.open("wb") as file:
        file.write(_header(shape))
        file.truncate(file.tell() + 2 * math.prod(shape))


def _header(shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"descr": "<i2", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def _verify(folder: Path, record: dict[str, Any], remedy: str) -> None:
    """Verify the checksums of the states that are already cached."""
    with reading(f"{folder / STATES}", remedy=f"{remedy.capitalize()}."):
        if not all(type(record[name]) is int and record[name] >= 0 for name in ("read", "rows", "dropped")):
            raise DataError(f"{folder / RECORD} has no numbers of triples: {remedy}.")
        bits, first = map_array(folder / STATES), 0
        header = _header(bits.shape)
        with (folder / STATES).open("rb") as file:
            if file.read(len(header)) != header:
                raise DataError(f"{folder / STATES} is damaged in its header: {remedy}.")
        for rows, expected in record[BLOCKS]:
            data = np.ascontiguousarray(bits[first : first + rows]).data
            if hashlib.sha256(data).hexdigest() != expected:
                raise DataError(f"{folder / STATES} is damaged in rows {first} to {first + rows - 1}: {remedy}.")
            first += rows
        if first != record["rows"]:
            raise DataError(f"{folder / RECORD} has checksums of {first} rows, expected {record['rows']}: {remedy}.")


GPU_SHARE = 0.5
"""Share of the free GPU memory that the states of all triples may take."""


class DeviceStates:
    """States on a device; if they fit into a GPU's memory, all are kept there, so that no step waits for the disk."""

    def __init__(self, source: StateCache, device: torch.device) -> None:
        self.source, self.device = source, device
        fits = device.type == "cuda" and source.nbytes <= GPU_SHARE * torch.cuda.mem_get_info(device)[0]
        self._all = source.rows(slice(None)).to(device) if fits else None

    @property
    def resident(self) -> bool:
        """Whether all states are in a GPU's memory."""
        return self._all is not None

    def placed(self, numbers: NDArray[np.int64]) -> Tensor:
        """Indices of triples on the device where they are looked up."""
        found = torch.from_numpy(numbers)
        return found if self._all is None else found.to(self.device)

    def take(self, numbers: Tensor) -> Tensor:
        """[n, 3, layers, width] float32 states of some triples, given indices from `placed`."""
        if self._all is not None:
            return self._all[numbers].float()
        return self.source.rows(numbers.numpy()).to(self.device).float()
