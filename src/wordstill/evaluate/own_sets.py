"""Sets of a user's own, one line of configuration each.

The file ``sets.toml`` in the data folder, the cache folder or the working folder holds lines such as

    birds = "similarity:~/data/birds.tsv"
    puzzles = "analogy:puzzles.txt"

A path that is not absolute is taken from the folder of ``sets.toml``. The kinds are those of the tasks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wordstill.errors import DataError

FILE_NAME = "sets.toml"


class OwnSet(NamedTuple):
    """Where a user's own set lies, and by which task it is scored."""

    kind: str
    path: Path


def own_sets(*folders: Path | None) -> Mapping[str, OwnSet]:
    """All configured sets by name; the working folder's come before those of the folders given."""
    found: dict[str, OwnSet] = {}
    for folder in (Path(), *folders):
        if folder is not None:
            found = {**_read(folder / FILE_NAME), **found}
    return found


def split_kind(text: str) -> OwnSet | None:
    """``KIND:PATH`` in its two parts; None for a text that has no colon."""
    kind, colon, path = text.partition(":")
    return OwnSet(kind, Path(path)) if colon and path else None


def _read(path: Path) -> dict[str, OwnSet]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from error
    return {name: _entry(value, name, path) for name, value in content.items()}


def _entry(value: object, name: str, path: Path) -> OwnSet:
    entry = split_kind(value) if isinstance(value, str) else None
    if entry is None:
        raise DataError(f'{path}: {name} must be text such as "similarity:pairs.tsv", but is {value!r}.')
    return OwnSet(entry.kind, path.parent / entry.path.expanduser())
