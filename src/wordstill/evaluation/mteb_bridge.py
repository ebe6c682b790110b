"""A bridge to mteb and its hundreds of sentence tasks.

Example:
    >>> import mteb  # doctest: +SKIP
    >>> from wordstill.evaluation.mteb_bridge import StaticEncoder
    >>> tasks = mteb.get_tasks(tasks=["Banking77Classification"])  # doctest: +SKIP
    >>> mteb.evaluate(StaticEncoder(vectors), tasks)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.tasks.similarity import SentenceVectors
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

TEXT = "text"


class StaticEncoder:
    """A table of word vectors as a sentence encoder for mteb.

    Args:
        vectors: The table.
        name: What mteb calls the model: an owner and a name.
        protocol: How words are looked up and sentences are made of them. The common component of SIF is that
            of all sentences that one call encodes.
    """

    def __init__(
        self, vectors: WordVectors, name: str = "wordstill/vectors", protocol: str | Protocol = "default"
    ) -> None:
        self.vectors = vectors
        self.name = name
        self.protocol = resolve(protocol)

    def encode(self, inputs: Sequence[str] | Iterable[Mapping[str, Sequence[str]]], **_: Any) -> NDArray[np.float32]:
        """The vectors of texts, or of batches of texts as mteb gives them, shape (texts, dim).

        A text without any known word is a row of zeros.
        """
        texts = [text for given in inputs for text in ([given] if isinstance(given, str) else given[TEXT])]
        return SentenceVectors.of(texts, self.vectors, self.protocol).matrix.astype(np.float32)

    def similarity(self, first: Any, second: Any) -> NDArray[np.float64]:
        """Cosines of all rows with all rows, shape (first, second)."""
        cosines: NDArray[np.float64] = _unit_rows(first) @ _unit_rows(second).T
        return cosines

    def similarity_pairwise(self, first: Any, second: Any) -> NDArray[np.float64]:
        """Cosines of rows with the rows of the same number, shape (rows,)."""
        cosines: NDArray[np.float64] = np.einsum("rd,rd->r", _unit_rows(first), _unit_rows(second))
        return cosines

    @property
    def mteb_model_meta(self) -> Any:
        """The facts about the model that mteb writes with its results."""
        try:
            module = importlib.import_module("mteb.models.model_meta")
        except ImportError as error:
            raise MissingExtra("mteb", "mteb", "The bridge to mteb") from error
        return module.ModelMeta.create_empty(
            {
                "name": self.name,
                "revision": "1",
                "embed_dim": self.vectors.dim,
                "n_parameters": len(self.vectors) * self.vectors.dim,
                "languages": None,
                "similarity_fn_name": "cosine",
            }
        )


def _unit_rows(rows: Any) -> NDArray[np.float64]:
    return unit(np.atleast_2d(np.asarray(rows, dtype=np.float64)))
