from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from gensim.models import KeyedVectors

from wordstill.errors import DataError, UsageError, WordstillError
from wordstill.vectors.compressed import find_duplicate
from wordstill.vectors.oov import UnknownWord
from wordstill.vectors.table import WordVectors

WORDS = [f"word{number}" for number in range(200)]


@pytest.fixture(scope="module")
def matrix():
    return np.random.default_rng(7).standard_normal((200, 16)).astype(np.float32) + 0.3


@pytest.fixture(scope="module")
def vectors(matrix):
    return WordVectors(WORDS, matrix, counts=np.arange(200), provenance={"teacher": "bert-tiny"})


@pytest.fixture(scope="module")
def oracle(matrix):
    keyed = KeyedVectors(16)
    keyed.add_vectors(WORDS, matrix)
    return keyed


def assert_same_answer(got, expected):
    assert [word for word, _ in got] == [word for word, _ in expected]
    np.testing.assert_allclose([score for _, score in got], [score for _, score in expected], atol=2e-6)


def test_it_is_a_table_of_words(vectors, matrix):
    assert len(vectors) == 200
    assert vectors.dim == 16
    assert "word3" in vectors
    assert "nothing" not in vectors
    assert list(vectors) == WORDS
    assert vectors.index("word3") == 3
    np.testing.assert_array_equal(vectors["word3"], matrix[3])
    np.testing.assert_array_equal(vectors[["word3", "word1", "word3"]], matrix[[3, 1, 3]])
    assert vectors[[]].shape == (0, 16)
    assert vectors.counts[3] == 3
    assert vectors.provenance == {"teacher": "bert-tiny"}
    assert repr(vectors) == "<WordVectors: 200 words x 16, float32, with counts, from bert-tiny>"


def test_float16_is_kept_and_looked_up_as_float32(matrix):
    vectors = WordVectors(WORDS, matrix.astype(np.float16))
    assert vectors.matrix.dtype == np.float16
    assert vectors["word3"].dtype == vectors[["word3"]].dtype == vectors.unit.dtype == np.float32


def test_the_table_cannot_be_changed_by_accident(vectors, matrix):
    for array in (vectors.matrix, vectors.counts, vectors.unit):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    vectors["word3"][:] = 0
    np.testing.assert_array_equal(vectors["word3"], matrix[3])
    assert matrix.flags.writeable


def test_it_can_be_copied_and_sent_to_another_process(vectors):
    for twin in (copy.deepcopy(vectors), pickle.loads(pickle.dumps(vectors))):
        assert twin.words == vectors.words
        np.testing.assert_array_equal(twin.matrix, vectors.matrix)


@pytest.mark.parametrize(
    ("words", "matrix", "counts", "message"),
    [
        (["a", "b", "a"], np.ones((3, 2), np.float32), None, "'a' is there twice, in rows 0 and 2"),
        (["a", 5], np.ones((2, 2), np.float32), None, "must be strings, got int"),
        (["a"], np.ones((2, 2), np.float32), None, r"shape \(2, 2\), expected \(1, dim\)"),
        (["a"], np.ones(1, np.float32), None, r"shape \(1,\)"),
        (["a"], np.ones((1, 0), np.float32), None, r"shape \(1, 0\)"),
        (["a"], np.ones((1, 2)), None, "float64, expected float32 or float16"),
        (["a"], np.ones((1, 2), np.float32), np.ones(2, np.int64), r"int64 of shape \(2,\)"),
        (["a"], np.ones((1, 2), np.float32), np.ones(1), "float64 of shape"),
        (["a", "b"], np.ones((2, 2), np.float32), np.array([1, -4]), "count of row 1 is -4"),
    ],
)
def test_what_does_not_fit_is_refused(words, matrix, counts, message):
    with pytest.raises(UsageError, match=message):
        WordVectors(words, matrix, counts=counts)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_numbers_are_refused(matrix, bad):
    broken = matrix.copy()
    broken[150, 4] = bad
    with pytest.raises(DataError, match=r"'word150' \(row 150\) has -?(nan|inf) at position 4"):
        WordVectors(WORDS, broken)


def test_a_memory_mapped_matrix_is_checked_where_it_is_used(tmp_path, matrix):
    broken = matrix.copy()
    broken[150, 4] = np.nan
    broken.tofile(tmp_path / "matrix")
    mapped = np.memmap(tmp_path / "matrix", dtype=np.float32, mode="r", shape=matrix.shape)
    vectors = WordVectors(WORDS, mapped)
    np.testing.assert_array_equal(vectors["word3"], matrix[3])
    for use in (
        lambda: vectors["word150"],
        lambda: vectors.unit,
        vectors.check_finite,
        lambda: vectors.save(tmp_path / "out"),
        lambda: vectors.subset(["word150"]),
    ):
        with pytest.raises(DataError, match="'word150'"):
            use()
    assert not (tmp_path / "out").exists()


def test_an_unknown_word_is_a_key_error_with_near_words(vectors):
    with pytest.raises(KeyError) as caught:
        vectors["wordd3"]
    assert isinstance(caught.value, UnknownWord)
    assert isinstance(caught.value, WordstillError)
    assert str(caught.value).startswith("The word 'wordd3' is not among the 200 words. Near it in spelling: 'word3'")
    for use in (
        lambda: vectors[["word1", "wordd3"]],
        lambda: vectors.most_similar("wordd3"),
        lambda: vectors.similarity("word1", "wordd3"),
        lambda: vectors.neighbors(["wordd3"]),
        lambda: vectors.subset(["wordd3"]),
    ):
        with pytest.raises(UnknownWord):
            use()


def test_similarity_is_gensims(vectors, oracle):
    for a, b in [("word1", "word2"), ("word1", "word1"), ("word199", "word0")]:
        assert vectors.similarity(a, b) == pytest.approx(oracle.similarity(a, b), abs=1e-6)
    assert vectors.similarity(vectors["word1"] * 5, "word1") == pytest.approx(1, abs=1e-6)


def test_similarity_with_zeros_is_zero():
    vectors = WordVectors(["a", "b"], np.array([[0, 0], [1, 2]], np.float32))
    assert vectors.similarity("a", "b") == 0
    assert vectors.most_similar("b") == [("a", 0.0)]
    assert vectors.most_similar("a") == [("b", 0.0)]


QUERIES = [
    ("word1", None),
    (["word1"], None),
    (["word1", "word2", "word1"], ["word3"]),
    ("word1", "word9"),
    (None, ["word3"]),
    (np.arange(16, dtype=np.float32), None),
    ([np.arange(16, dtype=np.float32), "word4"], "word5"),
    ("word4", np.linspace(-3, 9, 16, dtype=np.float32)),
]


@pytest.mark.parametrize(("positive", "negative"), QUERIES)
@pytest.mark.parametrize("topn", [0, 1, 10, 500])
def test_most_similar_is_gensims(vectors, oracle, positive, negative, topn):
    got = vectors.most_similar(positive, negative, topn)
    assert_same_answer(got, oracle.most_similar(positive, negative, topn))


def test_most_similar_to_nothing_is_refused(vectors):
    with pytest.raises(UsageError, match="at least one"):
        vectors.most_similar()


def test_similar_by_vector_is_gensims(vectors, oracle, matrix):
    assert_same_answer(vectors.similar_by_vector(matrix[8], 5), oracle.similar_by_vector(matrix[8], 5))


def test_analogy_is_3cosadd():
    vectors = WordVectors(
        ["man", "king", "woman", "queen", "apple"],
        np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], np.float32),
    )
    assert [word for word, _ in vectors.analogy("man", "king", "woman", topn=2)] == ["queen", "apple"]


def test_neighbours_of_many_are_those_of_each(vectors, matrix):
    for word, answer in zip(WORDS, vectors.neighbors(WORDS, 4), strict=True):
        assert_same_answer(answer, vectors.most_similar(word, topn=4))
    for vector, answer in zip(matrix[:9], vectors.neighbors(matrix[:9] * 3, 4), strict=True):
        assert_same_answer(answer, vectors.similar_by_vector(vector, topn=4))
    assert vectors.neighbors([]) == []


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda table: table.neighbors(np.ones(16, np.float32)), r"shape \(16,\)"),
        (lambda table: table.neighbors(np.ones((2, 3), np.float32)), r"expected \(queries, 16\)"),
        (lambda table: table.neighbors("word1"), "list of words"),
        (lambda table: table.most_similar(np.ones(3, np.float32)), r"shape \(3,\)"),
        (lambda table: table.most_similar(np.full(16, np.nan, np.float32)), "NaN"),
    ],
)
def test_queries_that_cannot_be_right(vectors, use, message):
    with pytest.raises(UsageError, match=message):
        use(vectors)


@pytest.mark.parametrize("topn", [1, 7])
def test_many_queries_are_answered_like_each(vectors, topn):
    positive, negative = zip(*[(p, n) for p, n in QUERIES if p is not None], strict=True)
    answers = vectors.most_similar_batch(positive, [() if n is None else n for n in negative], topn)
    for plus, minus, answer in zip(positive, negative, answers, strict=True):
        assert_same_answer(answer, vectors.most_similar(plus, minus, topn))
    for word, answer in zip(WORDS[:5], vectors.most_similar_batch(WORDS[:5], topn=topn), strict=True):
        assert_same_answer(answer, vectors.most_similar(word, topn=topn))
    assert vectors.most_similar_batch([]) == []


GROUPS = [["word1", "word2", "word3"], ["word7", "word7", "word100"], ["word5"], WORDS[:50]]


def test_doesnt_match_is_gensims(vectors, oracle):
    expected = [oracle.doesnt_match(group) for group in GROUPS]
    assert [vectors.doesnt_match(group) for group in GROUPS] == expected
    assert vectors.doesnt_match_batch(GROUPS) == expected
    assert vectors.doesnt_match_batch([]) == []


def test_n_similarity_is_gensims(vectors, oracle):
    pairs = [(GROUPS[0], GROUPS[1]), (GROUPS[2], GROUPS[3]), (GROUPS[3], GROUPS[3])]
    expected = [oracle.n_similarity(*pair) for pair in pairs]
    np.testing.assert_allclose([vectors.n_similarity(*pair) for pair in pairs], expected, atol=1e-6)
    np.testing.assert_allclose(vectors.n_similarity_batch(pairs), expected, atol=1e-6)
    assert vectors.n_similarity_batch([]).shape == (0,)


def test_similarity_of_many_pairs(vectors, matrix):
    pairs = [("word1", "word2"), ("word3", matrix[9]), ("word4", "word4")]
    expected = [vectors.similarity(*pair) for pair in pairs]
    np.testing.assert_array_equal(vectors.similarity_batch(pairs), np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda table: table.most_similar_batch(["word1", []]), "query 1 has none"),
        (lambda table: table.most_similar_batch(["word1"], []), "1 positive and 0 negative"),
        (lambda table: table.doesnt_match([]), "needs a list of words"),
        (lambda table: table.doesnt_match("word1"), "needs a list of words; got 'word1'"),
        (lambda table: table.n_similarity(["word1"], []), "pair 0 has none"),
        (lambda table: table.similar_by_vector(np.full(16, np.inf)), "NaN or infinity"),
        (lambda table: table.neighbors(np.full((1, 16), np.nan)), "NaN or infinity"),
        (lambda table: table.doesnt_match(["word1", "wird"]), "'wird' is not among"),
    ],
)
def test_batches_that_cannot_be_right(vectors, use, message):
    with pytest.raises(UsageError, match=message):
        use(vectors)


def test_subset_keeps_the_order_asked_for(vectors, matrix):
    part = vectors.subset(["word5", "word2"])
    assert part.words == ("word5", "word2")
    np.testing.assert_array_equal(part.matrix, matrix[[5, 2]])
    assert part.counts.tolist() == [5, 2]
    assert part.provenance == vectors.provenance
    with pytest.raises(UsageError, match="twice"):
        vectors.subset(["word5", "word5"])


def test_save_and_load(vectors, tmp_path):
    vectors.save(tmp_path / "table")
    again = WordVectors.load(tmp_path / "table")
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_find_duplicate():
    assert find_duplicate(["a", "b"]) is None
    assert find_duplicate(["a", "b", "c", "b", "a"]) == (1, 3)


def test_the_names_of_gensim():
    table = WordVectors(["a", "b"], np.array([[3, 4], [0, 2]], dtype=np.float32))
    assert table.vectors is table.matrix
    assert (table.vector_size, table.index_to_key, dict(table.key_to_index)) == (2, ["a", "b"], {"a": 0, "b": 1})
    assert table.get_vector("a").tolist() == [3, 4]
    assert table.get_vector("a", norm=True).tolist() == pytest.approx([0.6, 0.8])
    assert table.distance("a", "b") == pytest.approx(0.2)


def test_what_is_no_array_or_no_word_is_refused():
    with pytest.raises(UsageError, match=r"The matrix is a list, expected an array"):
        WordVectors(["a"], [[1.0]])
    with pytest.raises(UsageError, match=r"looked up by word or list of words; got 0"):
        WordVectors(["a"], np.ones((1, 1), dtype=np.float32))[0]
