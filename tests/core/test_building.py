from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from wordstill.core.threads import made_in_order


def slow(number: int) -> int:
    time.sleep(0.002 * (number % 3))
    return number


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_order_is_kept(threads, count):
    assert list(made_in_order([partial(slow, number) for number in range(count)], threads)) == list(
        range(count)
    )


def test_several_are_made_at_the_same_time():
    meeting = threading.Barrier(3, timeout=5)
    places = list(made_in_order([meeting.wait] * 6, 3))
    assert sorted(places) == [0, 0, 1, 1, 2, 2]


def test_makers_are_asked_for_a_few_ahead_only():
    asked: list[int] = []

    def makers():
        for number in range(100):
            asked.append(number)
            yield partial(slow, number)

    made = made_in_order(makers(), 3)
    assert next(made) == 0
    assert asked == [0, 1, 2, 3]
    made.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_in_its_turn(threads):
    def fail() -> int:
        raise ValueError("broken")

    made = made_in_order([partial(slow, 0), partial(slow, 1), fail, partial(slow, 3)], threads)
    assert [next(made), next(made)] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        next(made)


def test_a_reader_that_goes_away_leaves_no_thread():
    before = threading.active_count()
    made = made_in_order((partial(slow, number) for number in range(50)), 3)
    next(made)
    made.close()
    assert threading.active_count() == before
