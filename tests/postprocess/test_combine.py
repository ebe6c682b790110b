from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.postprocess import Pipeline, average, concatenate
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows


def random(rows, dim, seed):
    return np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)


@pytest.fixture
def first():
    return WordVectors(["a", "b", "c"], random(3, 4, 0), counts=np.array([9, 8, 7]), provenance={"seed": 1})


@pytest.fixture
def second():
    return WordVectors(["c", "d", "a"], random(3, 4, 1), counts=np.array([3, 2, 1]))


def test_concatenate(first, second):
    both = concatenate([first, second], [1, 0.5], unit=False)
    assert (list(both), both.dim, both.provenance) == (["a", "c"], 8, {"seed": 1})
    np.testing.assert_array_equal(both["c"], [*first["c"], *(second["c"] * 0.5)])
    assert both.counts.tolist() == [9, 7]


def test_concatenated_unit_rows_give_the_weighted_mean_of_cosines(first, second):
    both = concatenate([first, second], [1, 0.5])
    expected = (first.similarity("a", "c") + 0.25 * second.similarity("a", "c")) / 1.25
    assert both.similarity("a", "c") == pytest.approx(expected, abs=1e-6)


def test_all_words(first, second):
    both = concatenate([first, second], words="all", unit=False)
    assert list(both) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(both["b"], [*first["b"], 0, 0, 0, 0])
    np.testing.assert_array_equal(both["d"], [0, 0, 0, 0, *second["d"]])
    assert both.counts.tolist() == [9, 8, 7, 2]


def test_tables_of_different_dimensions_side_by_side(first):
    other = WordVectors(["b", "a"], random(2, 9, 2))
    both = concatenate([first, other, first])
    assert both.dim == 4 + 9 + 4
    assert both.counts.tolist() == [9, 8]


def test_average(first, second):
    mean = average([first, second, second], [1, 2, 1], unit=False)
    np.testing.assert_allclose(mean["c"], (first["c"] + 3 * second["c"]) / 4, rtol=1e-5)
    unit = average([first, second])
    np.testing.assert_allclose(unit["a"], unit_rows(np.stack([first["a"], second["a"]])).mean(axis=0), rtol=1e-5)
    every = average([first, second], [1, 3], words="all", unit=False)
    np.testing.assert_allclose(every["d"], second["d"], rtol=1e-6)
    np.testing.assert_allclose(every["b"], first["b"], rtol=1e-6)


def test_a_turned_table_is_turned_back():
    rows = random(30, 5, 0)
    turn = np.linalg.qr(random(5, 5, 1))[0]
    words = [f"word{number}" for number in range(30)]
    one, other = WordVectors(words, rows), WordVectors(words, rows @ turn)
    aligned = average([one, other], align=True)
    np.testing.assert_allclose(aligned.matrix, one.unit, atol=1e-5)
    assert np.abs(average([one, other]).matrix - one.unit).max() > 0.1


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda a, b: concatenate([a]), "two tables or more; got 1"),
        (lambda a, b: concatenate([a, b], [1]), "a weight above 0 for each of 2 tables"),
        (lambda a, b: average([a, b], [1, 0]), "a weight above 0"),
        (lambda a, b: concatenate([a, b], words="most"), "Unknown choice of words 'most'"),
        (lambda a, b: average([a, WordVectors(["a"], random(1, 3, 0))]), "the first has 4, number 1 3"),
        (lambda a, b: concatenate([a, WordVectors(["x"], random(1, 3, 0))]), "no word in common"),
    ],
)
def test_what_cannot_be_combined(first, second, use, message):
    with pytest.raises(UsageError, match=message):
        use(first, second)


def test_as_steps_of_a_chain(first, second, tmp_path):
    second.save(tmp_path / "second")
    chain = f"concatenate:table={tmp_path / 'second'},weight=0.5,words=all,centre"
    pipeline = Pipeline.from_spec(chain)
    both = pipeline.fit_transform(first)
    joined = concatenate([first, second], [1, 0.5], words="all")
    np.testing.assert_allclose(both.matrix, joined.matrix - joined.matrix.mean(axis=0), atol=1e-6)
    entry = both.provenance["transforms"][0]
    assert entry["table"]["words"] == 3
    assert entry["table"]["path"] == str(tmp_path / "second")
    pipeline.save(tmp_path / "learnt")
    np.testing.assert_array_equal(Pipeline.load(tmp_path / "learnt").transform(first).matrix, both.matrix)
    mean = Pipeline.from_spec(f"average:table={tmp_path / 'second'},align=true").fit_transform(first)
    np.testing.assert_allclose(mean.matrix, average([first, second], align=True).matrix, atol=1e-6)


def test_a_second_table_that_is_not_named(first):
    with pytest.raises(UsageError, match="concatenate:table must name the table to join; got none"):
        Pipeline.from_spec("concatenate").fit(first)
