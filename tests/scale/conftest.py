"""A small text in many shards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from wordstill.corpus import VocabularyConfig, prepare
from wordstill.distillation import DistillConfig
from wordstill.teacher import TeacherConfig

METHODS = ("still:dim=16", "ase:layer=2", "principal")
LABELS = ("still-dim-16", "ase-layer-2", "principal")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, short_text: Path) -> Path:
    path = tmp_path_factory.mktemp("scale") / "store"
    prepare(short_text, path, workers=1)
    return path


@pytest.fixture(scope="session")
def config(saved_teacher: Path) -> DistillConfig:
    return DistillConfig(
        METHODS,
        TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=3, words=("never seen",)),
        budget=60,
    )
