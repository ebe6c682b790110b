from __future__ import annotations

import pytest

from wordstill.core.limits import VARIABLE, Limits, parse
from wordstill.errors import FormatError, UsageError


def test_a_limit_names_itself_and_how_to_raise_it():
    message = (
        r"^x:2: the line has more than 60 bytes\. If the file is sound, raise the limit with --limits line_bytes=N"
    )
    with pytest.raises(FormatError, match=message):
        Limits(line_bytes=60).refuse("line_bytes", 61, "x:2: the line has", error=FormatError)
    Limits(line_bytes=60).refuse("line_bytes", 60, "x")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("", {}),
        ("line_bytes=64MB", {"line_bytes": 64_000_000}),
        (" line_bytes = 1.5 gb , seconds=900,", {"line_bytes": 1_500_000_000, "seconds": 900}),
        ("ratio=5k", {"ratio": 5000}),
    ],
)
def test_limits_as_text(text, limits):
    assert parse(text) == limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("line_byte=5", "Unknown limit 'line_byte'. Did you mean 'line_bytes'"),
        ("line_bytes=-5", "line_bytes is '-5', expected a number such as 500, 64MB"),
        ("line_bytes", "is '', expected a number"),
    ],
)
def test_wrong_limits(text, message):
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_the_user_has_the_last_word(monkeypatch):
    assert Limits.chosen(line_bytes=5).line_bytes == 5
    monkeypatch.setenv(VARIABLE, "line_bytes=7")
    assert Limits.chosen(line_bytes=5).line_bytes == 7
    assert Limits.chosen(line_bytes=5).ratio == Limits().ratio
