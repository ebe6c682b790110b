"""Finding the file of a data set and making sure that it is the right one."""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordstill.errors import DataError, MissingExtra, UsageError, unknown_name
from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.pairs import read_own_pairs
from wordstill.evaluate.registry import Copy, Dataset, Holder
from wordstill.files import sha256_of

DATA_VARIABLE = "WORDSTILL_DATA"


@dataclass(frozen=True)
class Located:
    """A file that exists and, for a set of the registry, has the expected bytes."""

    name: str
    path: Path
    source: str
    """The holder and the path below it, without the machine's own folders."""
    sha256: str
    reader: Callable[[Path], Any]


def locate(name: str | Path) -> Located:
    """Find a set of the registry by name, or a user's own file of pairs by path.

    A set of the registry is looked for in ``$WORDSTILL_DATA``, then inside gensim's package where that has
    it, then in the user's cache folder. The first file found must have the registered checksum: a wrong one
    is an error, not a reason to look further.
    """
    if isinstance(name, Path) or name not in DATASETS:
        return _own_file(str(name))
    dataset = DATASETS[name]
    found = next((place for place in _places(dataset) if place.path.is_file()), None)
    if found is None:
        raise _missing(dataset)
    sha256 = _checksum(found.path)
    if sha256 != found.copy.sha256:
        raise DataError(
            f"Data set {dataset.name!r}: {found.path} is not the published file: expected sha256 "
            f"{found.copy.sha256}, got {sha256}. Replace it with the one from {dataset.address}."
        )
    return Located(name, found.path, found.source, sha256, found.copy.reader)


def available() -> list[str]:
    """The names of the sets of the registry whose file exists, in the order of the table."""
    return [name for name, row in DATASETS.items() if any(place.path.is_file() for place in _places(row))]


@dataclass(frozen=True)
class _Place:
    copy: Copy
    path: Path
    source: str


def _places(dataset: Dataset) -> Iterator[_Place]:
    roots = (
        (Holder.FOLDER, DATA_VARIABLE, _data_folder),
        (Holder.GENSIM, "gensim", _gensim_folder),
        (Holder.FOLDER, "cache", _cache_folder),
    )
    for holder, label, folder in roots:
        root = folder()
        for copy in dataset.copies:
            if copy.holder is holder and root is not None:
                yield _Place(copy, root / copy.path, f"{label}:{copy.path}")


def _data_folder() -> Path | None:
    value = os.environ.get(DATA_VARIABLE)
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise UsageError(f"${DATA_VARIABLE} is {value!r}, which is not a folder. Correct it or unset it.")
    return folder


def _gensim_folder() -> Path | None:
    spec = importlib.util.find_spec("gensim")
    if spec is None:
        return None
    # Made from its spec but not executed: importing gensim takes a second, and its files need no code.
    return Path(str(importlib.resources.files(importlib.util.module_from_spec(spec))))


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wordstill" / "data"


def _missing(dataset: Dataset) -> DataError | MissingExtra:
    """The error for a set that is nowhere; where only a package is lacking, the one that says which."""
    if _gensim_folder() is None and any(copy.holder is Holder.GENSIM for copy in dataset.copies):
        return MissingExtra(
            "gensim",
            "eval",
            f"Data set {dataset.name!r}, which is not below ${DATA_VARIABLE} or in the cache,",
        )
    looked = ", ".join(str(place.path) for place in _places(dataset))
    return DataError(
        f"Data set {dataset.name!r} ({dataset.title}) was not found. Looked for: {looked}. "
        f"It can be had from {dataset.address}: put it there, or set {DATA_VARIABLE} to the folder that "
        f"holds {dataset.copies[0].path}."
    )


def _own_file(name: str) -> Located:
    path = Path(name).expanduser()
    if path.is_file():
        return Located(name, path, f"file:{name}", _checksum(path), read_own_pairs)
    if len(path.parts) > 1 or path.suffix or path.exists():
        raise DataError(
            f"There is no file {name!r}. Give the name of a data set or the path of a file of pairs."
        )
    raise unknown_name("data set", name, DATASETS, "The path of your own file of pairs can be given too.")


def _checksum(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
