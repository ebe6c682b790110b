"""A small library: two tables over a prepared text, served on the loopback address."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.corpus import Corpus, prepare
from wordstill.explore.library import Library
from wordstill.vectors.folds import Folds
from wordstill.vectors.occurrences import Occurrences

TEXT = (
    "The old river runs past the town. People cross the river by boat.\n"
    "A lake lies above the town. People cross the lake by boat in summer.\n"
    "The King and the queen live in a castle. The king's castle stands above the lake.\n"
    "Dogs and cats sleep by the fire. A dog chased the cat around the castle.\n"
)
GROUPS = (
    ("river", "lake", "sea", "boat", "water", "ocean", "stream", "ship"),
    ("king", "queen", "castle", "prince", "princess", "crown", "court", "throne"),
    ("dog", "cat", "horse", "cow", "sheep", "dogs", "cats", "goat"),
    ("man", "woman", "son", "daughter", "father", "mother", "boy", "girl"),
    ("the", "a", "by", "and", "in", "town", "people", "<script>alert(1)</script>"),
)
MARKUP = GROUPS[-1][-1]


def make_table(seed: int, dim: int = 12) -> WordVectors:
    """Words of a group lie together; the second word of each pair is the first plus one difference."""
    random = np.random.default_rng(seed)
    words, rows = [], []
    difference = random.normal(size=dim)
    for group in GROUPS:
        middle = 2.5 * random.normal(size=dim)
        for place, word in enumerate(group):
            words.append(word)
            rows.append(middle + 0.6 * random.normal(size=dim) + (0.8 * difference if place % 2 else 0))
    counts = np.arange(400, 400 - 10 * len(words), -10)
    return WordVectors(words, np.array(rows, dtype=np.float32), counts=counts, provenance={"method": {"name": "test"}})


def add_folds(table: WordVectors) -> WordVectors:
    """Folds of two groups whose rows differ a little; rivers are of the first group, kings of the second."""
    random, folds = np.random.default_rng(5), 8
    noise = 0.2 * random.normal(size=(len(table), folds // 2, table.dim))
    rows = table.matrix[:, None] + np.stack([noise, -noise], axis=2).reshape(len(table), folds, table.dim)
    counts = np.full((len(table), folds), 10)
    counts[:8, : folds // 2], counts[8:16, folds // 2 :] = 90, 90
    numbers = np.divmod(np.arange(len(table) * folds), folds)
    table.folds = Folds(
        rows.reshape(-1, table.dim).astype(np.float32),
        *(each.astype(np.int32) for each in numbers),
        counts.ravel(),
        np.repeat([0, 1], folds // 2).astype(np.int32),
        counts.sum(axis=0),
        ("rivers", "kings"),
        ("documents",) * 2,
    )
    return table


def add_occurrences(table: WordVectors, corpus: Corpus) -> WordVectors:
    """Uses of all words but ``river`` and ``lake``; half of those of ``castle`` are about kings, half about dogs."""
    random, uses = np.random.default_rng(6), 24
    words = [word for word in table.words if word not in ("river", "lake")]
    states = {word: table[word] + 0.3 * random.normal(size=(uses, table.dim)) for word in words}
    states["castle"][::2] += 2 * (table["king"] - table["castle"])
    states["castle"][1::2] += 2 * (table["dog"] - table["castle"])
    # "A dog chased the cat around the castle." is the last sentence.
    places = np.repeat([7 if word == "castle" else 0 for word in words], uses)
    table.occurrences = Occurrences(
        words,
        np.full(len(words), 2 * uses),
        np.arange(len(words) + 1) * uses,
        np.concatenate([*states.values()]).astype(np.float16),
        places.astype(np.int64),
        places.astype(np.int32),
        np.ones(len(places), dtype=np.uint8),
        layer=1,
    )
    table.provenance["corpus"] = {"hash": corpus.hash}
    return table


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The prepared text."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "text.txt").write_text(TEXT)
    return prepare([folder / "text.txt"], folder / "store")


@pytest.fixture(scope="session")
def tables(corpus: Corpus) -> dict[str, WordVectors]:
    """Two tables of the same words, the first with folds and occurrences."""
    return {"first": add_occurrences(add_folds(make_table(0)), corpus), "second": make_table(1)}


@pytest.fixture(scope="session")
def scores() -> dict[str, object]:
    """An evaluation as the file of it reads."""
    score = {
        "task": "similarity",
        "dataset": "wordsim353",
        "metric": "spearman",
        "value": 61.5,
        "interval": {"low": 55.0, "high": 68.0},
        "coverage": {"used": 300, "total": 353},
        "n": 353,
        "protocol": "default with oov=backoff",
        "problem": None,
    }
    return {"protocol": {"description": "As published."}, "tables": {"first": {"scores": [score]}}}


@pytest.fixture(scope="session")
def library(tables: dict[str, WordVectors], corpus: Corpus, scores: dict[str, object]) -> Library:
    """Everything, with a map that is there at once."""
    return Library(tables, {}, corpus, scores, {"animals": ["dog", "cat", "horse"]}, method="pca")


@pytest.fixture(scope="session")
def address(library: Library) -> Iterator[str]:
    """Where the library is served."""
    pytest.importorskip("uvicorn")
    from wordstill.explore.server import bind, make_server

    bound = bind(20_000 + hash(Path.cwd()) % 20_000)
    server = make_server(library, bound)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    server.should_exit = True
    thread.join(5)
