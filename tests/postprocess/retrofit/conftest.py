"""A small table, a small lexicon, and the slow loops that the sparse products must agree with."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill.postprocess.retrofit import Lexicon
from wordstill.vectors import WordVectors

WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture
def table():
    matrix = np.random.default_rng(0).standard_normal((len(WORDS), 7)).astype(np.float32)
    return WordVectors(WORDS, matrix, counts=np.arange(80, 40, -1), provenance={"teacher": "tiny"})


@pytest.fixture
def lexicon():
    """Links of different weights, with a clique, a chain, a word without links, and words of no table."""
    generator = np.random.default_rng(1)
    links = [(f"w{one}", f"w{other}", 1.0) for one in range(5) for other in range(one)]
    links += [(f"w{number}", f"w{number + 1}", 0.5) for number in range(10, 20)]
    links += [
        (f"w{one}", f"w{other}", float(weight))
        for one, other, weight in zip(
            generator.integers(5, 35, 40), generator.integers(5, 35, 40), generator.uniform(0.2, 3, 40)
        )
    ]
    links += [("w3", "nowhere", 1.0), ("nowhere", "nobody", 2.0)]
    return Lexicon.from_links(links, {"file": "made.csv"})
