from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from wordstill.errors import DataError, UsageError
from wordstill.evaluation.comparison import Agreement, agreement, compare_tables
from wordstill.vectors import WordVectors

WORDS = [f"word{number}" for number in range(60)]


def make(seed: int, words: list[str] = WORDS, dim: int = 8) -> WordVectors:
    matrix = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32)
    return WordVectors(words, matrix)


def slow_overlap(first, second, word, topn):
    """Nearest words among those of both, by the definition."""
    near = []
    for table in (first, second):
        others = [other for other in first if other in second and other != word]
        others.sort(key=lambda other: -table.similarity(word, other))
        near.append(set(others[:topn]))
    return len(near[0] & near[1]) / topn


def test_neighbours_among_shared_words():
    first, second = make(0), make(1, [*WORDS[10:], "other"], dim=5)
    found = agreement(first, second, topn=7, sample=20)
    assert (found.shared, len(found.words)) == (50, 20)
    for word, share in zip(found.words, found.overlaps):
        assert share == pytest.approx(slow_overlap(first, second, word, 7))
    low, high = found.interval
    assert low < found.overlap < high
    assert found.least(3)[0][1] == min(found.overlaps)


def test_the_same_table_agrees_and_rotation_changes_nothing():
    table = make(0)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0].astype(np.float32)
    found = agreement(table, WordVectors(WORDS, 3 * table.matrix @ turn))
    assert found.overlap == 1
    assert found.cosines == pytest.approx(1, abs=1e-4)
    assert agreement(table, make(1)).cosines < 0.3


def test_words_are_drawn_from_the_most_frequent(monkeypatch):
    monkeypatch.setattr(import_module("wordstill.evaluation.comparison"), "COMMON_WORDS", 5)
    table = WordVectors(WORDS, make(0).matrix, counts=np.arange(60))
    found = agreement(table, make(1))
    assert set(found.words) == set(WORDS[-5:])


def test_draws_depend_on_the_seed_only():
    tables = make(0), make(1)
    assert agreement(*tables, sample=9, seed=4) == agreement(*tables, sample=9, seed=4)
    assert agreement(*tables, sample=9, seed=4).words != agreement(*tables, sample=9, seed=5).words


def test_too_few_common_words():
    with pytest.raises(DataError, match="The tables share 2 of their 60 and 2 words"):
        agreement(make(0), make(1, WORDS[:2]))


def test_paired_tests(tmp_path):
    path = tmp_path / "pairs.tsv"
    first, noise = make(0), make(9)
    gold = [(f"word{n}", f"word{n + 20}", first.similarity(f"word{n}", f"word{n + 20}")) for n in range(40)]
    path.write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in gold))
    found = compare_tables(noise, first, ("noise", "truth"), sets=[path])
    (test,) = found.tests
    assert (test.first, test.second, test.n) == ("truth", "noise", 40)
    assert test.difference > 50
    assert test.p_value < 0.01
    with pytest.raises(UsageError, match="Both tables are called 'x'"):
        compare_tables(noise, first, ("x", "x"), sets=[path])
    with pytest.raises(UsageError, match="seed must be a whole number"):
        compare_tables(noise, first, sets=[path], seed=-1)


def test_punctuation_is_not_among_the_words_that_differ_most():
    found = Agreement(3, 10, ("[", "mouse", "river"), (0.0, 0.1, 0.9), 0.5)
    assert found.least(2) == [("mouse", 0.1), ("river", 0.9)]
