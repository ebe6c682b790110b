"""Word lists that grow: rankings against plain loops, and decisions as a file."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.expansion import AWAY, Decision, Expansion, read_decisions, write_decisions
from wordstill.errors import DataError, UsageError
from wordstill.vectors.oov import UnknownWord


@pytest.fixture
def table():
    matrix = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    return WordVectors([f"w{number}" for number in range(40)], matrix)


def plain_ranking(table, accepted, refused, ranking):
    vectors = {word: table[word].astype(np.float64) / np.linalg.norm(table[word]) for word in table}
    scores = {}
    for word in table:
        if word in (*accepted, *refused):
            continue
        if ranking == "centroid":
            center = np.mean([vectors[one] for one in accepted], axis=0)
            if refused:
                center = center - AWAY * np.mean([vectors[one] for one in refused], axis=0)
            scores[word] = vectors[word] @ center / np.linalg.norm(center)
        else:
            scores[word] = max(vectors[word] @ vectors[one] for one in accepted) - AWAY * max(
                [0.0, *(vectors[word] @ vectors[one] for one in refused)]
            )
    return sorted(scores.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("ranking", ["centroid", "maximum"])
def test_rankings_are_their_formulas_after_every_answer(table, ranking):
    state = Expansion(table, ["w0", "w1"], ranking)
    accepted, refused = ["w0", "w1"], []
    for number, answer in enumerate([True, False, False, True, True, False]):
        found, expected = state.candidates(10), plain_ranking(table, accepted, refused, ranking)
        assert [one.word for one in found] == [word for word, _ in expected[:10]]
        assert [one.score for one in found] == pytest.approx([score for _, score in expected[:10]], abs=1e-6)
        word = found[number % 3].word
        state.decide(word, answer)
        (accepted if answer else refused).append(word)
    near = state.candidates(1)[0]
    assert near.near == max(accepted, key=lambda one: table.similarity(one, near.word))
    assert state.words == tuple(accepted)


@pytest.mark.parametrize("ranking", ["centroid", "maximum"])
def test_undo_and_resume_give_the_same_ranking(table, ranking):
    state = Expansion(table, ["w0", "w1"], ranking)
    for answer in (True, False, True):
        state.decide(state.candidates(1)[0].word, answer)
    before = state.candidates(5)
    state.decide(before[0].word, False)
    assert state.undo() == before[0].word
    assert state.candidates(5) == before
    again = Expansion(table, ["w0", "w1"], ranking, state.decisions)
    assert again.candidates(5) == before


def test_a_changed_mind_counts(table):
    state = Expansion(table, ["w0"], "maximum")
    state.decide("w5", True)
    state.candidates(3)
    state.decide("w5", False)
    assert state.candidates(5) == Expansion(table, ["w0"], "maximum", {"w5": Decision(False)}).candidates(5)


def test_open_decisions_are_candidates_and_undo_has_an_end(table):
    state = Expansion(table, ["w0"], decisions={"w1": Decision(None, 0.5)})
    assert "w1" in [one.word for one in state.candidates(40)]
    assert state.undo() is None
    assert len(state.candidates(100)) == 39


def test_decisions_survive_a_file(tmp_path):
    made = {"new york": Decision(True, 0.5), "naïve": Decision(False), "open": Decision(None, -0.25)}
    write_decisions(tmp_path / "d.tsv", made)
    assert read_decisions(tmp_path / "d.tsv") == made
    assert list(read_decisions(tmp_path / "d.tsv")) == list(made)


def test_the_last_decision_about_a_word_counts(tmp_path):
    (tmp_path / "d.tsv").write_text("y\ta\nn\tb\t0.5\n\nn\ta\n")
    assert list(read_decisions(tmp_path / "d.tsv").items()) == [("b", Decision(False, 0.5)), ("a", Decision(False))]


@pytest.mark.parametrize("line", ["a word", "x\tword", "y", "y\t ", "y\tword\tmuch"])
def test_bad_decisions_are_named(tmp_path, line):
    (tmp_path / "d.tsv").write_text(f"y\tfine\n{line}\n")
    with pytest.raises(DataError, match=r"d\.tsv:2: expected"):
        read_decisions(tmp_path / "d.tsv")


def test_seeds_that_are_not_there(table):
    state = Expansion(table, ["w0", "nowhere"])
    assert (state.unknown, state.words) == (("nowhere",), ("w0", "nowhere"))
    assert Expansion(table, ["W0"]).candidates(3) == Expansion(table, ["w0"]).candidates(3)
    with pytest.raises(UnknownWord):
        Expansion(table, ["nowhere"])
    with pytest.raises(UsageError, match="There are no seed words"):
        Expansion(table, [])
    with pytest.raises(UsageError, match="Unknown ranking 'mean'"):
        Expansion(table, ["w0"], "mean")


def test_words_that_would_break_the_file_are_no_candidates():
    table = WordVectors(["a", "b\tc", "d\r", "e"], np.eye(4, dtype=np.float32))
    assert [one.word for one in Expansion(table, ["a"]).candidates(10)] == ["e"]
