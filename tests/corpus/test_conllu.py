"""CoNLL-U: trees, collapsed prepositions, and the text."""

from __future__ import annotations

import gzip

import pytest

from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.conllu import Tree, collapse, conllu_texts, read_trees, tree_files
from wordstill.errors import DataError, UsageError

UD = """\
# newdoc id = one
# newpar
# text = Scientists don't discover stars with telescopes.
1\tScientists\t_\t_\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\t_\t_\t_\t_\t4\taux\t_\t_
3\tn't\t_\t_\t_\t_\t4\tadvmod\t_\t_
4\tdiscover\t_\t_\t_\t_\t0\troot\t_\t_
4.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
5\tstars\t_\t_\t_\t_\t4\tobj\t_\t_
6\twith\t_\t_\t_\t_\t7\tcase\t_\t_
7\ttelescopes\t_\t_\t_\t_\t4\tobl\t_\tSpaceAfter=No
8\t.\t_\t_\t_\t_\t4\tpunct\t_\t_

# text = He left.
1\tHe\t_\t_\t_\t_\t2\tnsubj\t_\t_
2\tleft\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t_\t_\t_\t_\t2\tpunct\t_\t_

# newpar
1\tIn\t_\t_\t_\t_\t2\tcase\t_\t_
2\thouses\t_\t_\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture
def parsed(tmp_path):
    path = tmp_path / "parsed.conllu.gz"
    path.write_bytes(gzip.compress(UD.replace("\n", "\r\n").encode()))
    return path


def test_trees_have_the_words_that_the_arcs_join(parsed):
    first, second, third = read_trees(parsed)
    assert first.words == ["Scientists", "do", "n't", "discover", "stars", "with", "telescopes", "."]
    assert first.heads == [3, 3, 3, -1, 3, 6, 3, 3]
    assert first.relations[:3] == ["nsubj", "aux", "advmod"]
    assert second.heads == [1, -1, 1] and third.heads == [1, -1]


def arcs(tree: Tree) -> set[tuple[str, str, str]]:
    return {
        (tree.words[head], relation, word)
        for word, head, relation in zip(tree.words, tree.heads, tree.relations)
        if head >= 0
    }


def test_prepositions_are_collapsed_in_both_schemes():
    """The example of Levy and Goldberg, Figure 1."""
    words = ["Australian", "scientist", "discovers", "star", "with", "telescope"]
    expected = {
        ("scientist", "amod", "Australian"), ("discovers", "nsubj", "scientist"), ("discovers", "dobj", "star"),
        ("discovers", "prep_with", "telescope"),
    }  # fmt: skip
    universal = Tree(words, [1, 2, -1, 2, 5, 2], ["amod", "nsubj", "root", "dobj", "case", "obl"])
    stanford = Tree(words, [1, 2, -1, 2, 2, 4], ["amod", "nsubj", "root", "dobj", "prep", "pobj"])
    assert arcs(collapse(universal)) == arcs(collapse(stanford)) == expected


def test_what_is_not_a_phrase_with_a_preposition_stays():
    words = ["He", "is", "in", "Anna", "'s", "house", "out", "of", "town"]
    heads = [5, 5, 5, 5, 3, -1, 8, 8, 5]
    relations = ["nsubj", "cop", "case", "nmod:poss", "case", "root", "case", "case", "nmod"]
    tree = Tree(words, heads, relations)
    changed = collapse(tree)
    assert arcs(tree) - arcs(changed) == {("town", "case", "out"), ("town", "case", "of"), ("house", "nmod", "town")}
    assert arcs(changed) - arcs(tree) == {("house", "prep_out_of", "town")}


def test_the_text_is_spelled_as_it_was_written(parsed, tmp_path):
    lines = UD.splitlines(keepends=True)
    assert list(conllu_texts(lines, "x", sentences_per_line=False)) == [
        "Scientists don't discover stars with telescopes. He left.", "In houses"
    ]  # fmt: skip
    corpus = prepare(parsed, tmp_path / "store", PrepareConfig(sentences_per_line=True), workers=1)
    assert [corpus.text(number) for number in range(len(corpus))] == [
        "Scientists don't discover stars with telescopes. He left.", "In houses"
    ]  # fmt: skip
    assert len(corpus.sentences) - 1 == 3


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("\t4\tnsubj", "\t_\t_", r"parsed\.conllu:4: the word 'Scientists' has no head \(column 7 is '_'\)"),
        ("\t4\tnsubj", "\t9\tnsubj", r":4: word 1 with head 9 does not fit a sentence of 8 words"),
        ("\t4\tnsubj", "\t1\tnsubj", r":4: word 1 with head 1 does not fit"),
        ("7\ttelescopes", "9\ttelescopes", r":12: word 9 with head 4 does not fit"),
        ("8\t.\t_\t", "8\t.\t", r":13: 9 columns separated by tabs, expected the 10 of CoNLL-U"),
    ],
)
def test_what_is_not_a_tree_is_one_line(tmp_path, before, after, message):
    path = tmp_path / "parsed.conllu"
    path.write_text(UD.replace(before, after, 1))
    with pytest.raises(DataError, match=message) as caught:
        list(read_trees(path))
    assert "\n" not in str(caught.value)


def test_files_with_trees(parsed, tmp_path):
    (tmp_path / "other.txt").write_text("text")
    assert tree_files([tmp_path]) == [parsed]
    with pytest.raises(UsageError, match=r"No file named \*\.conllu in .*other\.txt\. Parse the text first"):
        tree_files([tmp_path / "other.txt"])
