"""Records of measurements: commands that anybody can type, and times that survive an interrupted run."""

import json

import pytest

from experiments.record import TimedRecord, command_line


@pytest.mark.parametrize("given, recorded", [
    (["store", "--seed", "1"], "store --seed 1"),
    (["/data/texts/store", "still=/tables/still.seed0"], "store still=still.seed0"),
    (["a.txt", "--out", "/tmp/x", "--title", "Two words"], "a.txt --title 'Two words'"),
    (["--commit", "abc", "--method", "x2static:negatives=5"], "--method x2static:negatives=5"),
])  # fmt: skip
def test_commands_name_no_folders_and_nothing_that_changes_no_score(given, recorded):
    assert command_line("experiments.quality.measure", given) == (f"python -m experiments.quality.measure {recorded}")


def test_a_second_run_knows_the_times_of_the_first(tmp_path):
    path, times = tmp_path / "new" / "record.json", tmp_path / "new" / "seconds.json"
    first = TimedRecord(path, times)
    with first.timed("triples"):
        pass
    first.facts["title"] = "T"
    first.write()
    second = TimedRecord(path, times)
    assert second.seconds.keys() == {"triples"}
    second.write()
    assert json.loads(path.read_text()).keys() == {"seconds"}
