from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wordstill.errors import UsageError
from wordstill.evaluation.data.context_sets import ContextPair, ContextParts, WordInContext
from wordstill.evaluation.data.sentence_sets import SentencePairs
from wordstill.evaluation.statistics import pearson, spearman
from wordstill.meaning import context_tasks
from wordstill.meaning.context_suite import TASKS, EvaluationConfig, _first, evaluate
from wordstill.meaning.context_tasks import (
    PAPER_GRID,
    accuracy,
    best_threshold,
    harmonic_correlation,
    sentence_vectors,
    uncentred_pearson,
    word_vectors,
)
from wordstill.meaning.distiller import layer_mean
from wordstill.teacher.spans import StateReader

scores = st.lists(st.tuples(st.floats(-1, 1, width=16), st.booleans()), min_size=1, max_size=30)


@given(scores)
def test_no_threshold_is_better_than_the_best(pairs):
    cosines, gold = (np.array(column, dtype=np.float64) for column in zip(*pairs))
    found = best_threshold(cosines, gold)
    tried = [accuracy(cosines, gold, value) for value in (-2.0, *np.unique(cosines), 2.0)]
    assert accuracy(cosines, gold, found) == pytest.approx(max(tried))


@given(scores)
def test_the_grid_of_the_paper(pairs):
    cosines, gold = (np.array(column, dtype=np.float64) for column in zip(*pairs))
    found = best_threshold(cosines, gold, PAPER_GRID)
    assert found in PAPER_GRID
    assert accuracy(cosines, gold, found) == max(accuracy(cosines, gold, value) for value in PAPER_GRID)


def test_correlations_of_the_official_task():
    gold, predicted = np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 3.0])
    assert uncentred_pearson(gold, predicted) == pytest.approx(16 / (21 * 14) ** 0.5)
    first, second = pearson(gold, predicted), spearman(gold, predicted)
    assert harmonic_correlation(gold, predicted) == pytest.approx(2 / (1 / first + 1 / second))


@pytest.fixture(scope="module")
def reader(tiny_teacher):
    return StateReader(tiny_teacher("bert-uncased"))


REPRESENTATIONS = {"raw": layer_mean, "first": lambda states: states[:, 0]}
TEXT = "the river by the old house and the river"


def place(text, word, number=0):
    start = -1
    for _ in range(number + 1):
        start = text.index(word, start + 1)
    return WordInContext(text, start, start + len(word))


def test_the_place_decides_and_not_the_string(reader):
    """The same word twice in one text: a match by string would give a cosine of 1."""
    pair = ContextPair(place(TEXT, "river"), place(TEXT, "river", 1), 1.0, "river")
    predicted = context_tasks.predict(reader, REPRESENTATIONS, [pair])
    assert predicted.cosines["raw"][0] < 0.999
    states = reader.states([pair.first, pair.second])[0].mean(dim=1)
    expected = torch.nn.functional.cosine_similarity(states[0], states[1], dim=0)
    assert predicted.cosines["raw"][0] == pytest.approx(float(expected), abs=1e-5)


def made_parts(*names):
    words = ["river", "old", "house"]
    pairs = [
        ContextPair(place(TEXT, first), place(f"{second} and {TEXT}", second), float(number % 4), "x")
        for number, (first, second) in enumerate((a, b) for a in words for b in words)
    ]
    lost = ContextPair(WordInContext("a \u200b b", 2, 3), pairs[0].first, 3.0, "x")
    return ContextParts(dict.fromkeys(names, (*pairs, lost)))


def test_lost_words_are_left_out_of_a_correlation(reader):
    data = made_parts("all")
    kept = context_tasks.usim(reader, REPRESENTATIONS, data)
    assert kept == context_tasks.usim(reader, REPRESENTATIONS, ContextParts({"all": data.parts["all"][:-1]}))
    assert set(kept) == {"raw", "first"}
    assert context_tasks.scws(reader, REPRESENTATIONS, data)["raw"]["scws"] == kept["raw"]["usim"]


def test_lost_words_count_as_different(reader):
    parts = made_parts("dev", "test").parts
    binary = {
        name: tuple(ContextPair(pair.first, pair.second, float(pair.gold > 1), "x") for pair in pairs)
        for name, pairs in parts.items()
    }
    figures = context_tasks.wic(reader, REPRESENTATIONS, ContextParts(binary))["raw"]
    assert set(figures) == {"wic", "wic-grid"}
    assert 0.5 <= figures["wic"] <= 0.9


def test_cosimlex_in_both_ways(reader):
    data = made_parts("context1", "context2")
    changed = tuple(
        ContextPair(pair.second, pair.first, pair.gold * 2 + 1, "x") for pair in data.parts["context2"]
    )
    figures = context_tasks.cosimlex(
        reader, REPRESENTATIONS, ContextParts({"context1": data.parts["context1"], "context2": changed})
    )["raw"]
    assert set(figures) == {"cosimlex-1", "cosimlex-1-official", "cosimlex-2", "cosimlex-2-official"}


def made_sentences(count=24):
    words = ["river", "house", "old", "still", "knows"]
    first = tuple(f"the {words[i % 5]} by the {words[(i + 1) % 5]}, and so on" for i in range(count))
    second = tuple(f"the {words[(i * 2) % 5]} stands by the {words[(i + 3) % 5]}." for i in range(count))
    gold = np.array([float(i % 2) for i in range(count)])
    return SentencePairs(first, second, gold, np.arange(count) // 12, ("one", "two"))


@pytest.mark.parametrize("unit", ["words", "subwords"])
def test_sts_is_the_mean_of_the_sub_corpora(reader, unit):
    data = made_sentences()
    figures = context_tasks.sts(reader, REPRESENTATIONS, data, "sts99", unit)["raw"]
    vectors = sentence_vectors(reader, {"raw": layer_mean}, [*data.first, *data.second], unit)["raw"]
    cosines = (vectors[:24] * vectors[24:]).sum(axis=1).astype(np.float64)
    expected = [pearson(data.gold[rows], cosines[rows]) for rows in (slice(0, 12), slice(12, 24))]
    assert figures["sts99"] == pytest.approx(np.mean(expected), abs=1e-4)
    assert figures["sts99-weighted"] == pytest.approx(figures["sts99"])


def test_cosines_between_words(reader):
    data = made_sentences(6)
    figures = context_tasks.paws_words(reader, {"raw": layer_mean}, data)["raw"]
    sums, counts = np.zeros(4), np.zeros(4)
    for first, second, gold in zip(data.first, data.second, data.gold):
        words, vectors, bounds = word_vectors(reader, {"raw": layer_mean}, [first, second])
        rows = vectors["raw"]
        for i, word in enumerate(words[0]):
            for j, other in enumerate(words[1]):
                if word.isalnum() and other.isalnum():
                    group = int(gold) + (0 if word == other else 2)
                    sums[group] += rows[i] @ rows[bounds[1] + j]
                    counts[group] += 1
    assert list(figures) == ["cosine-common-N", "cosine-common-P", "cosine-different-N", "cosine-different-P"]
    np.testing.assert_allclose(list(figures.values()), sums / counts, rtol=1e-3, atol=1e-3)


def test_paws(reader):
    parts = {"dev": made_sentences(), "test": made_sentences()}
    figures = context_tasks.paws(reader, REPRESENTATIONS, parts, "words")["raw"]
    assert figures["paws-wiki"] >= 0.5


def test_a_part_of_every_sub_corpus():
    part = _first(made_sentences(), 6)
    assert len(part) == 6
    assert np.bincount(part.corpus).tolist() == [3, 3]


def test_unknown_names(reader):
    with pytest.raises(UsageError, match=r"Unknown task 'usin'\. Did you mean 'usim'"):
        evaluate(reader, REPRESENTATIONS, ["usin"])
    with pytest.raises(UsageError, match="Unknown unit"):
        EvaluationConfig(unit="letters")


@pytest.mark.skipif("WORDSTILL_DATA" not in os.environ, reason="WORDSTILL_DATA is not set")
@pytest.mark.slow
def test_all_tasks_on_their_data(reader):
    representations = {"raw": layer_mean}
    result = evaluate(reader, representations, config=EvaluationConfig(limit=40))
    figures = result.figures["raw"]
    assert {"usim", "wic", "cosimlex-1", "cosimlex-2-official", "scws", "sts-mean", "paws-wiki"} <= set(
        figures
    )
    assert all(np.isfinite(value) for value in figures.values())
    table = result.markdown()
    assert table.startswith("|  | usim | wic | cosimlex-1")
    assert "cosine-common-N" in table
    assert set(TASKS) >= {"usim", "sts16"}
