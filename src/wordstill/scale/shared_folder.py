"""Folders shared by several machines: records that are created once and atomically, and large files."""

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
        pause: Seconds between two checks of what others have done.
    """

    pause: float = 2.0

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Create a small file atomically unless it exists; returns whether this call created it."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """The content of a small file; None if it does not exist."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Names of the complete files in a folder."""

    @abstractmethod
    def touch(self, name: str) -> None:
        """Reset the age of a file, if it exists."""

    @abstractmethod
    def age(self, name: str) -> float | None:
        """Seconds since a file was created or touched, by a clock shared by all machines; None if it does not exist."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Delete a file, if it exists."""

    @abstractmethod
    def remove_all(self) -> None:
        """Delete everything, when the run is finished."""

    @abstractmethod
    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Create a large file with a new name; ``write`` writes it to a local path."""

    @abstractmethod
    def fetch(self, name: str, cache: Path) -> Path:
        """A local path of a file, which is copied into the cache if necessary."""


class LocalFolder(SharedFolder):
    """A folder on a local or network file system."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def create(self, name: str, data: bytes) -> bool:
        """Write a temporary file, then link it: linking is atomic and fails if the name exists."""
        path = self.path / name
        with disk_errors(path):
            # Not the folders above, which are removed when the run is finished.
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
        """Names of all but hidden files, which are incomplete."""
        with suppress(FileNotFoundError):
            found = [entry.name for entry in (self.path / folder).iterdir()]
            return sorted(f"{folder}/{name}" for name in found if name[0] != ".")
        return []

    def touch(self, name: str) -> None:
        """Set the modification time."""
        with suppress(FileNotFoundError):
            os.utime(self.path / name)

    def age(self, name: str) -> float | None:
        """The age relative to a file touched now, because the clocks of machines differ."""
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
        """Delete the working folder that contains it."""
        with disk_errors(self.path.parent):
            remove(self.path.parent)

    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Write it directly."""
        write(self.path / name)

    def fetch(self, name: str, cache: Path) -> Path:
        """The file itself."""
        return self.path / name


class ObjectFolder(SharedFolder):
    """A folder in an object store with conditional writes, such as S3 and Google Cloud Storage.

    Args:
        address: URL of the folder, such as ``s3://bucket/vectors.partial/shards``.
    """

    pause = 10.0

    def __init__(self, address: str) -> None:
        self.address = address
        self._store, self._path = open_store(address)

    def __str__(self) -> str:
        return self.address

    def refuse_unable(self) -> None:
        """Refuse a store that would let two processes claim the same shard.

        Raises:
            UsageError: The store overwrites an object despite the condition.
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
                f"--join needs an object store that can refuse to write an object twice; {self.address} cannot. "
                "Use a shared folder, s3:// or gs://, or --workers, which uploads the result at the end."
            )

    def create(self, name: str, data: bytes) -> bool:
        """Write on the condition that the object does not exist."""
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
        """Names of all objects, which are always complete."""
        with store_errors(self.address, "read"), suppress(FileNotFoundError):
            self._store.invalidate_cache()
            found = self._store.ls(f"{self._path}/{folder}", detail=False)
            return sorted(f"{folder}/{name.rpartition('/')[2]}" for name in found)
        return []

    def touch(self, name: str) -> None:
        """Write it again."""
        if (data := self.read(name)) is not None:
            with store_errors(self.address, "written"):
                self._store.pipe_file(f"{self._path}/{name}", data)

    def age(self, name: str) -> float | None:
        """The age by the store's clock."""
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
        """Download it, unless it is cached."""
        local = cache / name
        if not local.exists():
            with store_errors(self.address, "read"):
                self._store.invalidate_cache()
                size = self._store.info(f"{self._path}/{name}")["size"]
            download(self._store, f"{self._path}/{name}", local, size, None, self.address)
        return local
