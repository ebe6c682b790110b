from __future__ import annotations

import pytest

from wordstill.core.guard import printable, reading
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
