from __future__ import annotations

import threading
import time

import pytest

from wordstill.core.threads import OrderedPool


def slow_square(number: int) -> int:
    time.sleep(0.002 * (number % 3))
    return number * number


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_results_come_in_the_order_of_the_work(size, count):
    assert list(OrderedPool(slow_square, size).map(range(count))) == [number**2 for number in range(count)]


def test_work_is_done_at_the_same_time_by_threads_that_were_made_ready():
    together, local = threading.Barrier(3, timeout=5), threading.local()

    def ready():
        local.here = True

    def work(_):
        together.wait()
        return local.here

    assert list(OrderedPool(work, 3, ready).map(range(6))) == [True] * 6


def test_a_pool_of_one_is_the_caller():
    with OrderedPool(lambda _: threading.current_thread(), 1) as pool:
        assert pool.submit(0) == [threading.current_thread()]


def test_items_are_asked_for_a_few_ahead_only():
    asked: list[int] = []

    def items():
        for number in range(100):
            asked.append(number)
            yield number

    made = OrderedPool(slow_square, 3).map(items())
    assert next(made) == 0
    assert asked == [0, 1, 2, 3]
    made.close()


@pytest.mark.parametrize("size", [1, 3])
def test_errors_are_raised_in_their_turn(size):
    def work(number):
        if number == 3:
            raise KeyError(number)
        return number

    found = []
    with pytest.raises(KeyError), OrderedPool(work, size) as pool:
        for number in range(6):
            found += pool.submit(number)
        found += pool.drain()
    assert found == [0, 1, 2]


def test_a_reader_that_goes_away_leaves_no_thread():
    before = threading.active_count()
    made = OrderedPool(slow_square, 3).map(range(50))
    next(made)
    made.close()
    assert threading.active_count() == before
