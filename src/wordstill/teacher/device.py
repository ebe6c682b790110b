"""Which device and precision a teacher runs in."""

from __future__ import annotations

import os
import sys
from functools import cache

import torch

from wordstill.errors import UsageError

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(wanted: str) -> torch.device:
    """``auto`` takes a GPU where there is one."""
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device {wanted!r} cannot be used here ({reason}). Use auto, cpu or cuda.") from error
    return device


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """``auto`` takes bfloat16 where the hardware multiplies it faster than float32, else float32."""
    if wanted != "auto":
        if wanted not in PRECISIONS:
            raise UsageError(f"dtype {wanted!r} is unknown. Expected auto, {', '.join(PRECISIONS)}.")
        if wanted == "bfloat16" and device.type == "cpu" and not cpu_multiplies_bfloat16():
            _forbid_matrix_tiles()
        return PRECISIONS[wanted]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if device.type == "cpu" and cpu_multiplies_bfloat16() else torch.float32


@cache
def cpu_multiplies_bfloat16() -> bool:
    """Whether this processor has matrix tiles for bfloat16 (AMX) that really work.

    Some virtual machines announce AMX and then die on its first instruction, which no exception handler can catch.
    So the first product is tried in a child process; it takes about ten milliseconds.
    """
    announced = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)()
    if not announced or not sys.platform.startswith("linux"):
        return bool(announced)
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        square = torch.ones(64, 64, dtype=torch.bfloat16)
        torch.nn.functional.linear(square, square)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _forbid_matrix_tiles() -> None:
    # Read by oneDNN at its first product in this process.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
