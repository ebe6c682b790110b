from __future__ import annotations

import pickle

import pytest

from wordstill.corpus.filters import LanguageTest
from wordstill.errors import UsageError

pytest.importorskip("lingua", reason="needs lingua-language-detector")

ENGLISH = (
    "The quick brown fox jumps over the lazy dog, and nobody knows why it does. "
    "Perhaps it is bored, perhaps it is late for dinner."
)
GERMAN = (
    "Der schnelle braune Fuchs springt über den faulen Hund, und niemand weiß warum. "
    "Vielleicht ist ihm langweilig, vielleicht kommt er zu spät zum Essen."
)


def test_the_language_is_recognised() -> None:
    is_english = LanguageTest("EN")
    assert [is_english(text) for text in (ENGLISH, GERMAN, "123 456", ENGLISH)] == [True, False, False, True]
    assert pickle.loads(pickle.dumps(LanguageTest("de")))(GERMAN)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UsageError, match="Unknown language 'xq'"):
        LanguageTest("xq")


def test_other_languages_are_dropped_and_counted(make_corpus) -> None:
    corpus = make_corpus(f"{ENGLISH}\n{GERMAN}\n{ENGLISH}\n", language="en")
    assert [paragraph.text for paragraph in corpus] == [ENGLISH, ENGLISH]
    assert corpus.meta["counts"]["dropped_by_language"] == 1
