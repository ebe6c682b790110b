from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.vectors import WordVectors


@pytest.fixture
def data_folder() -> Path:
    """The folder of published sets; a test that asks for it is skipped on machines that do not have one."""
    folder = os.environ.get("WORDSTILL_DATA")
    if not folder:
        pytest.skip("WORDSTILL_DATA is not set: the published data sets are not here")
    return Path(folder)


@pytest.fixture
def data_folder_path(data_folder: Path) -> Path:
    """The folder of published sets, for a test that hides it from the registry and names it first."""
    return data_folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data folder and an empty cache, whose place is given."""
    monkeypatch.delenv("WORDSTILL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "wordstill" / "data"


@pytest.fixture
def random_vectors() -> Callable[..., WordVectors]:
    def make(words: Sequence[str], seed: int = 0, dimensions: int = 20) -> WordVectors:
        matrix = np.random.default_rng(seed).normal(size=(len(words), dimensions))
        return WordVectors(list(words), matrix.astype(np.float32))

    return make


@pytest.fixture
def pair_set() -> Callable[..., LoadedDataset[WordPairs]]:
    """Makes a set of rows ``(first, second, score)``."""

    def make(rows: Sequence[tuple[str, str, float]], name: str = "made-up") -> LoadedDataset[WordPairs]:
        first, second, gold = zip(*rows)
        return LoadedDataset(name, WordPairs(first, second, np.array(gold, dtype=np.float64)), "test", "0" * 64)

    return make
