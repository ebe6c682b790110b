"""A teacher that does not know the language of a text is reported, with the real tokenizer of the embedded one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.corpus.segment import WordSegmenter
from wordstill.corpus.vocabulary import Entry
from wordstill.distillation import language_fit
from wordstill.distillation.language_fit import LanguageFit, warn_if_prompt_is_foreign, warn_if_unknown_language
from wordstill.errors import MissingExtra
from wordstill.teacher.loading import embedded_teacher
from wordstill.teacher.tokenizer import SubwordTokenizer

ENGLISH = """
the of and a in to is was he that it his her on be with as by had for not they at from this we are but have
an she or which all there were been their one will would what if can who when him more no out up into do any your time
some could other than my then these two may should over such our man me even most made after also did many before must
through back years where much way well down because long people little good world state never house under last
"""
GERMAN = """
der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat
dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch
man sein wurde gesagt können gegen vom schon wenn habe seine ihre dann unter wir soll ich eines jahr zwei diese dieser
wieder keine seiner worden will zwischen immer millionen was sagte gibt alle seit muss wurden beim doch jetzt drei
"""
RUSSIAN = """
что это как его она для был все так или уже если когда только меня мне даже было чтобы время будет человек
может очень были сейчас тебя есть после знаю должен сказал просто теперь хорошо почему никогда потому быть жизнь здесь
тоже через перед между всегда больше много день раз дело рука глаз место слово друг дом голова вопрос
"""


@pytest.fixture(autouse=True)
def short_lists(monkeypatch):
    monkeypatch.setattr(language_fit, "FEWEST_WORDS", 40)


@pytest.fixture(scope="module")
def tokenizer() -> SubwordTokenizer:
    transformers = pytest.importorskip("transformers")
    try:
        folder = embedded_teacher()
    except MissingExtra as missing:
        pytest.skip(str(missing))
    return SubwordTokenizer(transformers.AutoTokenizer.from_pretrained(folder), "embedded")


def vocabulary(text: str) -> Vocabulary:
    words = text.split()
    counts = (10_000 / np.arange(1, len(words) + 1)).astype(int)
    entries = [Entry(word, int(count), word) for word, count in zip(dict.fromkeys(words), counts)]
    return Vocabulary(entries, VocabularyConfig(), WordSegmenter())


def teacher(tokenizer: SubwordTokenizer) -> SimpleNamespace:
    return SimpleNamespace(tokenizer=tokenizer, config=SimpleNamespace(name="all-MiniLM-L6-v2"))


def test_its_own_language_is_not_reported(tokenizer):
    assert LanguageFit.of(tokenizer, vocabulary(ENGLISH)).subwords < 1.05
    warn_if_unknown_language(teacher(tokenizer), vocabulary(ENGLISH))


@pytest.mark.parametrize("words", [GERMAN, RUSSIAN])
def test_other_languages_are(tokenizer, words):
    with pytest.warns(UserWarning, match=r"all-MiniLM-L6-v2 probably does not know the language.*subwords.*--teacher"):
        warn_if_unknown_language(teacher(tokenizer), vocabulary(words))


def test_so_are_characters_that_it_cannot_read(tokenizer):
    with pytest.warns(UserWarning, match=r"cannot read \d+% of its 60 most frequent words"):
        warn_if_unknown_language(
            teacher(tokenizer), vocabulary(" ".join(4 * chr(0x13000 + number) for number in range(60)))
        )


@pytest.mark.parametrize("words", [ENGLISH, GERMAN])
def test_a_tokenizer_of_single_letters_tells_nothing(tiny_teacher, words):
    warn_if_unknown_language(tiny_teacher("elmo"), vocabulary(words))


def test_a_few_words_tell_nothing(tokenizer):
    warn_if_unknown_language(teacher(tokenizer), vocabulary(GERMAN[:100]))


@pytest.mark.parametrize(("text", "prompt", "warns"), [
    (GERMAN, "the meaning of {}", True),
    (ENGLISH, "the meaning of {}", False),
    (GERMAN, "die Bedeutung von {}", False),
    (GERMAN, None, False),
    ("der die und", "the meaning of {}", False),
])  # fmt: skip
def test_an_english_prompt_for_another_language(text, prompt, warns, recwarn):
    warn_if_prompt_is_foreign([SimpleNamespace(prompt=None), SimpleNamespace(prompt=prompt)], vocabulary(text))
    assert len(recwarn) == warns
    if warns:
        assert "probably not English: the prompt's own words are 0.00% of it" in str(recwarn[0].message)
