"""Words of languages without spaces, and what is said where they are not asked for."""

from __future__ import annotations

import pickle

import pytest

from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig
from wordstill.corpus.segment import SEGMENTERS, recorded_segmenter
from wordstill.errors import MissingExtra, UsageError

pytestmark = pytest.mark.filterwarnings("ignore:.*pkg_resources:")

CHINESE = "我们在北京大学学习自然语言处理。"
JAPANESE = "東京で自然言語を研究しています。"
THAI = "ฉันรักภาษาไทยมาก"
KNOWN = [
    ("chinese", " 我们在BERT上学习2026年", ["我们", "在", "BERT", "上", "学习", "2026", "年"]),
    ("japanese", "東京でBERTを使う。", ["東京", "で", "BERT", "を", "使う", "。"]),
    ("thai", " ภาษาไทยกับPython!", ["ภาษาไทย", "กับ", "Python", "!"]),
    ("possessives", " dog's", ["dog", "'s"]),
    ("possessives", "DOG’S,", ["DOG", "’S", ","]),
    ("possessives", " dogs'", ["dogs", "'"]),
    ("possessives", " don't", ["don't"]),
    ("possessives", "'s", ["'", "s"]),
    ("possessives", " 1990's", ["1990's"]),
]


def segmenter(name: str):
    try:
        return SEGMENTERS[name]()
    except MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(("name", "text", "words"), KNOWN)
def test_words(name, text, words):
    found = segmenter(name)
    assert [text[start:end] for start, end in found.spans(text)] == words


@pytest.mark.parametrize("name", SEGMENTERS)
@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI, " a", "", " ", "日本" * 9_000, "x" * 100])
def test_every_character_but_the_space_belongs_to_one_word(name, text):
    spans = segmenter(name).spans(text)
    assert "".join(text[a:b] for a, b in spans) == text.lstrip(" ")
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("language", "text"), [("chinese", CHINESE), ("japanese", JAPANESE), ("thai", THAI), ("lao", "ພາສາລາວ" * 4)]
)
def test_text_without_spaces_is_reported_with_the_segmenter_it_needs(make_corpus, language, text):
    with pytest.warns(UserWarning, match=f"without spaces, probably {language.capitalize()}.*segmenter") as caught:
        make_corpus(text)
    assert (f"--segmenter {language}" in str(caught[0].message)) == (language in SEGMENTERS)


def test_some_foreign_characters_are_not_reported(make_corpus):
    make_corpus("The word 東京 is the name of the capital of Japan, and it is read Tokyo.")


@pytest.mark.parametrize(("name", "text"), [("chinese", CHINESE), ("possessives", "The dog's bone. A dog.")])
def test_a_store_knows_its_segmenter(make_corpus, name, text):
    segmenter(name)
    corpus: Corpus = make_corpus(text, segmenter=name)
    words = Vocabulary.build(corpus, VocabularyConfig(min_count=1)).keys
    assert {"chinese": "北京大学", "possessives": "dog"}[name] in words
    assert "dog's" not in words
    assert corpus.meta["settings"]["segmenter"] == recorded_segmenter(corpus.meta["settings"]["segmenter"]).name


@pytest.mark.parametrize("name", SEGMENTERS)
def test_other_processes_get_their_own(name):
    found = segmenter(name)
    found.spans(JAPANESE)
    assert pickle.loads(pickle.dumps(found)).spans(JAPANESE) == found.spans(JAPANESE)


def test_unknown_names():
    with pytest.raises(UsageError, match=r"not built in. Pass segmenter="):
        recorded_segmenter("mine")
