"""The device and precision of a teacher."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.errors import UsageError, unknown_name

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
ISA_VARIABLE, ISA_WITHOUT_AMX = "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16"
PROBE_SECONDS = 10
DRIVER = "libcuda.so.1"


def choose_device(wanted: str) -> torch.device:
    """The device of a name; ``auto`` takes a GPU if there is one."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:
        known = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu; there is no GPU here"
        raise UsageError(f"The device {wanted!r} cannot be used here. Use {known}.") from error
    return device


@contextmanager
def waking(wanted: str) -> Iterator[None]:
    """Initialize the requested GPU, if there is one, in the background of the block.

    The first use of its driver and matrix library takes a second or more, mostly without the GIL.
    """
    thread = threading.Thread(target=_wake, args=(wanted,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _wake(wanted: str) -> None:
    with suppress(Exception):  # The first real use of the GPU reports errors.
        if torch.version.cuda is None or wanted == "cpu":
            return
        # torch would hold the GIL meanwhile.
        ctypes.CDLL(DRIVER).cuInit(0)
        device = choose_device(wanted)
        if device.type == "cuda":
            square = torch.ones(64, 64, dtype=torch.bfloat16, device=device)
            torch.matmul(square, square).cpu()


def synchronize() -> None:
    """Wait until the GPU has finished its queue; without a GPU, this does nothing."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type of a name; ``auto`` takes bfloat16 if the device has fast hardware for it, else float32.

    Raises:
        UsageError: The name is unknown, or products in bfloat16 would kill this process.
    """
    if wanted == "auto":
        if device.type == "cuda":
            return _usual_on_gpu()
        return torch.bfloat16 if device.type == "cpu" and cpu_multiplies_bfloat16() else torch.float32
    if wanted not in PRECISIONS:
        raise unknown_name("dtype", wanted, ("auto", *PRECISIONS))
    if wanted == "bfloat16" and device.type == "cpu" and amx_announced() and not bfloat16_is_safe():
        raise UsageError(
            "dtype bfloat16 would kill this process: the processor's matrix tiles (AMX) do not work. "
            f"Set {ISA_VARIABLE}={ISA_WITHOUT_AMX} in the environment before the start, or use float32."
        )
    return PRECISIONS[wanted]


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Tensors on any device as arrays, for a checkpoint."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def to_tensors(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> dict[str, Tensor]:
    """The arrays whose names begin with a prefix as tensors, with names without it."""
    # Copied, because memory-mapped arrays are read-only, which tensors cannot be.
    return {
        name.removeprefix(prefix): torch.from_numpy(np.array(array))
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _usual_on_gpu() -> torch.dtype:
    # Older GPUs can emulate bfloat16, more slowly than float32.
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    warnings.warn(
        "This GPU has no bfloat16, so the teacher runs in float32, which is slower; dtype float16 may be faster.",
        stacklevel=4,
    )
    return torch.float32


@contextmanager
def shared_cores(size: int) -> Iterator[Callable[[], None]]:
    """Limit this thread to one of ``size`` equal shares of torch's cores; yields a function that limits other threads.

    Threads with cores of their own need not wait for each other after every operation, as the threads of one operation
    do. These waits cost most when other programs are running.
    """
    cores = torch.get_num_threads()
    take_share = partial(torch.set_num_threads, max(1, cores // size))
    take_share()
    try:
        yield take_share
    finally:
        torch.set_num_threads(cores)


def amx_announced() -> bool:
    """Whether this CPU reports matrix tiles for bfloat16 (AMX)."""
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())


@cache
def torch_multiplies_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 natively on this CPU."""
    return bool(getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)())


@cache
def cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has working matrix tiles for bfloat16, and oneDNN may use them."""
    return amx_announced() and not amx_forbidden() and survives_bfloat16()


def amx_forbidden() -> bool:
    """Whether the environment keeps oneDNN from using matrix tiles; bfloat16 is slow without them."""
    allowed = os.environ.get(ISA_VARIABLE, "").upper()
    return allowed not in ("", "ALL", "DEFAULT") and "AMX" not in allowed


def bfloat16_is_safe() -> bool:
    """Whether this process survives products in bfloat16, avoiding broken tiles if necessary."""
    if cpu_multiplies_bfloat16():
        return True
    avoid_broken_amx()
    return survives_bfloat16()


def survives_bfloat16(seconds: int = PROBE_SECONDS) -> bool:
    """Whether this process would survive a product in bfloat16.

    Some virtual machines report AMX but hide the CPUID leaf that describes its tiles (1D). oneDNN then configures no
    tiles and crashes on the first tile instruction, which no exception handler can catch.
    """
    return survives(_bfloat16_product, seconds)


def survives(product: Callable[[], object], seconds: int = PROBE_SECONDS) -> bool:
    """Whether this process would survive a product, which is tried in a child process within some ten milliseconds."""
    if not sys.platform.startswith("linux"):
        return True
    # A fork, because a new interpreter would take seconds to import torch. The child runs one operation on one thread
    # and exits without clean-up; if it waits for a lock that another thread held, its alarm ends it.
    child = os.fork()
    if child == 0:
        _try(product, seconds)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def avoid_broken_amx() -> None:
    """Keep oneDNN from using matrix tiles that are reported but do not work.

    This has no effect after its first product in a process.
    """
    if amx_announced() and not cpu_multiplies_bfloat16():
        os.environ.setdefault(ISA_VARIABLE, ISA_WITHOUT_AMX)


def _bfloat16_product() -> None:
    square = torch.ones(64, 64, dtype=torch.bfloat16)
    torch.nn.functional.linear(square, square)


def _try(product: Callable[[], object], seconds: int) -> NoReturn:
    status = 1
    try:
        import resource

        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        # The parent's thread pool does not exist in the child.
        torch.set_num_threads(1)
        product()
        status = 0
    finally:
        os._exit(status)
