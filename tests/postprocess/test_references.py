"""Each transform beside a slow and obvious one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from wordstill.errors import UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.linear_transforms import common_rows, principal
from wordstill.vectors import WordVectors
from wordstill.vectors.compressed import quantize as to_int8
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder

ROWS, DIM = 60, 7


@pytest.fixture
def matrix():
    generator = np.random.default_rng(4)
    return (generator.standard_normal((ROWS, DIM)) @ generator.standard_normal((DIM, DIM)) + 1).astype(np.float32)


class SmallBlocks(WordVectors):
    def blocks(self, rows=16):
        return super().blocks(rows)


@pytest.fixture
def table(matrix):
    return SmallBlocks([f"word{number}" for number in range(ROWS)], matrix)


def run(spec: str, table: WordVectors) -> np.ndarray:
    return Pipeline.from_spec(spec).fit_transform(table).matrix


def cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def test_centre_and_unit(table, matrix):
    np.testing.assert_allclose(run("centre", table), matrix - matrix.mean(axis=0), atol=1e-6)
    lengths = [sum(float(number) ** 2 for number in row) ** 0.5 for row in matrix]
    np.testing.assert_allclose(run("unit", table), matrix / np.array(lengths)[:, None], atol=1e-6)


def test_sentence_weights(table, matrix):
    counts = np.arange(ROWS, 0, -1) ** 2
    weighted = Pipeline.from_spec("sentence-weights:smoothing=0.01").fit_transform(table.replace(counts=counts))
    expected = [row / np.linalg.norm(row) * 0.01 / (0.01 + count / counts.sum()) for row, count in zip(matrix, counts)]
    np.testing.assert_allclose(weighted.matrix, expected, atol=1e-6)
    np.testing.assert_allclose(cosines(weighted.matrix), cosines(matrix), atol=1e-5)
    text = [" ".join(table.words[:9]), table.words[40]]
    mean = SentenceEncoder(weighted).encode(text)
    unit = Pipeline.from_spec("unit").fit_transform(table.replace(counts=counts))
    sif = SentenceEncoder(unit, SentenceConfig("sif", 0.01, 0)).encode(text)
    np.testing.assert_allclose(mean, sif, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_all_but_the_top(table, matrix, count):
    centred = matrix.astype(np.float64) - matrix.mean(axis=0, dtype=np.float64)
    expected = centred.copy()
    for direction in np.linalg.svd(centred)[2][:count]:
        for row in range(ROWS):
            expected[row] -= (centred[row] @ direction) * direction
    np.testing.assert_allclose(run(f"abtt:directions={count}", table), expected, atol=1e-5)


def test_all_but_the_top_is_the_papers_but_for_one_vector(table, matrix):
    mean = matrix.mean(axis=0, dtype=np.float64)
    top = np.linalg.svd(matrix - mean)[2][:2]
    paper = matrix - mean - (matrix @ top.T) @ top
    difference = run("abtt:directions=2", table) - paper
    np.testing.assert_allclose(difference, np.tile(difference[0], (ROWS, 1)), atol=1e-5)


def test_all_but_the_top_takes_a_hundredth_by_default():
    wide = WordVectors(["a", "b", "c"], np.random.default_rng(0).standard_normal((3, 300)).astype(np.float32))
    pipeline = Pipeline.from_spec("abtt").fit(wide)
    assert pipeline.transforms[0].learnt["top"].shape == (300, 3)


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5, 1.0])
def test_whiten(table, matrix, exponent):
    centred = matrix.astype(np.float64) - matrix.mean(axis=0, dtype=np.float64)
    _, sizes, right = np.linalg.svd(centred, full_matrices=False)
    variances = sizes**2 / ROWS
    expected = (centred @ right.T * variances**-exponent) @ right
    np.testing.assert_allclose(run(f"whiten:exponent={exponent}", table), expected, atol=1e-4)


def test_wholly_whitened_vectors_have_unit_covariance(table):
    white = run("whiten", table).astype(np.float64)
    np.testing.assert_allclose(white.T @ white / ROWS, np.eye(DIM), atol=1e-4)


@pytest.mark.parametrize("dim", [1, 3, DIM])
def test_pca_is_scikit_learns(table, matrix, dim):
    got, expected = run(f"pca:dim={dim}", table), PCA(dim).fit_transform(matrix)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(got @ got.T, expected @ expected.T, atol=1e-3)


@pytest.mark.parametrize("alpha", [-1.0, -0.5, -0.15, 0.0, 0.5, 1.0])
def test_uncovec(table, matrix, alpha):
    rows = matrix.astype(np.float64)
    values, directions = np.linalg.eigh(rows.T @ rows)
    expected = rows @ directions @ np.diag(values**alpha)
    got = run(f"uncovec:alpha={alpha}", table)
    np.testing.assert_allclose(cosines(got), cosines(expected), atol=1e-4)
    np.testing.assert_allclose(np.abs(got[:, ::-1]), np.abs(expected), rtol=1e-3, atol=1e-4)


def test_uncovec_gives_similarities_of_a_higher_order(table, matrix):
    rows = matrix.astype(np.float64)
    first = rows @ rows.T
    second = run("uncovec:alpha=0.5", table).astype(np.float64)
    np.testing.assert_allclose(second @ second.T, first @ first, rtol=1e-4)


def test_quantise_leaves_nothing_for_int8_to_lose(table, matrix):
    got = run("quantise", table)
    expected = []
    for row in matrix:
        scale = np.abs(row).max() / 127
        expected.append([round(float(number / scale)) * scale for number in row])
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    rows = to_int8(WordVectors(table.words, got))
    np.testing.assert_array_equal(rows.decode(slice(None)), got)
    assert np.abs(rows.vectors).max(axis=1).tolist() == [127] * ROWS


def test_common_words_are_those_of_the_largest_counts(table, matrix):
    counts = np.random.default_rng(0).permutation(ROWS)
    counted = WordVectors(table.words, matrix, counts=counts)
    most = np.argsort(-counts)[:10]
    assert np.flatnonzero(common_rows(counted, 10)).tolist() == sorted(most.tolist())
    np.testing.assert_allclose(run("centre:common=10", counted), matrix - matrix[most].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(run("centre:common=10", table), matrix - matrix[:10].mean(axis=0), atol=1e-5)
    np.testing.assert_array_equal(run("centre:common=999", table), run("centre", table))


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ("trim:words=2", ["the", "queen"]),
        ("trim:min_count=3", ["the", "queen", "river"]),
        ("trim:longest=3", ["the", "a"]),
        ("trim:words=1,longest=5,min_count=2", ["the"]),
        ("trim", ["the", "a", "queen", "river"]),
    ],
)
def test_trim(spec, kept):
    table = WordVectors(
        ["the", "a", "queen", "river"], np.arange(8, dtype=np.float32).reshape(4, 2), counts=np.array([9, 1, 5, 3])
    )
    trimmed = Pipeline.from_spec(spec).fit_transform(table)
    assert list(trimmed) == kept
    np.testing.assert_array_equal(trimmed.matrix, table[kept])
    assert trimmed.counts.tolist() == [int(table.counts[table.index(word)]) for word in kept]


def test_trim_without_counts(table):
    assert list(Pipeline.from_spec("trim:words=3").fit_transform(table)) == ["word0", "word1", "word2"]
    with pytest.raises(UsageError, match="trim:min_count needs counts"):
        run("trim:min_count=2", table)
    with pytest.raises(UsageError, match="leaves no words"):
        run("trim:longest=1", table)


@pytest.mark.parametrize("with_counts", [True, False])
def test_merging_of_case_variants(with_counts):
    words = ["The", "queen", "THE", "river", "the", "Queen"]
    rows = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    counts = np.array([2, 0, 1, 7, 5, 0])
    merged = Pipeline.from_spec("merge-case").fit_transform(
        WordVectors(words, rows, counts=counts if with_counts else None)
    )
    assert list(merged) == ["the", "queen", "river"]
    weights = np.array([2, 1, 5]) if with_counts else np.ones(3)
    np.testing.assert_allclose(merged["the"], weights @ rows[[0, 2, 4]] / weights.sum(), rtol=1e-5)
    np.testing.assert_allclose(merged["queen"], (rows[1] + rows[5]) / 2, rtol=1e-5)
    np.testing.assert_array_equal(merged["river"], rows[3])
    assert (merged.counts.tolist() if with_counts else merged.counts) == ([8, 0, 7] if with_counts else None)


def test_directions_have_one_sign():
    for seed in range(5):
        rows = np.random.default_rng(seed).standard_normal((20, DIM))
        values, directions = principal(rows.T @ rows)
        assert (np.diff(values) <= 0).all()
        assert (directions[np.abs(directions).argmax(axis=0), np.arange(DIM)] > 0).all()
