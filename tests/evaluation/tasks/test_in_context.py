from __future__ import annotations

import json
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.errors import UsageError
from wordstill.evaluation import TASKS, evaluate_in_context, make_task
from wordstill.evaluation.data.context_sets import ContextPair, ContextParts, WordInContext
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.sentence_sets import ParaphraseParts, SentencePairs
from wordstill.evaluation.report.tables import best_cells, cells, markdown, notes, parts_markdown
from wordstill.evaluation.statistics import pearson, spearman
from wordstill.evaluation.tasks.in_context import (
    PAPER_GRID,
    ContextProtocol,
    best_threshold,
    correct,
    harmonic_correlation,
    thinned,
    uncentered_pearson,
    word_cosines,
)

scores = st.lists(st.tuples(st.floats(-1, 1, width=16), st.booleans()), min_size=1, max_size=30)
RULES = ContextProtocol()
TEXT = "the river by the old house and the river"
LOST = "\u200b"


def accuracy(cosines, gold, threshold):
    return correct(cosines, gold, threshold).mean()


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
    assert uncentered_pearson(gold, predicted) == pytest.approx(16 / (21 * 14) ** 0.5)
    first, second = pearson(gold, predicted), spearman(gold, predicted)
    assert harmonic_correlation(gold, predicted) == pytest.approx(2 / (1 / first + 1 / second))


class ToyEncoder:
    """Random but fixed vectors of words at their places; a sentence is the mean of its words."""

    names = ("raw", "other")

    def occurrences(self, occurrences):
        rows = [(one.text, one.start, one.word) for one in occurrences]
        return self._vectors(rows), np.array([word != LOST for *_, word in rows])

    def words(self, texts):
        words = [text.split() for text in texts]
        rows = [(text, number, word) for text in texts for number, word in enumerate(text.split())]
        return words, self._vectors(rows), np.cumsum([0, *map(len, words)])

    def sentences(self, texts, unit):
        assert unit in ("words", "subwords")
        words, vectors, offsets = self.words(texts)
        sums = {name: np.add.reduceat(matrix, offsets[:-1]) for name, matrix in vectors.items()}
        unit_sums = {name: rows / np.linalg.norm(rows, axis=1)[:, None] for name, rows in sums.items()}
        return unit_sums, np.array([words_of_text != [LOST] for words_of_text in words])

    def _vectors(self, rows):
        found = {}
        for name in self.names:
            seeds = [crc32(f"{name} {row}".encode()) for row in rows]
            matrix = np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds])
            found[name] = (matrix / np.linalg.norm(matrix, axis=1)[:, None]).astype(np.float32)
        return found


ENCODER = ToyEncoder()


def loaded(name, content):
    return LoadedDataset(name, content, "test", "0" * 64)


def run(kind, name, content, protocol=RULES):
    return TASKS[kind](loaded(name, content)).run(ENCODER, protocol)["raw"]


def place(text, word, number=0):
    start = -1
    for _ in range(number + 1):
        start = text.index(word, start + 1)
    return WordInContext(text, start, start + len(word))


def made_parts(*names):
    words = ["river", "old", "house"]
    pairs = [
        ContextPair(place(TEXT, first), place(f"{second} and {TEXT}", second), float(number % 4), "x")
        for number, (first, second) in enumerate((a, b) for a in words for b in words)
    ]
    lost = ContextPair(WordInContext(f"a {LOST} b", 2, 3), pairs[0].first, 3.0, "x")
    return ContextParts(dict.fromkeys(names, (*pairs, lost)))


def test_lost_words_are_left_out_of_a_correlation_and_not_covered():
    data = made_parts("all")
    score = run("context-pairs", "usim", data)["usim"]
    pairs = word_cosines(ENCODER, data.parts["all"][:-1])
    assert score.value == pytest.approx(100 * spearman(pairs.gold, pairs.cosines["raw"]))
    assert score.coverage == (9, 10) and score.n == 9
    assert score.interval.low < score.value < score.interval.high
    assert (score.dataset, score.metric, score.protocol.name) == ("usim", "spearman", "default")


def test_nothing_covered_is_no_error():
    lost = ContextPair(WordInContext(LOST, 0, 1), WordInContext(LOST, 0, 1), 3.0, "x")
    score = run("context-pairs", "usim", ContextParts({"all": (lost, lost)}))["usim"]
    assert (score.value, score.problem) == (None, "none of the 2 pairs is covered")


def test_lost_words_count_as_different():
    binary = {
        name: tuple(ContextPair(pair.first, pair.second, float(pair.gold > 1), "x") for pair in pairs)
        for name, pairs in made_parts("dev", "test").parts.items()
    }
    score = run("context-senses", "wic", ContextParts(binary))["wic"]
    assert (score.coverage, score.n) == ((9, 10), 10)
    (grid,) = score.parts
    assert 50 <= score.value <= 90 and grid.name == "grid" and grid.value <= score.value


def test_cosimlex_in_both_ways():
    data = made_parts("context1", "context2")
    changed = tuple(
        ContextPair(pair.first, place(f"so {pair.second.text}", pair.second.word), pair.gold * 2 + 1, "x")
        for pair in data.parts["context2"]
    )
    parts = {"context1": data.parts["context1"], "context2": changed}
    found = run("context-change", "cosimlex", ContextParts(parts))
    one, two = (word_cosines(ENCODER, parts[part][:-1]) for part in ("context1", "context2"))
    change, shift = two.gold - one.gold, two.cosines["raw"] - one.cosines["raw"]
    first, second = found["cosimlex-1"], found["cosimlex-2"]
    assert first.value == pytest.approx(100 * pearson(change, shift))
    assert first.parts[0].value == pytest.approx(100 * uncentered_pearson(change, shift))
    assert (second.metric, second.n, second.coverage) == ("spearman", 18, (18, 20))
    assert second.parts[0][:2] == ("official", "harmonic mean")


def made_sentences(count=24):
    words = ["river", "house", "old", "still", "knows"]
    first = tuple(f"the {words[i % 5]} by the {words[(i + 1) % 5]} , and so {i}" for i in range(count))
    second = tuple(f"the {words[(i * 2) % 5]} stands by the {words[(i + 3) % 5]} ." for i in range(count))
    gold = np.array([float(i % 2) for i in range(count)])
    return SentencePairs(first, second, gold, np.arange(count) // 12, ("one", "two"))


def test_sts_is_the_mean_of_the_sub_corpora():
    data = made_sentences()
    score = run("context-sts", "sts99", data)["sts99"]
    vectors = ENCODER.sentences([*data.first, *data.second], "words")[0]["raw"]
    cosines = (vectors[:24] * vectors[24:]).sum(axis=1).astype(np.float64)
    expected = [pearson(data.gold[rows], cosines[rows]) for rows in (slice(0, 12), slice(12, 24))]
    assert score.value == pytest.approx(100 * np.mean(expected), abs=1e-3)
    assert score.parts[0].name == "weighted" and score.parts[0].value == pytest.approx(score.value)


def test_cosines_between_words():
    data = made_sentences(6)
    found = run("word-cosines", "paws-wiki", ParaphraseParts({"test": data}))
    sums, counts = np.zeros(4), np.zeros(4)
    for first, second, gold in zip(data.first, data.second, data.gold):
        words, vectors, offsets = ENCODER.words([first, second])
        rows = vectors["raw"]
        for i, word in enumerate(words[0]):
            for j, other in enumerate(words[1]):
                if word.isalnum() and other.isalnum():
                    group = int(gold) + (0 if word == other else 2)
                    sums[group] += rows[i] @ rows[offsets[1] + j]
                    counts[group] += 1
    assert list(found) == ["cosine-common-N", "cosine-common-P", "cosine-different-N", "cosine-different-P"]
    np.testing.assert_allclose([score.value for score in found.values()], 100 * sums / counts, atol=1e-4)
    assert all(score.interval.low <= score.value <= score.interval.high for score in found.values())


def test_paraphrases():
    parts = ParaphraseParts({"dev": made_sentences(), "test": made_sentences()})
    score = run("paraphrase", "paws-wiki", parts)["paws-wiki"]
    assert score.value >= 50 and score.parts[0].name == "threshold"


def test_a_part_of_every_sub_corpus():
    part = thinned(made_sentences(), 6)
    assert len(part) == 6
    assert np.bincount(part.corpus).tolist() == [3, 3]


def test_tables_and_encoders_have_tasks_of_their_own(tmp_path):
    with pytest.raises(UsageError, match=r"'context-senses' scores words in context.*meaning evaluate"):
        make_task("wic")
    with pytest.raises(UsageError, match="'similarity' scores tables of vectors: wordstill evaluate"):
        evaluate_in_context(ENCODER, ["rg65:similarity"])
    with pytest.raises(UsageError, match=r"Unknown task 'usin'\. Did you mean 'usim'"):
        evaluate_in_context(ENCODER, ["usin"])
    with pytest.raises(UsageError, match="Unknown value of unit 'letters'"):
        evaluate_in_context(ENCODER, ["usim"], unit="letters")
    (tmp_path / "own.txt").write_text("a b 1\n")
    with pytest.raises(UsageError, match="A file of your own cannot be read for the task 'context-pairs'"):
        evaluate_in_context(ENCODER, [f"context-pairs:{tmp_path / 'own.txt'}"])


def test_all_tasks_on_their_data(data_folder):
    found = evaluate_in_context(ENCODER, limit=40)
    rows = found.scores["raw"]
    assert {"usim", "wic", "cosimlex-1", "cosimlex-2", "scws", "sts16", "paws-wiki"} <= set(rows)
    assert all(np.isfinite(score.value) for score in rows.values())
    content = json.loads(found.to_json())
    assert content["protocol"]["name"] == "default with max_pairs=40"
    assert len(content["comparisons"]) == len(rows) and content["tables"]["other"]["scores"][0]["interval"]
    assert cells(found, published=True)[-1][0] == "Mean of STS 2012 to 2016"
    assert "best published" in markdown(found, published=True)
    assert "words the tokenizer keeps / all items" in notes(found)
    assert "| cosimlex-2 | official | harmonic mean |" in parts_markdown(found)
    cosines = {row for row, name in enumerate(found.sets, start=1) if name.startswith("cosine-")}
    assert cosines and not cosines & {row for row, _ in best_cells(found)}
