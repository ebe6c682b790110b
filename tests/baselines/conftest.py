"""Small made-up texts with a structure that vectors must find."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from wordstill.baselines.base import WordText
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig, prepare
from wordstill.vectors import WordVectors

TOPICS = ("river boat water fish bridge stream", "king queen crown palace throne prince")
FILLERS = ("the", "of", "and", "in", "was", "to")


def planted_lines(sentences: int = 1500, seed: int = 0) -> list[str]:
    """Sentences mostly about one topic each, with fillers that are the same in all."""
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        topic = int(generator.integers(2))
        words = [generator.choice(TOPICS[topic if generator.random() < 0.9 else 1 - topic].split()) for _ in range(4)]
        chosen = [*words, *generator.choice(FILLERS, size=4)]
        lines.append(" ".join(generator.permutation(chosen)).capitalize() + ".")
    return lines


@pytest.fixture(scope="session")
def make_text(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., WordText]:
    """A text given as lines, each a paragraph, with the vocabulary of all its words."""

    def make(lines: list[str], *, stretch_forms: int = 1 << 20, **vocabulary: object) -> WordText:
        folder: Path = tmp_path_factory.mktemp("text")
        (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
        (folder / "text.conllu").write_text(as_chains(lines), encoding="utf-8")
        corpus = prepare(folder / "text.txt", folder / "store", PrepareConfig(), workers=1)
        return open_text(corpus, stretch_forms, [folder / "text.conllu"], **vocabulary)

    return make


def as_chains(lines: list[str]) -> str:
    """Trees of lines, in which every word depends on the one before it."""
    rows = [
        "\n".join(f"{n + 1}\t{word}\t_\t_\t_\t_\t{n}\t{'dep' if n else 'root'}\t_\t_" for n, word in enumerate(words))
        for words in (re.findall(r"\w+|[^\w\s]", line) for line in lines)
    ]
    return "\n\n".join(rows) + "\n\n"


def open_text(corpus: Corpus, stretch_forms: int, trees: Sequence[Path] = (), **vocabulary: object) -> WordText:
    config = VocabularyConfig(**{"min_count": 1, **vocabulary})
    return WordText(corpus, Vocabulary.build(corpus, config), stretch_forms, trees)


@pytest.fixture(scope="session")
def planted(make_text: Callable[..., WordText]) -> WordText:
    return make_text(planted_lines())


def separation(vectors: WordVectors) -> float:
    """Mean cosine inside topics less that between them, without what all words share."""
    words = [word for topic in TOPICS for word in topic.split()]
    rows = vectors[words] - vectors[words].mean(axis=0)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    topic = np.repeat(np.arange(len(TOPICS)), len(words) // len(TOPICS))
    same = topic[:, None] == topic
    cosines = unit @ unit.T
    return float(cosines[same & ~np.eye(len(words), dtype=bool)].mean() - cosines[~same].mean())


@pytest.fixture(scope="session")
def topics_apart() -> Callable[[WordVectors], float]:
    return separation
