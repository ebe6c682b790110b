"""The teacher's states of all triples, read once, kept in bfloat16 and memory-mapped.

states.npy   [triples, 3, layers, width], the bits of bfloat16 as int16
cache.json   whose states they are, and how many are there
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.files import disk_errors
from wordstill.core.progress import count_bar
from wordstill.core.resume import keep_record, locked, write_record
from wordstill.errors import Interrupted
from wordstill.meaning.triples import ROLES, Triple, Triples
from wordstill.teacher.spans import StateReader

STATES, RECORD = "states.npy", "cache.json"
SCHEMA = 1
BLOCK = 8192


class StateCache:
    """States of triples on disk, and what ``cache.json`` says of them.

    Attributes:
        dropped: Triples with a word that the tokenizer drops; they are not among the rows.
    """

    def __init__(self, folder: Path, record: dict[str, Any]) -> None:
        self.folder = folder
        self.dropped: int = record["dropped"]
        self._bits: NDArray[np.int16] = np.load(folder / STATES, mmap_mode="r", allow_pickle=False)[: record["rows"]]

    @classmethod
    def build(
        cls, folder: Path, reader: StateReader, triples: Triples, *, block: int = BLOCK, progress: bool = False
    ) -> StateCache:
        """Read the states of triples, so many at once; what an earlier call has read of them is kept.

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
                with disk_errors(folder):
                    shape = (len(triples), len(ROLES), *reader.shape)
                    np.lib.format.open_memmap(folder / STATES, mode="w+", dtype=np.int16, shape=shape)
                record = write_record(folder / RECORD, {**record, "read": 0, "rows": 0, "dropped": 0})
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
    """What determines the states of triples."""
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
    with disk_errors(folder):
        table = np.lib.format.open_memmap(folder / STATES, mode="r+")
        table[first : first + count] = bits.numpy()
        table.flush()
    return write_record(
        folder / RECORD,
        {
            **record,
            "read": record["read"] + len(block),
            "rows": first + count,
            "dropped": record["dropped"] + len(block) - count,
        },
    )


GPU_SHARE = 0.5
"""Part of the free GPU memory that the states of all triples may take."""


class DeviceStates:
    """Gives states on a device. A GPU keeps all that fit, so that no step waits for the disk."""

    def __init__(self, source: StateCache, device: torch.device) -> None:
        self.source, self.device = source, device
        fits = device.type == "cuda" and source.nbytes <= GPU_SHARE * torch.cuda.mem_get_info(device)[0]
        self._all = source.rows(slice(None)).to(device) if fits else None

    def take(self, numbers: NDArray[np.int64]) -> Tensor:
        """[n, 3, layers, width] float32 states of some triples."""
        if self._all is not None:
            return self._all[torch.from_numpy(numbers).to(self.device)].float()
        return self.source.rows(numbers).to(self.device).float()
