from __future__ import annotations

import numpy as np
import pytest

from wordstill.cli.printing import count_text, example_word, groups_text, show_result, size_text, time_text
from wordstill.vectors import WordVectors


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "under 1 s"),
        (1, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h 0 min"),
        (100_000, "1 d 3 h"),
    ],
)
def test_times(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (12_345, "12 kB"), (5e6, "5 MB"), (1.5e12, "1500.0 GB")]
)
def test_sizes(size, text):
    assert size_text(size) == text


def test_groups_in_one_line():
    assert groups_text(["a", "b"]) == "2: a, b"
    assert groups_text([*"abcdefg"]) == "7: a, b, c, ..., g"
    assert groups_text(["x" * 31]) == f"1: {'x' * 27}..."


def test_one_and_many():
    assert count_text(1, "sentence") == "1 sentence"
    assert count_text(1200, "sentence") == "1,200 sentences"


def test_an_example_is_a_telling_word():
    words = ["the", ",", "of", "it", "and", "1999", "river", "houses", "by", "language"]
    assert example_word(WordVectors(words, np.eye(10, dtype=np.float32))) == "river"


def test_the_next_command_names_a_word_rather_than_a_mark(tmp_path, capsys):
    vectors = WordVectors(["。", "北京"], np.eye(2, dtype=np.float32))
    show_result({"still": vectors}, tmp_path, 1.0)
    assert "北京" in capsys.readouterr().out.partition("Next:")[2]
