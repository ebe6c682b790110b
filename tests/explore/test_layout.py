"""Maps: the same seed gives the same map, a kept one is used only for its own table, neighbors stay near."""

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.errors import UsageError
from wordstill.explore import layout
from wordstill.explore.layout import MapMaker, check_method, map_path, principal_components, tsne


@pytest.fixture
def groups():
    random = np.random.default_rng(0)
    middles = np.repeat(4 * random.normal(size=(4, 20)), 20, axis=0)
    rows = (middles + random.normal(size=middles.shape)).astype(np.float32)
    return WordVectors([f"word{row}" for row in range(80)], rows, counts=np.arange(80, 0, -1))


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(layout, "EARLY_STEPS", 20)
    monkeypatch.setattr(layout, "STEPS", 20)


def test_components_are_those_of_a_singular_value_decomposition():
    rows = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    found = principal_components(rows, 3)
    np.testing.assert_allclose(np.abs(found), np.abs(left[:, :3] * sizes[:3]), atol=1e-4)


@pytest.mark.parametrize(("method", "package", "extra"), [("tsne", "openTSNE", "explore"), ("umap", "umap", "umap")])
def test_a_map_keeps_groups_together_and_repeats_itself(groups, method, package, extra):
    pytest.importorskip(package, reason=f"needs the extra {extra}: pip install 'wordstill[{extra}]'")
    first = MapMaker(groups, None).compute(method)
    again = MapMaker(groups, None).compute(method)
    np.testing.assert_array_equal(first.places, again.places)
    distances = np.linalg.norm(first.places[:, None] - first.places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert (distances.argmin(axis=1) // 20 == np.arange(80) // 20).mean() > 0.9
    assert first.clusters is not None
    assert len(set(first.clusters[:20])) < len(set(first.clusters))
    assert len(first.cluster_names) == layout.CLUSTERS


def test_points_move_only_once_tsne_has_drawn_groups_apart(groups):
    pytest.importorskip("openTSNE")
    seen = []
    tsne(principal_components(groups.unit, 10), 0, lambda places, progress: seen.append((places, progress)))
    early = [progress for places, progress in seen if places is None]
    assert 0 < len(early) < len(seen) and max(early) == 0.5
    assert [progress for _, progress in seen] == sorted(progress for _, progress in seen)


def test_a_kept_map_is_read_and_that_of_another_table_is_not(groups, tmp_path):
    pytest.importorskip("openTSNE")
    path = tmp_path / "table.txt"
    made = MapMaker(groups, path).compute("tsne")
    assert map_path(path, "tsne").is_file()
    kept = MapMaker(groups, path).look("tsne")
    assert kept.done
    np.testing.assert_array_equal(kept.map.places, made.places)
    other = WordVectors(groups.words, groups.matrix * np.float32(2), counts=groups.counts)
    assert MapMaker(other, path).kept("tsne") is None
    map_path(path, "tsne").write_bytes(b"damaged")
    assert MapMaker(groups, path).kept("tsne") is None


def test_a_map_inside_an_artifact_does_not_keep_it_from_being_replaced(groups, tmp_path):
    groups.save(tmp_path / "table")
    map_path(tmp_path / "table", "tsne").write_bytes(b"a map")
    groups.save(tmp_path / "table", overwrite=True)
    assert not (tmp_path / "table" / "map-tsne.safetensors").exists()


def test_a_large_table_shows_its_most_frequent_words(groups):
    reordered = WordVectors(groups.words, groups.matrix, counts=np.arange(1, 81))
    assert MapMaker(reordered, None, most=10).rows.tolist() == list(range(70, 80))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tiny_tables_have_maps(rows):
    pytest.importorskip("openTSNE")
    table = WordVectors([str(row) for row in range(rows)], np.eye(rows, 6, dtype=np.float32))
    for method in ("pca", "tsne"):
        places = MapMaker(table, None).compute(method).places
        assert places.shape == (rows, 2)
        assert np.isfinite(places).all()


def test_an_unknown_map_is_refused():
    with pytest.raises(UsageError, match=r"Unknown map 'tnse'\. Did you mean 'tsne'"):
        check_method("tnse")
