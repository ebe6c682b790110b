from __future__ import annotations

import gc

import pytest

from wordstill.core import progress
from wordstill.core.progress import BARS_ANYWHERE, NullProfiler, Profiler, byte_bar, count_bar, without_collections


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


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch, capsys):
    now = iter([0.0, 5.0, 11.0, 12.0, 42.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with count_bar("text", 1000, "words", show=True, done=100) as bar:
        bar.set_postfix_str("loss 0.5")
        for _ in range(4):
            bar.update(200)
    assert capsys.readouterr().err.splitlines() == [
        "text: 500 of 1,000 words (50%), 36 words/s, 14 s left, loss 0.5",
        "text: 900 of 1,000 words (90%), 19 words/s, 5 s left, loss 0.5",
    ]


def test_of_unknown_length_there_is_no_share(monkeypatch, capsys):
    now = iter([0.0, 20.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    byte_bar(None, "prepare").update(4000)
    assert capsys.readouterr().err == "prepare: 4,000 B, 200 B/s\n"


def test_bars_are_drawn_where_they_are_asked_for(capsys):
    token = BARS_ANYWHERE.set(True)
    with count_bar("text", 10, "words", show=True) as bar:
        bar.update(10)
    BARS_ANYWHERE.reset(token)
    assert "100%" in capsys.readouterr().err


def test_nothing_is_shown_unless_asked_for(capsys):
    with count_bar("text", 10, "words", show=False) as bar:
        bar.update(10)
    assert capsys.readouterr().err == ""


def test_garbage_is_looked_for_again_after_a_block_without():
    with pytest.raises(ValueError, match="no"), without_collections():
        assert not gc.isenabled()
        raise ValueError("no")
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
