from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from wordstill.errors import DataError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.statistics import spearman
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.vectors import WordVectors

WORDS = [f"word{number}" for number in range(60)]
RULES = {
    "skip": (Protocol("skip", oov="skip"), {}),
    "zero": (Protocol("zero", oov="zero"), {"dummy4unknown": True}),
    "exact": (Protocol("exact", case="exact"), {"case_insensitive": False}),
    "first 30": (Protocol("first", max_vocab=30), {"restrict_vocab": 30}),
}


def oracle(vectors: WordVectors, path: object, **options: object) -> tuple[float, float]:
    """Spearman and the percentage of pairs with an absent word, by gensim."""
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(vectors.matrix.shape[1], dtype=np.float64)
    keyed.add_vectors(list(vectors.words), np.asarray(vectors.matrix, dtype=np.float64))
    _, correlation, absent = keyed.evaluate_word_pairs(str(path), **options)
    return float(correlation.statistic), float(absent)


def agrees(score, correlation: float, absent: float) -> None:
    assert score.value == pytest.approx(100 * correlation, abs=1e-4)
    assert score.coverage.used == round(score.coverage.total * (1 - absent / 100))


def made_up_rows(seed: int = 0, pairs: int = 300):
    """Pairs of different words, each once, every fifth word capitalised, with many tied scores."""
    random = np.random.default_rng(seed)
    names = [word.capitalize() if number % 5 == 0 else word for number, word in enumerate(WORDS)]
    every = list(combinations(names, 2))
    chosen = random.choice(len(every), size=pairs, replace=False)
    scores = random.integers(0, 11, size=pairs)
    return [(*every[row][:: 1 - 2 * (row % 2)], float(score)) for row, score in zip(chosen, scores)]


def comparable_words(pairs: WordPairs) -> list[str]:
    """The words of a set without those that make a pair stand twice.

    gensim's cosine of the same two words may differ in the last bit from call to call, which breaks the tie.
    """
    folded = [frozenset((a.lower(), b.lower())) for a, b in zip(pairs.first, pairs.second)]
    repeated = {min(pair) for pair, times in Counter(folded).items() if times > 1}
    return sorted(set().union(*folded) - repeated)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_gensim_on_made_up_pairs(tmp_path, random_vectors, rule, seed):
    protocol, options = RULES[rule]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in made_up_rows(seed)))
    vectors = random_vectors(WORDS[:45], seed)
    agrees(SimilarityTask(path).run(vectors, protocol), *oracle(vectors, path, **options))


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_agrees_with_gensim_on_its_own_files(bare, random_vectors, name):
    utils = pytest.importorskip("gensim.test.utils")
    task = SimilarityTask(name)
    words = comparable_words(task.dataset.content)
    vectors = random_vectors(words[::2] + words[1::4])
    score = task.run(vectors)
    assert score.source.startswith("gensim:")
    assert 0 < score.coverage.used < score.coverage.total == DATASETS[name].size
    agrees(score, *oracle(vectors, utils.datapath(score.source.split("/")[-1])))


@pytest.mark.parametrize("name", [name for name, row in DATASETS.items() if row.task == "similarity"])
def test_agrees_with_gensim_on_the_published_sets(data_folder, tmp_path, random_vectors, name):
    task = SimilarityTask(name)
    pairs = task.dataset.content
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\t{s!r}\n" for a, b, s in zip(pairs.first, pairs.second, pairs.gold.tolist())))
    vectors = random_vectors([word for number, word in enumerate(comparable_words(pairs)) if number % 6])
    agrees(task.run(vectors), *oracle(vectors, path))


def test_a_score_says_everything(random_vectors, pair_set):
    rows = [*((*pair, float(score)) for score, pair in enumerate(combinations("abcd", 2))), ("a", "nowhere", 5.0)]
    protocol = Protocol("mine")
    score = SimilarityTask(pair_set(rows)).run(random_vectors("abcd"), protocol)
    assert (score.task, score.dataset, score.metric) == ("similarity", "made-up", "spearman")
    assert (score.coverage, score.n, score.problem) == ((6, 7), 6, None)
    assert (score.source, score.sha256, score.protocol) == ("test", "0" * 64, protocol)
    assert score.interval.low <= score.value <= score.interval.high


def test_a_perfect_table_has_100_points(pair_set):
    angles = np.array([0.0, 0.1, 0.3, 0.7, 1.2, 1.5])
    vectors = WordVectors(list("abcdef"), np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))
    score = SimilarityTask(pair_set([("a", w, 9.0 - n) for n, w in enumerate("abcdef")])).run(vectors)
    assert score.value == pytest.approx(100)
    assert score.interval == pytest.approx((100, 100))


def test_lengths_of_vectors_do_not_matter(random_vectors, pair_set):
    task = SimilarityTask(pair_set(made_up_rows()))
    vectors = random_vectors(WORDS)
    lengths = np.random.default_rng(1).uniform(0.01, 100, size=(len(WORDS), 1))
    longer = WordVectors(WORDS, (vectors.matrix * lengths).astype(np.float32))
    assert task.run(longer).value == pytest.approx(task.run(vectors).value, abs=0.01)


def test_a_pair_that_stands_twice_or_turned_is_tied(random_vectors, pair_set):
    rows = made_up_rows()
    turned = SimilarityTask(pair_set([(b, a, score) for a, b, score in rows]))
    vectors = random_vectors(WORDS)
    cosines = SimilarityTask(pair_set(rows)).similarities(vectors)
    assert turned.similarities(vectors).tolist() == cosines.tolist()
    assert len(set(cosines.tolist())) == len(rows)


def test_words_with_themselves_are_tied(random_vectors, pair_set):
    task = SimilarityTask(pair_set([(word, word, 1.0) for word in WORDS]))
    assert task.similarities(random_vectors(WORDS)).tolist() == [1.0] * len(WORDS)


def test_the_seed_moves_the_interval_and_not_the_value(random_vectors, pair_set):
    task, vectors = SimilarityTask(pair_set(made_up_rows())), random_vectors(WORDS)
    first, again, other = (task.run(vectors, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.value == other.value
    assert first.interval != other.interval


def test_absent_words_by_every_rule(pair_set):
    vectors = WordVectors(["a", "b", "c"], np.array([[2, 0], [0, 2], [2, 4]], dtype=np.float32))
    task = SimilarityTask(pair_set([("a", "b", 1), ("a", "x", 2), ("x", "y", 3), ("b", "c", 4)]))
    # The mean vector is (4, 6) / 3, whose cosine with a is 2 / sqrt(13).
    expected = {
        "skip": [0, np.nan, np.nan, 2 / 5**0.5],
        "zero": [0, 0, 0, 2 / 5**0.5],
        "mean": [0, 2 / 13**0.5, 1, 2 / 5**0.5],
    }
    for oov, cosines in expected.items():
        np.testing.assert_allclose(task.similarities(vectors, Protocol("p", oov=oov)), cosines, atol=1e-12)
    # Of the first two rows alone the mean is (1, 1); c is then absent too.
    cosines = task.similarities(vectors, Protocol("p", oov="mean", max_vocab=2))
    np.testing.assert_allclose(cosines, [0, 0.5**0.5, 1, 0.5**0.5], atol=1e-12)


@pytest.mark.parametrize(("oov", "n"), [("skip", 6), ("zero", 8), ("mean", 8)])
def test_coverage_is_of_pairs_that_are_there_whatever_the_rule(random_vectors, pair_set, oov, n):
    rows = [*((*pair, score) for score, pair in enumerate(combinations("abcd", 2))), ("a", "x", 6), ("x", "y", 7)]
    protocol = Protocol("p", oov=oov)
    score = SimilarityTask(pair_set(rows)).run(random_vectors("abcd"), protocol)
    assert (score.coverage, score.n) == ((6, 8), n)
    gold = np.array([row[2] for row in rows], dtype=np.float64)
    cosines = SimilarityTask(pair_set(rows)).similarities(random_vectors("abcd"), protocol)
    assert score.value == pytest.approx(100 * spearman(gold[:n], cosines[:n]))


@pytest.mark.parametrize("oov", ["skip", "zero", "mean"])
@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("xyz", "none of the 4 pairs is covered"),
        ("ab", "only 1 of the 4 pairs covered; a score needs at least 6"),
        ("abc", "only 2 of the 4 pairs covered; a score needs at least 6"),
    ],
)
def test_too_few_pairs_have_no_score(random_vectors, pair_set, oov, table, problem):
    rows = [("a", "b", 1.0), ("b", "c", 2.0), ("c", "d", 3.0), ("d", "e", 4.0)]
    score = SimilarityTask(pair_set(rows)).run(random_vectors(table), Protocol("p", oov=oov))
    assert (score.value, score.interval, score.problem) == (None, None, problem)


def test_none_of_wordsim_is_covered(bare, random_vectors):
    pytest.importorskip("gensim")
    score = SimilarityTask("wordsim353").run(random_vectors(["xyzzy"]))
    assert (score.value, score.problem) == (None, "none of the 353 pairs is covered")


@pytest.mark.parametrize("oov", ["skip", "zero", "mean"])
def test_an_empty_table_covers_nothing(pair_set, oov):
    vectors = WordVectors([], np.zeros((0, 4), dtype=np.float32))
    score = SimilarityTask(pair_set([("a", "b", 1.0)])).run(vectors, Protocol("p", oov=oov))
    assert score.problem == "none of the 1 pairs is covered"


def test_constants_have_no_score(random_vectors, pair_set):
    rows = [(*pair, 1.0) for pair in combinations("abcd", 2)]
    assert "human scores" in SimilarityTask(pair_set(rows)).run(random_vectors("abcd")).problem
    zero = WordVectors(list("abcd"), np.zeros((4, 2), dtype=np.float32))
    rows = [(*pair, float(score)) for score, pair in enumerate(combinations("abcd", 2))]
    assert "cosines" in SimilarityTask(pair_set(rows)).run(zero).problem


def test_a_zero_vector_has_the_cosine_zero(pair_set):
    vectors = WordVectors(["a", "b"], np.array([[0, 0], [1, 0]], dtype=np.float32))
    assert SimilarityTask(pair_set([("a", "b", 1.0), ("a", "a", 2.0)])).similarities(vectors).tolist() == [0, 0]


def test_vectors_that_are_not_finite_are_named(tmp_path, pair_set):
    # A memory-mapped table is not checked when it is opened.
    matrix = np.memmap(tmp_path / "matrix", dtype=np.float32, mode="w+", shape=(3, 2))
    matrix[:] = 1
    matrix[1, 0] = np.nan
    vectors = WordVectors(["a", "b", "c"], matrix)
    task = SimilarityTask(pair_set([("a", "b", 1.0), ("b", "c", 2.0), ("a", "c", 3.0)]))
    with pytest.raises(DataError, match=r"vector of 'b' \(row 1\)"):
        task.run(vectors)
    elsewhere = SimilarityTask(pair_set([("a", "c", 1.0), ("a", "x", 2.0)]))
    with pytest.raises(DataError, match="mean of all vectors"):
        elsewhere.run(vectors, Protocol("p", oov="mean"))


def test_a_name_a_path_or_a_ready_set(bare, tmp_path, pair_set):
    path = tmp_path / "mine.txt"
    path.write_text("a b 1\n")
    assert SimilarityTask(str(path)).name == SimilarityTask(path).name == str(path)
    ready = pair_set([("a", "b", 1.0)])
    assert SimilarityTask(ready).dataset is ready
    pytest.importorskip("gensim")
    assert len(SimilarityTask("simlex999").dataset.content) == 999
