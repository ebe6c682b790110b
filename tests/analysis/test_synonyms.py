"""Synonyms: candidates by plain loops, reasons, the reviewer's file, and rules as Lucene's parser reads them."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill import WordVectors
from wordstill.analysis.synonym_rules import escape, rules, write_rules
from wordstill.analysis.synonyms import (
    LEAST_PAIRS,
    NEAR,
    Pair,
    Synonyms,
    find_synonyms,
    learn_opposites,
    read_review,
    write_review,
)
from wordstill.errors import DataError, UsageError
from wordstill.postprocess.retrofit import Lexicon


def lexicon(*pairs):
    return Lexicon.from_links([(one, other, 1.0) for one, other in pairs])


@pytest.fixture
def table():
    """Three groups of words that are near each other."""
    centers = np.repeat(np.eye(3), 4, axis=0)
    matrix = (centers + 0.25 * np.random.default_rng(0).standard_normal((12, 3))).astype(np.float32)
    names = ["big", "large", "huge", "small", "car", "auto", "truck", "Car", "c++", "10", "kafka", "rabbitmq"]
    return WordVectors(names, matrix)


def ends(found):
    return {(pair.word, pair.other) for pair in found}


@pytest.mark.parametrize(("threshold", "neighbors"), [(0.6, 10), (0.9, 10), (0.5, 2), (0.5, 1)])
def test_candidates_are_mutual_neighbors(table, threshold, neighbors):
    words = [word for word in table if word != "10"]

    def near(word):
        others = sorted((other for other in words if other != word), key=lambda other: -table.similarity(word, other))
        return others[:neighbors]

    expected = {
        tuple(sorted((one, other)))
        for one, other in combinations(words, 2)
        if table.similarity(one, other) >= threshold and one in near(other) and other in near(one)
    }
    found = find_synonyms(table, threshold=threshold, neighbors=neighbors)
    assert ends(found.pairs) == expected
    assert found.skipped == 1
    assert [pair.cosine for pair in found.pairs] == sorted((pair.cosine for pair in found.pairs), reverse=True)


def test_every_pair_has_its_reason(table):
    found = find_synonyms(
        table,
        threshold=0.3,
        lexicon=lexicon(("big", "large"), ("small", "tiny"), ("huge", "vast"), ("car", "auto")),
        relatives=lexicon(("truck", "vehicle")),
        antonyms=lexicon(("big", "small")),
        reviewed={("c++", "kafka"): False},
    )
    reasons = {(pair.word, pair.other): (pair.kept, pair.reason) for pair in found.pairs}
    assert reasons["big", "large"] == (True, "lexicon")
    assert reasons["big", "small"] == (False, "antonyms")
    assert reasons["big", "huge"] == (False, "relatives")
    assert reasons["auto", "truck"] == (False, "relatives")
    assert reasons["Car", "car"] == (False, "same stem")
    assert reasons["kafka", "rabbitmq"] == (True, "vectors")
    assert reasons["c++", "kafka"] == (False, "review")
    assert found.opposites is None
    judged = [pair for pair in found.pairs if not {"Car", "c++", "kafka", "rabbitmq"} & {pair.word, pair.other}]
    assert found.agreement == pytest.approx(sum(pair.reason == "lexicon" for pair in judged) / len(judged))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("start", "starts", True),
        ("new_york", "New York", True),
        ("dimension", "dimensionless", True),
        ("le", "les", False),
        ("called", "named", False),
        ("deny", "denying", True),
        ("cat", "cattle", False),
    ],
)
def test_forms_of_a_word_are_left_to_the_engines_stemmer(one, other, same):
    table = WordVectors([one, other], np.ones((2, 2), dtype=np.float32))
    (pair,) = find_synonyms(table).pairs
    assert (pair.kept, pair.reason) == ((False, "same stem") if same else (True, "vectors"))


def planted_opposites(seed=0, count=400, dim=12):
    """Rows 2i and 2i + 1 differ along the first axis (opposites) or along any other (synonyms)."""
    random = np.random.default_rng(seed)
    middle = random.standard_normal((2 * count, dim))
    middle[:, 0] *= 0.1
    step = 0.3 * random.standard_normal((2 * count, dim))
    step[:, 0] = 0
    step[:count] *= 0.5
    step[:count, 0] = 0.8
    matrix = np.stack([middle + step, middle - step], axis=1).reshape(4 * count, dim)
    unit = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    pairs = np.arange(4 * count).reshape(-1, 2)
    return unit, pairs[:count], pairs[count:]


def test_a_planted_direction_of_opposites_is_found_on_new_words():
    unit, opposites, synonyms = planted_opposites()
    learned = learn_opposites(unit, opposites[:300], synonyms[:300])
    assert learned.caught > 0.9
    assert learned.lost == pytest.approx(0.1, abs=0.02)
    new = [(learned.scores(unit, pairs[300:]) > learned.bound).mean() for pairs in (opposites, synonyms)]
    assert new[0] > 0.9 and new[1] < 0.2


def test_the_directions_solve_the_generalized_problem():
    from scipy.linalg import eigh

    unit, opposites, synonyms = planted_opposites(1)
    learned = learn_opposites(unit, opposites, synonyms)

    def scatter(pairs):
        pairs = pairs[(unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1) >= NEAR]
        steps = (unit[pairs[:, 0]] - unit[pairs[:, 1]]).astype(np.float64)
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        return steps.T @ steps / len(steps)

    apart, together = scatter(opposites), scatter(synonyms)
    together += np.trace(together) / len(together) * np.eye(len(together))
    _, vectors = eigh(apart, together)
    kept = vectors[:, -learned.directions.shape[1] :]
    np.testing.assert_allclose(learned.directions @ learned.directions.T, kept @ kept.T, atol=1e-10)


def test_too_few_pairs_teach_nothing():
    unit, opposites, synonyms = planted_opposites()
    assert learn_opposites(unit, opposites[: LEAST_PAIRS - 1], synonyms) is None
    far = np.stack([opposites[:, 0], np.roll(opposites[:, 1], 1)], axis=1)
    assert learn_opposites(unit, far, synonyms) is None


def test_opposites_are_dropped_by_their_direction():
    unit, opposites, synonyms = planted_opposites()
    words = [f"{number}w" for number in range(len(unit))]

    def links(pairs):
        return lexicon(*((words[one], words[other]) for one, other in pairs.tolist()))

    known = {"lexicon": links(synonyms[:300]), "antonyms": links(opposites[:300])}
    found = find_synonyms(WordVectors(words, unit), threshold=0.2, neighbors=3, **known)
    new = {tuple(sorted((words[one], words[other]))) for one, other in opposites[300:].tolist()}
    dropped = [pair for pair in found.pairs if (pair.word, pair.other) in new]
    assert len(dropped) > 10
    assert np.mean([pair.reason == "opposite direction" and not pair.kept for pair in dropped]) > 0.8
    for pair in found.pairs:
        if pair.reason == "lexicon":
            assert pair.kept


def test_wrong_settings(table):
    with pytest.raises(UsageError, match="threshold must be above 0 and at most 1"):
        find_synonyms(table, threshold=1.5)


def test_a_review_is_read_back(tmp_path, table):
    found = find_synonyms(table, threshold=0.3)
    write_review(tmp_path / "review.tsv", found)
    decisions = read_review(tmp_path / "review.tsv")
    assert decisions == {(pair.word, pair.other): pair.kept for pair in found.pairs}
    changed = {ends: not kept for ends, kept in decisions.items()}
    again = find_synonyms(table, threshold=0.3, reviewed=changed)
    assert {(pair.word, pair.other): pair.kept for pair in again.pairs} == changed
    assert {pair.reason for pair in again.pairs} == {"review"}


@pytest.mark.parametrize("line", ["z\ta\tb", "y\ta", "y\t\tb", "a, b"])
def test_bad_reviews_are_named(tmp_path, line):
    (tmp_path / "review.tsv").write_text(f"# head\ny\ta\tb\n{line}\n")
    with pytest.raises(DataError, match=r"review\.tsv:3: expected y or n"):
        read_review(tmp_path / "review.tsv")


def split(text, separator):
    """As Lucene's SolrSynonymParser splits a line: a backslash protects the next character, and stays."""
    parts, part, place = [], "", 0
    while place < len(text):
        if text.startswith(separator, place):
            if part:
                parts.append(part)
            part, place = "", place + len(separator)
            continue
        if text[place] == "\\" and place + 1 < len(text):
            part, place = part + text[place : place + 2], place + 2
        else:
            part, place = part + text[place], place + 1
    return [*parts, part] if part else parts


def parse(text):
    """The pairs that a file of comma lists makes, by the parser's rules."""
    found = set()
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        assert len(split(line, "=>")) == 1
        words = []
        for part in split(line, ","):
            word, place = "", 0
            while place < len(part):
                place += part[place] == "\\" and place + 1 < len(part)
                word, place = word + part[place], place + 1
            words.append(word.strip())
        found |= {tuple(sorted(pair)) for pair in combinations(words, 2)}
    return found


def make_pairs(links):
    return [Pair(*sorted(ends), 1 - number / 1000, True, "vectors") for number, ends in enumerate(links)]


WORDS = st.text(st.sampled_from("ab,=>#\\ -'é"), min_size=1, max_size=6).filter(
    lambda word: word.strip() and " ".join(word.split()) == word
)


@given(st.lists(WORDS, min_size=2, max_size=7, unique=True), st.data())
def test_rules_are_the_pairs_and_no_others_whatever_the_words(tmp_path_factory, words, data):
    every = list(combinations(words, 2))
    links = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    path = tmp_path_factory.mktemp("rules") / "synonyms.txt"
    write_rules(path, rules(make_pairs(links)), "some\ntitle")
    assert parse(path.read_text()) == {tuple(sorted(pair)) for pair in links}


def test_cliques_are_one_line():
    made = rules(make_pairs([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]))
    assert [set(rule.words) for rule in made] == [{"a", "b", "c"}, {"c", "d"}]
    assert made[0].cosine == pytest.approx(0.998)


def test_escapes():
    words = ["a,b", "a=>b", "#a", "a\\b", "a#b", "a=b"]
    assert [escape(word) for word in words] == ["a\\,b", "a\\=>b", "\\#a", "a\\\\b", "a#b", "a=b"]


def test_a_synonym_set_for_elasticsearch(tmp_path):
    write_rules(tmp_path / "set.json", rules(make_pairs([("new_york", "nyc"), ("a,b", "c")])), "title")
    content = json.loads((tmp_path / "set.json").read_text())
    assert content == {
        "synonyms_set": [{"id": "rule-1", "synonyms": "new york, nyc"}, {"id": "rule-2", "synonyms": "a\\,b, c"}]
    }


def test_lines_have_scores_in_comments(tmp_path):
    write_rules(tmp_path / "rules.txt", rules(make_pairs([("a", "b")])), "Synonyms of x")
    assert (tmp_path / "rules.txt").read_text() == "# Synonyms of x\n# cosine 1.0000\na, b\n"


def test_nothing_found_is_an_empty_file(tmp_path):
    assert Synonyms((), 0).kept() == []
    write_rules(tmp_path / "rules.txt", [], "none")
    assert (tmp_path / "rules.txt").read_text() == "# none\n"
