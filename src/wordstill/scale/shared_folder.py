"""Folders that several machines share: records created once and whole, and large files under names of their own."""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from wordstill.core.files import disk_errors, remove

CLOCK = "clock"


class SharedFolder(ABC):
    """Files by name, such as ``done/42``, that several processes create, read and remove at the same time."""

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

    def store(self, name: str, write: Callable[[Path], None]) -> None:
        """Write it in its place."""
        write(self.path / name)

    def fetch(self, name: str, cache: Path) -> Path:
        """The file itself."""
        return self.path / name
