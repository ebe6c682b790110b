"""Kernels are interpreted in other tests; here they are compiled, for GPUs that need not be there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wordstill

pytest.importorskip("triton", reason="needs triton")
KERNEL = re.compile(r"^@triton\.jit\ndef (\w+)", re.MULTILINE)
HELPERS = {"_softplus", "_met", "_attract", "_without_hits"}
"""Functions of kernels, which are compiled with them."""


def kernels() -> set[str]:
    files = Path(wordstill.__file__).parent.rglob("*_kernels.py")
    return {name for file in files for name in KERNEL.findall(file.read_text())} - HELPERS


@pytest.mark.parametrize("capability", [89, 90])
def test_every_kernel_compiles(capability, tmp_path):
    script = Path(__file__).parent / "compile_kernels.py"
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, script, str(capability)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == kernels()
