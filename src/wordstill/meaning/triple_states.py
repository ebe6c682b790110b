"""States of triples where they are trained on: all of them on a GPU if they fit, else batch by batch."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

GPU_SHARE = 0.5
"""Part of the free GPU memory that the states of all triples may take."""


class TripleStates(Protocol):
    """States of triples, such as a :class:`wordstill.meaning.cache.StateCache`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and width."""
        ...

    @property
    def nbytes(self) -> int:
        """Size of all states."""
        ...

    def __len__(self) -> int: ...

    def rows(self, numbers: NDArray[np.int64] | slice) -> Tensor:
        """[n, 3, layers, width] states of some triples."""
        ...


class DeviceStates:
    """Gives states on a device.

    Args:
        source: Of all triples.
        device: Where they are wanted. A GPU keeps all that fit, so that no step waits for the disk.
    """

    def __init__(self, source: TripleStates, device: torch.device) -> None:
        self.source, self.device = source, device
        fits = device.type == "cuda" and source.nbytes <= GPU_SHARE * torch.cuda.mem_get_info(device)[0]
        self._all = source.rows(slice(None)).to(device) if fits else None

    def take(self, numbers: NDArray[np.int64]) -> Tensor:
        """[n, 3, layers, width] float32 states of some triples."""
        if self._all is not None:
            return self._all[torch.from_numpy(numbers).to(self.device)].float()
        return self.source.rows(numbers).to(self.device).float()
