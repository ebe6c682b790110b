"""Own files in the layouts that people have: columns by choice, by title, or by what stands there."""

from __future__ import annotations

import pytest

from wordstill.errors import DataError
from wordstill.evaluation.data.analogy_sets import read_own_questions
from wordstill.evaluation.data.category_sets import read_own_categories
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.data.sentence_sets import read_own_sentences
from wordstill.evaluation.data.similarity_sets import read_own_pairs

PAIRS = [("film", "movie", 9.0), ("sun", "moon", 4.5)]
LAYOUTS = {
    "plain": ("film movie 9\nsun moon 4.5\n", ""),
    "semicolons": ("film;movie;9\nsun;moon;4.5\n", ""),
    "quoted": ('film,"movie",9\nsun,moon,4.5\n', ""),
    "score first": ("9\tfilm\tmovie\n4.5\tsun\tmoon\n", ""),
    "header": ("Word 1,Word 2,Human (mean)\nfilm,movie,9\nsun,moon,4.5\n", ""),
    "header of other columns": ("word1\tword2\tPOS\tSimLex999\tconc\nfilm\tmovie\tN\t9\t1\nsun\tmoon\tN\t4.5\t2\n", ""),
    "unknown titles": ("erstes zweites urteil\nfilm movie 9\nsun moon 4.5\n", ""),
    "one number among texts": ("film movie N 9 SYNONYMS\nsun moon N 4.5 NONE\n", ""),
    "chosen by number": ("1 film movie 9 3\n2 sun moon 4.5 7\n", "#2,3,4"),
    "chosen by number below titles": ("id,a,b,c\n1,film,movie,9\n2,sun,moon,4.5\n", "#2,3,4"),
    "chosen by title": ("Judged,B,A,id\n9,movie,film,1\n4.5,moon,sun,2\n", "#a,b,judged"),
}


@pytest.mark.parametrize(("text", "columns"), LAYOUTS.values(), ids=LAYOUTS)
def test_pairs(tmp_path, text, columns):
    path = tmp_path / f"pairs.txt{columns}"
    (tmp_path / "pairs.txt").write_text(text)
    pairs = read_own_pairs(path)
    assert list(zip(pairs.first, pairs.second, pairs.gold.tolist())) == PAIRS
    assert locate(str(path)).path == path


WRONG = {
    "not clear": ("1 film movie 9\n", "", r"not clear which of the 4 field.*word1, word2, score.*#1,2,3"),
    "no score on the first line": ("film movie N/A\nsun moon 4.5\n", "", "txt:1: expected a finite number"),
    "no such title": ("a,b,c\nx,y,1\n", "#a,b,d", r"no column 'd'. The first line has: 'a', 'b', 'c'"),
    "no such number": ("x y 1\n", "#1,2,4", "no column '4'"),
    "too few columns": ("x y 1\n", "#1,2", "2 columns were chosen, expected 3"),
    "another number of fields": ("x y 1\nx y 1 z\n", "", "as in the file's first line, but got 4"),
}


@pytest.mark.parametrize(("text", "columns", "message"), WRONG.values(), ids=WRONG)
def test_wrong_pairs(tmp_path, text, columns, message):
    (tmp_path / "pairs.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_own_pairs(tmp_path / f"pairs.txt{columns}")


SENTENCES = {
    "plain": "A man, who sings.\tA man sings.\t4\n",
    "titles": "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tx\n1\tA man, who sings.\tA man sings.\t4\tX\n",
    "STS benchmark": "main-captions\tMSRvid\t2012test\t0001\t4\tA man, who sings.\tA man sings.\n",
    "csv": 'sentence1,sentence2,score\n"A man, who sings.",A man sings.,4\n',
}


@pytest.mark.parametrize("text", SENTENCES.values(), ids=SENTENCES)
def test_sentences(tmp_path, text):
    path = tmp_path / "sentences.tsv"
    path.write_text(text)
    pairs = read_own_sentences(path)
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (("A man, who sings.",), ("A man sings.",), [4.0])


def test_categories_of_chosen_columns(tmp_path):
    (tmp_path / "c.csv").write_text("class,x,word\nbird,1,owl\ntree,2,oak\n")
    found = read_own_categories(tmp_path / "c.csv#word,class")
    assert (found.words, found.labels) == (("owl", "oak"), ("bird", "tree"))


def test_pairs_of_a_relation_are_questions(tmp_path):
    path = tmp_path / "capitals.txt"
    path.write_text(": capitals\nfrance paris\nspain madrid\njapan tokyo/edo\n")
    questions = read_own_questions(path)
    assert len(questions) == 6
    assert ("france", "paris", "japan", "tokyo") in questions.words
    assert questions.sections == ("capitals",)


def test_a_file_may_really_have_a_mark_in_its_name(tmp_path):
    (tmp_path / "a#1,2,3").write_text("film movie 9\nsun moon 4.5\n")
    assert len(read_own_pairs(tmp_path / "a#1,2,3")) == 2
