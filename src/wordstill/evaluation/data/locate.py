"""Finding the files of a data set and checking their checksums."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from wordstill.core.files import sha256_of, user_cache
from wordstill.core.gensim_files import gensim_folder
from wordstill.core.guard import reading
from wordstill.errors import DataError, MissingExtra, UsageError, unknown_name
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.fields import split_columns
from wordstill.evaluation.data.registry import Dataset, DatasetFile, Location
from wordstill.evaluation.data.similarity_sets import read_own_pairs
from wordstill.evaluation.data.text_sets import OF_FOLDERS, own_parts

DATA_VARIABLE = "WORDSTILL_DATA"

Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class LoadedDataset(Generic[Content]):
    """A data set that was read, with where it came from."""

    name: str
    content: Content
    source: str
    sha256: str

    @property
    def holds(self) -> str:
        """What kind of items the set has."""
        return str(getattr(self.content, "holds", "data for other uses"))


@dataclass(frozen=True)
class Located:
    """A file or folder that exists and, for a set of the registry, has the expected bytes."""

    name: str
    path: Path
    source: str
    """The location and the path in it, without the machine's own folders."""
    sha256: str
    reader: Callable[[Path], Any]


def locate(name: str | Path, own_reader: Callable[[Path], Any] = read_own_pairs) -> Located:
    """Find a set of the registry by name, or a user's own file by path.

    A set of the registry is looked for in ``$WORDSTILL_DATA``, then inside gensim's package where that has
    it, then in the user's cache folder. The first copy found must have the registered checksums: a wrong one
    is an error, not a reason to look further.

    Args:
        name: The name or the path.
        own_reader: Reads an own file.
    """
    # A Path is a file even if a set has that name.
    if isinstance(name, Path) or name not in DATASETS:
        return _own_file(str(name), own_reader)
    dataset = DATASETS[name]
    found = next((place for place in _places(dataset) if place.complete), None)
    if found is None:
        raise _missing(dataset)
    if wrong := found.wrong():
        raise DataError(
            f"Data set {dataset.name!r}: {wrong}. Replace it with the one from {dataset.address}, or delete "
            f"it and run: wordstill data fetch {dataset.name}"
        )
    return Located(name, found.path, found.source, found.copy.sha256, found.copy.reader)


def available() -> list[str]:
    """The names of the registry's sets whose files exist, in its order."""
    return [name for name, row in DATASETS.items() if any(place.complete for place in _places(row))]


def problem_of(name: str) -> str | None:
    """Why the files of a set cannot be used (missing or changed); None if they can."""
    try:
        locate(name)
    except (DataError, MissingExtra) as error:
        return str(error)
    return None


def data_folder() -> Path | None:
    """The folder in ``$WORDSTILL_DATA``; None if it is not set."""
    value = os.environ.get(DATA_VARIABLE)
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise UsageError(f"${DATA_VARIABLE} is {value!r}, which is not a folder. Correct it or unset it.")
    return folder


def cache_folder() -> Path:
    """Where downloaded sets are kept."""
    return user_cache("data")


@dataclass(frozen=True)
class _Place:
    copy: DatasetFile
    root: Path
    source: str

    @property
    def path(self) -> Path:
        return self.root / self.copy.path

    @property
    def complete(self) -> bool:
        return all((self.root / path).is_file() for path in self.copy.files)

    def wrong(self) -> str | None:
        """Which file differs from the published one; None if all are the same."""
        for path, expected in self.copy.files.items():
            got = _checksum(self.root / path)
            if got != expected:
                return f"{self.root / path} is not the published file: expected sha256 {expected}, got {got}"
        return None


def _places(dataset: Dataset) -> Iterator[_Place]:
    roots = (
        (Location.FOLDER, DATA_VARIABLE, data_folder),
        (Location.GENSIM, "gensim", gensim_folder),
        (Location.FOLDER, "cache", cache_folder),
    )
    for location, label, folder in roots:
        root = folder()
        for copy in dataset.copies:
            if copy.location is location and root is not None:
                yield _Place(copy, root, f"{label}:{copy.path}")


def _missing(dataset: Dataset) -> DataError | MissingExtra:
    """The error for a set that was not found; it names the package if only that is missing."""
    if gensim_folder() is None and any(copy.location is Location.GENSIM for copy in dataset.copies):
        return MissingExtra(
            "gensim", "train", f"Data set {dataset.name!r}, which is not below ${DATA_VARIABLE} or in the cache,"
        )
    looked = ", ".join(str(place.path) for place in _places(dataset))
    if any(copy.source is not None for copy in dataset.copies):
        remedy = f"Get it with: wordstill data fetch {dataset.name}"
    else:
        remedy = "It cannot be downloaded as a file: put it there by hand"
    return DataError(
        f"Data set {dataset.name!r} ({dataset.title}) was not found. Looked for: {looked}. {remedy}; or set "
        f"{DATA_VARIABLE} to the folder that holds {dataset.copies[0].path}. It comes from {dataset.address}."
    )


def _own_file(name: str, reader: Callable[[Path], Any]) -> Located:
    with reading(repr(name[:80]), remedy="Give the path of a file."):
        path = Path(name).expanduser()
        file, _ = split_columns(path)
        is_file = file.is_file()
    if is_file:
        return Located(name, path, f"file:{name}", _checksum(file), reader)
    if path.is_dir() and reader in OF_FOLDERS:
        sums = "\n".join(f"{_checksum(path / part)} {part}" for part in own_parts(path))
        return Located(name, path, f"folder:{name}", sha256(sums.encode()).hexdigest(), reader)
    if len(path.parts) > 1 or path.suffix or path.exists():
        raise DataError(f"There is no file {str(file)!r}. Use the name of a data set, or the path of your own file.")
    raise unknown_name("data set", name, DATASETS, "The path of your own file works too.")


def _checksum(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
