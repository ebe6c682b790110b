from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics.cluster import contingency_matrix

from wordstill.errors import DataError
from wordstill.evaluation.data.category_sets import Categories, read_own_categories
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.categorization import LINKAGES, CategorizationTask
from wordstill.vectors import WordVectors


def purity(classes, clusters) -> float:
    table = contingency_matrix(classes, clusters)
    return table.max(axis=0).sum() / table.sum()


def made_up(classes: int = 4, words: int = 15, noise: float = 1.5, seed: int = 0):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(classes, 10))
    labels = np.repeat(np.arange(classes), words)
    matrix = centres[labels] + noise * random.normal(size=(len(labels), 10))
    names = [f"w{number}" for number in range(len(labels))]
    vectors = WordVectors(names, matrix.astype(np.float32))
    content = Categories(
        tuple(names), tuple(f"class{label}" for label in labels), {"halves": tuple(map(str, labels // 2))}
    )
    return vectors, CategorizationTask(LoadedDataset("toy", content, "test", "0" * 64)), labels


@pytest.mark.parametrize("seed", range(3))
def test_seeded_clusters_against_scikit_learn(seed):
    vectors, task, labels = made_up(seed=seed)
    score = task.run(vectors, seed=seed)
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    clusters = KMeans(n_clusters=4, n_init=10, random_state=seed).fit_predict(unit)
    assert score.value == pytest.approx(100 * purity(labels, clusters), abs=1e-6)
    coarse = KMeans(n_clusters=2, n_init=10, random_state=seed).fit_predict(unit)
    assert score.parts[0].value == pytest.approx(100 * purity(labels // 2, coarse), abs=1e-6)
    assert score == task.run(vectors, seed=seed)
    assert score.interval.low <= score.value <= score.interval.high


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_six_clusterings(seed):
    vectors, task, labels = made_up(seed=seed)
    every = [
        AgglomerativeClustering(n_clusters=4, linkage=linkage, metric=metric).fit_predict(vectors.matrix)
        for linkage, metric in LINKAGES
    ] + [KMeans(n_clusters=4, n_init=10, random_state=seed).fit_predict(vectors.matrix)]
    best = max(purity(labels, clusters) for clusters in every)
    assert task.run(vectors, "web", seed=seed).value == pytest.approx(100 * best, abs=1e-6)


def test_a_word_of_two_classes_counts_in_both(random_vectors):
    content = Categories(("a", "b", "c", "a"), ("x", "x", "y", "y"))
    score = CategorizationTask(LoadedDataset("toy", content, "test", "0")).run(random_vectors("abc"))
    assert score.n == 4 and score.coverage == (4, 4)
    assert score.value <= 75


def test_absent_words():
    vectors, task, _ = made_up()
    part = vectors.subset(vectors.words[5:])
    skip, mean, zero = (task.run(part, Protocol("p", oov=oov)) for oov in ("skip", "mean", "zero"))
    assert skip.coverage == mean.coverage == zero.coverage == (55, 60)
    assert (skip.n, mean.n, zero.n) == (55, 60, 60)
    assert task.run(part, Protocol("p", oov="zero", clusters="best")).n == 60


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "none of the 60 words is covered"),
        (["w0", "w1"], "all of 1 class"),
        (["w0", "w20"], "only 2 of the 60 words covered, for 2 classes"),
    ],
)
def test_too_few_words(random_vectors, words, says):
    _, task, _ = made_up()
    score = task.run(random_vectors(words))
    assert score.value is None and says in score.problem


def test_an_own_file(tmp_path, random_vectors):
    path = tmp_path / "own.tsv"
    path.write_text("# birds\ncrow\tbird\nswan\tbird\noak\ttree\nash\ttree\n")
    assert read_own_categories(path).labels == ("bird", "bird", "tree", "tree")
    assert CategorizationTask(path).run(random_vectors(["crow", "swan", "oak", "ash"])).n == 4
    path.write_text("crow bird black\n")
    with pytest.raises(DataError, match=r"own\.tsv:1: it is not clear which of the 3 field\(s\) are word, class"):
        read_own_categories(path)
    path.write_text("")
    with pytest.raises(DataError, match="holds no words"):
        read_own_categories(path)
