from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.segment import SPLIT_WINDOW, LineSplitter, SentencexSplitter, WordSegmenter

SEGMENTER = WordSegmenter()

WORDS = {
    " u.s.": ["u.s."],
    " U.S.A.": ["U.S.A."],
    " e.g.,": ["e.g.", ","],
    " Ph.D.": ["Ph.D."],
    " U.S.-based": ["U.S.-based"],
    " 3.5": ["3.5"],
    " 1,000": ["1,000"],
    " 10:30": ["10:30"],
    " .5": [".5"],
    " don't": ["don't"],
    " don’t": ["don’t"],
    "rock'n'roll": ["rock'n'roll"],
    " well-known": ["well-known"],
    " well‐known": ["well‐known"],
    " e‑mail,": ["e‑mail", ","],
    " AT&T": ["AT&T"],
    " R&D;": ["R&D", ";"],
    " user@host.org.": ["user@host.org", "."],
    " (http://foo.org/a_b?c=d).": ["(", "http://foo.org/a_b?c=d", ")", "."],
    " www.foo.com,": ["www.foo.com", ","],
    " example.com.": ["example.com", "."],
    " end.The": ["end", ".", "The"],
    " places.": ["places", "."],
    " A.": ["A", "."],
    "€100": ["€", "100"],
    "50%": ["50", "%"],
    "US$1.5": ["US", "$", "1.5"],
    " a–b": ["a", "–", "b"],
    " x—y": ["x", "—", "y"],
    "wait...what": ["wait", "...", "what"],
    '("Hello!")': ["(", '"', "Hello", "!", '"', ")"],
    "'tis": ["'", "tis"],
    "James'": ["James", "'"],
    "C++,": ["C++", ","],
    "foo_bar": ["foo_bar"],
    "e\u0301te\u0301,": ["e\u0301te\u0301", ","],
    "नमस्ते।": ["नमस्ते", "।"],
    "می\u200cخواهم": ["می\u200cخواهم"],
    "他说好。": ["他", "说", "好", "。"],
    "東京2020": ["東", "京", "2020"],
    "カタカナーと": ["カタカナー", "と"],
    "👩\u200d👩\u200d👧!": ["👩\u200d👩\u200d👧", "!"],
    "🇩🇪🇫🇷": ["🇩🇪", "🇫🇷"],
    "👍🏽👍": ["👍🏽", "👍"],
    "a\x00b": ["a", "\x00", "b"],
    "\u200b": ["\u200b"],
}

LONG = [
    "a",
    "a.",
    "a.b",
    "@",
    "a@",
    "http://",
    ".",
    "-a",
    "'",
    "a.b.c.de",
    "._%",
    "👩\u200d",
    "\u0301",
    "ab@cd.",
    ",1",
    "www.",
    "他",
]


@pytest.mark.parametrize("form", WORDS)
def test_words_of_a_form(form: str) -> None:
    assert [form[start:end] for start, end in SEGMENTER.spans(form)] == WORDS[form]


FORMS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aB1.'’-&,:@/#_%€。他カ\u0301\u200d👩"))
).filter(lambda text: len(text.split()) == 1 and text == text.split()[0])


@given(FORMS, st.booleans())
def test_every_character_is_in_exactly_one_word(text: str, blank: bool) -> None:
    form = " " * blank + text
    position = int(blank)
    for start, end in SEGMENTER.spans(form):
        assert start == position < end
        position = end
    assert position == len(form)


@pytest.mark.parametrize("unit", LONG)
def test_long_forms_take_linear_time(unit: str) -> None:
    form = unit * (200_000 // len(unit))
    begun = time.perf_counter()
    spans = SEGMENTER.spans(form)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(form)
    assert time.perf_counter() - begun < 5


def test_sentences_of_an_abbreviating_text() -> None:
    text = "Mr. Smith came. He left! 他说好。然后走了！"
    assert SentencexSplitter("en").split(text) == ["Mr. Smith came. ", "He left! ", "他说好。", "然后走了！"]
    assert LineSplitter().split(text) == [text]


@given(st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('aA .!?。"“”()')), max_size=200))
def test_sentences_concatenate_to_the_text(text: str) -> None:
    text = " ".join(text.split())
    assert "".join(SentencexSplitter().split(text)) == text


@pytest.mark.parametrize(
    ("unit", "longest"),
    [("One two three. ", 15), ("word ", SPLIT_WINDOW), ("x" * (SPLIT_WINDOW + 5) + " ", SPLIT_WINDOW + 6), ("x", None)],
)
def test_long_paragraphs_are_split_in_windows(unit: str, longest: int | None) -> None:
    text = (unit * (5 * SPLIT_WINDOW // len(unit) + 3)).strip()
    pieces = SentencexSplitter().split(text)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= (longest or len(text))
    assert all(piece.endswith(" ") for piece in pieces[:-1])


def test_windows_do_not_change_sentences() -> None:
    sentences = [f"This is sentence number {number}. " for number in range(4000)]
    assert SentencexSplitter().split("".join(sentences).strip()) == [*sentences[:-1], sentences[-1].strip()]
