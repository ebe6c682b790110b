from __future__ import annotations

import pytest

from wordstill.errors import DataError
from wordstill.postprocess.retrofit.graph import Graph
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.vectors import WordVectors

LINKS = [("b", "a", 1.0), ("a", "b", 3.0), ("a", "a", 9.0), ("c", "b", 0.5), ("a", "b", 2.0)]


def test_each_link_once_with_its_largest_weight_and_none_of_a_word_with_itself():
    lexicon = Lexicon.from_links(LINKS)
    assert {frozenset(link[:2]): link[2] for link in lexicon.links()} == {frozenset("ab"): 3.0, frozenset("cb"): 0.5}
    assert len(lexicon) == 2


def test_no_links():
    assert len(Lexicon.from_links([])) == 0
    assert len(Lexicon.from_links([("a", "a", 1.0)])) == 0


def test_union():
    one = Lexicon.from_links([("a", "b", 1.0)], {"file": "one"})
    other = Lexicon.from_links([("b", "a", 2.0), ("b", "c", 1.0)], {"file": "other"})
    both = Lexicon.union([one, other])
    assert sorted([*sorted(link[:2]), link[2]] for link in both.links()) == [["a", "b", 2.0], ["b", "c", 1.0]]
    assert both.origin == {"union": [{"file": "one"}, {"file": "other"}]}
    assert Lexicon.union([one]) is one


def graph_of(links, words, case="fallback"):
    import numpy as np

    table = WordVectors(words, np.ones((len(words), 2), np.float32))
    graph = Graph.of(Lexicon.from_links(links), table, case)
    return [table.words[row] for row in graph.rows], graph.links.toarray().tolist()


def test_graph_is_symmetric_over_linked_words_in_the_order_of_the_table():
    words, links = graph_of(LINKS, ["x", "c", "b", "a"])
    assert words == ["c", "b", "a"]
    assert links == [[0, 0.5, 0], [0.5, 0, 3], [0, 3, 0]]


def test_a_word_is_looked_up_as_written_then_in_lower_case():
    links = [("Paris", "city", 1.0), ("paris", "town", 2.0), ("City", "town", 3.0)]
    words, matrix = graph_of(links, ["Paris", "city", "town"])
    assert words == ["Paris", "city", "town"]
    assert matrix == [[0, 1, 0], [1, 0, 3], [0, 3, 0]]
    words, matrix = graph_of(links, ["paris", "city", "town"])
    assert matrix == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    words, _ = graph_of(links, ["paris", "city", "town"], "exact")
    assert words == ["paris", "town"]


def test_words_that_share_a_row_are_not_linked_with_themselves():
    words, matrix = graph_of([("Paris", "paris", 1.0), ("PARIS", "town", 2.0)], ["paris", "town"])
    assert (words, matrix) == (["paris", "town"], [[0, 2], [2, 0]])


def test_a_lexicon_of_other_words_is_refused():
    with pytest.raises(DataError, match=r"None of the 2 links .*1 of its 3 words are in the table"):
        graph_of(LINKS, ["a", "x"])
