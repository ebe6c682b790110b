"""What a run writes: one table, or several in a folder, with what is kept beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from wordstill.core.files import atomic_folder
from wordstill.formats.artifact import ARTIFACT, CARD, CONFIG, MAPS, OCCURRENCES, SUBWORDS, TENSORS, WORDS
from wordstill.vectors import WordVectors

SUMS = "sums.safetensors"
"""The sums behind a table, kept on request, so that text can be added to it later."""
REPLACEABLE = {TENSORS, WORDS, CONFIG, CARD, SUBWORDS, OCCURRENCES, *MAPS, SUMS, "evaluation.json"}
"""Files of a result; a folder with any other file is never overwritten."""


def write_artifacts(
    tables: Mapping[str, WordVectors],
    out: Path,
    *,
    overwrite: bool = False,
    beside: Callable[[str, Path], None] | None = None,
) -> None:
    """Write one table as ``out``, or several into folders of it; all of them or none.

    What else belongs to a table is put into its folder by ``beside``, which gets label and folder.
    """
    with atomic_folder(out, overwrite=overwrite) as folder:
        for label, table in tables.items():
            place = folder if len(tables) == 1 else folder / label
            # The format is named, because the suffix of an output such as vectors.v2 could name another one.
            table.save(place, ARTIFACT.name, overwrite=True)
            if beside is not None:
                beside(label, place)
