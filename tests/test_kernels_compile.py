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
LAUNCH = re.compile(r"^ +(\w+)\[.*\]\(", re.MULTILINE)


def kernels() -> set[str]:
    """Those that are started; what they call is compiled with them."""
    texts = [file.read_text() for file in Path(wordstill.__file__).parent.rglob("*_kernels.py")]
    defined, launched = ({name for text in texts for name in find.findall(text)} for find in (KERNEL, LAUNCH))
    return defined & launched


@pytest.mark.slow
def test_every_kernel_compiles(tmp_path):
    script = Path(__file__).parent / "compile_kernels.py"
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert compiled == {(name, gpu) for name in kernels() for gpu in ("89", "90")}
