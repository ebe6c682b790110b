"""Downloading data sets: every file is checked against its SHA-256 before it gets its name.

A broken download, an error page, or a file that has changed upstream is discarded and reported, never read as data.
"""

from __future__ import annotations

import hashlib
import io
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from wordstill.core.files import sha256_of, write_file
from wordstill.errors import DataError, UsageError, unknown_name
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.locate import cache_folder
from wordstill.evaluation.data.registry import Dataset, DatasetFile, Location

GITHUB_FILES = "https://raw.githubusercontent.com"
ARCHIVE_MARK = "!"
TIMEOUT = 60
LARGEST = 64 << 20


@dataclass(frozen=True)
class Wanted:
    """A file to download."""

    path: str
    """Below the data folder."""
    sha256: str
    address: str
    member: str | None = None
    """Its name inside the archive at the address."""


def fetch(name: str, folder: Path | None = None, *, mirror: str | None = None) -> list[Path]:
    """Download the missing files of a data set.

    Args:
        name: A set of the registry.
        folder: The target; None is the user's cache.
        mirror: The address of a server with the files under the registry's paths, in place of the public repository.

    Returns:
        All files of the set, including those that were present.
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    root = cache_folder() if folder is None else folder
    archives: dict[str, bytes] = {}
    written = []
    for wanted in wanted_files(DATASETS[name], mirror):
        target = root / wanted.path
        written.append(target)
        if target.is_file() and sha256_of(target) == wanted.sha256:
            continue
        content = _content(wanted, archives)
        _check(content, wanted, name)
        write_file(target, content)
    return written


def wanted_files(dataset: Dataset, mirror: str | None) -> Iterator[Wanted]:
    """The files of a data set, with their addresses."""
    copy = _downloadable(dataset, mirror)
    for path, checksum in copy.files.items():
        if mirror is not None:
            yield Wanted(path, checksum, f"{mirror.rstrip('/')}/{path}")
            continue
        archive, mark, inner = (copy.source or "").partition(ARCHIVE_MARK)
        tail = path.removeprefix(copy.path).lstrip("/")
        whole = "/".join(part for part in (inner if mark else archive, tail) if part)
        repository, commit = dataset.upstream.split("@")
        base = f"{GITHUB_FILES}/{repository}/{commit}"
        if mark:
            yield Wanted(path, checksum, f"{base}/{archive}", whole)
        else:
            yield Wanted(path, checksum, f"{base}/{whole}")


def _downloadable(dataset: Dataset, mirror: str | None) -> DatasetFile:
    for copy in dataset.copies:
        if copy.location is Location.FOLDER and (mirror is not None or copy.source is not None):
            return copy
    raise UsageError(
        f"The data set {dataset.name!r} cannot be downloaded: its file {dataset.copies[0].path} was made "
        f"from the data at {dataset.address}. Put it into the data folder by hand, or use a mirror that has "
        "it."
    )


def _content(wanted: Wanted, archives: dict[str, bytes]) -> bytes:
    if wanted.member is None:
        return _download(wanted.address)
    if wanted.address not in archives:
        archives[wanted.address] = _download(wanted.address)
    try:
        with zipfile.ZipFile(io.BytesIO(archives[wanted.address])) as archive, archive.open(wanted.member) as member:
            content = member.read(LARGEST + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{wanted.address} is not the expected archive with {wanted.member} in it: {error}.") from error

    if len(content) > LARGEST:
        raise DataError(
            f"{wanted.member} in {wanted.address} unpacks to more than {LARGEST >> 20} MB, more than any set."
        )
    return content


def _download(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            content: bytes = answer.read(LARGEST + 1)
            expected = answer.headers.get("Content-Length")
    except (urllib.error.URLError, HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(
            f"Cannot download {address}: {reason}. Nothing was kept. If the address is gone, get the set "
            "from elsewhere (wordstill data list --verbose names its home) and set WORDSTILL_DATA to its "
            "folder."
        ) from error
    if len(content) > LARGEST:
        raise DataError(f"{address} sends more than {LARGEST >> 20} MB, more than any set. Nothing was kept.")
    if expected is not None and expected.strip() != str(len(content)):
        raise DataError(
            f"The download of {address} broke off: {len(content):,} of {expected.strip()[:20]} bytes. Nothing was "
            "kept; try again."
        )
    return content


def _check(content: bytes, wanted: Wanted, name: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != wanted.sha256:
        raise DataError(
            f"Data set {name!r}: the content of {wanted.address} is not the published file {wanted.path}: "
            f"expected sha256 {wanted.sha256}, got {got} ({len(content):,} bytes). Nothing was kept."
        )
