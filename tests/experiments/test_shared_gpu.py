"""The benchmark of workers that share a GPU: what is recorded of workers that failed, and of a run that was stopped."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.speed import shared_gpu
from wordstill.errors import Interrupted, WordstillError

FACTS = {"device": "cpu", "shards": 4, "rows": 9, "methods": ["still"], "words": 1000}
RUN = {"read": 2.0, "steady": 500.0, "driver_gb": 1.0}


class Bench:
    def __init__(self, corpus, options) -> None:
        pass

    def facts(self):
        return dict(FACTS)

    def alone(self):
        return dict(RUN)

    def workers(self, number):
        if number == 3:
            raise WordstillError("no memory")
        if number == 1:
            raise Interrupted("reading text in shards", 0, 1000, "words")
        return {**RUN, "start": 1.0, "read": 1.0, "steady": 1000.0}


@pytest.fixture
def saved(monkeypatch):
    found = []
    monkeypatch.setattr(shared_gpu, "_Bench", Bench)
    monkeypatch.setattr(shared_gpu, "open_or_prepare", lambda *_, **__: None)
    monkeypatch.setattr(
        shared_gpu, "save", lambda _, result, **__: found.append({**result, "runs": {**result["runs"]}})
    )
    monkeypatch.setattr(sys, "argv", ["shared_gpu", "text", "--workers", "2", "3", "1", "4"])
    return found


def test_a_benchmark_that_is_stopped_records_nothing_of_the_workers_it_was_at(saved):
    with pytest.raises(SystemExit, match="Stopped before 1 was measured"):
        shared_gpu.main()
    assert list(saved[-1]["runs"]) == ["0", "2", "3"]


def test_workers_that_failed_have_a_remark_and_no_row(saved):
    with pytest.raises(SystemExit):
        shared_gpu.main()
    assert [row[0] for row in shared_gpu.rows(saved[-1])] == ["workers", "one process", "2"]
    assert "Not measured with 3: no memory" in shared_gpu.remarks(saved[-1])
