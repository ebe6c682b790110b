"""The sparse products against plain loops over words, written from the equations."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill.errors import DataError, UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.linear_transforms import Center
from wordstill.postprocess.retrofit import (
    PRESETS,
    ContextGraph,
    ContextGraphConfig,
    Faruqui,
    FaruquiConfig,
    Lexicon,
    read_lexicon,
    retrofitter,
)
from wordstill.postprocess.retrofit.graph import Graph, turned_back
from wordstill.postprocess.retrofit.retrofitting import in_row_order, log_kernel
from wordstill.vectors import WordVectors

CONFIGS = {
    **PRESETS,
    "faruqui, constant beta": FaruquiConfig(beta=0.4, alpha=2.0),
    "sigma and nu": ContextGraphConfig(sigma=0.3, nu=3.0, alpha=0.7, beta=0.2),
    "fixed count": ContextGraphConfig(divisor="count"),
}
ORDERS = ("jacobi", "gauss-seidel")


def slow(table, lexicon, config):
    """Word by word in the order of the table, in float64; every word's vector by name."""
    old = {word: table[word].astype(float) for word in table}
    if config.unit:
        old = {word: vector / np.linalg.norm(vector) for word, vector in old.items()}
    links = {}
    for one, other, weight in lexicon.links():
        if one in old and other in old:
            links.setdefault(one, {})[other] = weight
            links.setdefault(other, {})[one] = weight
    new = dict(old)
    for _ in range(config.passes):
        seen = dict(new) if config.order == "jacobi" else new
        for word in table:
            if word in links:
                move = faruqui if isinstance(config, FaruquiConfig) else context
                new[word] = move(config, word, links[word], seen, old)
    return np.stack([new[word] for word in table])


def faruqui(config, word, neighbours, seen, old):
    degree = sum(neighbours.values())
    betas = {
        other: weight / degree if config.beta is None else config.beta * weight for other, weight in neighbours.items()
    }
    total = config.alpha * old[word] + sum(beta * seen[other] for other, beta in betas.items())
    return total / (config.alpha + sum(betas.values()))


def context(config, word, neighbours, seen, old):
    centre = seen[word] if config.distances == "current" else old[word]
    near = old if config.distances == "original" else seen
    gammas = {}
    for other, weight in neighbours.items():
        distance = math.dist(centre, near[other])
        ratio = math.gamma((config.nu + 1) / 2) / (math.sqrt(config.nu * math.pi) * math.gamma(config.nu / 2))
        kernel = (1 + distance**2 / (config.sigma * config.nu)) ** -(config.nu + 1)
        gammas[other] = weight * 2 * math.pi * ratio**2 * kernel
    pulled = sum(gamma * seen[other] for other, gamma in gammas.items())
    if config.divisor == "count":
        return config.alpha * old[word] + config.beta * pulled / sum(neighbours.values())
    mean = pulled / sum(gammas.values())
    return (config.alpha * old[word] + config.beta * mean) / (config.alpha + config.beta)


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CONFIGS)
def test_as_the_slow_loop(table, lexicon, name, order, unit):
    config = replace(CONFIGS[name], lexicon=lexicon, order=order, unit=unit, passes=4)
    step = Faruqui(config) if isinstance(config, FaruquiConfig) else ContextGraph(config)
    moved = step.fit_transform(table)
    np.testing.assert_allclose(moved.matrix, slow(table, lexicon, config), atol=2e-6)
    assert len(step.objective) == 5


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", [name for name, config in CONFIGS.items() if config.convex])
def test_the_convex_objective_never_rises_and_ends_at_the_minimum(table, lexicon, name, order):
    config = replace(CONFIGS[name], lexicon=lexicon, order=order, passes=60)
    step = Faruqui(config) if isinstance(config, FaruquiConfig) else ContextGraph(config)
    moved = step.fit_transform(table)
    values = np.array(step.objective)
    assert values[0] > values[1] > values[2] > values[3]
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    # At the minimum, one more pass moves nothing.
    again = slow(table, lexicon, replace(config, passes=200))
    np.testing.assert_allclose(moved.matrix, again, atol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CONFIGS)
def test_the_objective_is_the_sum_of_the_documentation(table, lexicon, name, order):
    config = replace(CONFIGS[name], lexicon=lexicon, order=order, passes=3)
    step = (Faruqui if isinstance(config, FaruquiConfig) else ContextGraph)(config).fit(table)
    graph = Graph.of(lexicon, table)
    links = graph.links.toarray().astype(float)
    places = [slow(table, lexicon, replace(config, passes=number))[graph.rows] for number in range(4)]
    for new, value in zip(places, step.objective, strict=True):
        hold, pull, weights, importance = parts_of_the_objective(config, links, new, places[0])
        held = hold * importance @ ((new - places[0]) ** 2).sum(axis=1)
        between = ((new[:, None] - new[None]) ** 2).sum(axis=2)
        assert value == pytest.approx(held + pull / 2 * importance @ (weights * between).sum(axis=1), rel=1e-5)


def parts_of_the_objective(config, links, new, old):
    """How strongly words are held and pulled, the weights, and how often each word counts."""
    degree = links.sum(axis=1)
    if isinstance(config, FaruquiConfig):
        if config.beta is None:
            return config.alpha, 1.0, links / degree[:, None], degree
        return config.alpha, config.beta, links, np.ones(len(degree))
    centres = new if config.distances == "current" else old
    near = old if config.distances == "original" else new
    squared = ((centres[:, None] - near[None]) ** 2).sum(axis=2)
    gamma = links * np.exp(log_kernel(squared, config.nu, config.sigma))
    importance = degree if config.divisor == "count" else gamma.sum(axis=1)
    return config.alpha, config.beta, gamma / importance[:, None], importance


def test_groups_of_gauss_seidel_hold_no_neighbours_and_keep_the_order(table, lexicon):
    matrix = Graph.of(lexicon, table).links
    groups = in_row_order(matrix)
    assert len(groups) >= 5  # the clique
    place = {node: number for number, group in enumerate(groups) for node in group.tolist()}
    assert sorted(place) == list(range(matrix.shape[0]))
    for one, other in zip(*matrix.nonzero()):
        assert (place[one] < place[other]) == (one < other)


def test_words_without_links_keep_their_direction_and_no_words_are_lost(table, lexicon):
    moved = retrofitter("context-graph", lexicon).fit_transform(table)
    assert moved.words == table.words
    assert moved.counts.tolist() == table.counts.tolist()
    np.testing.assert_allclose(moved["w39"], table.unit[39], atol=1e-7)
    as_they_are = retrofitter("context-graph", lexicon, unit=False).fit_transform(table)
    np.testing.assert_array_equal(as_they_are["w39"], table["w39"])


def test_linked_words_come_nearer(table, lexicon):
    moved = retrofitter("faruqui", lexicon).fit_transform(table)
    known = [link for link in lexicon.links() if link[0] in table and link[1] in table]
    before, after = (np.mean([vectors.similarity(one, other) for one, other, _ in known]) for vectors in (table, moved))
    assert after > before + 0.2


def test_a_vector_of_zeros_is_filled_from_its_neighbours():
    table = WordVectors(["a", "b", "c"], np.array([[0, 0], [1, 0], [0, 2]], np.float32))
    moved = retrofitter("faruqui", Lexicon.from_links([("a", "b", 1.0)])).fit_transform(table)
    assert moved.similarity("a", "b") == pytest.approx(1)


def test_vectors_so_far_apart_that_the_kernel_vanishes():
    table = WordVectors(["a", "b", "c"], np.array([[0, 0], [300, 0], [0, 400]], np.float32))
    links = Lexicon.from_links([("a", "b", 1.0), ("a", "c", 1.0)])
    moved = retrofitter("context-graph", links, unit=False, passes=1).fit_transform(table)
    np.testing.assert_allclose(moved["a"], [150, 0], atol=1e-3)
    printed = retrofitter("context-graph-printed", links, unit=False, passes=1).fit_transform(table)
    np.testing.assert_allclose(printed["b"], [150, 0], atol=1e-3)


def test_provenance_and_pipeline(table, lexicon, tmp_path):
    step = retrofitter("context-graph-released", lexicon, passes=3)
    moved = step.fit_transform(table)
    (entry,) = moved.provenance["transforms"]
    assert entry["name"] == "context-graph.v1"
    assert entry["lexicon"] == {"file": "made.csv"}
    assert entry["objective"] == list(step.objective)
    assert (entry["distances"], entry["order"], entry["moved_words"]) == ("mixed", "gauss-seidel", step.moved_words)
    moved.save(tmp_path / "moved")
    read = WordVectors.load(tmp_path / "moved")
    assert read.provenance["transforms"] == json.loads(json.dumps([entry]))
    chained = Pipeline([Center(), retrofitter("faruqui", lexicon)]).fit_transform(table)
    assert [one["name"] for one in chained.provenance["transforms"]] == ["centre.v1", "faruqui.v1"]


def test_the_table_stays_as_it_was_and_float16_is_taken(table, lexicon):
    before = table.matrix.copy()
    retrofitter("faruqui", lexicon).fit_transform(table)
    np.testing.assert_array_equal(table.matrix, before)
    half = WordVectors(table.words, table.matrix.astype(np.float16))
    assert retrofitter("faruqui", lexicon).fit_transform(half).matrix.dtype == np.float32


def test_other_words_are_refused(table, lexicon):
    step = retrofitter("faruqui", lexicon).fit(table)
    with pytest.raises(UsageError, match="this table has other words than it has learned from"):
        step.transform(table.subset(table.words[::-1]))


def test_no_passes_change_nothing(table, lexicon):
    step = retrofitter("faruqui", lexicon, passes=0)
    np.testing.assert_allclose(step.fit_transform(table).matrix, table.unit)
    assert len(step.objective) == 1


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("faruki", {}, "Unknown method of retrofitting 'faruki'. Did you mean 'faruqui'"),
        ("faruqui", {"nu": 3}, "faruqui has no setting nu; it has alpha, beta"),
        ("faruqui", {"alpha": 0}, "alpha must be above 0 and at most 3e[+]38; got 0"),
        ("faruqui", {"beta": -1.0}, "beta must be above 0 and at most 3e[+]38; got -1.0"),
        ("faruqui", {"passes": -1}, "passes must be 0 or more; got -1"),
        ("faruqui", {"order": "sor"}, "Unknown value of order 'sor'"),
        ("faruqui", {"case": "lower"}, "Unknown value of case 'lower'"),
        ("context-graph", {"nu": math.nan}, "nu must be above 0 and at most 1,000,000; got nan"),
        ("context-graph", {"nu": 1e7}, "nu must be above 0 and at most 1,000,000; got 10000000.0"),
        ("context-graph", {"sigma": math.inf}, "sigma must be above 0 and at most 3e[+]38; got inf"),
        ("context-graph", {"distances": "new"}, "Unknown value of distances 'new'"),
        ("context-graph", {"divisor": "mean"}, "Unknown value of divisor 'mean'"),
    ],
)
def test_settings_that_cannot_be(lexicon, method, settings, message):
    with pytest.raises(UsageError, match=message):
        retrofitter(method, lexicon, **settings)


def test_a_lexicon_must_be_named_and_fit(table, tmp_path):
    with pytest.raises(UsageError, match="faruqui:lexicon must name a lexicon; got none"):
        Faruqui().fit(table)
    path = tmp_path / "other.txt"
    path.write_text("hund dogge\n")
    with pytest.raises(DataError, match="None of the 1 links"):
        Faruqui(FaruquiConfig(lexicon=str(path))).fit(table)


@pytest.mark.parametrize(("name", "links"), [("ppdb-xl.txt", 187_278), ("framenet.txt", 208_728)])
def test_the_files_of_faruqui(name, links):
    if not os.environ.get("WORDSTILL_DATA"):
        pytest.skip("WORDSTILL_DATA is not set")
    lexicon = read_lexicon(Path(os.environ["WORDSTILL_DATA"]) / "lexicons" / name)
    assert len(lexicon) == links


def test_no_word_turns_further_than_is_allowed():
    generator = np.random.default_rng(0)
    words = [f"w{row}" for row in range(30)]
    table = WordVectors(words, generator.standard_normal((30, 5)).astype(np.float32))
    lexicon = Lexicon.from_links((words[row], words[row + 1], 1.0) for row in range(20))
    free = retrofitter("context-graph", lexicon).fit_transform(table)
    held = retrofitter("context-graph", lexicon, least_cosine=0.9).fit_transform(table)
    before = np.sum(free.unit * table.unit, axis=1)
    after = np.sum(held.unit * table.unit, axis=1)
    assert (before < 0.9).any()
    np.testing.assert_allclose(after, np.maximum(before, 0.9), atol=1e-5)
    near = before >= 0.9
    np.testing.assert_allclose(held.matrix[near], free.matrix[near], atol=1e-6)
    # A vector that is turned back stays in the plane of where it was and where it went.
    plane = np.stack([table.unit, free.unit, held.unit], axis=1)
    assert (np.abs(np.linalg.det(plane @ plane.transpose(0, 2, 1))) < 1e-5).all()
    np.testing.assert_allclose(np.linalg.norm(held.matrix, axis=1), np.linalg.norm(free.matrix, axis=1), rtol=1e-5)


def test_a_word_that_turned_round_goes_back():
    before, after = np.array([[1, 0]], np.float32), np.array([[-2, 0]], np.float32)
    np.testing.assert_allclose(turned_back(before, after, 0.5), [[2, 0]], atol=1e-6)
