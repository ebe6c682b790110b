from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.vectors.sentences import ASCII_WORD, WordTokenizer, as_written_then_lower, word_pattern

regex = pytest.importorskip("regex", reason="regex is not installed")
LETTER = r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}ーｰ]]"
RUN = rf"{LETTER}(?:{LETTER}|[\p{{M}}\u00ad\u200c\u200d\u2060])*"
MARK = r"[\p{M}\u00ad\u200c\u200d\u2060]"
REFERENCE = regex.compile(
    rf"{RUN}(?:['’]{RUN})*|\p{{Han}}{MARK}*|\p{{Hiragana}}(?:[\p{{Hiragana}}ー]|{MARK})*"
    rf"|[\p{{Katakana}}ー](?:[\p{{Katakana}}ー]|{MARK})*",
    flags=regex.VERSION1,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The queen, don't!", ["The", "queen", "don't"]),
        ("“Don’t”—she said… 'no'", ["Don’t", "she", "said", "no"]),
        ("well-known 3.5 foo_bar U.S.", ["well", "known", "3", "5", "foo", "bar", "U", "S"]),
        ("cafe\u0301 हिन्दी Али\u0301са", ["café", "हिन्दी", "Али\u0301са"]),
        ("日本語のカタカナー", ["日", "本", "語", "の", "カタカナー"]),
        (" \n\t ... !?", []),
        ("", []),
    ],
)
def test_words(text, words):
    assert WordTokenizer().tokenize(text) == words


@given(st.text(st.sampled_from("aZé9_' ’.-日本のカーसी\u0301\u00ad\u200d–🙂")))
def test_the_pattern_is_the_one_with_classes_of_characters(text):
    assert word_pattern().findall(text) == REFERENCE.findall(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_has_a_pattern_of_its_own(text):
    assert ASCII_WORD.findall(text) == word_pattern().findall(text)


def test_no_mark_is_missing():
    marks = re.compile(rf"(?:{word_pattern().pattern})\Z")
    missing = [
        place
        for place in range(0x110000)
        if unicodedata.category(chr(place))[0] == "M" and not marks.match("a" + chr(place))
    ]
    assert missing == []


PHRASES = ["new york", "new_york_city", "york", "Los Angeles", "rock & roll", "washington d.c.", "_", "a_", "city hall"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("New York", ["new york"]),
        ("in NEW  YORK\ncity, now", ["in", "new_york_city", "now"]),
        ("new_york", ["new york"]),
        ("New York's", ["New", "York's"]),
        ("New, York", ["New", "York"]),
        ("newer york", ["newer", "york"]),
        ("Los Angeles, los angeles", ["Los Angeles", "los", "angeles"]),
        ("Rock & roll; rock and roll", ["rock & roll", "rock", "and", "roll"]),
        ("Washington D.C. a b", ["washington d.c.", "a", "b"]),
        ("New York city hall", ["new_york_city", "hall"]),
        ("new", ["new"]),
    ],
)
def test_what_the_table_has_as_one_entry_stays_whole(text, words):
    assert WordTokenizer(PHRASES).tokenize(text) == words


def test_the_forms_decide_about_case():
    assert WordTokenizer(PHRASES, lambda word: (word,)).tokenize("New York new york") == ["New", "York", "new york"]
    assert as_written_then_lower("Us") == ("Us", "us")


@given(
    st.lists(st.sampled_from(["new york", "york city", "new york city", "a b c", "b c"])), st.text("abc newyorkcity")
)
def test_the_longest_entry_from_the_left(words, text):
    pieces = text.split()
    expected, place = [], 0
    while place < len(pieces):
        size = next(
            (
                size
                for size in (3, 2)
                if " ".join(pieces[place : place + size]) in words and place + size <= len(pieces)
            ),
            1,
        )
        expected.append(" ".join(pieces[place : place + size]))
        place += size
    assert WordTokenizer(words).tokenize(text) == expected
