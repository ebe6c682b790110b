from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from wordstill.core.threads import prefetch


def settled(expected: int) -> bool:
    """Whether the number of threads comes down to what is expected."""
    deadline = time.monotonic() + 5
    while threading.active_count() != expected and time.monotonic() < deadline:
        time.sleep(0.01)
    return threading.active_count() == expected


@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_all_items_in_order(count):
    before = threading.active_count()
    assert list(prefetch(iter(range(count)))) == list(range(count))
    assert settled(before)


def test_items_that_look_like_nothing_pass():
    assert list(prefetch(iter([None, (), False, None]))) == [None, (), False, None]


def test_work_is_done_ahead_but_not_far_ahead():
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    ahead = prefetch(items(), depth=3)
    assert next(ahead) == 0
    deadline = time.monotonic() + 5
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    # One was taken, three wait, and one is held by the thread that waits for room.
    assert made == [0, 1, 2, 3, 4]
    ahead.close()


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt(), MemoryError()])
def test_errors_come_after_the_items_before_them(error):
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise error

    before, got = threading.active_count(), []
    with pytest.raises(type(error)) as caught:
        for item in prefetch(items()):
            got.append(item)
    assert caught.value is error
    assert got == [1, 2]
    assert settled(before)


def test_an_abandoned_thread_ends():
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            number = 0
            while True:
                yield (number := number + 1)
        finally:
            closed.set()

    before = threading.active_count()
    for item in prefetch(items()):
        if item == 3:
            break
    # The loop lets go of the generator, which waits for its thread.
    assert settled(before)
    assert closed.wait(5)


def test_an_error_of_the_consumer_ends_the_thread():
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="mine"):
        for _ in prefetch(iter(range(1000))):
            raise RuntimeError("mine")
    assert settled(before)
