"""A back-off that encodes unknown words with a teacher, and caches their vectors."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_path, disk_errors
from wordstill.core.guard import reading
from wordstill.core.tensors import map_tensors, read_checked, write_tensors
from wordstill.errors import FormatError, UsageError
from wordstill.vectors.oov import Answer

if TYPE_CHECKING:
    from wordstill.teacher import Teacher
    from wordstill.vectors import WordVectors


Reader: TypeAlias = Callable[[Sequence[str]], NDArray[np.floating]]
"""Encodes words as vectors, (words, width); zeros for words that it cannot read."""

KIND = "wordstill words read by a teacher"
FITTED_ON = 5000
RIDGE = 0.01
MAP = ("weights", "inputs", "outputs")


class TeacherBackoff:
    r"""Vectors of unknown words from a model, each computed once.

    A ridge regression, fitted on the table's most frequent words, maps the model's vectors to those of the table:

    .. math:: \hat v_w = \mu_v + W^\top (h_w - \mu_h)

    Args:
        table: The table that lacks words.
        read: Encodes words with the model.
        teacher: Name of the model; cached words of another model are not used.
        fitted_on: How many words of the table to fit on.
        cache: A file that stores the words read and the regression; None keeps them in memory only.
        disposable: Whether a damaged cache is discarded with a warning; otherwise it is an error, since the file may
            be something else.
    """

    name: ClassVar[str] = "teacher"

    def __init__(
        self,
        table: WordVectors,
        read: Reader,
        *,
        teacher: str = "",
        fitted_on: int = FITTED_ON,
        cache: str | os.PathLike[str] | None = None,
        disposable: bool = False,
    ) -> None:
        if not len(table) or fitted_on < 1:
            raise UsageError("The back-off 'teacher' needs at least one word to fit on.")
        self.table, self.read, self.teacher, self.fitted_on = table, read, teacher, fitted_on
        self.cache = None if cache is None else Path(cache)
        self._map: dict[str, NDArray[np.float64]] = {}
        self._known: dict[str, NDArray[np.float32] | None] = {}
        if self.cache is not None and self.cache.exists():
            self._load_or_discard(self.cache, disposable=disposable)

    def _load_or_discard(self, path: Path, *, disposable: bool) -> None:
        try:
            with reading(path, FormatError, "Delete it, or name another file."):
                self._load(path)
        except FormatError as error:
            if not disposable:
                raise
            warnings.warn(f"Words read before are read again: {error}", stacklevel=4)

    def find(self, words: Sequence[str]) -> list[Answer]:
        """The vectors of words; new words are encoded in one call."""
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        if new:
            self._fit()
            states = self._read(new)
            mapped = (states - self._map["inputs"]) @ self._map["weights"] + self._map["outputs"]
            for word, state, vector in zip(new, states, mapped.astype(np.float32)):
                self._known[word] = vector if state.any() else None
            if self.cache is not None:
                self._save(self.cache)
        return [self._known[word] for word in words]

    def _fit(self) -> None:
        if self._map:
            return
        # Tables are roughly sorted by frequency; counts may be missing.
        rows = np.arange(min(self.fitted_on, len(self.table)))
        states = self._read([self.table.words[row] for row in rows])
        readable = states.any(axis=1)
        if not readable.any():
            raise UsageError("The teacher of the back-off can read none of the table's words.")
        states, vectors = states[readable], self.table.take(rows[readable]).astype(np.float64)
        inputs, outputs = states.mean(axis=0), vectors.mean(axis=0)
        centered = states - inputs
        covariance = centered.T @ centered
        strength = RIDGE * np.trace(covariance) / len(covariance) + np.finfo(np.float64).tiny
        covariance[np.diag_indices_from(covariance)] += strength
        weights = np.linalg.solve(covariance, centered.T @ (vectors - outputs))
        self._map = {"weights": weights, "inputs": inputs, "outputs": outputs}

    def _read(self, words: Sequence[str]) -> NDArray[np.float64]:
        states = np.asarray(self.read(words), dtype=np.float64)
        if states.ndim != 2 or len(states) != len(words) or not np.isfinite(states).all():
            raise UsageError(
                f"The teacher of the back-off returned an array of shape {states.shape} for {len(words)} words; "
                "expected finite numbers, one row for each word."
            )
        return states

    def _identity(self) -> dict[str, Any]:
        """What cached words depend on: the teacher, and the table, identified by a few rows."""
        rows = np.unique(np.linspace(0, len(self.table) - 1, 16).astype(np.int64))
        return {
            "teacher": self.teacher,
            "fitted_on": self.fitted_on,
            "words": [len(self.table), *(self.table.words[row] for row in rows)],
            "numbers": [float(number) for number in self.table.take(rows).sum(axis=1, dtype=np.float64)],
        }

    def _save(self, path: Path) -> None:
        known = {word: vector for word, vector in self._known.items() if vector is not None}
        vectors = np.array(list(known.values()), dtype=np.float32).reshape(len(known), self.table.dim)
        unread = [word for word in self._known if word not in known]
        metadata = {
            "format": KIND,
            "identity": json.dumps(self._identity()),
            "words": json.dumps(list(known)),
            "unread": json.dumps(unread),
        }
        with disk_errors(path), atomic_path(path) as temporary:
            write_tensors(temporary, {"vectors": vectors, **self._map}, metadata, checksum=True)

    def _load(self, path: Path) -> None:
        _, metadata = map_tensors(path)
        if metadata.get("format") != KIND:
            raise FormatError(f"{path} holds no words read by a teacher; name another file for them.")
        tensors, metadata = read_checked(path)
        if json.loads(metadata["identity"]) != self._identity():
            return
        words, unread = json.loads(metadata["words"]), json.loads(metadata["unread"])
        vectors, saved = np.array(tensors["vectors"]), {key: np.array(tensors[key]) for key in MAP}
        if vectors.shape != (len(words), self.table.dim) or not np.isfinite(vectors).all():
            raise FormatError(f"{path} has vectors of shape {vectors.shape} for {len(words)} words.")
        self._known = {**dict(zip(words, vectors)), **dict.fromkeys(unread)}
        self._map = saved


class WordsAlone:
    """Encodes words as the mean state of their subwords in a layer, by default the last.

    A teacher given by folder or name is loaded on first use.
    """

    def __init__(self, teacher: str | Teacher, layer: int | None = None) -> None:
        self._given, self._layer = teacher, layer

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher."""
        from wordstill.teacher import Teacher

        return Teacher.from_pretrained(self._given) if isinstance(self._given, str) else self._given

    def __call__(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The states (words, width), zeros for words without subwords."""
        from wordstill.teacher.spans import Spans, StateReader

        reader = StateReader(self.teacher, "last" if self._layer is None else str(self._layer))
        # With a leading space, byte-level tokenizers treat a word as they do inside a text.
        texts = [f" {word}" for word in words]
        read = np.zeros((len(words), self.teacher.width), dtype=np.float32)
        for numbers, states in reader.read(texts, Spans.of([[(1, len(text))] for text in texts])):
            read[numbers] = states[:, 0].cpu().numpy()
        return read
