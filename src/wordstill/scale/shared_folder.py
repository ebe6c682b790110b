"""Folders that several machines share: records created once and whole, and large files under names of their own."""

from __future__ import annotations

import os
import secrets
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from wordstill.core.files import disk_errors, remove
from wordstill.core.object_stores import download, open_store, send, store_errors
from wordstill.errors import UsageError

CLOCK = "clock"


class SharedFolder(ABC):
    """Files by name, such as ``done/42``, that several processes create, read and remove at the same time.

    Attributes:
        pause: Seconds between two looks at what others have done.
    """

    pause: float = 2.0

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Make a small file whole, unless one of this name is there; whether this call made it."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A small file; None if it is not there."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Complete files of a folder."""

    @abstractmethod
    def touch(self, name: str) -> None:
        """Set the age of a file to 0, if it is there."""

    @abstractmethod
    def age(self, name: str) -> float | None:
        """Seconds since a file was made or touched, by one clock for all machines; None if it is not there."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""

    @abstractmethod
    def remove_all(self) -> None:
        """Delete everything, when the run is finished."""

    @abstractmethod
    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Make a large file of a name that is new; ``write`` writes it to a path of this machine."""

    @abstractmethod
    def fetch(self, name: str, cache: Path) -> Path:
        """A file on this machine, copied into the cache where it is not there already."""


class LocalFolder(SharedFolder):
    """A folder of the file system, on a disk of this machine or of the network."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def create(self, name: str, data: bytes) -> bool:
        """Write beside, then link: a name is given once, and never to half a file."""
        path = self.path / name
        with disk_errors(path):
            # Not the folders above: they are gone when the run is finished.
            path.parent.mkdir(exist_ok=True)
            temporary = path.with_name(f".{path.name}.tmp-{secrets.token_hex(8)}")
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    path.hardlink_to(temporary)
                except FileExistsError:
                    return False
                return True
            finally:
                temporary.unlink(missing_ok=True)

    def read(self, name: str) -> bytes | None:
        """The bytes."""
        with suppress(FileNotFoundError):
            return (self.path / name).read_bytes()
        return None

    def names(self, folder: str) -> list[str]:
        """Hidden files are not complete."""
        with suppress(FileNotFoundError):
            found = [entry.name for entry in (self.path / folder).iterdir()]
            return sorted(f"{folder}/{name}" for name in found if name[0] != ".")
        return []

    def touch(self, name: str) -> None:
        """Set the time of the last change."""
        with suppress(FileNotFoundError):
            os.utime(self.path / name)

    def age(self, name: str) -> float | None:
        """Against a file that is touched now, because machines have clocks of their own."""
        clock = self.path / CLOCK
        clock.touch()
        os.utime(clock)
        with suppress(FileNotFoundError):
            return clock.stat().st_mtime - (self.path / name).stat().st_mtime
        return None

    def remove(self, name: str) -> None:
        """Delete."""
        with disk_errors(self.path / name):
            remove(self.path / name)

    def remove_all(self) -> None:
        """Delete the working folder that it is a part of."""
        with disk_errors(self.path.parent):
            remove(self.path.parent)

    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Write it in its place."""
        write(self.path / name)

    def fetch(self, name: str, cache: Path) -> Path:
        """The file itself."""
        return self.path / name


class ObjectFolder(SharedFolder):
    """A folder of an object store that can refuse to write an object twice, such as S3 and Google Cloud Storage.

    Args:
        address: Of the folder, such as ``s3://bucket/vectors.partial/shards``.
    """

    pause = 10.0

    def __init__(self, address: str) -> None:
        self.address = address
        self._store, self._path = open_store(address)

    def __str__(self) -> str:
        return self.address

    def refuse_unable(self) -> None:
        """Refuse a store that would let two processes take the same shard.

        Raises:
            UsageError: It writes an object over another one when asked not to.
        """
        name = f"trial-{secrets.token_hex(8)}"
        try:
            once = self.create(name, b"1") and not self.create(name, b"2")
        except (NotImplementedError, TypeError, ValueError):
            once = False
        finally:
            self.remove(name)
        if not once:
            raise UsageError(
                f"--join needs a store that can refuse to write an object twice, and that of {self.address} cannot. "
                "Use a shared folder, s3:// or gs://, or --workers, which uploads the result at the end."
            )

    def create(self, name: str, data: bytes) -> bool:
        """Ask the store to write only if there is no such object."""
        with store_errors(self.address, "written"):
            try:
                self._store.pipe_file(f"{self._path}/{name}", data, mode="create")
            except FileExistsError:
                return False
        return True

    def read(self, name: str) -> bytes | None:
        """The bytes."""
        with store_errors(self.address, "read"), suppress(FileNotFoundError):
            return bytes(self._store.cat_file(f"{self._path}/{name}"))
        return None

    def names(self, folder: str) -> list[str]:
        """An object is there as a whole or not at all."""
        with store_errors(self.address, "read"), suppress(FileNotFoundError):
            self._store.invalidate_cache()
            found = self._store.ls(f"{self._path}/{folder}", detail=False)
            return sorted(f"{folder}/{name.rpartition('/')[2]}" for name in found)
        return []

    def touch(self, name: str) -> None:
        """Write it once more."""
        if (data := self.read(name)) is not None:
            with store_errors(self.address, "written"):
                self._store.pipe_file(f"{self._path}/{name}", data)

    def age(self, name: str) -> float | None:
        """By the clock of the store."""
        with store_errors(self.address, "read"), suppress(FileNotFoundError):
            self._store.pipe_file(f"{self._path}/{CLOCK}", b"")
            self._store.invalidate_cache()
            now, then = (self._store.modified(f"{self._path}/{each}") for each in (CLOCK, name))
            return float((now - then).total_seconds())
        return None

    def remove(self, name: str) -> None:
        """Delete."""
        with store_errors(self.address, "written"), suppress(FileNotFoundError):
            self._store.rm_file(f"{self._path}/{name}")

    def remove_all(self) -> None:
        """Delete the folder."""
        with store_errors(self.address, "written"), suppress(FileNotFoundError):
            self._store.invalidate_cache()
            self._store.rm(self._path, recursive=True)

    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Write it to a temporary file and upload that."""
        with tempfile.TemporaryDirectory(prefix="wordstill-") as folder:
            local = Path(folder) / "part"
            write(local)
            send(self._store, local, f"{self._path}/{name}", self.address)

    def fetch(self, name: str, cache: Path) -> Path:
        """Download it, unless that was done."""
        local = cache / name
        if not local.exists():
            with store_errors(self.address, "read"):
                self._store.invalidate_cache()
                size = self._store.info(f"{self._path}/{name}")["size"]
            download(self._store, f"{self._path}/{name}", local, size, None, self.address)
        return local
