"""A word's vector in each document, for regressions on document fields: à la carte from any table, or by folds.

À la carte (Khodak et al. 2018), the vector is the mean u of the word vectors around the word, mapped linearly to the
space of word vectors, v ≈ A u. A is fitted once, by regression over all words of the documents, weighted by the
logarithm of their counts, and then applied to single documents. This works with any table and needs no teacher. A table
that was distilled with folds instead has a vector from the teacher for each fold of a group's documents.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.resampling import refuse_untracked
from wordstill.core.guard import reading
from wordstill.errors import DataError, UsageError, unknown_name
from wordstill.evaluation.data.fields import filled_lines, guess_delimiter
from wordstill.evaluation.protocol import ABSENT, resolve
from wordstill.evaluation.statistics import Floats
from wordstill.vectors.folds import with_folds
from wordstill.vectors.oov import UnknownWord
from wordstill.vectors.sentences import WordTokenizer

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

WINDOW = 6
GROUP = "group"
Unit = Literal["fold", "group"]
RIDGE = 1e-3
"""Ridge penalty of the map, as a fraction of the mean variance of the contexts."""


class Document(NamedTuple):
    """A text with its fields."""

    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class WordInDocuments:
    """The documents, or folds or groups of documents, in which a word occurs."""

    documents: tuple[int, ...]
    """Their indices."""
    vectors: Floats
    """(documents, dim)"""
    counts: NDArray[np.int64]
    """Occurrences in each."""


def read_documents(path: Path, text: str = "text") -> list[Document]:
    """The documents of a JSON-lines, CSV or TSV file, with a field that holds the text."""
    with reading(path):
        found = [
            Document(str(fields.pop(text)), fields)
            for place, fields in _records(path)
            if _checked(fields, text, place, "Choose one with --text.")[text] not in (None, "")
        ]
    if not found:
        raise DataError(f"{path} has no documents. Expected a field {text!r} with text in each line or row.")
    return found


def read_group_fields(path: Path) -> dict[str, Mapping[str, Any]]:
    """The fields of groups by name, from a JSON-lines, CSV or TSV file with a field ``group``."""
    with reading(path):
        found: dict[str, Mapping[str, Any]] = {
            str(_checked(fields, GROUP, place, "Rename the one that names the groups.")[GROUP]): fields
            for place, fields in _records(path)
        }
    if not found:
        raise DataError(f"{path} has no groups. Expected a field {GROUP!r} and others in each line or row.")
    return found


def word_in_folds(
    table: WordVectors, word: str, fields: Mapping[str, Mapping[str, Any]] | None = None, *, unit: Unit = "fold"
) -> tuple[WordInDocuments, list[Mapping[str, Any]]]:
    """A word's vector in each fold or group in which it occurs, and the fields of all folds or groups.

    Args:
        table: A table with folds.
        word: A word with rows by fold.
        fields: Fields of the groups by name; None gives each the field ``group``, with its name.
        unit: The unit of observation. With ``fold``, documents are assumed to be exchangeable between groups; ``group``
            is right for a field of whole groups, such as a speaker's party.
    """
    if unit not in get_args(Unit):
        raise unknown_name("unit", unit, get_args(Unit))
    refuse_untracked(table, [word])
    folds = with_folds(table)
    if fields is not None and (unknown := [name for name in folds.groups if name not in fields]):
        raise DataError(f"There are no fields for the group {unknown[0]!r}. Groups: {', '.join(folds.groups)}.")
    known = fields or {name: {GROUP: name} for name in folds.groups}
    counts, sums = folds.of_word(table.index(word))
    groups = folds.group_of_fold.astype(np.int64)
    if unit == "group":
        inside = (groups == np.arange(len(folds.groups))[:, None]).astype(np.float64)
        counts, sums, groups = (
            (inside @ counts).astype(np.int64),
            inside @ sums,
            np.arange(len(folds.groups), dtype=np.int64),
        )
    used = np.flatnonzero(counts)
    found = WordInDocuments(tuple(used.tolist()), sums[used] / counts[used, None], counts[used])
    return found, [known[folds.groups[number]] for number in groups.tolist()]


def word_in_documents(table: WordVectors, texts: Sequence[str], word: str, *, window: int = WINDOW) -> WordInDocuments:
    """A word's vector in each text in which it occurs.

    Args:
        table: Words of the texts are looked up as written, then in lower case; phrases of the table are found too.
        texts: All texts, because the map is fitted on all their words.
        word: A word of the table.
        window: Words of context on either side.
    """
    if window < 1:
        raise UsageError(f"window must be 1 or more; got {window}.")
    target = int(resolve("default").rows([word], table)[0])
    if target == ABSENT:
        raise UnknownWord(word, table.words)
    tokenizer = WordTokenizer(table.words)
    rows = [resolve("default").rows(tokenizer.tokenize(text), table) for text in texts]
    used, places = np.unique(np.concatenate([np.array([target]), *rows]), return_inverse=True)
    vectors = np.where((used == ABSENT)[:, None], 0, table.take(np.maximum(used, 0))).astype(np.float64)
    ids = np.split(places[1:], np.cumsum([len(one) for one in rows])[:-1])
    sums, counts = np.zeros_like(vectors), np.zeros(len(used), dtype=np.int64)
    documents, means, uses = [], [], []
    for number, one in enumerate(ids):
        contexts, filled = _contexts(vectors, one, used[one] != ABSENT, window)
        np.add.at(sums, one[filled], contexts[filled])
        counts += np.bincount(one[filled], minlength=len(used))
        here = filled & (used[one] == target)
        if here.any():
            documents.append(number)
            means.append(contexts[here].mean(axis=0))
            uses.append(int(here.sum()))
    if not documents:
        raise DataError(f"No document has {word!r} with a known word near it.")
    known = (used != ABSENT) & (counts > 0)
    transform = _transform(sums[known] / counts[known, None], vectors[known], counts[known])
    return WordInDocuments(tuple(documents), np.array(means) @ transform, np.array(uses))


def _contexts(
    vectors: Floats, ids: NDArray[np.int64], known: NDArray[np.bool_], window: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """The mean vector of the known words around each word, (words, dim), and whether there are any."""
    size, places = len(ids), np.arange(len(ids))
    running = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors[ids], axis=0)])
    heard = np.concatenate([[0], np.cumsum(known)])
    start, end = np.maximum(places - window, 0), np.minimum(places + window + 1, size)
    total = running[end] - running[start] - vectors[ids]
    count = heard[end] - heard[start] - known
    return total / np.maximum(count, 1)[:, None], count > 0


def _transform(contexts: Floats, vectors: Floats, counts: NDArray[np.int64]) -> Floats:
    """The map from contexts to words, for multiplication from the right, (dim, dim)."""
    weighted = contexts * np.log1p(counts)[:, None]
    moment = weighted.T @ contexts
    ridge = RIDGE * np.trace(moment) / len(moment) * np.eye(len(moment))
    transform: Floats = np.linalg.solve(moment + ridge, weighted.T @ vectors)
    return transform


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = filled_lines(path)
    first = next(lines, None)
    if first is None:
        return
    if first[1].lstrip().startswith("{"):
        for place, line in (first, *lines):
            yield place, _object(line, place)
        return
    head = next(csv.reader([first[1]], delimiter=guess_delimiter(first[1], blanks=False) or "\t"))
    rest = csv.reader((f"{line}\n" for _, line in lines), delimiter=guess_delimiter(first[1], blanks=False) or "\t")
    for row in rest:
        place = f"{path}:{rest.line_num + 1}"
        if len(row) != len(head):
            raise DataError(f"{place}: {len(row)} fields, expected {len(head)} as in the first line.")
        yield place, dict(zip((title.strip() for title in head), row))


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: not JSON ({error}). Expected an object on each line.") from None
    if not isinstance(found, dict):
        raise DataError(f"{place}: not a JSON object but {line[:60]!r}.")
    return found


def _checked(fields: dict[str, Any], needed: str, place: str, advice: str) -> dict[str, Any]:
    if needed not in fields:
        names = ", ".join(map(repr, fields)) or "none"
        raise DataError(f"{place}: no field {needed!r}. Fields: {names}. {advice}")
    return fields
