from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from wordstill.errors import DataError
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.sentence_sets import SentencePairs, StsReader, read_own_sentences
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.similarity import SIF_WEIGHT, SentenceVectors, StsTask
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder

WORDS = [f"w{number}" for number in range(30)]


def made_up(sizes=(40, 25), seed=0) -> SentencePairs:
    random = np.random.default_rng(seed)
    total = sum(sizes)
    texts = [" ".join(random.choice(WORDS, size=random.integers(2, 8))) for _ in range(2 * total)]
    corpus = np.repeat(np.arange(len(sizes)), sizes)
    gold = np.round(5 * random.random(total), 1)
    return SentencePairs(tuple(texts[:total]), tuple(texts[total:]), gold, corpus, ("first", "second"))


def table(seed=1, words=WORDS) -> WordVectors:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 1000, size=len(words))
    return WordVectors(list(words), random.normal(size=(len(words), 9)).astype(np.float32), counts=counts)


def task(pairs: SentencePairs) -> StsTask:
    return StsTask(LoadedDataset("toy", pairs, "test", "0" * 64))


def slow_vectors(pairs, vectors, kind):
    shares = dict(zip(vectors.words, vectors.counts / vectors.counts.sum()))
    rows = []
    for text in (*pairs.first, *pairs.second):
        known = [word for word in text.split() if word in vectors]
        weights = [SIF_WEIGHT / (SIF_WEIGHT + shares[word]) if kind == "sif" else 1.0 for word in known]
        rows.append(np.mean([weight * vectors[word].astype(float) for weight, word in zip(weights, known)], axis=0))
    matrix = np.array(rows)
    if kind == "sif":
        common = np.linalg.svd(matrix, full_matrices=False)[2][0]
        matrix = matrix - np.outer(matrix @ common, common)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["mean", "sif"])
@pytest.mark.parametrize("average", ["corpora", "pairs"])
def test_against_scipy_by_sub_corpus(kind, average):
    pairs, vectors = made_up(), table()
    score = task(pairs).run(vectors, Protocol("p", sentence=kind, average=average))
    rows = slow_vectors(pairs, vectors, kind)
    cosines = (rows[: len(pairs)] * rows[len(pairs) :]).sum(axis=1)
    scores = {(part.name, part.metric): part.value for part in score.parts}
    expected = []
    for number, name in enumerate(pairs.corpora):
        chosen = pairs.corpus == number
        expected.append(100 * pearsonr(cosines[chosen], pairs.gold[chosen]).statistic)
        assert scores[name, "pearson"] == pytest.approx(expected[-1], abs=1e-6)
        rank = 100 * spearmanr(cosines[chosen], pairs.gold[chosen]).statistic
        assert scores[name, "spearman"] == pytest.approx(rank, abs=1e-6)
    weights = (40, 25) if average == "pairs" else None
    assert score.value == pytest.approx(np.average(expected, weights=weights), abs=1e-6)
    assert scores["running words known", "share"] == 100


def test_sentences_without_a_known_word():
    pairs, vectors = made_up(), table(words=WORDS[:8])
    skip, zero, mean = (task(pairs).run(vectors, Protocol("p", oov=oov)) for oov in ("skip", "zero", "mean"))
    assert skip.coverage == zero.coverage == mean.coverage
    assert skip.coverage.used == skip.n < zero.n == mean.n == len(pairs)
    nothing = task(pairs).run(table(words=["x"]))
    assert nothing.value is None and "none of the 65 pairs" in nothing.problem


@pytest.mark.parametrize("kind", ["mean", "sif"])
def test_the_sentence_encoder_gives_the_same_vectors(kind):
    words = [*WORDS[:20], "w20 w21", "w22_w23"]
    vectors, pairs = table(words=words), made_up()
    texts = [f"“{text.title()}”, {text}." for text in (*pairs.first, *pairs.second)]
    expected = SentenceVectors.of(texts, vectors, Protocol("p", sentence=kind)).matrix
    encoder = SentenceEncoder(vectors, SentenceConfig(kind))
    np.testing.assert_allclose(encoder.fit(texts).encode(texts), expected, atol=1e-5)


def test_without_counts_the_rank_is_the_frequency():
    vectors = table()
    ranked = WordVectors(vectors.words, vectors.matrix)
    counted = WordVectors(
        vectors.words, vectors.matrix, counts=np.array([360_360_000 // rank for rank in range(1, 31)])
    )
    sif = Protocol("p", sentence="sif")
    assert task(made_up()).run(ranked, sif).value == pytest.approx(task(made_up()).run(counted, sif).value, abs=1e-3)


def test_blank_scores_are_left_out(tmp_path):
    (tmp_path / "STS.input.x.txt").write_text("a\tb\nc\td\te\nf\tg\n")
    (tmp_path / "STS.gs.x.txt").write_text("1.0\n\n3\n")
    pairs = StsReader(("x",))(tmp_path)
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (("a", "f"), ("b", "g"), [1.0, 3.0])


@pytest.mark.parametrize(
    ("texts", "scores", "says"),
    [
        ("a\tb\n", "1\n2\n", "has 1 lines, but STS.gs.x.txt has 2"),
        ("a b\n", "1\n", r"STS\.input\.x\.txt:1: expected two sentences"),
        ("a\tb\n", "high\n", r"STS\.gs\.x\.txt:1: expected a finite number"),
        ("a\tb\n", "\n", "no scored pairs"),
    ],
)
def test_bad_files(tmp_path, texts, scores, says):
    (tmp_path / "STS.input.x.txt").write_text(texts)
    (tmp_path / "STS.gs.x.txt").write_text(scores)
    with pytest.raises(DataError, match=says):
        StsReader(("x",))(tmp_path)


def test_an_own_file(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_text("w1 w2\tw3\t1\nw4\tw5 w6\t2\nw7\tw8\t3.5\n")
    assert StsTask(path).run(table()).n == 3
    path.write_text("one sentence\n")
    with pytest.raises(DataError, match=r"own\.tsv:1"):
        read_own_sentences(path)
