from __future__ import annotations

import pytest

from wordstill.core import progress
from wordstill.core.progress import NullProfiler, Profiler


@pytest.fixture
def clock(monkeypatch):
    """A clock that is a second further whenever it is read."""
    ticks = iter(range(1000))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: float(next(ticks)))


def test_seconds_of_a_part_add_up(clock):
    watch = Profiler()
    for _ in range(3):
        with watch.part("one"):
            pass
    with watch.part("two"):
        pass
    assert watch.seconds == {"one": 3.0, "two": 1.0}


def test_a_part_that_fails_counts(clock):
    watch = Profiler()
    with pytest.raises(ValueError, match="no"), watch.part("one"):
        raise ValueError("no")
    assert watch.seconds == {"one": 1.0}


def test_waiting_for_items_counts_and_their_use_does_not(clock):
    watch = Profiler()
    got = []
    for item in watch.each("waiting", [3, 1, 2]):
        with watch.part("use"):
            got.append(item)
    assert got == [3, 1, 2]
    # The end has to be waited for too.
    assert watch.seconds == {"waiting": 4.0, "use": 3.0}


def test_nothing_is_measured_unless_asked_for():
    watch = NullProfiler()
    with watch.part("one"):
        assert list(watch.each("two", [1, 2])) == [1, 2]
    assert watch.seconds == {}
