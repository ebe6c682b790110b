"""What every transform of the table keeps to."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.postprocess import TRANSFORMS, Pipeline, Transform
from wordstill.vectors import WordVectors

WORDS = [f"word{number}" for number in range(39)] + ["Word3"]
# Those that move single words by a lexicon are tried in retrofit/test_chain.py.
NAMES = [name for name in TRANSFORMS if name not in ("faruqui", "context-graph", "counterfit")]


def make_table(rows: int = 40, dim: int = 6, seed: int = 0) -> WordVectors:
    generator = np.random.default_rng(seed)
    matrix = (generator.standard_normal((rows, dim)) @ generator.standard_normal((dim, dim)) + 2).astype(np.float32)
    return WordVectors(
        WORDS[:rows], matrix, counts=np.arange(2 * rows, rows, -1), provenance={"teacher": "tiny", "seed": 0}
    )


def make(name: str) -> Transform:
    kind = TRANSFORMS[name]
    if name in ("concatenate", "average"):
        return kind(kind.config_type(table=make_table(seed=9)))
    if name == "trim":
        return kind(kind.config_type(words=20))
    return kind()


@pytest.fixture
def table():
    return make_table()


@pytest.fixture(params=NAMES)
def transform(request):
    return make(request.param)


def test_names_have_versions():
    assert all(kind.name.startswith(f"{name}.v") for name, kind in TRANSFORMS.items())


def test_fit_and_transform(transform, table):
    before = table.matrix.copy()
    assert transform.fit(table) is transform
    after = transform.transform(table)
    assert isinstance(after, WordVectors)
    assert after.matrix.dtype == np.float32
    assert len(after) == len(after.counts) <= len(table)
    np.testing.assert_array_equal(table.matrix, before)
    assert "transforms" not in table.provenance
    again = make(transform.short_name).fit_transform(table)
    assert again.words == after.words
    np.testing.assert_array_equal(again.matrix, after.matrix)
    assert again.provenance == after.provenance


def test_provenance_records_the_step_and_survives_json(transform, table, tmp_path):
    after = transform.fit_transform(table)
    assert after.provenance["teacher"] == "tiny"
    (entry,) = after.provenance["transforms"]
    assert entry["name"] == transform.name
    assert len(entry["learnt"]) == 16
    assert {field.name for field in dataclasses.fields(transform.config)} <= entry.keys()
    after.save(tmp_path / "table")
    read = WordVectors.load(tmp_path / "table")
    assert read.provenance["transforms"] == json.loads(json.dumps(after.provenance["transforms"]))
    twice = make("centre").fit_transform(read)
    assert [step["name"] for step in twice.provenance["transforms"]] == [transform.name, "centre.v1"]


def test_a_table_that_was_not_learnt_from(transform, table):
    after = transform.fit(make_table(30)).transform(make_table(12, seed=3))
    assert 1 <= len(after) <= 12
    assert np.isfinite(after.matrix).all()


def test_another_dimension_is_refused(transform, table):
    transform.fit(table)
    if transform.short_name in ("centre", "abtt", "whiten", "pca", "uncovec"):
        with pytest.raises(UsageError, match="learned from vectors of 6 numbers; this table has 5"):
            transform.transform(make_table(dim=5))


def test_nothing_is_done_before_fit(transform, table):
    with pytest.raises(UsageError, match="has learned nothing yet: call fit first"):
        transform.transform(table)


def test_an_empty_table_is_refused(transform):
    with pytest.raises(UsageError, match="cannot learn from a table without words"):
        transform.fit(WordVectors([], np.empty((0, 6), np.float32)))


@pytest.mark.parametrize(
    "matrix",
    [
        np.full((5, 6), 3, np.float32),
        np.zeros((5, 6), np.float32),
        np.hstack([np.random.default_rng(0).standard_normal((5, 3)), np.full((5, 3), 7)]).astype(np.float32),
        np.repeat(np.random.default_rng(0).standard_normal((5, 1)), 6, axis=1).astype(np.float32),
        np.ones((1, 6), np.float32),
        np.array([[1, 2, 3, 4, 5, 6], [-1, 0, 0, 1, 0, 2]], np.float32),
        np.full((5, 6), 1e-30, np.float32),
        np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32) * np.float32(1e30),
    ],
    ids=["constant", "zeros", "constant columns", "equal columns", "one word", "two words", "small", "large"],
)
def test_tables_without_much_in_them(transform, matrix):
    table = WordVectors(WORDS[: len(matrix)], matrix, counts=np.zeros(len(matrix), np.int64))
    after = transform.fit_transform(table)
    assert np.isfinite(after.matrix).all()


def test_one_dimension(transform):
    table = WordVectors(["a", "b", "c"], np.array([[1], [2], [4]], np.float32), counts=np.array([3, 2, 1]))
    if transform.short_name in ("concatenate", "average"):
        transform = type(transform)(dataclasses.replace(transform.config, table=table))
    assert np.isfinite(transform.fit_transform(table).matrix).all()


def test_float16_becomes_float32_unless_rows_are_only_chosen(transform, table):
    half = WordVectors(table.words, table.matrix.astype(np.float16), counts=table.counts)
    after = transform.fit_transform(half)
    assert after.matrix.dtype == (np.float16 if transform.short_name in ("trim", "subwords") else np.float32)


def test_tables_without_counts(transform, table):
    bare = WordVectors(table.words, table.matrix)
    assert transform.fit_transform(bare).counts is None


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("concatenate", "average")])
def test_it_can_be_saved_and_loaded(name, table, tmp_path):
    transform = make(name)
    after = transform.fit_transform(table)
    Pipeline([transform]).save(tmp_path / "learnt")
    (again,) = Pipeline.load(tmp_path / "learnt")
    assert again.config == transform.config
    same = again.transform(table)
    np.testing.assert_array_equal(same.matrix, after.matrix)
    assert same.provenance == after.provenance
