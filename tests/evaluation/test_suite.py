from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from wordstill.errors import DataError, UsageError
from wordstill.evaluation import Evaluation, Protocol, Score, evaluate
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.evaluation.result import SCHEMA_VERSION
from wordstill.evaluation.score import Coverage
from wordstill.evaluation.statistics import Interval

# As an attribute of the package, the room's name is its main function.
room = importlib.import_module("wordstill.evaluation")


def made_score(name: str, value: float | None) -> Score:
    interval = None if value is None else Interval(value - 1, value + 1)
    problem = "none of the 9 pairs is covered" if value is None else None
    used = 0 if value is None else 9
    return Score(
        "similarity", name, "spearman", value, interval, Coverage(used, 9), used, Protocol("p"), "s", "0" * 64, problem
    )


def made_evaluation(**tables: dict[str, float | None]) -> Evaluation:
    scores = {table: {name: made_score(name, value) for name, value in sets.items()} for table, sets in tables.items()}
    return Evaluation(scores, Protocol("p"), 0)


@pytest.fixture
def own_files(tmp_path) -> list[str]:
    contents = {
        "one.tsv": "a\tb\t1\nb\tc\t2\na\tc\t3\nc\td\t0\na\td\t5\nb\td\t4\n",
        "two.txt": "a d 1\nb d 2\nc d 3\nx y 4\na b 5\nb c 6\na c 7\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return [str(tmp_path / name) for name in contents]


def test_public_names():
    expected = "evaluate Evaluation Score SimilarityTask Protocol PROTOCOLS DATASETS SUITES TASKS Comparison"
    expected += " Task evaluate_in_context make_task words_of"
    assert sorted(room.__all__) == sorted(expected.split())
    assert all(hasattr(room, name) for name in room.__all__)


def test_one_table(random_vectors, own_files):
    result = evaluate(random_vectors("abcd"), own_files)
    assert list(result.scores) == ["vectors"]
    assert list(result.scores["vectors"]) == result.sets == own_files
    assert [score.coverage for score in result.scores["vectors"].values()] == [(6, 6), (6, 7)]


def test_many_tables_score_as_each_alone(random_vectors, own_files):
    tables = {"first": random_vectors("abcd", 0), "second": random_vectors("abcd", 1)}
    result = evaluate(tables, [Path(name) for name in own_files], seed=4)
    assert list(result.scores) == ["first", "second"]
    for name, vectors in tables.items():
        assert result.scores[name] == evaluate(vectors, own_files, seed=4).scores["vectors"]
        alone = evaluate(vectors, own_files[1:], seed=4).scores["vectors"]
        assert alone[own_files[1]] == result.scores[name][own_files[1]]


def test_the_seed_reaches_the_tasks(random_vectors, tmp_path):
    letters = "abcdefghij"
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{a} {b} {(ord(a) * ord(b)) % 97}\n" for a in letters for b in letters if a < b))
    vectors = random_vectors(letters)
    four, five = (evaluate(vectors, [path], seed=seed).scores["vectors"][str(path)] for seed in (4, 5))
    assert four == room.SimilarityTask(path).run(vectors, seed=4)
    assert four.interval != five.interval


def test_a_set_named_twice_is_scored_once(random_vectors, own_files):
    assert evaluate(random_vectors("abcd"), own_files * 2).sets == own_files


def test_a_set_without_a_score_does_not_stop_the_others(random_vectors, own_files):
    result = evaluate({"knows": random_vectors("abcd"), "not": random_vectors("xz")}, own_files)
    assert all(score.value is not None for score in result.scores["knows"].values())
    assert all(score.value is None and score.problem for score in result.scores["not"].values())


def test_every_set_that_is_found(bare, random_vectors):
    pytest.importorskip("gensim")
    found = evaluate(random_vectors(["cat"]))
    assert found.sets == ["wordsim353", "simlex999"]
    assert found.missing == tuple(name for name in room.SUITES["similarity"] if name not in found.sets)


def test_every_published_set(data_folder, random_vectors):
    names = [name for name, row in room.DATASETS.items() if row.task == "similarity"]
    tasks = [room.SimilarityTask(name) for name in names]
    words = {word for task in tasks for word in (*task.dataset.content.first, *task.dataset.content.second)}
    result = evaluate(random_vectors(sorted(words)))
    assert result.sets == names
    scores = result.scores["vectors"]
    assert {name: score.coverage for name, score in scores.items()} == {
        name: (room.DATASETS[name].size, room.DATASETS[name].size) for name in names
    }
    assert result.a8["vectors"] == pytest.approx(sum(scores[name].value for name in EIGHT) / 8)


def test_nothing_found(bare, random_vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(DataError, match=f"None of the {len(room.SUITES['similarity'])} registered"):
        evaluate(random_vectors("ab"))


def test_a_changed_file_is_not_passed_over(bare, random_vectors):
    path = bare / room.DATASETS["rg65"].copies[0].path
    path.parent.mkdir(parents=True)
    path.write_text("cord\tsmile\t0.02\n")
    with pytest.raises(DataError, match="not the published file"):
        evaluate(random_vectors("ab"))


@pytest.mark.parametrize(
    ("sets", "protocol", "says"),
    [
        (["wordsim-353"], "default", "Did you mean 'wordsim353'"),
        (["simlex999"], "muze", "Unknown protocol 'muze'"),
        ([], "default", "No data set was named"),
        ("simlex999", "default", "list of names"),
        (Path("pairs.tsv"), "default", r"list of names or paths, but is PosixPath\('pairs.tsv'\)"),
    ],
)
def test_settings_that_cannot_be_right(bare, random_vectors, sets, protocol, says):
    with pytest.raises(UsageError, match=says):
        evaluate(random_vectors("ab"), sets, protocol)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda table: "vectors.txt", "vectors must be a WordVectors, but is a str"),
        (lambda table: [table, table], "vectors must be a WordVectors, but is a list"),
        (lambda table: {"mine": table, "other": None}, "other must be a WordVectors, but is a NoneType"),
    ],
)
def test_what_is_no_table(random_vectors, own_files, make, says):
    with pytest.raises(UsageError, match=rf"{says}.*WordVectors\.load.*by name"):
        evaluate(make(random_vectors("ab")), own_files)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "1", None])
def test_what_is_no_seed(random_vectors, own_files, seed):
    with pytest.raises(UsageError, match="seed must be a whole number from 0"):
        evaluate(random_vectors("abcd"), own_files, seed=seed)


def test_the_largest_seed(random_vectors, own_files, tmp_path):
    (tmp_path / "classes.txt").write_text("a x\nb x\nc y\nd y\n")
    sets = [*own_files, f"categorisation:{tmp_path / 'classes.txt'}"]
    found = evaluate(random_vectors("abcd"), sets, seed=np.int64(2**32 - 1))
    assert json.loads(found.to_json())["bootstrap"]["seed"] == 2**32 - 1


def test_no_table(own_files):
    with pytest.raises(UsageError, match="nothing to evaluate"):
        evaluate({}, own_files)


def test_mean_of_the_eight_needs_all_eight():
    full = {name: 10.0 * number for number, name in enumerate(EIGHT)}
    extra = {**full, "mc30": 1000.0}
    lacking = {name: value for name, value in full.items() if name != "men"}
    uncovered = {**full, "rareword": None}
    result = made_evaluation(full=full, extra=extra, lacking=lacking, uncovered=uncovered)
    assert result.a8 == {"full": 35.0, "extra": 35.0}


def test_rows_are_plain_data():
    rows = made_evaluation(t={"rg65": 60.0, "men": None}).rows()
    assert json.loads(json.dumps(rows)) == rows
    assert [(row["table"], row["dataset"], row["value"]) for row in rows] == [("t", "rg65", 60.0), ("t", "men", None)]
    assert rows[0]["interval"] == {"low": 59.0, "high": 61.0}
    assert rows[1]["problem"] == "none of the 9 pairs is covered"


def test_json_holds_what_the_scores_depend_on(random_vectors, own_files):
    protocol = Protocol("mine", oov="zero", case="lower", max_vocab=4)
    result = evaluate({"t": random_vectors("abcd")}, own_files, protocol, seed=7)
    content = json.loads(result.to_json())
    assert content["schema_version"] == SCHEMA_VERSION
    assert content["protocol"].items() >= {"name": "mine", "oov": "zero", "case": "lower", "max_vocab": 4}.items()
    assert content["bootstrap"] == {"seed": 7, "resamples": 1000, "confidence": 0.95}
    assert content["tables"]["t"]["a8"] is None
    saved, score = content["tables"]["t"]["scores"][1], result.scores["t"][own_files[1]]
    assert saved["value"] == score.value
    assert saved["coverage"] == {"used": 6, "total": 7}
    assert (saved["n"], saved["source"], saved["sha256"]) == (7, score.source, score.sha256)


def test_save(tmp_path):
    result = made_evaluation(t={"rg65": 60.0})
    assert result.save(tmp_path) == tmp_path / "evaluation.json"
    assert result.save(tmp_path / "new" / "other.json").read_text() == result.to_json()
    with pytest.raises(UsageError, match="exists already"):
        result.save(tmp_path)
    changed = made_evaluation(t={"rg65": 61.0})
    changed.save(tmp_path, overwrite=True)
    assert (tmp_path / "evaluation.json").read_text() == changed.to_json()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    made_evaluation(t={"rg65": 60.0}).save(tmp_path)
    before = (tmp_path / "evaluation.json").read_text()
    with pytest.raises(ValueError, match="JSON"):
        made_evaluation(t={"rg65": float("nan")}).save(tmp_path, overwrite=True)
    assert (tmp_path / "evaluation.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["evaluation.json"]


def test_suites_name_sets_of_the_registry():
    for names in room.SUITES.values():
        assert {name.partition(":")[0] for name in names} <= set(room.DATASETS)
        assert len(set(names)) == len(names) > 0
    assert set(EIGHT) < set(room.SUITES["papers"])


def test_a_suite_scores_what_is_found_and_tells_what_is_not(bare, random_vectors, own_files):
    pytest.importorskip("gensim")
    result = evaluate(random_vectors("abcd"), own_files[:1], suite="papers")
    assert result.sets == ["wordsim353", "simlex999", "google", own_files[0]]
    assert result.missing == tuple(name for name in room.SUITES["papers"] if name not in result.sets)
    assert json.loads(result.to_json())["missing"] == list(result.missing)
    with pytest.raises(UsageError, match="Did you mean 'papers'"):
        evaluate(random_vectors("abcd"), suite="paper")


def test_comparisons_are_against_the_first_table(random_vectors, tmp_path):
    letters = "abcdefghij"
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{a} {b} {(ord(a) * ord(b)) % 97}\n" for a in letters for b in letters if a < b))
    tables = {"base": random_vectors(letters), "other": random_vectors(letters, 1), "less": random_vectors("abcde", 2)}
    result = evaluate(tables, [path])
    made = result.comparisons()
    assert [(one.first, one.second, one.n) for one in made] == [("other", "base", 45), ("less", "base", 10)]
    values = {name: scores[str(path)].value for name, scores in result.scores.items()}
    assert made[0].difference == pytest.approx(values["other"] - values["base"])
    assert made[0].interval.low <= made[0].difference <= made[0].interval.high
    assert [one.second for one in result.comparisons("less")] == ["less", "less"]
    saved = json.loads(result.to_json())["comparisons"][0]
    assert (saved["first"], saved["p_value"]) == ("other", made[0].p_value)


@pytest.mark.parametrize("oov", ["mean", "zero"])
def test_a_table_without_a_score_is_not_compared(random_vectors, tmp_path, oov):
    path = tmp_path / "questions.txt"
    path.write_text("".join(f"{a} {b} {b} {a}\n" for a in "abcd" for b in "efgh"))
    tables = {"knows": random_vectors("abcdefgh"), "not": random_vectors("xyz"), "too": random_vectors("habgcdfe")}
    result = evaluate(tables, [f"analogy:{path}"], Protocol("p", oov=oov))
    assert [one.first for one in result.comparisons()] == ["too"]
    assert result.comparisons("not") == []
    assert [one["first"] for one in json.loads(result.to_json())["comparisons"]] == ["too"]


def test_facts_of_tables_are_kept(random_vectors, own_files):
    content = json.loads(evaluate({"t": random_vectors("abcd")}, own_files).to_json())
    assert content["tables"]["t"]["facts"]["words"] == 4
    assert content["tables"]["t"]["facts"]["dimensions"] == 20
    assert "are skipped" in content["protocol"]["description"]
