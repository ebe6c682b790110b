from __future__ import annotations

import threading
import time

import pytest
import torch

from wordstill.core.threads import Crew


@pytest.fixture(autouse=True)
def two_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def results(crew, items):
    with crew:
        found = [result for item in items for result in crew.do(item)]
        return found + list(crew.rest())


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10])
def test_results_come_in_the_order_of_the_work(size, count):
    def work(number):
        time.sleep(0.002 * (number % 3))
        return number * number

    assert results(Crew(work, size), range(count)) == [number * number for number in range(count)]


def test_work_is_done_at_the_same_time_on_one_core_each():
    together = threading.Barrier(2, timeout=5)

    def work(_):
        together.wait()
        return torch.get_num_threads()

    assert results(Crew(work, 2), range(4)) == [1] * 4
    assert torch.get_num_threads() == 2


def test_a_crew_of_one_is_the_caller():
    assert results(Crew(lambda _: threading.current_thread(), 1), [0]) == [threading.current_thread()]


def test_threads_that_come_later_have_all_cores():
    results(Crew(lambda _: None, 2), range(4))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert seen == [2]


@pytest.mark.parametrize("size", [1, 2])
def test_errors_are_raised_in_their_turn(size):
    def work(number):
        if number == 3:
            raise KeyError(number)
        return number

    found = []
    with pytest.raises(KeyError), Crew(work, size) as crew:
        for number in range(6):
            found += crew.do(number)
        found += crew.rest()
    assert found == [0, 1, 2]
