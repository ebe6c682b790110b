"""The script that trains on top of tables: which jobs come first, and what is kept when some of them fail."""

import argparse
import json
import multiprocessing
import time

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.quality import trained
from wordstill.vectors import WordVectors


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table"
    WordVectors(["a", "b"], np.eye(2, dtype=np.float32), provenance={"seed": 7}).save(path)
    return path


def options(**changed):
    given = {"set": ["cr", "ud-ewt"], "seeds": 2, "first_seed": 0, "limit": None, "teacher": None}
    given |= {"no_parent": False, "only_parent": False}
    return argparse.Namespace(**{**given, **changed})


def test_every_table_is_tagged_with_the_first_seed_before_the_next(table):
    jobs = trained.jobs_of({"first": table, "second": table}, options())
    assert [str(job) for job in sorted(jobs, key=lambda job: job.turn)] == [
        "first cr",
        "second cr",
        "parent ud-ewt:parent",
        "parent cr:parent",
        "first ud-ewt seed 0",
        "second ud-ewt seed 0",
        "first ud-ewt seed 1",
        "second ud-ewt seed 1",
    ]


def test_seeds_of_taggers_may_be_added(table):
    jobs = trained.jobs_of({"only": table}, options(set=["ud-ewt"], first_seed=2, no_parent=True))
    assert [job.seed for job in jobs] == [2, 3]


def test_the_parent_may_be_left_out(table):
    assert len(trained.jobs_of({"only": table}, options(set=["cr"], no_parent=True))) == 1


def test_the_parent_may_be_all(table):
    (job,) = trained.jobs_of({"only": table}, options(set=["cr"], only_parent=True))
    assert job.kind == trained.PARENT


def test_a_job_that_fails_is_reported(table, monkeypatch):
    def broken(self):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(trained.Job, "task", broken)
    job = trained.Job("only", table, "cr", "classification", None, 1, None)
    answered, figure, problem = trained.run(job)
    assert (answered, figure) == (job, {})
    assert "out of memory" in problem


class Finished:
    """Answers of a pool, and then none any more."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def next(self, timeout):
        if not self.answers:
            raise multiprocessing.TimeoutError
        return self.answers.pop(0)


def test_what_is_finished_in_time_is_kept(capsys):
    assert list(trained.until(time.monotonic() + 9, Finished("one", "two"), 5)) == ["one", "two"]
    assert "3 of 5 jobs are not finished" in capsys.readouterr().out


def test_the_result_grows_with_every_job(table, tmp_path):
    result = trained.Result(tmp_path / "new" / "result.json", {"title": "T"}, ["first", "parent"])
    seeds = [trained.Job("first", table, "ud-ewt", "tagging", seed, 1, None) for seed in (1, 0)]
    parent = trained.Job("parent", table, "cr", "parent", None, 2, None)
    for number, job in enumerate([parent, *seeds]):
        result.add(job, {"value": number})
        rows = json.loads(result.path.read_text())["rows"]
        assert len(rows) == number + 1
    assert [(row["label"], row["seed"]) for row in rows] == [("first", 0), ("first", 1), ("parent", None)]
    assert [row["scores"]["trained"] for row in rows][::2] == [{"ud-ewt": {"value": 2}}, {"cr:parent": {"value": 0}}]
    assert rows[0]["provenance"]["seed"] == 7
