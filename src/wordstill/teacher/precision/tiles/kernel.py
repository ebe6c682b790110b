"""The compiled kernel, once it has shown in a child that it does not kill a process."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache, partial

import torch
from torch import Tensor

from wordstill.teacher import device
from wordstill.teacher.precision.tiles.library import CannotCompile, load_library

STEP = 32
"""Sizes of layers and of heads must be multiples of this."""
MOST_NUMBERS = 8192
"""In a row whose norm is taken."""


class NoTiles(Exception):
    """Matrix tiles cannot be used; the message says why."""


class Heads(ctypes.Structure):
    """Numbers in bfloat16 [positions, heads, width], whose width lies in one piece."""

    _fields_ = (("first", ctypes.c_void_p), ("row", ctypes.c_long), ("head", ctypes.c_long))

    @classmethod
    def of(cls, tensor: Tensor) -> Heads:
        """Of a tensor [heads, positions, width]."""
        return cls(tensor.data_ptr(), tensor.stride(1), tensor.stride(0))


class Kernel:
    """The functions of the library; they let go of Python's lock, so that threads run side by side.

    Args:
        library: The compiled source.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer, number, heads = ctypes.c_void_p, ctypes.c_long, ctypes.POINTER(Heads)
        self._allow = library.tiles_allow
        self._linear = library.tiles_linear
        self._linear.argtypes = [*[pointer] * 4, *[number] * 3, ctypes.c_int]
        self._norm = library.tiles_norm
        self._norm.argtypes = [*[pointer] * 5, *[number] * 2, ctypes.c_float]
        self._norm.restype = None
        self._attend = library.tiles_attend
        self._attend.argtypes = [*[heads] * 3, pointer, *[number] * 2, pointer, *[number] * 3, ctypes.c_float]

    def allow(self) -> None:
        """Ask the operating system for the tiles, for all threads of this process.

        Raises:
            NoTiles: It refuses.
        """
        if self._allow() != 0:
            raise NoTiles("the operating system does not give this process matrix tiles")

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor, y: Tensor, *, gelu: bool) -> None:
        """Write into y [m, N] what a layer gives for x [m, K]; both lie in one piece.

        Args:
            x: Inputs in bfloat16.
            weight: In the order of tiles, see `linear`.
            bias: [N] in float32.
            y: Outputs in bfloat16.
            gelu: Whether to apply the exact ``gelu`` to them.
        """
        rows, inputs = x.shape
        pointers = (tensor.data_ptr() for tensor in (x, weight, bias, y))
        _refuse_failure(self._linear(*pointers, rows, y.shape[1], inputs, gelu))

    def norm(self, values: Tensor, added: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> None:
        """Replace values [m, N] by the layer norm of their sum with others [m, N]; both lie in one piece.

        Args:
            values: In bfloat16; N is a multiple of 32 and at most 8,192.
            added: Likewise.
            weight: [N] in float32.
            bias: Likewise.
            epsilon: Added to the variance.
        """
        pointers = (tensor.data_ptr() for tensor in (values, added, weight, bias, values))
        self._norm(*pointers, *values.shape, epsilon)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, out: Tensor, lengths: Tensor, scale: float
    ) -> None:
        """Write attention into out; all are [heads, P, width] in bfloat16.

        Args:
            query: Its width lies in one piece, as in the others.
            key: Likewise.
            value: Likewise.
            out: Likewise.
            lengths: Sub-words of each text in int64, P together.
            scale: Factor of the scores, above 0.
        """
        heads, _, width = query.shape
        given = (Heads.of(tensor) for tensor in (query, key, value))
        place = (out.data_ptr(), out.stride(1), out.stride(0))
        _refuse_failure(self._attend(*given, *place, lengths.data_ptr(), len(lengths), heads, width, scale))


def kernel() -> Kernel:
    """The kernel of this process.

    Raises:
        NoTiles: It has none, and never will have.
    """
    found = _found()
    if isinstance(found, str):
        raise NoTiles(found)
    return found


@cache
def _found() -> Kernel | str:
    """The kernel, or why there is none."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return "matrix tiles are used on Linux and x86-64 only"
    if not device.tiles_announced():
        return "this processor has no matrix tiles for bfloat16 (AMX)"
    # Some of a model stays with torch.
    if not device.bfloat16_is_safe():
        return "products in bfloat16 would kill this process, and it is too late to prevent that"
    try:
        made = Kernel(load_library())
        if not device.survives(partial(_try, made)):
            return "the processor's matrix tiles do not work"
        made.allow()
    except (CannotCompile, NoTiles) as error:
        return str(error)
    return made


def _try(made: Kernel) -> None:
    """A product of ones, which may end the process."""
    made.allow()
    ones = torch.ones(STEP, STEP, dtype=torch.bfloat16)
    y = torch.empty_like(ones)
    made.linear(ones, ones, torch.ones(STEP), y, gelu=False)
    if not bool((y == STEP + 1).all()):
        raise NoTiles("a product of ones is wrong")


def _refuse_failure(status: int) -> None:
    if status != 0:
        raise MemoryError("The processor's matrix tiles need more memory than there is.")
