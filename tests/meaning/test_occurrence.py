from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.segment import word_spans
from wordstill.errors import DataError, UsageError
from wordstill.meaning.occurrence import Occurrence, OccurrenceStore

TEXT = "The well-known party, which isn't art, ended."


@pytest.mark.parametrize(
    ("span", "word"), [((0, 3), "The"), ((4, 14), "well-known"), ((4, 8), "well"), (3, ","), (1, "well-known")]
)
def test_places(span, word):
    if span == (15, 29):
        with pytest.raises(UsageError, match='cuts the word "isn\'t"'):
            Occurrence.at(TEXT, span)
    else:
        assert Occurrence.at(TEXT, span).word == word


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((16, 19), r"'art', cuts the word 'party'.*\(15, 20\)"),
        ((15, 29), 'cuts the word "isn\'t"'),
        ((40, 99), "holds no word"),
        ((-3, 2), "holds no word"),
        ((5, 5), "holds no word"),
        ((3, 4), "holds no word"),
        (99, "no word number 99"),
        (-1, "no word number -1"),
    ],
)
def test_impossible_places(span, message):
    with pytest.raises(UsageError, match=message):
        Occurrence.at(TEXT, span)


def test_chinese_words_may_stand_inside_a_run():
    assert Occurrence.at("中国人说话", (0, 2)).word == "中国"


def test_replacing_touches_only_the_place():
    occurrence = Occurrence("The party of art and artists is art.", 13, 16)
    assert occurrence.word == "art"
    replaced = occurrence.replaced("music")
    assert replaced.text == "The party of music and artists is art."
    assert replaced.word == "music"


@given(st.text(max_size=60))
def test_every_word_has_its_place(text):
    spans = word_spans(text)
    assert all(text[start:end].strip() for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    covered = "".join(text[start:end] for start, end in spans)
    assert covered == "".join(text.split())


def test_an_excerpt_of_a_long_text():
    text = "a" * 70 + " bank " + "b" * 70
    assert Occurrence("The bank.", 4, 8).excerpt() == "The [bank]."
    assert Occurrence(text, 71, 75).excerpt(3) == "…aa [bank] bb…"


def test_a_word_may_be_named():
    assert Occurrence.at("They sat on the bank.", "bank") == Occurrence("They sat on the bank.", 16, 20)
    assert Occurrence.at("Banks rise.", "banks").word == "Banks"
    assert Occurrence.at("In New York City.", "New York").word == "New York"
    with pytest.raises(UsageError, match=r"stands in .* 2 times. Choose one by its offsets: 2:6, 9:13"):
        Occurrence.at("A bank, bank.".replace(", ", ",  "), "bank")
    with pytest.raises(UsageError, match="There is no word 'art'"):
        Occurrence.at("The party.", "art")


def test_one_flipped_bit_of_a_saved_store_is_told(tmp_path):
    """D20: offsets of another type were taken and failed when used."""
    path = tmp_path / "uses"
    OccurrenceStore([Occurrence("the bank", 4, 8)], np.ones((1, 3), np.float32), "encoder").save(path)
    assert OccurrenceStore.load(path).occurrences[0].word == "bank"
    for name in ("vectors.safetensors", "uses.jsonl"):
        whole = (path / name).read_bytes()
        for place in range(0, len(whole), 5):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            (path / name).write_bytes(damaged)
            with pytest.raises(DataError, match="not a whole store of uses"):
                OccurrenceStore.load(path)
        (path / name).write_bytes(whole)
    (path / "config.json").write_text('{"encoder": "encoder"}')
    for line in ('["the bank", 4, "8"]', '["the bank"]', "[" * 50_000, "5"):
        (path / "uses.jsonl").write_text(line + "\n")
        with pytest.raises(DataError, match="not a whole store of uses"):
            OccurrenceStore.load(path)
