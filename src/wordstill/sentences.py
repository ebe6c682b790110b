"""Vectors of sentences from those of their words: the mean, or SIF with the true counts of words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

SENTENCES_AT_ONCE = 4096


@dataclass(frozen=True)
class SentenceConfig:
    """Settings of `SentenceEncoder`."""

    weighting: Literal["mean", "sif"] = "sif"
    """How much each word counts: all the same, or a / (a + its share of the text)."""
    smoothing: float = 1e-3
    """The a of SIF: with less of it frequent words count less."""
    components: int = 1
    """How many directions that all sentences share are taken away; SIF only."""

    def __post_init__(self) -> None:
        if self.weighting not in ("mean", "sif"):
            raise unknown_name("weighting", self.weighting, ("mean", "sif"))
        if not 0 < self.smoothing < math.inf:
            raise UsageError(f"smoothing must be above 0; got {self.smoothing}.")
        if self.components < 0:
            raise UsageError(f"components must be 0 or more; got {self.components}.")


class SentenceEncoder:
    r"""Vectors of sentences, each the weighted mean of its words' vectors.

    .. math:: x_s = \frac{1}{|s|} \sum_{w \in s} \frac{a}{a + p(w)} v_w, \qquad v_s = x_s - U U^\top x_s

    p(w) is the share of w among all counted words of the table, U the first singular vectors of the sentences
    that `fit` is given (Arora, Liang and Ma 2017). Words without a vector are passed over; a sentence that
    has no other words gets zeros. Words that only a back-off knows count as rare.

    Args:
        vectors: The table; SIF needs its counts.
        config: The settings.
        split: Makes words of a sentence that is given as one text.

    Example:
        >>> encoder = SentenceEncoder(vectors, SentenceConfig("mean"))  # doctest: +SKIP
        >>> encoder.encode(["a river runs through the old town"]).shape  # doctest: +SKIP
        (1, 300)
    """

    def __init__(
        self,
        vectors: WordVectors,
        config: SentenceConfig | None = None,
        *,
        split: Callable[[str], Sequence[str]] = str.split,
    ) -> None:
        self.vectors, self.config, self.split = vectors, config or SentenceConfig(), split
        self.weights = self._weights()
        self.directions: NDArray[np.float32] | None = None

    def fit(self, sentences: Sequence[str | Sequence[str]]) -> SentenceEncoder:
        """Find the directions that these sentences share."""
        means = self._means(sentences).astype(np.float64)
        values, directions = np.linalg.eigh(means.T @ means)
        kept = directions[:, ::-1][:, : self._components] * (values[::-1][: self._components] > 0)
        self.directions = kept.astype(np.float32)
        return self

    def encode(self, sentences: Sequence[str | Sequence[str]]) -> NDArray[np.float32]:
        """The vectors of sentences, texts or lists of words, (sentences, dim)."""
        if isinstance(sentences, str):
            raise UsageError("encode takes a list of sentences; got one text.")
        if self.directions is None and self._components:
            raise UsageError("SIF with components must be fitted first: call fit with sentences.")
        means = self._means(sentences)
        if self.directions is not None:
            means -= (means @ self.directions) @ self.directions.T
        return means

    @property
    def _components(self) -> int:
        return self.config.components if self.config.weighting == "sif" else 0

    def _weights(self) -> NDArray[np.float32] | None:
        """[words] how much each word of the table counts; None if all count the same."""
        if self.config.weighting == "mean":
            return None
        counts = self.vectors.counts
        if counts is None or not counts.any():
            raise UsageError(
                "SIF weighs words by how often they occur, and this table has no counts. Take the weighting "
                "'mean', or a table that has them."
            )
        share = counts / counts.sum()
        weights: NDArray[np.float32] = (self.config.smoothing / (self.config.smoothing + share)).astype(
            np.float32
        )
        return weights

    def _means(self, sentences: Sequence[str | Sequence[str]]) -> NDArray[np.float32]:
        parts = [
            self._means_of_some(sentences[start : start + SENTENCES_AT_ONCE])
            for start in range(0, len(sentences), SENTENCES_AT_ONCE)
        ]
        return np.concatenate([np.empty((0, self.vectors.dim), dtype=np.float32), *parts])

    def _means_of_some(self, sentences: Sequence[str | Sequence[str]]) -> NDArray[np.float32]:
        rows: list[int] = []
        owners: list[int] = []
        sums = np.zeros((len(sentences), self.vectors.dim), dtype=np.float64)
        sizes = np.zeros(len(sentences), dtype=np.int64)
        for number, sentence in enumerate(sentences):
            words = self.split(sentence) if isinstance(sentence, str) else sentence
            for found in self.vectors.find(words):
                if isinstance(found, int):
                    rows.append(found)
                    owners.append(number)
                elif found is not None:
                    sums[number] += found
                sizes[number] += found is not None
        self._add(sums, np.array(owners, dtype=np.int64), np.array(rows, dtype=np.int64))
        means: NDArray[np.float32] = (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32)
        return means

    def _add(self, sums: NDArray[np.float64], owners: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Add words' vectors to the sums of the sentences they stand in; owners come in order."""
        if not len(rows):
            return
        vectors = self.vectors.take(rows)
        if self.weights is not None:
            vectors *= self.weights[rows, None]
        present, starts = np.unique(owners, return_index=True)
        sums[present] += np.add.reduceat(vectors, starts, axis=0, dtype=np.float64)
