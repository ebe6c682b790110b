"""Functions in a process of their own, which may end in any way."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

import pytest

from wordstill.core.contained import contained
from wordstill.core.guard import Limits
from wordstill.errors import DataError, FormatError, UsageError

LIMITS = Limits(child_bytes=(1 << 30) + 4096)
"""Those of no other test: an idle process of theirs does not find the functions here."""


def numbers(count):
    for number in range(count):
        yield str(number).encode() * 100_000


def aborts():
    yield b"first"
    os.abort()


def greedy():
    yield bytes(3 << 30)


def number():
    yield str(os.getpid()).encode()


def dies_in(process):
    if os.getpid() == process:
        os.abort()
    yield str(os.getpid()).encode()


def silent():
    time.sleep(60)
    yield b""


def ours():
    os.write(1, b"not a message")
    yield b"first"
    raise UsageError("as it is")


def theirs():
    raise KeyError("x")
    yield b""


@pytest.fixture(autouse=True)
def this_module(monkeypatch):
    """The process imports this file by its name."""
    monkeypatch.syspath_prepend(os.path.dirname(__file__))  # noqa: PTH120
    monkeypatch.setitem(sys.modules, "test_contained", sys.modules[__name__])
    for function in (numbers, number, dies_in, aborts, greedy, silent, ours, theirs):
        monkeypatch.setattr(function, "__module__", "test_contained")


def test_messages_come_in_order():
    got = list(contained(numbers, {"count": 3}, "file", LIMITS))
    assert [message[:1] for message in got] == [b"0", b"1", b"2"]
    assert {len(message) for message in got} == {100_000}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (aborts, "^file is damaged: its reader ended with SIGABRT"),
        (greedy, "needs too much memory; raise the limit with --limits child_bytes=N"),
        (silent, "^file: nothing was read for more than 0.3 seconds"),
        (theirs, r"^file is damaged \(KeyError: 'x'\)"),
    ],
)
def test_its_end_is_an_error(function, message):
    with pytest.raises(DataError, match=message):
        list(contained(function, {}, "file", replace(LIMITS, seconds=0.3 if function is silent else 60.0), FormatError))


def test_a_process_is_used_again_and_one_that_was_harmed_decides_nothing():
    first, again = (next(contained(number, {}, "file", LIMITS)) for _ in range(2))
    assert first != again, "one that was not read to its end is not used again"
    first, again = (list(contained(number, {}, "file", LIMITS)) for _ in range(2))
    assert first == again
    (mine,) = first
    assert list(contained(dies_in, {"process": int(mine)}, "file", LIMITS)) != first


def test_our_own_errors_come_through():
    messages = contained(ours, {}, "file", LIMITS)
    assert next(messages) == b"first"
    with pytest.raises(UsageError, match=r"^as it is$"):
        next(messages)
