"""The attention of BERT + skip-gram in a sentence: the weight of each word's neighbors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.core.guard import reading
from wordstill.core.tensors import read_checked
from wordstill.corpus.segment import word_spans
from wordstill.corpus.vocabulary import key_of
from wordstill.errors import DataError, FormatError, UsageError
from wordstill.formats.artifact import ATTENTION
from wordstill.teacher import Teacher, TeacherConfig, recorded_teacher
from wordstill.teacher.spans import Spans, StateReader
from wordstill.vectors import WordVectors

PARTS = ("center", "lengths", "offset", "projection")


class Attention(NamedTuple):
    """The words of a sentence that the table has, and their attention weights."""

    words: list[str]
    weights: NDArray[np.float64]
    """[n, n] weights of the columns for the word of each row; a row sums to 1, or to 0 without neighbors."""


def attend(table: WordVectors, path: Path, sentence: str, teacher: str | None = None) -> Attention:
    r"""The weights :math:`a_{ij} = \mathrm{softmax}_j(v_j \cdot (A h_i + b))` of the neighbors j of each word i.

    Args:
        table: Vectors made by a method that learns attention.
        path: Their folder, with the projection.
        sentence: The sentence, which the teacher reads as a whole.
        teacher: The model; None takes the one recorded in the table.

    Raises:
        UsageError: The folder has no attention, or the model would have to be downloaded.
        DataError: The table has fewer than two words of the sentence.
        TeacherError: The model cannot be loaded.
    """
    arrays, facts = _arrays(table, path), table.provenance
    rule = facts["vocabulary"]["key"]
    spans = word_spans(sentence)
    keys = [key_of(sentence[start:end], rule) for start, end in spans]
    known = [number for number, key in enumerate(keys) if key in table]
    if len(known) < 2:
        raise DataError(f"The table has {len(known)} of the words of {sentence!r}; attention needs two or more.")
    model = teacher or recorded_teacher(table)
    if model is None:
        raise UsageError("The table does not name the model that it was distilled from; give one (--teacher).")
    states = _states(model, facts["method"]["layer"], sentence, spans)
    queries = states[known] @ arrays["projection"].astype(np.float64).T + arrays["offset"]
    rows = [table.index(keys[number]) for number in known]
    unit = table.unit[rows].astype(np.float64)
    vectors = unit * arrays["lengths"][rows, None] + arrays["center"]
    scores = queries @ vectors.T
    scores[~_inside(np.array(known), facts["method"])] = -np.inf
    weights = np.exp(scores - np.maximum(scores.max(axis=1, keepdims=True), -1e300))
    total = weights.sum(axis=1, keepdims=True)
    return Attention([sentence[slice(*spans[number])] for number in known], weights / np.maximum(total, 1e-300))


def _inside(places: NDArray[np.int64], settings: dict[str, Any]) -> NDArray[np.bool_]:
    """[n, n] which words of the columns are in the window of the word of the row."""
    left, right = settings["window"], settings["window"] if settings["right"] is None else settings["right"]
    apart = places[None, :] - places[:, None]
    near: NDArray[np.bool_] = (apart >= -left) & (apart <= right) & ((apart != 0) | bool(settings["self_weight"]))
    return near


def _states(teacher: str, layer: int, sentence: str, spans: list[tuple[int, int]]) -> NDArray[np.float64]:
    """[words, width]; zeros for a word that the tokenizer drops."""
    reader = StateReader(Teacher.from_config(TeacherConfig(teacher, dtype="float32")), str(layer))
    states = np.zeros((len(spans), reader.shape[1]))
    for numbers, found in reader.read([sentence], Spans.of([spans])):
        states[numbers] = found[:, 0].cpu().numpy()
    return states


def _arrays(table: WordVectors, path: Path) -> dict[str, NDArray[Any]]:
    if not (path / ATTENTION).is_file():
        raise UsageError(
            f"{path} has no {ATTENTION}: only tables of bert-skipgram with an attended objective have one. Make one "
            "with: wordstill distill TEXT --method bert-skipgram:preset=paper-held --out vectors"
        )
    with reading(path / ATTENTION, FormatError, "Distill again."):
        arrays, _ = read_checked(path / ATTENTION)
        shapes = {name: arrays[name].shape for name in sorted(arrays)}
        width = shapes.get("projection", (0, 0))[-1]
        expected = dict(zip(PARTS, ((table.dim,), (len(table),), (table.dim,), (table.dim, width))))
        if shapes != expected:
            raise FormatError(f"{path / ATTENTION} has {shapes}, expected {expected}.")
        return arrays
