"""Numbers rounded to int8, with one scale for each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wordstill.vectors.table import Matrix

LARGEST = 127
FLOAT = np.finfo(np.float32)
SCALES = (FLOAT.tiny, np.nextafter(FLOAT.max / np.float32(LARGEST), np.float32(0)))
"""Scales outside would lose a row, as zero or as infinity."""

ROW_BLOCK = 1 << 14


def quantize(matrix: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round (rows, dim) so that the largest number of each row becomes 127 or -127.

    Rounding again what was dequantised gives the same numbers.
    """
    numbers = np.empty(matrix.shape, dtype=np.int8)
    scales = np.empty(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), ROW_BLOCK):
        block = matrix[start : start + ROW_BLOCK].astype(np.float64)
        scale = np.clip(np.abs(block).max(axis=1) / LARGEST, *SCALES).astype(np.float32)
        scales[start : start + ROW_BLOCK] = scale
        numbers[start : start + ROW_BLOCK] = np.clip(np.rint(block / scale[:, None]), -LARGEST, LARGEST)
    return numbers, scales


def dequantize(numbers: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The numbers times the scales of their rows, (rows, dim)."""
    matrix = np.empty(numbers.shape, dtype=np.float32)
    for start in range(0, len(numbers), ROW_BLOCK):
        part = slice(start, start + ROW_BLOCK)
        with np.errstate(invalid="ignore", over="ignore"):
            np.multiply(numbers[part], scales[part, None], out=matrix[part])
    return matrix
