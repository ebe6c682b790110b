"""Small made-up sets that can be learnt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wordstill.evaluation.data.examples import Examples, Published
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.vectors import WordVectors

GOOD = [f"good{number}" for number in range(20)]
BAD = [f"bad{number}" for number in range(20)]
PLAIN = [f"plain{number}" for number in range(40)]


@pytest.fixture
def polar_vectors() -> WordVectors:
    """Words of two kinds on either side of a plane, and words that tell nothing."""
    random = np.random.default_rng(0)
    matrix = 0.3 * random.normal(size=(80, 12))
    matrix[:20, 0] += 1
    matrix[20:40, 0] -= 1
    return WordVectors(GOOD + BAD + PLAIN, matrix.astype(np.float32))


@pytest.fixture
def polar_set() -> Callable[..., LoadedDataset[Published[str]]]:
    """Sentences with one word that tells their class."""

    def make(sentences: int = 200, **parts: object) -> LoadedDataset[Published[str]]:
        random = np.random.default_rng(1)
        rows, labels = [], []
        for number in range(sentences):
            label = "positive" if number % 3 else "negative"
            words = random.choice(PLAIN, size=random.integers(1, 9)).tolist()
            words.insert(int(random.integers(0, len(words) + 1)), random.choice(BAD if number % 3 == 0 else GOOD))
            rows.append(tuple(map(str, words)))
            labels.append(label)
        return LoadedDataset("made-up", Published(Examples(tuple(rows), tuple(labels)), **parts), "test", "0" * 64)

    return make


@pytest.fixture
def span_set() -> Callable[..., LoadedDataset[Published[tuple[str, ...]]]]:
    """Sentences in which runs of telling words are spans of their kind."""

    def make(sentences: int = 100) -> LoadedDataset[Published[tuple[str, ...]]]:
        random = np.random.default_rng(2)
        rows, tags = [], []
        for _ in range(sentences):
            words: list[str] = []
            marks: list[str] = []
            # Neighbours of one kind could not be told apart.
            for turn in random.integers(1, 3, size=random.integers(1, 5)).cumsum():
                kind, source = [("O", PLAIN), ("GOOD", GOOD), ("BAD", BAD)][turn % 3]
                size = int(random.integers(1, 4))
                words += random.choice(source, size=size).tolist()
                marks += ["O"] * size if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (size - 1)
            rows.append(tuple(map(str, words)))
            tags.append(tuple(marks))
        return LoadedDataset("made-up", Published(Examples(tuple(rows), tuple(tags))), "test", "0" * 64)

    return make
