from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import DataError
from wordstill.evaluation.data.analogy_sets import read_own_questions, read_typed
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.analogy import AnalogyTask
from wordstill.vectors import WordVectors

WORDS = [f"word{number}" for number in range(40)]


def keyed(vectors: WordVectors):
    models = pytest.importorskip("gensim.models")
    made = models.KeyedVectors(vectors.dim, dtype=np.float32)
    made.add_vectors(list(vectors.words), np.asarray(vectors.matrix))
    return made


def related_vectors(words, seed=0) -> WordVectors:
    """Vectors in which many analogies hold: word 2n+1 is word 2n and one shared step."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(len(words), 16))
    matrix[1::2] = matrix[0 : len(words) - len(words) % 2 : 2] + 2 * random.normal(size=16)
    return WordVectors(list(words), (matrix + 1.1 * random.normal(size=matrix.shape)).astype(np.float32))


@pytest.fixture
def questions(tmp_path):
    """Three sections, one of them syntactic, with words that no table has."""
    random = np.random.default_rng(1)
    lines = []
    for section in ("capital", "family", "gram1-adverb"):
        lines.append(f": {section}")
        for _ in range(60):
            first, second = 2 * random.choice(20, size=2, replace=False)
            lines.append(f"Word{first} word{first + 1} word{second} Word{second + 1}")
        lines.append("word0 word1 word2 unknown")
    path = tmp_path / "questions.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        (Protocol("p", case="ignore"), {}),
        (Protocol("p", case="lower"), {}),
        (Protocol("p", case="ignore", analogy_vocab=30), {"restrict_vocab": 30}),
        (Protocol("p", case="ignore", max_vocab=25), {"restrict_vocab": 25}),
        (Protocol("p", case="ignore", oov="zero"), {"dummy4unknown": True}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value.case,
)
def test_agrees_with_gensim(questions, rules, options):
    vectors = related_vectors(WORDS)
    score = AnalogyTask(questions).run(vectors, rules)
    accuracy, sections = keyed(vectors).evaluate_word_analogies(str(questions), **options)
    assert 5 < score.value < 95
    assert score.value == pytest.approx(100 * accuracy, abs=1e-6)
    scores = {part.name: part.value for part in score.parts}
    for section in sections[:-1]:
        right, wrong = len(section["correct"]), len(section["incorrect"])
        assert scores[section["section"]] == pytest.approx(100 * right / (right + wrong), abs=1e-6)


def test_words_that_differ_in_case_only_count_as_one(questions):
    words = [word for word in WORDS for word in (word, word.upper())]
    vectors = related_vectors(words, seed=3)
    score = AnalogyTask(questions).run(vectors, Protocol("p", case="ignore"))
    accuracy, _ = keyed(vectors).evaluate_word_analogies(str(questions))
    assert score.value == pytest.approx(100 * accuracy, abs=1e-6)


def test_agrees_with_gensim_on_google(data_folder):
    task = AnalogyTask("google")
    words = list(dict.fromkeys(word.lower() for word in task.words()))[: 12 * 30]
    vectors = related_vectors(words)
    score = task.run(vectors, "official")
    accuracy, _ = keyed(vectors).evaluate_word_analogies(str(data_folder / "analogy/google/questions-words.txt"))
    assert 0 < score.coverage.used < score.coverage.total == 19544
    assert score.value == pytest.approx(100 * accuracy, abs=1e-6)


def test_3cosmul_agrees_with_gensim(questions):
    vectors = related_vectors(WORDS)
    model = keyed(vectors)
    asked = [line.lower().split() for line in questions.read_text().splitlines() if ":" not in line]
    asked = [line for line in asked if "unknown" not in line]
    right = [model.most_similar_cosmul(positive=[b, c], negative=[a], topn=1)[0][0] == d for a, b, c, d in asked]
    score = AnalogyTask(questions).run(vectors, Protocol("p", case="lower", analogy="3cosmul"))
    assert score.value == pytest.approx(100 * np.mean(right), abs=1e-6)
    assert score.value != AnalogyTask(questions).run(vectors, Protocol("p", case="lower")).value


def test_sections_and_halves(questions):
    score = AnalogyTask(questions).run(related_vectors(WORDS))
    assert [part.name for part in score.parts] == ["semantic", "syntactic", "capital", "family", "gram1-adverb"]
    parts = {part.name: part for part in score.parts}
    assert parts["semantic"].n == 120 and parts["syntactic"].n == 60
    assert parts["semantic"].value == pytest.approx((parts["capital"].value + parts["family"].value) / 2)
    assert score.coverage == (180, 183)
    assert score.interval.low <= score.value <= score.interval.high


def test_absent_words(questions):
    vectors = related_vectors(WORDS[:30])
    runs = {oov: AnalogyTask(questions).run(vectors, Protocol("p", oov=oov)) for oov in ("skip", "mean", "zero")}
    used, total = runs["skip"].coverage
    assert runs["skip"].n == used < total
    assert runs["mean"].n == runs["zero"].n == total
    assert runs["zero"].value == pytest.approx(runs["skip"].value * used / total)


def test_the_third_word_can_be_asked_for(questions, tmp_path):
    """The third from 1 - 2 + 4 is the fourth of the question 2 : 1 :: 4 : 3."""
    vectors = related_vectors(WORDS)
    turned = tmp_path / "turned.txt"
    lines = [line.split() for line in questions.read_text().splitlines()]
    turned.write_text("\n".join(" ".join(line if len(line) < 4 else [line[i] for i in (1, 0, 3, 2)]) for line in lines))
    third = AnalogyTask(questions).run(vectors, Protocol("p", analogy_asks="third"))
    assert third.value == AnalogyTask(turned).run(vectors, Protocol("p")).value
    assert third.value != AnalogyTask(questions).run(vectors, Protocol("p")).value


def test_words_without_punctuation(tmp_path, random_vectors):
    path = tmp_path / "one.txt"
    path.write_text("Dog dog's cat cat's\n")
    vectors = random_vectors(["dog", "dogs", "cat", "cats", "x"])
    assert AnalogyTask(path).run(vectors).coverage.used == 0
    assert AnalogyTask(path).run(vectors, Protocol("p", case="exact", analogy_words="stripped")).coverage.used == 1
    assert AnalogyTask(path).run(vectors, "web").coverage.used == 1


def test_a_table_with_none_of_the_words_has_no_score(questions, random_vectors):
    for oov in ("skip", "mean", "zero", "backoff"):
        score = AnalogyTask(questions).run(random_vectors(["x", "y"]), Protocol("p", oov=oov))
        assert score.value is None and score.interval is None and score.parts == ()
        assert score.problem == "none of the 183 questions is covered"


@pytest.mark.parametrize(
    ("content", "says"),
    [("a b c\n", ":1: expected the four words"), (": \na b c d\n", "has no name"), ("\n", "holds no questions")],
)
def test_bad_files(tmp_path, content, says):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=says):
        read_own_questions(path)


def test_bad_typed_file(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(",type,word1,word2,word3,target\n0,JJ_JJR,good,better,rough\n")
    with pytest.raises(DataError, match=r"bad\.csv:2: expected six fields"):
        read_typed(path)


def test_pairs_that_make_too_many_questions(tmp_path):
    """Found by fuzzing: a section of 60 kB made 40 million questions, until there was no memory."""
    path = tmp_path / "pairs.txt"
    path.write_text("king queen\n" * 1002)
    with pytest.raises(DataError, match=r"make more than 1,000,000 questions.*--limits questions=N"):
        read_own_questions(path)
