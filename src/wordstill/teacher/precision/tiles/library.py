"""Compiles the C sources beside this module when first needed, and keeps the library for later processes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wordstill.errors import WordstillError
from wordstill.files import atomic_file, user_cache

HEADERS, SOURCES = ("tiles.h",), ("attention.c", "linear.c", "norm.c")
FOLDER = Path(__file__).parent
FLAGS = (
    "-std=gnu11", "-O3", "-shared", "-fPIC", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl",
    "-mavx512bf16", "-mamx-tile", "-mamx-bf16",
)  # fmt: skip
COMPILERS = ("cc", "gcc", "clang")
SECONDS = 60
DIGEST = hashlib.sha256().digest_size


class CannotCompile(Exception):
    """There is no library, and none can be made."""


def load_library() -> ctypes.CDLL:
    """The compiled sources; a second where they must be compiled first.

    Raises:
        CannotCompile: No compiler was found, or none knows the instructions.
    """
    reason = f"no C compiler was found ($CC, {', '.join(COMPILERS)})"
    for compiler in _compilers():
        try:
            version = _output([*compiler, "--version"])
            return _load(compiler, version)
        except (OSError, subprocess.SubprocessError, WordstillError) as error:
            reason = f"{shlex.join(compiler)} did not compile the kernel for tiles: {error}".split("\n")[0]
    raise CannotCompile(reason)


def cache_folder() -> Path:
    """Where libraries are kept."""
    return user_cache("tiles")


def _compilers() -> Iterator[list[str]]:
    """Commands, with their own arguments, that may be C compilers."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        with suppress(ValueError):  # Its quotation marks do not match.
            words = shlex.split(name)
            if words and shutil.which(words[0]):
                yield words


def _load(compiler: list[str], version: bytes) -> ctypes.CDLL:
    files = [(FOLDER / name).read_bytes() for name in (*HEADERS, *SOURCES)]
    parts = [*files, shlex.join([*compiler, *FLAGS]).encode(), version]
    name = hashlib.sha256(b"\0".join(parts)).hexdigest()[:32] + ".so"
    try:
        kept = cache_folder() / name
        if not _is_whole(kept):
            _keep(_compiled(compiler), kept)
        if _is_private(kept):
            return ctypes.CDLL(str(kept))
    except (WordstillError, OSError, RuntimeError):
        pass  # There is no home, or it cannot be written, or nothing there may be executed.
    with tempfile.TemporaryDirectory(prefix="wordstill-") as folder:
        passing = Path(folder) / name
        _keep(_compiled(compiler), passing)
        # It stays in memory when its file is gone.
        return ctypes.CDLL(str(passing))


def _compiled(compiler: list[str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="wordstill-") as folder:
        target = Path(folder) / "tiles.so"
        _output([*compiler, *FLAGS, "-o", str(target), *(str(FOLDER / name) for name in SOURCES)])
        return target.read_bytes()


def _output(command: list[str]) -> bytes:
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=SECONDS,
        env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
    return run.stdout


def _keep(library: bytes, path: Path) -> None:
    """Write a library with its checksum behind it, where loaders do not look."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_file(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(library + hashlib.sha256(library).digest())


def _is_whole(path: Path) -> bool:
    """Whether it is there as it was written; half a library would kill the process that loads it."""
    if not path.is_file():
        return False
    kept = path.read_bytes()
    return hashlib.sha256(kept[:-DIGEST]).digest() == kept[-DIGEST:]


def _is_private(path: Path) -> bool:
    """Whether nobody else can have written it."""
    return all(
        status.st_uid == os.getuid() and not status.st_mode & 0o022
        for status in (path.stat(), path.parent.stat())
    )
