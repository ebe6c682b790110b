from __future__ import annotations

import pytest

from wordstill.core.guard import VARIABLE, Limits, parse_limits, printable, reading
from wordstill.errors import DataError, FormatError, UsageError


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (KeyError("x"), r"^file is damaged or of another kind \(KeyError: 'x'\)\. Get the file again\.$"),
        (IndexError("first\nsecond"), r"^file is damaged or of another kind \(IndexError: first\)"),
        (RecursionError(), "^file is nested too deeply"),
        (MemoryError(), "^file needs more memory than there is"),
        (OSError(5, "Input/output error"), r"^Cannot read file: Input/output error\.$"),
    ],
)
def test_whatever_happens_becomes_one_error_of_ours(raised, message):
    with pytest.raises(DataError, match=message) as caught, reading("file", FormatError):
        raise raised
    assert caught.value.__cause__ is raised
    assert isinstance(caught.value, FormatError) or isinstance(raised, OSError)


@pytest.mark.parametrize("raised", [UsageError("x"), UserWarning("x"), KeyboardInterrupt(), SystemExit(3)])
def test_what_is_ours_or_the_users_passes(raised):
    with pytest.raises(type(raised)) as caught, reading("file"):
        raise raised
    assert caught.value is raised


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("word", "word"),
        ("naïve 好 e\u0301\tx\n", "naïve 好 e\u0301\tx\n"),
        ("\x1b]0;PWN\x07", r"\x1b]0;PWN\x07"),
        ("a\rb\x9b31m", r"a\rb\x9b31m"),
        ("\u202eabc", r"\u202eabc"),
        ("\ud800", r"\ud800"),
    ],
)
def test_a_terminal_is_not_controlled(text, shown):
    assert printable(text) == shown


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
    assert parse_limits(text) == limits


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
        parse_limits(text)


def test_the_user_has_the_last_word(monkeypatch):
    assert Limits.chosen(line_bytes=5).line_bytes == 5
    monkeypatch.setenv(VARIABLE, "line_bytes=7")
    assert Limits.chosen(line_bytes=5).line_bytes == 7
    assert Limits.chosen(line_bytes=5).ratio == Limits().ratio
