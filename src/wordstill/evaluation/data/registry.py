"""Rows of the registry of data sets: origin, license, checksums and reader."""

from __future__ import annotations

import hashlib
import importlib.resources
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from wordstill.core import gensim_files

CHECKSUMS = "SHA256SUMS"


class Location(StrEnum):
    """Where a copy can be."""

    FOLDER = "folder"
    """A data folder: ``$WORDSTILL_DATA`` or the user's cache."""
    GENSIM = "gensim"
    """The test data inside gensim's package."""


@dataclass(frozen=True)
class DatasetFile:
    """A copy of a data set: one file, or one folder of files."""

    path: str
    """Relative to the location's folder."""
    reader: Callable[[Path], Any]
    """Turns the file or folder into what the set's task works on."""
    source: str | None = None
    """Its path in the upstream repository; ``archive.zip!folder`` inside an archive; None for a derived file, which
    cannot be downloaded."""
    location: Location = Location.FOLDER
    checksums: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by path, for files that are not in ``SHA256SUMS``."""
    without: tuple[str, ...] = ()
    """Files of the folder that belong to another copy."""

    @classmethod
    def of_gensim(cls, name: str, reader: Callable[[Path], Any]) -> DatasetFile:
        """A file of the test data inside gensim's package."""
        path = f"{gensim_files.FOLDER}/{name}"
        return cls(path, reader, location=Location.GENSIM, checksums={path: gensim_files.FILES[name]})

    @property
    def files(self) -> Mapping[str, str]:
        """Every file of the copy, relative to the location's folder, with its SHA-256."""
        if self.checksums:
            return self.checksums
        listed = _listed()
        if self.path in listed:
            return {self.path: listed[self.path]}
        inside = f"{self.path}/"
        return {
            path: checksum
            for path, checksum in listed.items()
            if path.startswith(inside) and path.removeprefix(inside) not in self.without
        }

    @property
    def sha256(self) -> str:
        """Of the file; for a folder, of its list of files and checksums, as ``sha256sum`` prints it."""
        files = self.files
        if list(files) == [self.path]:
            return files[self.path]
        listing = "".join(f"{checksum}  {path}\n" for path, checksum in sorted(files.items()))
        return hashlib.sha256(listing.encode()).hexdigest()


@dataclass(frozen=True)
class Dataset:
    """A row of the table."""

    name: str
    title: str
    size: int
    """Items, as published."""
    citation: str
    license: str
    """As stated by the files or their repository."""
    upstream: str
    """The public repository and commit of the first copy, as ``owner/name@commit``."""
    copies: tuple[DatasetFile, ...]
    task: str | None = "similarity"
    """The kind of task that scores it; None for other data, such as lexicons."""
    home: str | None = None
    """The authors' page, or else the paper's."""
    caveat: str | None = None
    """What to know before comparing scores."""

    @property
    def address(self) -> str:
        """The address of the upstream repository."""
        repository, commit = self.upstream.split("@")
        return f"https://github.com/{repository}/tree/{commit}"


@cache
def _listed() -> Mapping[str, str]:
    """SHA-256 by path of every file that the registry knows."""
    text = importlib.resources.files("wordstill.evaluation.data").joinpath(CHECKSUMS).read_text(encoding="utf-8")
    rows = (line.split("  ", 1) for line in text.splitlines())
    return {path: checksum for checksum, path in rows}
