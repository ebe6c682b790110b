"""Opening the tables that a user names, with advice if a path holds something else."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wordstill.core.guard import ByUser
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


def open_table(path: Path) -> WordVectors:
    """The one table at a path."""
    from wordstill.corpus import is_store
    from wordstill.vectors import WordVectors

    inner = tables_inside(path)
    if inner:
        names = ", ".join(str(table) for table in inner)
        raise UsageError(f"{path} holds {len(inner)} tables; name one of them: {names}.")
    if is_store(path):
        raise UsageError(f"{path} is a prepared text, not vectors. Make them: wordstill distill {path} --out vectors")
    return WordVectors.load(path)


def open_tables(paths: Sequence[Path]) -> dict[str, WordVectors]:
    """Tables by name; a folder with several contributes all of them."""
    places = table_paths(paths)
    short = [place.name for place in places]
    names = short if len(set(short)) == len(short) else [str(place) for place in places]
    return {name: open_table(place) for name, place in zip(names, places)}


def table_paths(paths: Sequence[Path]) -> list[Path]:
    """The path of each table that `open_tables` opens, in its order."""
    return [table for path in paths for table in tables_inside(path) or [path]]


def with_teacher(tables: Mapping[str, WordVectors], teacher: str) -> dict[str, WordVectors]:
    """The same tables, with another model recorded as their teacher."""
    named = {name: copy.copy(table) for name, table in tables.items()}
    for table in named.values():
        table.provenance = {**table.provenance, "teacher": {"name": ByUser(teacher)}}
    return named


def tables_inside(path: Path) -> list[Path]:
    """The tables in a folder that a distillation with several methods made; none for any other path."""
    from wordstill.formats.artifact import ARTIFACT

    if not path.is_dir() or ARTIFACT.recognizes(path):
        return []
    return sorted((inner for inner in path.iterdir() if ARTIFACT.recognizes(inner)), key=_by_number)


def _by_number(path: Path) -> list[str | int]:
    """A natural sort key: layer 10 comes after layer 9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", path.name)]
