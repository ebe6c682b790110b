from __future__ import annotations

import pytest

from wordstill.errors import UsageError
from wordstill.teacher.layers import resolve_layers


@pytest.mark.parametrize(
    ("wanted", "depth", "expected"),
    [
        ("last", 6, (6,)),
        ("all", 2, (0, 1, 2)),
        ("top-half", 6, (4, 5, 6)),
        ("top-half", 5, (3, 4, 5)),
        ("top-half", 1, (1,)),
        (0, 6, (0,)),
        (-1, 6, (6,)),
        ("-7", 6, (0,)),
        ("0-2,-1", 6, (0, 1, 2, 6)),
        (" 3 , 1 - 2 ", 6, (1, 2, 3)),
        ("2,2,1-2", 6, (1, 2)),
    ],
)
def test_names_numbers_and_lists(wanted, depth, expected):
    assert resolve_layers(wanted, depth) == expected


@pytest.mark.parametrize("wanted", ["", "first", "1,", "1.5", "0-x", "-3--1", "a-b", "--1"])
def test_what_cannot_be_read(wanted):
    with pytest.raises(UsageError, match=r"cannot read .*Expected last, all, top-half"):
        resolve_layers(wanted, 6)


@pytest.mark.parametrize("wanted", [7, -8, "0-7", "9-10"])
def test_layers_that_the_teacher_lacks(wanted):
    with pytest.raises(UsageError, match=r"is outside 0 to 6"):
        resolve_layers(wanted, 6)


def test_a_range_that_runs_backwards():
    with pytest.raises(UsageError, match=r"'3-1' runs backwards. Write 1-3"):
        resolve_layers("3-1", 6)
