"""A collection of occurrences of words with their meanings, to search in: this "bank" among many.

vectors.safetensors   [occurrences, dim]
uses.jsonl            text, start and end of each
config.json           which encoder gave the vectors
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_existing, refuse_foreign, sha256_of
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.errors import DataError, UsageError, WordstillError
from wordstill.meaning.occurrence import Occurrence
from wordstill.vectors.search import nearest, unit_rows

if TYPE_CHECKING:
    from wordstill.meaning.encoder import MeaningEncoder

VECTORS, OCCURRENCES, CONFIG = "vectors.safetensors", "uses.jsonl", "config.json"


class OccurrenceStore:
    """Occurrences, their vectors [occurrences, dim], and the fingerprint of the encoder that gave them."""

    def __init__(self, occurrences: Sequence[Occurrence], vectors: NDArray[np.float32], encoder: str) -> None:
        if len(occurrences) != len(vectors):
            raise UsageError(f"{len(occurrences)} occurrences came with {len(vectors)} vectors.")
        self.occurrences, self.vectors, self.encoder = tuple(occurrences), vectors, encoder

    @classmethod
    def build(cls, encoder: MeaningEncoder, occurrences: Sequence[Occurrence]) -> OccurrenceStore:
        """Encode occurrences; a word that the tokenizer drops is an error."""
        return cls(occurrences, encoder.encode_occurrences(occurrences), encoder.fingerprint)

    @classmethod
    def from_texts(
        cls, encoder: MeaningEncoder, texts: Sequence[str], words: Sequence[str] | None = None
    ) -> OccurrenceStore:
        """Encode every word of texts, or every occurrence of some words, whatever their case."""
        found = encoder.encode_texts(texts, words)
        empty = np.zeros((0, encoder.dim), dtype=np.float32)
        vectors = np.concatenate([empty, *(matrix for _, matrix in found)])
        return cls([one for occurrences, _ in found for one in occurrences], vectors, encoder.fingerprint)

    def __len__(self) -> int:
        return len(self.occurrences)

    def followed_by(self, other: OccurrenceStore) -> OccurrenceStore:
        """These occurrences and then those of another store of the same encoder."""
        if other.encoder != self.encoder:
            raise UsageError("The two stores come from different encoders, so they cannot be joined.")
        vectors = np.concatenate([self.vectors, other.vectors])
        return OccurrenceStore((*self.occurrences, *other.occurrences), vectors, self.encoder)

    @cached_property
    def _unit(self) -> NDArray[np.float32]:
        return unit_rows(self.vectors)

    def nearest(self, vector: NDArray[np.float32], topn: int = 10) -> list[tuple[Occurrence, float]]:
        """The occurrences nearest in cosine to a vector."""
        (rows, scores), *_ = nearest(self._unit, unit_rows(vector[None]), topn)
        return [(self.occurrences[row], score) for row, score in zip(rows.tolist(), scores.tolist())]

    def refuse_other(self, encoder: MeaningEncoder) -> None:
        """Raise if an encoder's vectors cannot be compared with those here."""
        if encoder.fingerprint != self.encoder:
            raise UsageError(
                f"The uses were encoded by another encoder (fingerprint {self.encoder[:12]}, this one has "
                f"{encoder.fingerprint[:12]}), so their vectors cannot be compared. Encode them again."
            )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the folder."""
        path = Path(path)
        refuse_existing(path, overwrite=overwrite)
        refuse_foreign(path, (VECTORS, OCCURRENCES, CONFIG))
        with atomic_folder(path, overwrite=overwrite) as folder:
            write_tensors(folder / VECTORS, {"vectors": self.vectors}, {"format": "wordstill-uses"})
            lines = (json.dumps(astuple(one), ensure_ascii=False) + "\n" for one in self.occurrences)
            (folder / OCCURRENCES).write_text("".join(lines), encoding="utf-8", newline="")
            sums = {name: sha256_of(folder / name) for name in (VECTORS, OCCURRENCES)}
            text = json.dumps({"encoder": self.encoder, "sha256": sums})
            (folder / CONFIG).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> OccurrenceStore:
        """Read the folder; the vectors are memory-mapped.

        Raises:
            DataError: It is not such a folder, or is damaged.
        """
        folder = Path(path)
        try:
            config = json.loads((folder / CONFIG).read_bytes())
            for name, expected in config.get("sha256", {}).items():
                if name in (VECTORS, OCCURRENCES) and sha256_of(folder / name) != expected:
                    raise DataError(f"the SHA-256 of {name} is not the recorded one")
            arrays, _ = map_tensors(folder / VECTORS)
            lines = (folder / OCCURRENCES).read_text(encoding="utf-8").split("\n")
            occurrences = [Occurrence.read(*json.loads(line)) for line in lines if line]
            if arrays["vectors"].ndim != 2 or not isinstance(config["encoder"], str):
                raise DataError("its vectors are no matrix, or its encoder has no fingerprint")
            return cls(occurrences, arrays["vectors"], config["encoder"])
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, WordstillError) as error:
            raise DataError(f"{folder} is not a whole store of uses: {error}. Make it again.") from error
