"""Object stores and other remote files, by fsspec addresses such as ``s3://`` and ``hf://``.

Inputs are copied whole into a cache, because readers map and seek. Outputs are made in the cache and uploaded when
complete: a single file as one object; a folder file by file, and last a list of its files with their checksums. A
folder without that list is not a result, so an interrupted upload is never mistaken for one.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordstill.core.files import atomic_folder, atomic_path, remove, replace_folder, sha256_of, user_cache
from wordstill.core.resume import locked
from wordstill.errors import DataError, MissingExtra, UsageError, in_one_line

MARK = "://"
MOST_TRIES = 3
LIST = "wordstill-files.json"
"""The object that makes the others a result."""
SHORTENED = re.compile(r"([A-Za-z][A-Za-z0-9+]+):/+(?=[^/])")
"""Beginning of an address; a `Path` has lost one of its slashes. A single letter is a drive."""
CLIENTS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "abfs": "adlfs"}


def address_of(place: str | Path) -> str | None:
    """The address in a text or `Path`; None if it is a local path.

    >>> address_of(Path("s3://bucket/vectors")), address_of("C:/vectors"), address_of("vectors")
    ('s3://bucket/vectors', None, None)
    """
    match = SHORTENED.match(str(place))
    return None if match is None else f"{match[1]}{MARK}{str(place)[match.end() :]}"


def is_address(text: str) -> bool:
    """Whether this is an address rather than a path."""
    return MARK in text and address_of(text) is not None


def fetch(address: str) -> list[tuple[str, Path]]:
    """The files at an address, pattern or folder in the order of their names: address and local copy of each.

    Raises:
        MissingExtra: The package for this kind of address is not installed.
        DataError: There is no file, or it cannot be read.
    """
    store, path = open_store(address)
    with store_errors(address, "read"):
        names = store.glob(path) if store.isdir(path) is False and "*" in path else store.find(path)
    found = sorted(name for name in names if not any(part.startswith(".") for part in name.split("/")))
    if not found:
        raise DataError(f"There is no file at {address}.")
    scheme = address.partition(MARK)[0]
    return [(f"{scheme}{MARK}{name.lstrip('/')}", _copy(store, name, address)) for name in found]


def fetch_result(address: str) -> Path | None:
    """A local copy of a result that `Output` uploaded; None if there is none at this address."""
    store, path = open_store(address)
    listed = _read_list(store, path, address)
    if listed is None:
        return None
    local = _place(address, listed)
    if not local.exists():
        with atomic_folder(local) as folder:
            for name, facts in json.loads(listed).items():
                download(store, f"{path}/{name}", folder / name, facts["size"], facts["sha256"], address)
    return local


def local_input(place: str | Path) -> str | Path:
    """An input of a command, or its local copy if it is the address of an uploaded result."""
    address = address_of(place)
    return place if address is None else fetch_result(address) or address


def local_copy(place: str | Path) -> Path:
    """A local path to a file or result, which is copied if it is remote."""
    address = address_of(place)
    if address is None:
        return Path(place)
    if (result := fetch_result(address)) is not None:
        return result
    (_, first), *more = fetch(address)
    if more:
        raise DataError(f"{address} is no complete result of wordstill, but {len(more) + 1} files. Name one of them.")
    return first


def is_made(place: str | Path) -> bool:
    """Whether a path or address has a complete result."""
    address = address_of(place)
    return Path(place).exists() if address is None else _read_list(*open_store(address), address) is not None


def shown(place: str | Path) -> str:
    """A path or address as the user wrote it."""
    return address_of(place) or str(place)


@dataclass(frozen=True)
class Output:
    """Where a result goes: a local path; for an address, it is in the cache."""

    path: Path
    address: str | None = None

    @classmethod
    def at(cls, place: str | Path, *, overwrite: bool = False) -> Output:
        """The output at a path or address.

        Raises:
            UsageError: There is a result at the address, and it may not be replaced.
        """
        address = address_of(place)
        if address is None:
            return cls(Path(place))
        store, path = open_store(address)
        with store_errors(address, "read"):
            store.invalidate_cache()
            taken = store.exists(f"{path}/{LIST}") or store.isfile(path)
        if taken and not overwrite:
            raise UsageError(f"{address} exists already. Choose another output, or add --overwrite (overwrite=True).")
        digest = hashlib.sha256(address.encode()).hexdigest()[:16]
        local = user_cache("results") / digest / path.rpartition("/")[2]
        _remove_leftover(local, address)
        return cls(local, address)

    def publish(self) -> Path:
        """Upload the result if it has an address; returns its local path.

        Raises:
            DataError: The upload failed. The result is removed, so that the same command can try again.
        """
        if self.address is None:
            return self.path
        try:
            return self._upload(self.address)
        except BaseException:
            remove(self.path)
            raise

    def _upload(self, address: str) -> Path:
        store, path = open_store(address)
        if self.path.is_file():
            # Some formats write more files, whose names begin with this one's; the named file comes last.
            for file in sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}*"), reverse=True):
                send(store, file, path + file.name.removeprefix(self.path.name), address)
                remove(file)
            return self.path
        files = {file.relative_to(self.path).as_posix(): file for file in self.path.rglob("*") if file.is_file()}
        facts = {name: {"size": file.stat().st_size, "sha256": sha256_of(file)} for name, file in sorted(files.items())}
        before = _read_list(store, path, address)
        with store_errors(address, "written"):
            if before is not None:
                # From here on there is no result until the new one is complete.
                store.rm_file(f"{path}/{LIST}")
        for name, file in files.items():
            send(store, file, f"{path}/{name}", address)
        listed = json.dumps(facts, indent=1).encode()
        with store_errors(address, "written"):
            for name in json.loads(before or b"{}").keys() - facts.keys():
                store.rm_file(f"{path}/{name}")
            store.pipe_file(f"{path}/{LIST}", listed)
        local = _place(address, listed)
        local.parent.mkdir(parents=True, exist_ok=True)
        replace_folder(self.path, local)
        return local


def open_store(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path in it.

    Raises:
        MissingExtra: The package for this kind of address is not installed.
        DataError: The kind of address is unknown.
    """
    scheme = address.partition(MARK)[0]
    try:
        import fsspec

        store, path = fsspec.url_to_fs(address)
    except ImportError as error:
        package = CLIENTS.get(scheme) or getattr(error, "name", None) or "fsspec"
        raise MissingExtra(package, "scale" if package == "fsspec" else None, f"{scheme}://") from error
    except ValueError as error:
        raise DataError(f"{address}: {error}. Known are the addresses of fsspec, such as s3:// and gs://.") from error
    return store, str(path).rstrip("/")


@contextmanager
def store_errors(address: str, done: str) -> Iterator[None]:
    """Turn any error of a store into one clear one."""
    try:
        yield
    except (DataError, UsageError):
        raise
    except Exception as error:  # Every kind of store has its own errors.
        remedy = "The same command tries again"
        if isinstance(error, PermissionError) or "Credentials" in type(error).__name__:
            remedy = "Set the credentials that the package of this store looks for, such as AWS_ACCESS_KEY_ID"
        elif isinstance(error, FileNotFoundError):
            remedy = "Check the address"
        raise DataError(f"{address} cannot be {done}: {in_one_line(error)}. {remedy}.") from error


def _copy(store: Any, name: str, address: str) -> Path:
    """The local copy of a file; a complete one is not fetched again."""
    with store_errors(f"{name} of {address}", "read"):
        facts = store.info(name)
        size = facts["size"]
        version = str(facts.get("ETag") or facts.get("mtime") or facts.get("created") or "")
    digest = hashlib.sha256(f"{address.partition(MARK)[0]} {name} {size} {version}".encode()).hexdigest()[:16]
    local = user_cache("objects") / digest / Path(name).name
    if not (local.exists() and local.stat().st_size == size):
        download(store, name, local, size, None, address)
    return local


def download(store: Any, name: str, local: Path, size: int, sha256: str | None, address: str) -> None:
    """Download an object to a file and check its size and checksum.

    Raises:
        DataError: They were wrong three times.
    """
    got = 0
    for _ in range(MOST_TRIES):
        with store_errors(f"{name} of {address}", "read"), atomic_path(local) as temporary:
            store.get_file(name, str(temporary))
            got = temporary.stat().st_size
        if got == size and (sha256 is None or sha256_of(local) == sha256):
            return
        local.unlink()
    other = "with another SHA-256" if got == size else f"in {got:,} bytes, expected {size:,}"
    raise DataError(f"{name} of {address} came {other}, {MOST_TRIES} times. The same command tries again.")


def send(store: Any, file: Path, name: str, address: str) -> None:
    """Upload a file and check its size.

    Raises:
        DataError: The upload failed three times.
    """
    size, got, last = file.stat().st_size, None, None
    for _ in range(MOST_TRIES):
        try:
            store.put_file(str(file), name)
            store.invalidate_cache()
            got = store.info(name)["size"]
        except Exception as error:  # Every kind of store has its own errors.
            last = error
            continue
        if got == size:
            return
    reason = in_one_line(last) if last is not None else f"{got:,} bytes arrived, expected {size:,}"
    raise DataError(
        f"{name} of {address} cannot be uploaded, tried {MOST_TRIES} times: {reason}. The same command tries again."
    )


def _remove_leftover(local: Path, address: str) -> None:
    """Remove a result that a killed run was uploading; raise if a run is uploading it now."""
    work = local.with_name(f"{local.name}.partial")
    if local.exists() and work.exists():
        with locked(work, Path(address)):
            remove(local)
    remove(local)


def _read_list(store: Any, path: str, address: str) -> bytes | None:
    with store_errors(address, "read"):
        store.invalidate_cache()
        with suppress(FileNotFoundError):
            listed = bytes(store.cat_file(f"{path}/{LIST}"))
            facts = json.loads(listed)
            if any(Path(name).is_absolute() or ".." in Path(name).parts for name in facts):
                raise DataError(f"{address}/{LIST} names files outside its folder.")
            if not all(type(each["size"]) is int and type(each["sha256"]) is str for each in facts.values()):
                raise DataError(f"{address}/{LIST} is damaged: it lacks sizes and checksums.")
            return listed
    return None


def _place(address: str, listed: bytes) -> Path:
    digest = hashlib.sha256(address.encode() + b"\n" + listed).hexdigest()[:16]
    return user_cache("objects") / digest / address.rstrip("/").rpartition("/")[2]
