"""Numbers rounded to int8, with one scale for each row."""

from __future__ import annotations

import numpy as np

from wordstill.vectors.compressed import LARGEST, Int8Rows
from wordstill.vectors.table import WordVectors

FLOAT = np.finfo(np.float32)
SCALES = (FLOAT.tiny, np.nextafter(FLOAT.max / np.float32(LARGEST), np.float32(0)))
"""Scales outside would lose a row, as zero or as infinity."""


def quantize(vectors: WordVectors) -> Int8Rows:
    """Round the rows of a table so that the largest number of each becomes 127 or -127.

    Rounding again what was decoded gives the same numbers.
    """
    if isinstance(vectors.compressed, Int8Rows):
        return vectors.compressed
    numbers = np.empty((len(vectors), vectors.dim), dtype=np.int8)
    scales = np.empty(len(vectors), dtype=np.float32)
    start = 0
    for rows in vectors.blocks():
        part = slice(start, start + len(rows))
        block = rows.astype(np.float64)
        scale = np.clip(np.abs(block).max(axis=1) / LARGEST, *SCALES).astype(np.float32)
        scales[part], numbers[part] = scale, np.clip(np.rint(block / scale[:, None]), -LARGEST, LARGEST)
        start = part.stop
    return Int8Rows(numbers, scales)
