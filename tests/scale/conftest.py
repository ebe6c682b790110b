"""A small text in many shards."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordstill.corpus import VocabularyConfig, prepare
from wordstill.distillation import DistillConfig
from wordstill.teacher import TeacherConfig

METHODS = ("still:dim=16", "ase:layer=2", "principal")
LABELS = ("still-dim-16", "ase-layer-2", "principal")


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
