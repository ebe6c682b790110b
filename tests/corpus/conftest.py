from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wordstill.corpus import Corpus, PrepareConfig, prepare

MakeCorpus = Callable[..., Corpus]


@pytest.fixture
def make_corpus(tmp_path: Path) -> MakeCorpus:
    """A store of a text that is given as a string; settings as keywords of PrepareConfig."""
    made = 0

    def make(text: str, **settings: object) -> Corpus:
        nonlocal made
        made += 1
        file = tmp_path / f"text{made}.txt"
        file.write_text(text, encoding="utf-8", newline="")
        return prepare([file], tmp_path / f"store{made}", PrepareConfig(**settings), workers=1)

    return make
