"""Product quantization, against a plain search for the nearest centroid."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.vocabulary_transforms import balanced_columns, centroids, nearest_centroids
from wordstill.vectors import WordVectors
from wordstill.vectors.compressed import part_bounds
from wordstill.vectors.search import unit_rows

ROWS, DIM = 600, 12


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((ROWS, DIM)) * np.linspace(2, 0.5, DIM)
    matrix *= generator.uniform(0.1, 4, (ROWS, 1))
    return WordVectors([f"w{row}" for row in range(ROWS)], matrix.astype(np.float32), counts=np.arange(ROWS, 0, -1))


@pytest.fixture(scope="module")
def packed(table):
    return Pipeline.from_spec("pq:bytes=4,rounds=5").fit_transform(table)


def test_each_part_is_the_nearest_centroid(table, packed):
    rows = packed.compressed
    for part, (begin, end) in enumerate(part_bounds(DIM, 4)):
        own = unit_rows(table.matrix)[:, rows.columns[begin:end]]
        distances = np.square(own[:, None, :] - rows.codebooks[None, :, begin:end].astype(np.float64)).sum(axis=2)
        chosen = distances[np.arange(ROWS), rows.codes[:, part]]
        np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-6)


def test_k_means_lowers_the_distance():
    rows = np.random.default_rng(1).standard_normal((2000, 3)).astype(np.float32)

    def error(rounds):
        found = centroids(rows, rounds, np.random.default_rng(0))
        return np.square(rows - found[nearest_centroids(rows, found)]).sum()

    assert error(10) < 0.9 * error(0)


def test_more_bytes_are_nearer_and_lengths_stay(table, packed):
    lengths = np.linalg.norm(table.matrix, axis=1)
    np.testing.assert_allclose(np.linalg.norm(packed.matrix, axis=1), lengths, rtol=1e-3)
    closer = Pipeline.from_spec("pq:bytes=12,rounds=5").fit_transform(table)
    cosines = [np.sum(one.unit * table.unit, axis=1).mean() for one in (packed, closer)]
    assert 0.9 < cosines[0] < cosines[1]
    assert cosines[1] > 0.999


def test_variance_is_dealt_out_evenly():
    order = balanced_columns(np.array([8.0, 4.0, 2.0, 1.0]), 2)
    assert sorted(order[:2].tolist()) == [0, 3]
    assert sorted(balanced_columns(np.ones(7), 3).tolist()) == list(range(7))


def test_an_artifact_holds_the_codes(tmp_path, table, packed):
    packed.save(tmp_path / "small")
    config = json.loads((tmp_path / "small" / "config.json").read_text())
    assert (config["schema"], config["dtype"]) == (2, "pq")
    tensors = load_file(tmp_path / "small" / "vectors.safetensors")
    assert tensors["codes"].shape == (ROWS, 4)
    again = formats.read(tmp_path / "small")
    assert again.storage == "pq"
    np.testing.assert_array_equal(again.matrix, packed.matrix)
    assert again.counts.tolist() == table.counts.tolist()
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "vectors.safetensors").read_bytes() == (
        tmp_path / "small" / "vectors.safetensors"
    ).read_bytes()
    again.save(tmp_path / "wide", dtype="f32")
    assert formats.read(tmp_path / "wide").storage == "float32"
    again.save(tmp_path / "x.txt")
    np.testing.assert_allclose(formats.read(tmp_path / "x.txt").matrix, packed.matrix, rtol=1e-6)


@pytest.mark.parametrize("name", ["codes", "columns", "lengths", "codebooks"])
def test_a_damaged_artifact(tmp_path, packed, name):
    packed.save(tmp_path / "x")
    tensors = load_file(tmp_path / "x" / "vectors.safetensors")
    save_file({**tensors, name: tensors[name][:-1]}, tmp_path / "x" / "vectors.safetensors")
    with pytest.raises(FormatError, match=r"vectors\.safetensors"):
        formats.read(tmp_path / "x")
    del tensors[name]
    save_file(tensors, tmp_path / "x" / "vectors.safetensors")
    with pytest.raises(FormatError, match=name):
        formats.read(tmp_path / "x")


def test_more_bytes_than_numbers(table):
    with pytest.raises(UsageError, match="pq:bytes must be at most 12"):
        Pipeline.from_spec("pq:bytes=13").fit(table)
