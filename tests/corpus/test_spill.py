from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.disk_arrays import CHUNK_ENTRIES, RunIndex, SpillCounter, read_run, write_run
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


def test_a_range_of_a_run_is_read_by_itself(tmp_path: Path) -> None:
    entries = [(b"%05d" % key, key) for key in range(3 * CHUNK_ENTRIES + 5)]
    path = tmp_path / "run"
    with path.open("wb") as file:
        write_run(file, entries)
    run = RunIndex(path)
    assert run.keys == [key for key, _ in entries[::CHUNK_ENTRIES]]
    bounds = [b"", b"00000", b"00001", b"000011", b"01023", b"01024", b"02500", b"03076", b"9", None]
    for low in bounds[:-1]:
        for high in bounds:
            keys, counts = run.between(low, high)
            assert list(zip(keys, counts.tolist())) == [
                (key, count) for key, count in entries if low <= key and (high is None or key < high)
            ]


def test_a_run_without_entries(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")
    keys, counts = RunIndex(tmp_path / "run").between(b"", None)
    assert (keys, counts.tolist()) == ([], [])


@pytest.mark.parametrize("size", [3, 20, 60])
def test_a_run_that_is_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "run"
    with path.open("wb") as file:
        write_run(file, [(b"key%d" % number, 1) for number in range(9)])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match="cut short"):
        list(read_run(path))
    with pytest.raises(DataError, match="cut short"):
        RunIndex(path)
