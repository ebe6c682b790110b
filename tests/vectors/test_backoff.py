from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.oov import BACKOFFS, Backoff, SubwordVectors, UnknownWord

WORDS = ["queen", "river", "rivers", "Paris", "polish", "Polish", "straße", "iPhone", "swimming", "swimmer"]


class Parts:
    """Stands for the parts of words that a fastText file has."""

    def vector(self, word: str) -> np.ndarray:
        return np.full(4, len(word) if word.startswith("x") else 0, dtype=np.float32)


class Always:
    """A policy of a user's own; remembers what it was asked."""

    name = "always"

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def find(self, words):
        self.asked += words
        return [self.answer for _ in words]


@pytest.fixture
def table():
    matrix = np.random.default_rng(5).standard_normal((len(WORDS), 4)).astype(np.float32)
    return WordVectors(WORDS, matrix, subwords=Parts())


def test_the_policies_are_what_the_protocols_say(table):
    assert isinstance(Parts(), SubwordVectors)
    for name, policy in BACKOFFS.items():
        assert isinstance(policy(table), Backoff)
        assert policy(table).name == name
        assert policy(table).find([]) == []


@pytest.mark.parametrize(
    ("policy", "word", "stand_in"),
    [
        ("case", "QUEEN", "queen"),
        ("case", "POLISH", "polish"),
        ("case", "paris", "Paris"),
        ("case", "STRASSE", "straße"),
        ("case", "IPHONE", "iPhone"),
        ("case", "quenn", None),
        ("spelling", "quenn", "queen"),
        ("spelling", "qeuen", "queen"),
        ("spelling", "Swiming", "swimming"),
        ("spelling", "xyzzy", None),
        ("spelling", "", None),
        ("ngrams", "xyzzy", None),
        ("subwords", "yes", None),
    ],
)
def test_a_word_that_stands_in(table, policy, word, stand_in):
    (found,) = table.with_backoff(policy).find([word])
    assert found == (None if stand_in is None else WORDS.index(stand_in))


def test_the_parts_of_a_table(table):
    assert table.with_backoff("subwords")["xyz"].tolist() == [3, 3, 3, 3]
    with pytest.raises(UsageError, match=r"such as a fastText \.bin file\. Add them with .* or use 'ngrams'"):
        WordVectors(WORDS, table.matrix).with_backoff("subwords")


def test_an_estimate_points_where_the_words_that_share_letters_do(table):
    estimate = table.with_backoff("ngrams")["swims"]
    kin = table.unit[[8, 9]].sum(axis=0)
    assert table.similarity(estimate, kin) > 0.9
    lengths = np.linalg.norm(table.matrix[[8, 9]], axis=1)
    assert np.linalg.norm(estimate) <= lengths.max()


def test_an_estimate_from_rows_of_zeros_is_zeros():
    table = WordVectors(["swimming", "swimmer"], np.zeros((2, 3), np.float32)).with_backoff("ngrams")
    assert table["swims"].tolist() == [0, 0, 0]


def test_policies_are_asked_in_order_and_only_for_what_is_left(table):
    last = Always(np.ones(4, np.float32))
    found = table.with_backoff("case", "spelling", last).find(["river", "RIVER", "quenn", "xyzzy"])
    assert found[:3] == [1, 1, 0]
    assert found[3].tolist() == [1, 1, 1, 1]
    assert last.asked == ["xyzzy"]


def test_a_stand_in_is_not_its_own_neighbour(table):
    backed = table.with_backoff("case")
    assert backed.most_similar("QUEEN") == table.most_similar("queen")
    assert backed.neighbors(["QUEEN"]) == table.neighbors(["queen"])
    assert backed.similarity("QUEEN", "RIVER") == table.similarity("queen", "river")
    assert backed.analogy("QUEEN", "RIVER", "paris") == table.analogy("queen", "river", "Paris")
    assert (
        backed.doesnt_match(["QUEEN", "RIVER", "PARIS"]).lower()
        == table.doesnt_match(["queen", "river", "Paris"]).lower()
    )


def test_an_estimated_word_counts_as_a_word(table):
    backed = table.with_backoff(Always(table["queen"] * 7))
    both = backed.most_similar(["xyzzy", "river"])
    assert "queen" in dict(both)
    plain = table.most_similar(["queen", "river"])
    assert {word: score for word, score in both if word != "queen"} == pytest.approx(dict(plain), abs=1e-6)


def test_the_table_itself_stays_strict(table):
    backed = table.with_backoff("case")
    assert backed["QUEEN"].tolist() == table["queen"].tolist()
    assert "QUEEN" not in backed
    for strict in (lambda: table["QUEEN"], lambda: backed.index("QUEEN"), lambda: backed.subset(["QUEEN"])):
        with pytest.raises(UnknownWord):
            strict()
    with pytest.raises(UnknownWord, match=r"'quenn' is not among the 10 words\. Near it in spelling: 'queen'"):
        backed["quenn"]
    with pytest.raises(UnknownWord):
        backed.with_backoff()["QUEEN"]


def test_policies_that_cannot_be_used(table):
    with pytest.raises(UsageError, match=r"Unknown back-off 'cases'\. Did you mean 'case'"):
        table.with_backoff("cases")
    message = r"'always' returned for 'xyzzy' a vector of shape \(3,\), expected \(4,\)"
    with pytest.raises(UsageError, match=message):
        table.with_backoff(Always(np.ones(3, np.float32)))["xyzzy"]


def test_parts_of_words_are_gensims(tmp_path):
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    text = [["river", "runs", "through", "town"], ["queen", "swims", "river"], ["town", "queen", "boat"]] * 5
    model = FastText(text, vector_size=8, min_count=1, bucket=50, seed=1, workers=1, epochs=2)
    save_facebook_model(model, str(tmp_path / "model.bin"))
    backed = WordVectors.load(tmp_path / "model.bin").with_backoff("subwords")
    for word in ("rivers", "Queens", "swimming", "é"):
        np.testing.assert_allclose(backed[word], model.wv[word], atol=1e-6)
        got, expected = backed.most_similar(word, topn=4), model.wv.most_similar(word, topn=4)
        assert [near for near, _ in got] == [near for near, _ in expected]
