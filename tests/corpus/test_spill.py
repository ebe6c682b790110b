from __future__ import annotations

import resource
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.disk_arrays import SpillCounter, merge_runs, read_run, write_run
from wordstill.errors import DataError

PAIRS = st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 1 << 40)), max_size=200)


@given(PAIRS, st.integers(1, 20))
def test_counts_do_not_depend_on_the_memory_limit(pairs: list[tuple[bytes, int]], limit: int) -> None:
    expected: Counter[bytes] = Counter()
    with SpillCounter(limit=limit) as counter:
        for key, count in pairs:
            expected[key] += count
            counter.add(key, count)
        assert list(counter) == sorted(expected.items())
        assert list(counter) == sorted(expected.items())


def test_more_runs_than_are_merged_at_once(tmp_path: Path) -> None:
    with SpillCounter(limit=2, folder=tmp_path, max_fan_in=3) as counter:
        for number in range(101):
            counter.add(b"%03d" % (number % 50), number)
        assert list(counter) == sorted({b"%03d" % key: sum(range(key, 101, 50)) for key in range(50)}.items())
    assert list(tmp_path.iterdir()) == []


def test_runs_are_merged_without_keeping_files_open(tmp_path: Path) -> None:
    runs = []
    for number in range(200):
        runs.append(tmp_path / str(number))
        with runs[-1].open("wb") as file:
            write_run(file, [(b"%05d" % key, key) for key in range(number, 4000, 200)])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        merged = list(merge_runs(runs))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert merged == [(b"%05d" % key, key % 200, key) for key in range(4000)]


@pytest.mark.parametrize("size", [3, 20, 60])
def test_a_run_that_is_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "run"
    with path.open("wb") as file:
        write_run(file, [(b"key%d" % number, 1) for number in range(9)])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match="cut short"):
        list(read_run(path))
