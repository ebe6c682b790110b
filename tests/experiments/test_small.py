"""What is chosen for a size, and for a lexicon, follows from the development halves alone."""

import json

import numpy as np
import pytest

from experiments.pages import small
from experiments.quality import small_tables, unseen_words
from experiments.quality.bounded_retrofit import free_choice
from wordstill.vectors import WordVectors


def scored(chain, megabytes, development, pairs=10):
    scores = {"development": development, "other": 0.0, "all": development - 1}
    return {"chain": chain, "megabytes": megabytes, "pairs": pairs, "seconds": 1.0, "scores": scores}


ROWS = [scored("", 119, 70.0), scored("a", 20, 69.0), scored("b", 7.9, 68.0), scored("c", 7, 69.5, pairs=9)]


def test_a_limit_takes_the_best_that_fits_and_keeps_every_pair():
    assert small_tables.chosen(ROWS) == {"120": "", "64": "a", "32": "a", "16": "b", "8": "b"}


def test_a_bound_must_not_cost_analogies():
    def row(similarity, analogies):
        return {"similarity": {"development": similarity}, "analogies": {"development": analogies}}

    tried = [row(72, 40), row(71, 50), row(70, 51)]
    assert free_choice(row(65, 50), tried) == 1
    assert free_choice(row(65, 60), tried) is None


def test_held_out_words_are_compared_with_what_they_had():
    generator = np.random.default_rng(0)
    stems = generator.standard_normal((40, 8))
    words = [f"{'abcdefgh'[row % 8]}{'ijklm'[row // 8]}stem{end}" for row in range(40) for end in ("", "s", "ed")]
    matrix = np.repeat(stems, 3, axis=0).astype(np.float32)
    table = WordVectors(words, matrix, counts=np.full(len(words), 9))
    found = unseen_words.held_out(table, "subwords:minn=3,maxn=4", None)
    assert 0 < found["held_out"] < len(words)
    assert found["cosine"] > 0.8


@pytest.fixture
def results(tmp_path, monkeypatch):
    facts = {"title": "T", "command": "python", "commit": "abc", "hardware": "H", "words": 9, "dim": 3}
    all_scores = {
        "similarity": {"development": 1, "other": 2},
        "analogies": {"development": 3, "other": 4},
        "all": {"similarity": 5, "google": 6, "msr": 7},
    }
    contents = {
        "small-tables": {**facts, "rows": ROWS, "chosen": small_tables.chosen(ROWS)},
        "unseen-words": {
            **facts,
            "seed": 0,
            "rows": [
                {"label": "subwords", "held_out": 5, "cosine": 0.5, "cosine_rare": 0.4}
                | {"microseconds_per_word": 9.0, "megabytes": 1.0},
                {"label": "skipped", "rareword": {"development": 1, "other": 2, "all": 3, "pairs": 4}},
            ],
        },
        "bounded-retrofit": {
            **facts,
            "plain": all_scores,
            "rows": [{"label": "PPDB", "tried": [{"least_cosine": None, **all_scores}], "chosen": 0}],
        },
    }  # fmt: skip
    for folder, content in contents.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "demo.json").write_text(json.dumps(content))
    monkeypatch.setattr(small, "RESULTS", tmp_path)


def test_the_pages(results):
    assert "| `b` | 7.9 | 67.0 | 68.0 | 0.0 | -2.0 | 10 | 16, 8 |" in small.small_tables()
    assert "| `c` | 7.0 | 68.5 | 69.5 | 0.0 |  | 9 |  |" in small.small_tables()
    assert "| `subwords` | 0.500 | 0.400 | 9 | 1.0 |  |  |  |  |" in small.unseen_words()
    assert "| PPDB | none | 5.0 | 1.0 | 2.0 | 3.0 | 4.0 | 6.0 | 7.0 | yes |" in small.bounded_retrofit()
