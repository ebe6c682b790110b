"""The script that measures: a result that grows with every table that is scored."""

import json
from concurrent.futures import Future

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.quality import measure
from experiments.quality.word_tables import Text
from wordstill.corpus import VocabularyConfig
from wordstill.distillation import DistillConfig
from wordstill.vectors import WordVectors


@pytest.fixture
def table():
    return WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32), counts=np.array([3, 2, 1]))


def test_the_result_holds_what_is_scored(table, tmp_path):
    result = measure.Result(tmp_path / "new" / "result.json", {"title": "T"})
    jobs = [Future(), Future()]
    for seed, job in enumerate(jobs):
        result.expect(measure.Made("m", table, seed), job)
    assert not result.path.exists()
    jobs[1].set_result({"all": {}})
    assert [row["seed"] for row in json.loads(result.path.read_text())["rows"]] == [1]
    jobs[0].set_result({"all": {}})
    result.wait()
    written = json.loads(result.path.read_text())
    assert written["title"] == "T" and [row["seed"] for row in written["rows"]] == [0, 1]


def test_a_table_that_cannot_be_scored_is_an_error(table, tmp_path):
    result = measure.Result(tmp_path / "result.json", {})
    job = Future()
    result.expect(measure.Made("m", table), job)
    job.set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        result.wait()
    assert not result.path.exists()


def test_tables_of_seeds_do_not_overwrite_each_other(table, tmp_path):
    made = [measure.Made("m", table, seed) for seed in (None, 0, 1)]
    places = [measure.place(one, tmp_path, number, tmp_path) for number, one in enumerate(made)]
    assert [place.name for place in places] == ["m", "m.seed0", "m.seed1"]
    assert len({measure.place(one, None, number, tmp_path) for number, one in enumerate(made)}) == 3


def test_a_released_table_reads_the_vocabulary_of_a_text(table, tmp_path):
    (tmp_path / "text.txt").write_text("b a c a-b d\n" * 6)
    table.save(tmp_path / "table")
    config = DistillConfig(vocabulary=VocabularyConfig(key="none"))
    text = Text([tmp_path / "text.txt"], config, tmp_path / "work")
    (made,) = text.encoded([f"released={tmp_path / 'table'}"])
    assert made.label == "released"
    assert {*made.vectors.words} == {"a", "b", "c", "a-b", "d"}
    assert made.vectors["b"].tolist() == [0, 1, 0]
    assert made.vectors["a-b"].tolist() == [0.5, 0.5, 0]
    assert not made.vectors["d"].any()
