"""Atomic writing: temporary name, sync, rename, so that a killed run never leaves half a result.

At every moment, the path has the complete old or the complete new result: a file is renamed over the old one, a folder
is exchanged with it in one step if the system can. Temporary names are random and made without following links. Each is
locked while its run is alive, so that the next run can tell what a killed one left.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

from wordstill.errors import DataError, UsageError

HASH_BLOCK = 1 << 20
TEMPORARY, OLD = "tmp", "old"
LEFTOVER = re.compile(r"\.(.+)\.(tmp|old)-wordstill-[0-9a-f]{16}")
LONGEST_NAME = 200
"""Characters of a name that a temporary name keeps: file systems allow 255 bytes."""
LINUX_EXCHANGE = MAC_SWAP = 2
HERE = -100
UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` for writing; it is renamed to ``path`` only if the block succeeds."""
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        yield handle


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically."""
    with atomic_file(path) as handle:
        handle.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Give an empty temporary file beside ``path``, which is renamed to ``path`` if the block succeeds."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _temporary(path, folder=False) as temporary:
            yield temporary
            _sync(temporary)
            temporary.replace(path)
            _sync_names(path.parent)


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside ``path``, which is renamed to ``path`` if the block succeeds."""
    refuse_existing(path, overwrite=overwrite)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _temporary(path, folder=True) as temporary:
            yield temporary
            refuse_existing(path, overwrite=overwrite)
            replace_folder(temporary, path)


def replace_folder(new: Path, path: Path) -> None:
    """Sync a complete folder and rename it to ``path``; the old folder is deleted last.

    If the system can exchange names, the old one is at ``new`` until it is deleted.
    """
    sync_folder(new)
    if not os.path.lexists(path):
        new.replace(path)
        _sync_names(path.parent)
        return
    if exchange_names(new, path):
        _sync_names(path.parent)
        remove(new)
        return
    # If the run is killed between the two renames, the next one restores the old folder.
    old = path.rename(_beside(path, OLD))
    try:
        new.replace(path)
    except OSError:
        old.rename(path)
        raise
    _sync_names(path.parent)
    remove(old)


def take_up_leftovers(folder: Path) -> None:
    """Remove what killed runs left in a folder, once per process; an old result without a new one is restored."""
    _sweep(folder, os.getpid())


def user_cache(name: str) -> Path:
    """The user's cache folder for ``data``, ``words``, ``tiles`` and so on."""
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "wordstill" / name
    try:
        home = Path.home()
    except RuntimeError:
        # This user has no home: the cache cannot be written, which its users report.
        home = Path(os.devnull)
    return home / ".cache" / "wordstill" / name


def path_text(path: Path) -> str:
    r"""A path as valid text: bytes that are not UTF-8 are written as ``\xe4``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise if ``path`` exists, other than as an empty folder, unless it may be replaced."""
    if path.exists() and not overwrite and not (path.is_dir() and not any(path.iterdir())):
        raise UsageError(f"{path} exists already. Choose another output, or add --overwrite (overwrite=True).")


def refuse_foreign(folder: Path, ours: Collection[str]) -> None:
    """Raise if overwriting ``folder`` would delete other files than these, in it or in its folders."""
    if folder.name in ("", ".."):
        raise UsageError(f"{folder} is not a new folder. Name the result, for example vectors.")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file and is not overwritten. Choose another output.")
    with disk_errors(folder):
        others = [str(path.relative_to(folder)) for path in islice(_foreign(folder, ours, depth=1), 3)]
    if others:
        raise UsageError(
            f"{folder} holds other files ({', '.join(others)}) and is not overwritten. Choose another output."
        )


def remove(path: Path) -> None:
    """Delete a file, a link or a whole folder, if it is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def sha256_of(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Force the files of a folder, and the folder itself, to the disk."""
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn operating system errors while writing ``path`` into one clear error."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"Cannot write {path}: {error.strerror or error}. Nothing was left half-written; "
            "free some space or choose another output."
        ) from error


@contextmanager
def _temporary(path: Path, *, folder: bool) -> Iterator[Path]:
    """A new file or folder beside ``path``, locked while this process is alive, and removed after the block."""
    take_up_leftovers(path.parent)
    temporary, descriptor = _created(path, folder=folder)
    try:
        yield temporary
    finally:
        with suppress(OSError):
            remove(temporary)
        if descriptor is not None:
            os.close(descriptor)


def _created(path: Path, *, folder: bool) -> tuple[Path, int | None]:
    while True:
        temporary = _beside(path, TEMPORARY)
        if folder:
            temporary.mkdir()
            if sys.platform == "win32":
                return temporary, None
            descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW)
        else:
            # The name is new: a link there would be an error, and is not followed.
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(temporary, flags, 0o666)
        if _hold(descriptor, unknown=True) and os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        # A run that just started has removed it as a leftover.
        os.close(descriptor)


def _beside(path: Path, kind: str) -> Path:
    """A random hidden name in the same folder, and so on the same disk."""
    return path.with_name(f".{path.name[:LONGEST_NAME]}.{kind}-wordstill-{secrets.token_hex(8)}")


@cache
def _sweep(folder: Path, _: int) -> None:
    with suppress(OSError):
        for path in folder.iterdir():
            if match := LEFTOVER.fullmatch(path.name):
                with suppress(OSError):
                    _take_up(path, path.with_name(match[1]), match[2])


def _take_up(leftover: Path, path: Path, kind: str) -> None:
    if sys.platform == "win32":
        return
    if leftover.is_symlink():
        # A link that was replaced by a folder.
        leftover.unlink()
        return
    descriptor = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not _hold(descriptor, unknown=False):
            return
        if kind == OLD and not os.path.lexists(path):
            leftover.rename(path)
        else:
            remove(leftover)
    finally:
        os.close(descriptor)


def _hold(descriptor: int, *, unknown: bool) -> bool:
    """Lock an open file or folder; False if another process holds the lock, ``unknown`` if the system has no locks."""
    if sys.platform == "win32":
        return unknown
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


def exchange_names(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False if the system cannot."""
    rename = _system_exchange()
    if rename is None:
        return False
    if rename(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNABLE:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _system_exchange() -> Any:
    """The system's call that exchanges two names, or None."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            swap = library.renamex_np
            return lambda one, other: swap(one, other, MAC_SWAP)
        rename = library.renameat2
    except (AttributeError, OSError, TypeError):
        return None
    return lambda one, other: rename(HERE, one, HERE, other, LINUX_EXCHANGE)


def _foreign(folder: Path, ours: Collection[str], depth: int) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink() and depth:
            yield from _foreign(path, ours, depth - 1)
        elif path.name not in ours:
            yield path


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_names(folder: Path) -> None:
    """Sync the names in a folder to disk, if the system allows it."""
    with suppress(PermissionError):
        _sync(folder)
