"""How far word vectors move when they are made in another precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_COSINE = 0.9995
"""What a fast path must keep to those in float32."""


def agreement(vectors: NDArray[np.float32], reference: NDArray[np.float32]) -> dict[str, float]:
    """Mean and least cosine word by word, as they are and after the best rotation.

    The axes of `still` are principal directions: those of nearly the same variance come out mixed after the
    smallest change, which is a rotation of the whole table and changes no cosine between words.

    Args:
        vectors: Of length 1 [V, d].
        reference: Of the same words, of length 1 [V, d].
    """
    left, _, right = np.linalg.svd(vectors.T.astype(np.float64) @ reference)
    plain = np.sum(vectors * reference, axis=1)
    rotated = np.sum((vectors @ (left @ right)) * reference, axis=1)
    return {
        "mean": float(rotated.mean()),
        "least": float(rotated.min()),
        "mean_unrotated": float(plain.mean()),
        "least_unrotated": float(plain.min()),
    }
