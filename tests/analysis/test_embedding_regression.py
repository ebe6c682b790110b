"""Embedding regression on planted data, against plain regressions with rows left out and shuffled."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill.analysis.embedding_regression import INTERCEPT, Design, embedding_regression, make_design
from wordstill.errors import DataError, UsageError


def plant(rows=60, dim=8, effect=0.0, seed=0, noise=1.0):
    """Documents of two parties over years; Labour's vectors lie ``effect`` away along the first axis."""
    random = np.random.default_rng(seed)
    documents = [
        {"party": random.choice(["Labour", "Tory"]), "year": int(random.integers(1990, 2020))} for _ in range(rows)
    ]
    counts = random.integers(1, 9, rows).astype(np.float64)
    vectors = random.standard_normal((rows, dim)) * noise / np.sqrt(counts)[:, None]
    vectors[:, 0] += [effect * (document["party"] == "Tory") for document in documents]
    return documents, vectors, counts


def plain(design, vectors, weights):
    root = np.sqrt(weights)[:, None]
    return np.linalg.lstsq(design * root, vectors * root, rcond=None)[0]


def test_a_design_has_numbers_and_levels():
    documents = [{"party": "b", "year": "1990"}, {"party": "a", "year": 2000}, {"party": "c", "year": 1995.5}]
    documents += [{"party": None, "year": 1}, {"party": "a"}, {"party": "a", "year": "NA"}]
    design = make_design(documents, ["party", "year"])
    assert design.names == (INTERCEPT, "party=b", "party=c", "year")
    np.testing.assert_array_equal(design.matrix, [[1, 1, 0, 1990], [1, 0, 0, 2000], [1, 0, 1, 1995.5]])
    assert (design.kept, design.references) == ((0, 1, 2), {"party": "a"})


def test_coefficients_and_jackknife_are_those_of_plain_loops():
    documents, vectors, counts = plant(effect=1.0)
    design = make_design(documents, ["party", "year"])
    found = embedding_regression(vectors, design, counts, permutations=50, seed=3)
    full = plain(design.matrix, vectors, counts)
    np.testing.assert_allclose(found.intercept, full[0], atol=1e-8)
    for column, one in enumerate(found.coefficients, 1):
        np.testing.assert_allclose(one.vector, full[column], atol=1e-8)
        rows = range(len(vectors))
        without = []
        for row in rows:
            kept = [other for other in rows if other != row]
            without.append((plain(design.matrix[kept], vectors[kept], counts[kept])[column] ** 2).sum())
        square, n = (full[column] ** 2).sum(), len(vectors)
        corrected = n * square - (n - 1) * np.mean(without)
        assert one.norm == pytest.approx(np.sqrt(max(0, corrected)), abs=1e-8)
        error = np.sqrt((n - 1) / n * ((without - np.mean(without)) ** 2).sum())
        assert one.interval.high == pytest.approx(np.sqrt(corrected + 2.002465 * error), rel=1e-5)


def test_the_p_value_is_that_of_permuted_columns():
    """By whole regressions: the score of a column whose part of its own is permuted over the rows."""
    documents, vectors, counts = plant(rows=30, effect=0.4, seed=5)
    design = make_design(documents, ["party", "year"])
    found = embedding_regression(vectors, design, counts, permutations=200, seed=1).coefficients[0]
    others, column = np.delete(design.matrix, 1, axis=1), design.matrix[:, 1]
    own = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
    left = vectors - others @ plain(others, vectors, counts)

    def score(values):
        rest = values - others @ plain(others, values[:, None], counts)[:, 0]
        each = (counts * rest)[:, None] * left
        return (each.sum(axis=0) ** 2).sum() / (each**2).sum()

    random = np.random.default_rng(9)
    reached = sum(score(random.permutation(own)) >= score(own) for _ in range(1000))
    assert found.p_value == pytest.approx((reached + 1) / 1001, abs=0.05)


def test_p_values_hold_where_documents_differ_and_some_use_the_word_far_more_often():
    """A document has a manner of its own, so that many uses in one say less than their number."""
    random, p_values = np.random.default_rng(0), []
    for seed in range(100):
        counts = random.geometric(0.3, 40).astype(np.float64)
        vectors = random.standard_normal((40, 8)) + random.standard_normal((40, 8)) / np.sqrt(counts)[:, None]
        design = make_design([{"party": party} for party in random.choice(["Labour", "Tory"], 40)], ["party"])
        (found,) = embedding_regression(vectors, design, counts, permutations=99, seed=seed).coefficients
        p_values.append(found.p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.1
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.1)


def test_the_correction_takes_the_bias_out():
    true, plain_norms, corrected = 0.5, [], []
    for seed in range(60):
        documents, vectors, counts = plant(rows=80, dim=20, effect=true, seed=seed)
        found = embedding_regression(vectors, make_design(documents, ["party"]), counts, permutations=1).coefficients[0]
        plain_norms.append(found.plain_norm**2)
        corrected.append(found.norm**2)
    assert np.mean(plain_norms) > 1.5 * true**2
    assert np.mean(corrected) == pytest.approx(true**2, rel=0.25)


def test_p_values_are_uniform_without_an_effect_and_small_with_one():
    def p_value(seed, effect):
        documents, vectors, counts = plant(rows=40, effect=effect, seed=seed)
        found = embedding_regression(vectors, make_design(documents, ["party", "year"]), counts, permutations=99)
        return found.coefficients[0].p_value

    none = [p_value(seed, 0.0) for seed in range(100)]
    assert 0.0 <= np.mean(np.array(none) <= 0.05) <= 0.11
    assert np.mean(none) == pytest.approx(0.5, abs=0.1)
    assert np.mean([p_value(seed, 1.5) for seed in range(5)]) < 0.05


def test_predictions():
    documents, vectors, counts = plant(effect=2.0, noise=0.01)
    found = embedding_regression(vectors, make_design(documents, ["party"]), counts, permutations=9)
    assert found.predict({})[0] == pytest.approx(0, abs=0.02)
    assert found.predict({"party=Tory": 1})[0] == pytest.approx(2, abs=0.02)
    assert (found.rows, found.uses) == (60, counts.sum())
    with pytest.raises(UsageError, match="There is no column 'party=Green'"):
        found.predict({"party=Green": 1})


def test_what_cannot_be_answered_is_refused():
    documents, vectors, counts = plant()
    with pytest.raises(DataError, match=r"No document has the field 'sex'. Fields: 'party', 'year'"):
        make_design(documents, ["sex"])
    with pytest.raises(DataError, match="'party' has only the value 'a' in documents with the word"):
        make_design([{"party": "a"}] * 3, ["party"])
    with pytest.raises(UsageError, match="No field was named"):
        make_design(documents, [])
    design = make_design(documents, ["party", "year"])
    with pytest.raises(UsageError, match="for 60 rows"):
        embedding_regression(vectors[:5], design)
    with pytest.raises(DataError, match="counts above 0"):
        embedding_regression(vectors, design, counts * 0)
    twice = Design((INTERCEPT, "a", "b"), np.c_[np.ones(60), design.matrix[:, 2], 2 * design.matrix[:, 2]], design.kept)
    with pytest.raises(DataError, match="are collinear"):
        embedding_regression(vectors, twice)
    few = make_design(documents[:4], ["year"])
    with pytest.raises(DataError, match="rows are too few"):
        embedding_regression(vectors[:3], Design(few.names, few.matrix[:3], few.kept[:3]))
    alone = make_design([{"party": "a"}] * 9 + [{"party": "b"}], ["party"])
    with pytest.raises(DataError, match=r"1 row alone decides a coefficient \(party=b\)"):
        embedding_regression(vectors[:10], alone)
