"""The baseline of Liu et al. 2020: a linear map that moves contextual vectors towards static ones.

1. Contextual vectors of a word's first occurrences are averaged; both sides are scaled to length one.
2. W rotates the static space onto the contextual one (orthogonal Procrustes).
3. Both "meet in the middle": A takes contextual vectors to the mean of the two by least squares.

Only A is used afterwards. Deviations from the authors' code: words without a static vector are left out (the code
gives them noise), and spaces of different width are aligned directly (the code repeats and pads the narrower one).

Reference: Liu, McCarthy & Korhonen 2020, Towards Better Context-aware Lexical Semantics, EMNLP.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.corpus.segment import word_spans
from wordstill.errors import DataError
from wordstill.meaning.distiller import layer_mean
from wordstill.methods.sums import RowSums
from wordstill.teacher.spans import Spans, StateReader
from wordstill.vectors import WordVectors

OCCURRENCES = 100


class LiuTransform:
    """A representation: a linear map of contextual vectors, whose matrix is applied from the right to unit vectors."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    @classmethod
    def fit(cls, contextual: Tensor, static: Tensor) -> LiuTransform:
        """Learn the map from vectors of the same words, contextual ones [n, width] and static ones [n, other width].

        Raises:
            DataError: There are fewer words than dimensions, so the map is not unique.
        """
        if len(contextual) < contextual.shape[1]:
            raise DataError(
                f"Only {len(contextual)} words have both a contextual and a static vector; for vectors of "
                f"{contextual.shape[1]} numbers at least as many are needed. Use more text or another table."
            )
        here, there = (_unit(vectors.double()) for vectors in (contextual, static))
        left, _, right = torch.linalg.svd(there.T @ here, full_matrices=False)
        middle = (here + there @ (left @ right)) / 2
        # With the pseudo-inverse, because least squares on a GPU needs a matrix of full rank.
        solved: Tensor = torch.linalg.pinv(here.T @ here, hermitian=True) @ (here.T @ middle)
        return cls(solved.float())

    @classmethod
    def fit_texts(cls, reader: StateReader, texts: Sequence[str], static: WordVectors) -> LiuTransform:
        """Learn the map from the first 100 occurrences in texts of each word of a static table."""
        rows, places = _occurrences(texts, static)
        sums = RowSums(len(static), reader.shape[1], reader.teacher.device)
        for numbers, states in reader.read(texts, places):
            sums.add(torch.from_numpy(rows[numbers]).to(states.device), layer_mean(states))
        seen = torch.nonzero(sums.counts).flatten()
        table = torch.from_numpy(np.array(static.matrix[seen.cpu().numpy()], dtype=np.float32))
        return cls.fit(sums.pooled()[seen], table.to(seen.device))

    def __call__(self, states: Tensor) -> Tensor:
        """[n, width] the mapped mean over the layers of states [n, layers, width]."""
        return _unit(layer_mean(states).float()) @ self.matrix.to(states.device)


def _occurrences(texts: Sequence[str], static: WordVectors) -> tuple[Ints, Spans]:
    counts = np.zeros(len(static), dtype=np.int64)
    rows: list[int] = []
    chosen: list[list[tuple[int, int]]] = []
    for text in texts:
        spans = []
        for start, end in word_spans(text):
            word = text[start:end]
            key = word if word in static else word.lower()
            if key in static and counts[static.index(key)] < OCCURRENCES:
                counts[static.index(key)] += 1
                rows.append(static.index(key))
                spans.append((start, end))
        chosen.append(spans)
    return np.array(rows, dtype=np.int64), Spans.of(chosen)


def _unit(rows: Tensor) -> Tensor:
    return torch.nn.functional.normalize(rows, dim=1)
