"""Which device and precision a teacher runs in."""

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
    """``auto`` takes a GPU where there is one."""
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
    """Start the GPU that is wanted, if there is one, while the block does something else.

    Its driver and its library for products need a second or more at first, mostly without the interpreter's lock.
    """
    thread = threading.Thread(target=_wake, args=(wanted,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _wake(wanted: str) -> None:
    with suppress(Exception):  # Whoever uses the GPU then says what is wrong with it.
        if torch.version.cuda is None or wanted == "cpu":
            return
        # torch would hold the lock meanwhile.
        ctypes.CDLL(DRIVER).cuInit(0)
        device = choose_device(wanted)
        if device.type == "cuda":
            square = torch.ones(64, 64, dtype=torch.bfloat16, device=device)
            torch.matmul(square, square).cpu()


def synchronize() -> None:
    """Wait until a GPU has finished its queue; nothing to wait for without one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """``auto`` takes bfloat16 where torch multiplies it faster than float32, else float32.

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
    """Tensors of any device as arrays, for a checkpoint."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}


def to_tensors(arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> dict[str, Tensor]:
    """Arrays whose names begin with a prefix as tensors, named without it."""
    # Mapped arrays are read-only, which tensors cannot be.
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
    """Give this thread one of ``size`` equal shares of torch's cores; yields what gives a thread its own.

    A thread with a core of its own does not wait for the others after every operation, as the threads of one
    operation do, which costs most where other programs run.
    """
    cores = torch.get_num_threads()
    take_share = partial(torch.set_num_threads, max(1, cores // size))
    take_share()
    try:
        yield take_share
    finally:
        torch.set_num_threads(cores)


def amx_announced() -> bool:
    """Whether this processor says that it has matrix tiles for bfloat16 (AMX)."""
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())


@cache
def torch_multiplies_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 on this processor without a detour."""
    return bool(getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)())


@cache
def cpu_multiplies_bfloat16() -> bool:
    """Whether this processor has matrix tiles for bfloat16 that really work, and oneDNN may use them."""
    return amx_announced() and not amx_forbidden() and survives_bfloat16()


def amx_forbidden() -> bool:
    """Whether the environment tells oneDNN to leave matrix tiles alone; bfloat16 is slow without them."""
    allowed = os.environ.get(ISA_VARIABLE, "").upper()
    return allowed not in ("", "ALL", "DEFAULT") and "AMX" not in allowed


def bfloat16_is_safe() -> bool:
    """Whether this process would live through products in bfloat16; broken tiles are avoided if need be."""
    if cpu_multiplies_bfloat16():
        return True
    avoid_broken_amx()
    return survives_bfloat16()


def survives_bfloat16(seconds: int = PROBE_SECONDS) -> bool:
    """Whether this process would live through a product in bfloat16.

    Some virtual machines announce AMX but hide the leaf of CPUID that describes its tiles (1D). oneDNN then
    configures no tiles and dies on the first instruction that uses one, which no exception handler can catch.
    """
    return survives(_bfloat16_product, seconds)


def survives(product: Callable[[], object], seconds: int = PROBE_SECONDS) -> bool:
    """Whether this process would live through a product: it is tried in a child, in some ten milliseconds."""
    if not sys.platform.startswith("linux"):
        return True
    # A new interpreter would need seconds to import torch. The child runs one operation on one thread and
    # ends without clean-up; should it wait for a lock that another thread held, its alarm ends it.
    child = os.fork()
    if child == 0:
        _try(product, seconds)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def avoid_broken_amx() -> None:
    """Where matrix tiles are announced but do not work, tell oneDNN to leave them alone.

    It listens only before its first product in a process.
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
        # The parent's pool of threads does not exist in the child.
        torch.set_num_threads(1)
        product()
        status = 0
    finally:
        os._exit(status)
