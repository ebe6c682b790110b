from __future__ import annotations

import numpy as np
import pytest

from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.trained.word_table import Sentences, WordTable, distinct_words, length_sorted
from wordstill.vectors import WordVectors

VECTORS = WordVectors(["cat", "dog", "The"], np.array([[3, 4], [0, 1], [2, 0]], dtype=np.float32))
SENTENCES = [("The", "Cat", "xyzzy"), ("dog",), ("xyzzy",)]


def table(oov: str, **options) -> WordTable:
    options = {"leave_out": True, "scale": "as-is"} | options
    return WordTable.of(distinct_words(SENTENCES), VECTORS, Protocol("test", oov=oov), **options)


def rows_of(made: WordTable) -> list[list[list[float]]]:
    encoded = made.encode(SENTENCES)
    return [made.matrix[encoded.rows[start:end]].tolist() for start, end in zip(encoded.starts, encoded.starts[1:])]


@pytest.mark.parametrize(
    ("oov", "leave_out", "absent"),
    [
        ("skip", True, []),
        ("backoff", True, []),
        ("skip", False, [[0, 0]]),
        ("zero", True, [[0, 0]]),
        ("mean", True, [[5 / 3, 5 / 3]]),
    ],
)
def test_absent_words(oov, leave_out, absent):
    first, second, third = rows_of(table(oov, leave_out=leave_out))
    assert first == [[2, 0], [3, 4], *[pytest.approx(row) for row in absent]]
    assert second == [[0, 1]]
    assert third == [pytest.approx(row) for row in absent]


def test_coverage_counts_running_words():
    assert table("mean").coverage([*SENTENCES, ("dog", "dog")]) == (5, 7)


def test_padding_is_zeros_and_the_scale_is_one_factor():
    plain, unit = table("skip"), table("skip", scale="unit")
    assert not plain.matrix[0].any()
    assert np.mean(np.square(unit.matrix[[unit.rows[word] for word in ("The", "Cat", "dog")]])) == pytest.approx(1)
    factor = unit.matrix[unit.rows["dog"], 1] / plain.matrix[plain.rows["dog"], 1]
    np.testing.assert_allclose(unit.matrix, factor * plain.matrix, rtol=1e-6)


def test_words_can_be_looked_up_under_another_form():
    made = WordTable.of(["d1g"], VECTORS, Protocol("test"), leave_out=True, scale="as-is", forms=["dog"])
    assert made.matrix[made.rows["d1g"]].tolist() == [0, 1]


def test_padded_rows():
    sentences = Sentences.of([[7, 8, 9], [], [5]])
    assert sentences.padded(np.array([2, 0]), margin=1).tolist() == [[0, 5, 0, 0, 0], [0, 7, 8, 9, 0]]
    assert sentences.padded(np.array([1])).tolist() == [[0]]
    assert sentences.padded(np.array([2, 0]), fill=3).tolist() == [[5, 3, 3], [7, 8, 9]]
    joined = sentences + Sentences.of([[1, 2]])
    assert joined.padded(np.array([3])).tolist() == [[1, 2]]


@pytest.mark.parametrize("seed", [None, 0])
def test_batches_hold_every_sentence_once(seed):
    lengths = np.random.default_rng(1).integers(1, 60, size=1003)
    random = None if seed is None else np.random.default_rng(seed)
    batches = list(length_sorted(lengths, 16, random))
    assert sorted(np.concatenate(batches).tolist()) == list(range(1003))
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.2 * lengths.sum()


def test_batches_differ_from_epoch_to_epoch_but_not_from_run_to_run():
    lengths = np.arange(100)
    random = np.random.default_rng(0)
    first, second = (np.concatenate(list(length_sorted(lengths, 8, random))) for _ in range(2))
    again = np.concatenate(list(length_sorted(lengths, 8, np.random.default_rng(0))))
    assert first.tolist() == again.tolist() != second.tolist()
