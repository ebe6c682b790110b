from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def load() -> Iterator[Callable[[str], ModuleType]]:
    """Gives a module of the benchmarks, which are no part of the package."""
    sys.path.insert(0, str(ROOT))
    try:
        yield lambda name: importlib.import_module(f"benchmarks.{name}")
    finally:
        sys.path.remove(str(ROOT))
