"""Sets of a user's own, one line of configuration each.

The file ``sets.toml`` in the data folder, the cache folder or the working folder holds lines such as

    birds = "~/data/birds.tsv"
    puzzles = "analogy:puzzles.txt"

A path that is not absolute is taken from the folder of ``sets.toml``. The kinds are those of the tasks; a
file without one is of pairs. A line that cannot be right is told when its set is asked for; the others still
hold.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wordstill.errors import DataError
from wordstill.evaluate.datasets import DATASETS

FILE_NAME = "sets.toml"
OWN_FILE_KIND = "similarity"


class OwnSet(NamedTuple):
    """Where a user's own set lies, and by which task it is scored."""

    kind: str
    path: Path
    """Of a line that cannot be right: the file that the line stands in."""
    problem: str | None = None
    """Why the line cannot be right, or None."""


def own_sets(*folders: Path | None) -> Mapping[str, OwnSet]:
    """All configured sets by name; the working folder's come before those of the folders given."""
    found: dict[str, OwnSet] = {}
    for folder in (Path(), *folders):
        if folder is not None:
            found = {**_read(folder / FILE_NAME), **found}
    return found


def split_kind(text: str, folder: Path | None = None) -> tuple[str, Path]:
    """``KIND:PATH``, or the path of a file of pairs, in its two parts.

    Args:
        text: What the user wrote.
        folder: Where a path that is not absolute begins; None for the working folder.
    """
    kind, _, path = text.partition(":")
    # A colon may also stand in the name of a file.
    if not path or ((folder or Path()) / Path(text).expanduser()).exists():
        return OWN_FILE_KIND, Path(text)
    return kind, Path(path)


def _read(path: Path) -> dict[str, OwnSet]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    return {name: _entry(value, name, path) for name, value in content.items()}


def _entry(value: object, name: str, path: Path) -> OwnSet:
    if name in DATASETS:
        problem = f"{name} is a set of the registry ({DATASETS[name].title}); give yours another name."
    elif not isinstance(value, str) or not value:
        problem = f'{name} must be text such as "pairs.tsv" or "analogy:puzzles.txt", but is {value!r}.'
    else:
        kind, place = split_kind(value, path.parent)
        return OwnSet(kind, path.parent / place.expanduser())
    return OwnSet(OWN_FILE_KIND, path, f"{path}: {problem}")
