"""Which word of a paraphrase stands for the target: Algorithm 4.1 of Arase & Kajiwara 2021.

Words other than the target that are each other's best match are taken out; the target's match is the best of
the rest, if its cosine reaches the threshold. Of equal cosines, as between repeated words, the nearer in
relative position is taken: the paper does not say.
"""

from __future__ import annotations

import numpy as np

from wordstill.meaning.cosines import Cosines

TIE = 1e-4
"""Less than any difference of cosines that means something."""


def align_target(cosines: Cosines, target: int, threshold: float) -> int | None:
    """The number of the target's match, or None.

    Args:
        cosines: Between the words of the sentence and those of its paraphrase [n, m].
        target: Number of the target word.
        threshold: Least cosine of a match, the paper's λ.

    >>> cosines = np.array([[1.0, 0.1], [0.2, 0.7]], dtype=np.float32)
    >>> align_target(cosines, 1, 0.6), align_target(cosines, 1, 0.8)
    (1, None)
    """
    rows, columns = cosines.shape
    if columns == 0:
        return None
    places = np.abs(_relative(rows)[:, None] - _relative(columns)[None, :])
    ranked = cosines - TIE * places
    best_of_row, best_of_column = ranked.argmax(axis=1), ranked.argmax(axis=0)
    mutual = best_of_column[best_of_row] == np.arange(rows)
    mutual[target] = False
    free = cosines[target] >= threshold
    free[best_of_row[mutual]] = False
    if not free.any():
        return None
    return int(np.where(free, ranked[target], -np.inf).argmax())


def _relative(count: int) -> Cosines:
    """Where each of so many words stands, from 0 to 1."""
    return np.linspace(0.0, 1.0, count, dtype=np.float32)
