from __future__ import annotations

import os
import threading

import pytest
import torch

from wordstill.teacher.amx.amx_library import share


@pytest.fixture
def three_threads():
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(1)


def parts_of(count, step):
    found = []
    share(count, step, found.append)
    return sorted((part.start, part.stop) for part in found)


@pytest.mark.parametrize("step", [1, 32])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 255, 256, 257, 1000, 4096])
def test_the_parts_are_the_whole(count, step, three_threads):
    parts = parts_of(count, step)
    assert [first for first, _ in parts] == [0, *(last for _, last in parts[:-1])]
    assert parts[-1][1] == count
    assert all(first % step == 0 for first, _ in parts)
    assert len(parts) <= 3


def test_little_work_is_done_alone(three_threads):
    assert parts_of(7 * 32, 32) == [(0, 7 * 32)]
    assert len(parts_of(8 * 32, 32)) == 2


def test_one_thread_does_all():
    threads = []
    share(10_000, 32, lambda part: threads.append(threading.current_thread()))
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_errors_come_back(failing, three_threads):
    def work(part):
        if part.start == failing * 3200:
            raise MemoryError("no more")

    with pytest.raises(MemoryError, match="no more"):
        share(9600, 32, work)


def test_children_have_threads_of_their_own(three_threads):
    parts_of(4096, 32)
    child = os.fork()
    if child == 0:
        os._exit(0 if len(parts_of(4096, 32)) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
