"""Files of a result: the artifacts of a run, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from wordstill.core.files import atomic_folder
from wordstill.core.tensors import write_tensors
from wordstill.formats.artifact import (
    ARTIFACT,
    ATTENTION,
    CARD,
    CONFIG,
    FOLDS,
    MAPS,
    OCCURRENCES,
    SUBWORDS,
    TENSORS,
    WORDS,
)
from wordstill.vectors import WordVectors

SUMS = "sums.safetensors"
"""The sums behind a table, kept on request, so that text can be added to it later."""
REPLACEABLE = {TENSORS, WORDS, CONFIG, CARD, SUBWORDS, FOLDS, ATTENTION, OCCURRENCES, *MAPS, SUMS, "evaluation.json"}
"""Files of a result; a folder with any other file is never overwritten."""


def write_artifacts(
    tables: Mapping[str, WordVectors],
    out: Path,
    attention: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
    *,
    overwrite: bool = False,
    beside: Callable[[str, Path], None] | None = None,
) -> None:
    """Write one table as ``out``, or several into folders of it, with their attention; all of them or none.

    What else belongs to a table is put into its folder by ``beside``, which gets label and folder.
    """
    with atomic_folder(out, overwrite=overwrite) as folder:
        for label, table in tables.items():
            # The format is named, because the suffix of an output such as vectors.v2 could name another one.
            place = place_of(label, tables, folder)
            table.save(place, ARTIFACT.name, overwrite=True)
            if weights := (attention or {}).get(label):
                write_tensors(place / ATTENTION, weights, {"format": "wordstill"}, checksum=True)
            if beside is not None:
                beside(label, place)


def place_of(label: str, tables: Collection[str], folder: Path) -> Path:
    """Where one of the tables is in an output."""
    return folder if len(tables) == 1 else folder / label
