from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from wordstill.errors import DataError
from wordstill.evaluation.data.analogy_sets import read_relations
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.analogy import RelationTask


def write(folder, name, prototypes, ratings, answers, part="test"):
    target = folder / part
    target.mkdir(exist_ok=True)
    pairs = "\n".join(prototypes)
    (target / f"Phase1Questions-{name}.txt").write_text(
        f"Question {name}\n\nConsider the following word pairs:\n\n{pairs}\n\nWhat relation is it?\n\nx\n"
    )
    rated = "".join(f' {score} "{pair}"\n' for pair, score in ratings.items())
    (target / f"GoldRatings-{name}.txt").write_text(f"#\n# Score\n{rated}")
    lines = "".join("\t".join(f'"{field}"' for field in answer) + "\n" for answer in answers)
    (target / f"Phase2Answers-{name}.txt").write_text("# pair1\n" + lines)


@pytest.fixture
def folder(tmp_path):
    ratings = {"a:b": 50.0, "c:d": 10.0, "e:f": -30.0, "g:h": 20.0, "i:j": -30.0}
    answers = [("a:b", "c:d", "e:f", "g:h", "e:f", "a:b", "r"), ("a:b", "c:d", "e:f", "g:h", "", "a:b", "r")]
    write(tmp_path, "1a", ["k:l", "m:n"], ratings, answers)
    write(tmp_path, "2b", ["a:b"], {"c:d": 1.0, "k:l": 2.0, "m:n": 3.0}, [])
    return tmp_path


def load(folder):
    return RelationTask(LoadedDataset("toy", read_relations(folder), "test", "0" * 64))


@pytest.mark.parametrize("measure", ["cosine", "plain-cosine", "dot"])
def test_against_scipy(folder, random_vectors, measure):
    vectors = random_vectors("abcdefghijklmn")
    score = load(folder).run(vectors, Protocol("p", relation=measure))
    expected = []
    for relation in read_relations(folder).relations:
        table = {word: vectors[word].astype(float) for word in vectors.words}
        if measure == "cosine":
            table = {word: row / np.linalg.norm(row) for word, row in table.items()}
        typical = np.mean([table[b] - table[a] for a, b in relation.prototypes], axis=0)
        fits = [(table[b] - table[a]) @ typical for a, b in relation.pairs]
        if measure != "dot":
            fits = [fit / np.linalg.norm(table[b] - table[a]) for fit, (a, b) in zip(fits, relation.pairs)]
        expected.append(spearmanr(fits, relation.gold).statistic)
    assert score.value == pytest.approx(100 * np.mean(expected), abs=1e-6)
    assert (score.coverage, score.n) == ((8, 8), 2)


def test_choices(folder, random_vectors):
    vectors = random_vectors("abcdefghijklmn")
    choices = next(part for part in load(folder).run(vectors).parts if part.name == "choices")
    assert choices.metric == "accuracy" and choices.n == 1
    assert choices.value in (0, 50, 100)
    assert len(read_relations(folder).relations[0].choices) == 1


def test_absent_words(folder, random_vectors):
    lacking = random_vectors("abcdefghkl")
    skip, zero, mean = (load(folder).run(lacking, Protocol("p", oov=oov)) for oov in ("skip", "zero", "mean"))
    assert skip.coverage == zero.coverage == mean.coverage == (6, 8)
    # The second relation has too few pairs left.
    assert (skip.n, zero.n, mean.n) == (1, 2, 2)
    nothing = load(folder).run(random_vectors("xyz"))
    assert nothing.value is None and nothing.problem == "none of the 8 pairs is covered"


def test_a_relation_without_typical_pairs_is_left_out(folder, random_vectors):
    score = load(folder).run(random_vectors("abcdefghij"))
    assert score.n == 0 and "0 of the 2 relations have" in score.problem


def test_one_relation_is_no_mean_over_relations(folder, random_vectors):
    score = load(folder).run(random_vectors("abcdefghkl"))
    assert (score.value, score.n) == (None, 1)
    assert score.problem.startswith("1 of the 2 relations have 3 covered pairs")


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("GoldRatings-1a.txt", "50 a:b\n", r"GoldRatings-1a\.txt:1: expected a number and a pair"),
        ("GoldRatings-1a.txt", 'nan "a:b"\n', "expected a number"),
        ("GoldRatings-1a.txt", '5 "ab"\n', "expected a pair"),
        ("Phase1Questions-1a.txt", "Question\n", "no pairs between"),
        ("Phase2Answers-1a.txt", '"a:b"\n', "expected seven fields"),
    ],
)
def test_bad_files(folder, file, content, says):
    (folder / "test" / file).write_text(content)
    with pytest.raises(DataError, match=says):
        read_relations(folder)


def test_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match="holds no file"):
        read_relations(tmp_path)
