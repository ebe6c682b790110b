"""The kernels for matrix tiles (AMX): compiled on first use, tried in a child process, and cached."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from wordstill.core.files import atomic_file, user_cache
from wordstill.errors import WordstillError
from wordstill.teacher import device

LEAST_STEPS = 4
"""Minimum steps of work for a thread."""
STEP = 32
"""Sizes of layers and heads must be multiples of this."""
MOST_NUMBERS = 8192
"""Maximum size of a row in a norm."""
HEADERS, SOURCES = ("tiles.h",), ("attention.c", "linear.c", "norm.c")
FOLDER = Path(__file__).parent
FLAGS = (
    "-std=gnu11", "-O3", "-shared", "-fPIC", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl",
    "-mavx512bf16", "-mamx-tile", "-mamx-bf16",
)  # fmt: skip
COMPILERS = ("cc", "gcc", "clang")
SECONDS = 60
DIGEST = hashlib.sha256().digest_size


class AmxUnavailable(Exception):
    """Matrix tiles cannot be used; the message says why."""


class CannotCompile(Exception):
    """The library cannot be compiled."""


def kernel() -> Kernel:
    """The kernel of this process.

    Raises:
        AmxUnavailable: This process cannot use matrix tiles.
    """
    found = find_kernel()
    if isinstance(found, str):
        raise AmxUnavailable(found)
    return found


def share(count: int, step: int, work: Callable[[slice], None]) -> None:
    """Split work that releases the GIL into parts, which run in parallel if the calling thread may use several cores.

    Parts begin at multiples of the step.
    """
    steps = -(-count // step)
    parts = min(torch.get_num_threads(), steps // LEAST_STEPS)
    if parts <= 1:
        work(slice(0, count))
        return
    bounds = [min(count, part * steps // parts * step) for part in range(parts + 1)]
    others = [_pool().submit(work, slice(first, last)) for first, last in pairwise(bounds[1:])]
    work(slice(*bounds[:2]))
    for other in others:
        other.result()


class Kernel:
    """The functions of the library; they release the GIL, so that threads run in parallel."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer, number, heads = ctypes.c_void_p, ctypes.c_long, ctypes.POINTER(Heads)
        self._allow = library.amx_allow
        self._linear = library.amx_linear
        self._linear.argtypes = [*[pointer] * 4, *[number] * 3, ctypes.c_int]
        self._norm = library.amx_norm
        self._norm.argtypes = [*[pointer] * 5, *[number] * 2, ctypes.c_float]
        self._norm.restype = None
        self._attend = library.amx_attend
        self._attend.argtypes = [*[heads] * 3, pointer, *[number] * 2, pointer, *[number] * 3, ctypes.c_float]

    def allow(self) -> None:
        """Request the tiles from the operating system, for all threads of this process.

        Raises:
            AmxUnavailable: The request was denied.
        """
        if self._allow() != 0:
            raise AmxUnavailable("the operating system does not give this process matrix tiles")

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor, y: Tensor, *, gelu: bool) -> None:
        """Write the result of a layer for x [m, K], or its exact ``gelu``, to y [m, N]; both are contiguous.

        All are in bfloat16 except the bias [N] in float32; the weight is ordered by tiles, see ``linear.c``.
        """
        rows, inputs = x.shape
        pointers = (tensor.data_ptr() for tensor in (x, weight, bias, y))
        _refuse_failure(self._linear(*pointers, rows, y.shape[1], inputs, gelu))

    def norm(self, values: Tensor, added: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> None:
        """Replace values [m, N] by the layer norm of ``values + added``; both are contiguous.

        They are in bfloat16, weight and bias [N] in float32; N is a multiple of 32 and at most 8,192.
        """
        pointers = (tensor.data_ptr() for tensor in (values, added, weight, bias, values))
        self._norm(*pointers, *values.shape, epsilon)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, out: Tensor, lengths: Tensor, scale: float) -> None:
        """Write attention to ``out``; all are [heads, P, width] in bfloat16, with contiguous widths.

        The lengths of the texts, in int64, sum to P; the scale is above 0.
        """
        heads, _, width = query.shape
        given = (Heads.of(tensor) for tensor in (query, key, value))
        place = (out.data_ptr(), out.stride(1), out.stride(0))
        _refuse_failure(self._attend(*given, *place, lengths.data_ptr(), len(lengths), heads, width, scale))


class Heads(ctypes.Structure):
    """A bfloat16 array [positions, heads, width] with contiguous widths."""

    _fields_ = (("first", ctypes.c_void_p), ("row", ctypes.c_long), ("head", ctypes.c_long))

    @classmethod
    def of(cls, tensor: Tensor) -> Heads:
        """The array of a tensor [heads, positions, width]."""
        return cls(tensor.data_ptr(), tensor.stride(1), tensor.stride(0))


def load_library(folder: Path = FOLDER, flags: Sequence[str] = FLAGS) -> ctypes.CDLL:
    """Load the compiled sources; compiling them first takes about a second.

    Raises:
        CannotCompile: No compiler was found, or none supports the instructions.
    """
    reason = f"no C compiler was found ($CC, {', '.join(COMPILERS)})"
    for compiler in _compilers():
        try:
            version = _output([*compiler, "--version"])
            return _load(compiler, version, folder, flags)
        except (OSError, subprocess.SubprocessError, WordstillError) as error:
            reason = f"{shlex.join(compiler)} did not compile the kernel for tiles: {error}".split("\n")[0]
    raise CannotCompile(reason)


def cache_folder() -> Path:
    """The folder of compiled libraries."""
    return user_cache("tiles")


@cache
def find_kernel() -> Kernel | str:
    """The kernel, or the reason why there is none."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return "matrix tiles are used on Linux and x86-64 only"
    if not device.amx_announced():
        return "this processor has no matrix tiles for bfloat16 (AMX)"
    # Parts of a model are left to torch.
    if not device.bfloat16_is_safe():
        return "products in bfloat16 would kill this process, and it is too late to prevent that"
    try:
        made = Kernel(load_library())
        if not device.survives(partial(_try, made)):
            return "the processor's matrix tiles do not work"
        made.allow()
    except (CannotCompile, AmxUnavailable) as error:
        return str(error)
    return made


def _try(made: Kernel) -> None:
    """Multiply ones, which may crash the process."""
    made.allow()
    ones = torch.ones(STEP, STEP, dtype=torch.bfloat16)
    y = torch.empty_like(ones)
    made.linear(ones, ones, torch.ones(STEP), y, gelu=False)
    if not bool((y == STEP + 1).all()):
        raise AmxUnavailable("a product of ones is wrong")


def _refuse_failure(status: int) -> None:
    if status != 0:
        raise MemoryError("The processor's matrix tiles need more memory than there is.")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="wordstill-tiles")


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


def _compilers() -> Iterator[list[str]]:
    """Commands of possible C compilers, with arguments."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        with suppress(ValueError):  # Unbalanced quotation marks.
            words = shlex.split(name)
            if words and shutil.which(words[0]):
                yield words


def _load(compiler: list[str], version: bytes, source: Path, flags: Sequence[str]) -> ctypes.CDLL:
    files = [(source / name).read_bytes() for name in (*HEADERS, *SOURCES)]
    parts = [*files, shlex.join([*compiler, *flags]).encode(), version]
    name = hashlib.sha256(b"\0".join(parts)).hexdigest()[:32] + ".so"
    try:
        kept = cache_folder() / name
        if not _is_whole(kept):
            _keep(_compiled(compiler, source, flags), kept)
        if _is_private(kept):
            return ctypes.CDLL(str(kept))
    except (WordstillError, OSError, RuntimeError):
        pass  # There is no home, it is not writable, or nothing in it may be executed.
    with tempfile.TemporaryDirectory(prefix="wordstill-") as folder:
        passing = Path(folder) / name
        _keep(_compiled(compiler, source, flags), passing)
        # It stays loaded after its file is deleted.
        return ctypes.CDLL(str(passing))


def _compiled(compiler: list[str], source: Path, flags: Sequence[str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="wordstill-") as folder:
        target = Path(folder) / "tiles.so"
        _output([*compiler, *flags, "-o", str(target), *(str(source / name) for name in SOURCES)])
        return target.read_bytes()


def _output(command: list[str]) -> bytes:
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=SECONDS,
        env=os.environ | {"LC_ALL": "C"},
    )  # fmt: skip
    return run.stdout


def _keep(library: bytes, path: Path) -> None:
    """Write a library followed by its checksum, which loaders ignore."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_file(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(library + hashlib.sha256(library).digest())


def _is_whole(path: Path) -> bool:
    """Whether a library exists and matches its checksum; loading a truncated one would crash the process."""
    if not path.is_file():
        return False
    kept = path.read_bytes()
    return hashlib.sha256(kept[:-DIGEST]).digest() == kept[-DIGEST:]


def _is_private(path: Path) -> bool:
    """Whether no other user can have written a file."""
    return all(
        status.st_uid == os.getuid() and not status.st_mode & 0o022 for status in (path.stat(), path.parent.stat())
    )
