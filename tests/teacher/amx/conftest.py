from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from wordstill.teacher.amx.amx_library import AmxUnavailable, Kernel, kernel


@pytest.fixture
def tiles() -> Kernel:
    """The kernel; tests that ask for it are skipped where there is none."""
    try:
        return kernel()
    except AmxUnavailable as reason:
        pytest.skip(f"no matrix tiles: {reason}")


@pytest.fixture
def at_the_edge() -> Callable[[Tensor], Tensor]:
    """Copies a tensor to the very end of memory that may be read or written."""
    page = mmap.PAGESIZE

    def copied(tensor: Tensor) -> Tensor:
        size = tensor.numel() * tensor.element_size()
        whole = -(-size // page) * page
        memory = mmap.mmap(-1, whole + page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + whole), ctypes.c_size_t(page), 0) == 0
        place = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=whole - size)
        return place.view(tensor.shape).copy_(tensor)

    return copied
