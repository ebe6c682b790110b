from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from wordstill.corpus import Corpus
from wordstill.teacher import subword_source
from wordstill.teacher.subwords import FormSubwords, MixedSubwords, TextSubwords
from wordstill.teacher.tokenizer import SubwordTokenizer

SPACE_SPLITTING = (
    "bert-uncased", "bert-cased", "roberta", "roberta-prefix", "roberta-untrimmed", "gpt2", "modernbert",
    "llama3", "xlmr", "t5", "albert",
)  # fmt: skip
ALL_KINDS = (*SPACE_SPLITTING, "llama2", "swallowing")


def assert_same(one, other):
    for field in fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def paragraph_rows(corpus):
    return np.array(list(pairwise(corpus.paragraphs.tolist())))


def runs_of_sentences(corpus):
    """Rows for all runs of one or two sentences that lie in one paragraph."""
    bounds = pairwise(corpus.paragraphs.tolist())
    return np.array([(a, b) for low, high in bounds for a in range(low, high) for b in (a + 1, a + 2) if b <= high])


def assert_both_ways_agree(corpus, tokenizer):
    forms, texts = FormSubwords(corpus, tokenizer), TextSubwords(corpus, tokenizer)
    sentences = len(corpus.sentences) - 1
    assert np.array_equal(forms.sentence_lengths(0, sentences), texts.sentence_lengths(0, sentences))
    for rows in (paragraph_rows(corpus), runs_of_sentences(corpus)[::-1]):
        assert_same(forms.read(rows), texts.read(rows))


def test_both_ways_agree_on_nasty_text(space_splitting, tiny_teacher, nasty_store):
    assert nasty_store.n_unspaced == 0
    assert_both_ways_agree(nasty_store, tiny_teacher(space_splitting).tokenizer)


@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_both_ways_agree_on_any_text(data, nasty_words, write_store, tiny_teacher):
    part = st.one_of(st.sampled_from(nasty_words), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
    word = st.lists(part, min_size=1, max_size=3).map("".join)
    end = st.sampled_from(["", "", "", ".", "!", "?", '."', ".)", "..."])
    paragraph = st.lists(st.tuples(word, end).map("".join), min_size=1, max_size=12).map(" ".join)
    paragraphs = data.draw(st.lists(paragraph, min_size=1, max_size=6))
    # A mark of the byte order at the start of a file is no text.
    assume("\n".join(paragraphs).removeprefix("\ufeff").split())
    corpus = write_store(*paragraphs)
    assume(corpus.n_unspaced == 0)
    for kind in SPACE_SPLITTING:
        assert_both_ways_agree(corpus, tiny_teacher(kind).tokenizer)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_words_own_all_subwords_that_overlap_them(kind, tiny_teacher, nasty_store):
    tokenizer = tiny_teacher(kind).tokenizer
    source = TextSubwords(nasty_store, tokenizer)
    for number, row in enumerate(paragraph_rows(nasty_store)):
        table = source.read(row[None])
        paragraph = nasty_store.paragraph(number)
        spans = tokenizer.encode([paragraph.text])
        words = [word for sentence in paragraph.sentences for word in sentence.words]
        assert len(words) == len(table.word_start)
        for word, first, last in zip(words, table.word_start.tolist(), table.word_end.tolist()):
            mine = (spans.starts < word.end) & (spans.ends > word.start) & (spans.starts < spans.ends)
            expected = np.flatnonzero(mine)
            assert (first, last) == (expected[0], expected[-1] + 1) if len(expected) else first == last


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_words_own_the_subwords_that_transformers_names(kind, tiny_teacher, tiny_tokenizer, nasty_store):
    """The ids are those of transformers, and what it finds for a character of a word is the word's."""
    tokenizer, source = tiny_tokenizer(kind), TextSubwords(nasty_store, tiny_teacher(kind).tokenizer)
    marks = {tokenizer.convert_tokens_to_ids(mark) for mark in ("Ġ", "▁")}
    specials = tuple(tokenizer.all_special_tokens)
    compared = 0
    for number, row in enumerate(paragraph_rows(nasty_store)):
        paragraph = nasty_store.paragraph(number)
        if len(paragraph.text) > 2000 or any(name in paragraph.text for name in specials):
            continue
        table, encoding = source.read(row[None]), tokenizer(paragraph.text, add_special_tokens=False)
        assert table.ids.tolist() == encoding["input_ids"]
        words = [word for sentence in paragraph.sentences for word in sentence.words]
        for word, first, last in zip(words, table.word_start, table.word_end):
            found = {encoding.char_to_token(place) for place in range(word.start, word.end)} - {None}
            owned = {subword for subword in found if encoding["input_ids"][subword] not in marks}
            assert owned <= set(range(first, last))
            compared += len(owned)
    assert compared > 1000


def test_sentences_begin_where_their_first_subword_does(tiny_teacher, write_store):
    corpus = write_store("The river stands. Nobody 77. It drips!", "One.")
    for kind in ALL_KINDS:
        tokenizer = tiny_teacher(kind).tokenizer
        table = TextSubwords(corpus, tokenizer).read(paragraph_rows(corpus))
        assert table.sentence_start.tolist() == [0, *table.sentence_end[:-1].tolist()]
        assert table.sentence_end[-1] == len(table.ids)
        assert np.bincount(table.word_sentence).tolist() == [4, 3, 3, 2]
        if kind in SPACE_SPLITTING:
            for sentence in range(3):
                text = "".join(
                    corpus.forms[token]
                    for token in corpus.form_ids[slice(*corpus.sentences[sentence : sentence + 2])].tolist()
                )
                part = table.ids[table.sentence_start[sentence] : table.sentence_end[sentence]]
                assert np.array_equal(part, tokenizer.encode([text]).ids)


def test_sentences_without_spaces_between_them(tiny_teacher, write_store):
    corpus = write_store("河水流过老房子。川は静かに流れる。Nobody knows。 The river。")
    assert corpus.n_unspaced > 0
    for kind in ALL_KINDS:
        source = subword_source(corpus, tiny_teacher(kind).tokenizer)
        assert isinstance(source, TextSubwords)
        table = source.read(paragraph_rows(corpus))
        assert table.sentence_start.tolist() == [0, *table.sentence_end[:-1].tolist()]
        assert table.sentence_end[-1] == len(table.ids)
        sentence = table.word_sentence
        there = table.word_start < table.word_end
        assert (table.word_end > table.sentence_start[sentence])[there].all()
        assert (table.word_start < table.sentence_end[sentence])[there].all()


RARELY_GLUED = (
    "河水流过老房子。川は静かに。 The end.",
    "The end. 河水流过老房子。川は静かに。",
    *(f"The river stands. It drips {n}." for n in range(70)),
)


def test_the_slow_way_is_taken_only_where_it_must_be(space_splitting, tiny_teacher, write_store):
    """One text without spaces must not slow down a whole corpus."""
    corpus, tokenizer = (write_store(*RARELY_GLUED, "那河。", "The rest."), tiny_teacher(space_splitting).tokenizer)
    assert corpus.n_unspaced == 2
    mixed, texts = subword_source(corpus, tokenizer), TextSubwords(corpus, tokenizer)
    assert isinstance(mixed, MixedSubwords)
    rows, total = paragraph_rows(corpus), len(corpus.sentences) - 1
    assert np.array_equal(mixed.sentence_lengths(0, total), texts.sentence_lengths(0, total))
    assert np.array_equal(mixed.sentence_lengths(*rows[3]), texts.sentence_lengths(*rows[3]))
    runs = runs_of_sentences(corpus)
    for part in (rows, rows[::-1], rows[2:], *runs[:20, None]):
        assert_same(mixed.read(part), texts.read(part))
    mixed.by_text = None
    assert_same(mixed.read(rows[2:]), texts.read(rows[2:]))


def test_the_fast_way_is_taken_where_it_is_exact(space_splitting, tiny_teacher, nasty_store):
    assert isinstance(subword_source(nasty_store, tiny_teacher(space_splitting).tokenizer), FormSubwords)


def test_the_slow_way_is_taken_for_tokenizers_that_join(space_joining, tiny_teacher, nasty_store):
    assert isinstance(subword_source(nasty_store, tiny_teacher(space_joining).tokenizer), TextSubwords)


def test_the_slow_way_is_taken_when_the_sample_disagrees(tiny_teacher, nasty_store, monkeypatch):
    """A tokenizer that joins only in ways that nobody foresaw is found out on the corpus itself."""
    tokenizer = tiny_teacher("swallowing").tokenizer
    monkeypatch.setattr(type(tokenizer), "splits_at_spaces", lambda self: True)
    assert isinstance(subword_source(nasty_store, tokenizer), TextSubwords)


def test_forms_are_tokenized_in_chunks(tiny_teacher, nasty_store):
    tokenizer = tiny_teacher("roberta").tokenizer
    rows = paragraph_rows(nasty_store)
    whole = FormSubwords(nasty_store, tokenizer).read(rows)
    assert_same(FormSubwords(nasty_store, tokenizer, forms_at_once=7).read(rows), whole)
    assert_same(FormSubwords(nasty_store, tokenizer, processes=2).read(rows), whole)


def test_subwords_of_a_large_store_are_kept_beside_it(write_store, tiny_teacher, monkeypatch):
    corpus = write_store("The old still stands by the river.", "Nobody moved it.")
    one, other = (tiny_teacher(kind).tokenizer for kind in ("bert-uncased", "gpt2"))
    first = FormSubwords(corpus, one, least_kept=1)
    FormSubwords(corpus, other, least_kept=1)
    kept = sorted(corpus.path.glob("subwords-*"))
    assert len(kept) == 2
    Corpus.open(corpus.path, verify=True)
    with monkeypatch.context() as patch:
        patch.setattr(SubwordTokenizer, "encode_raw", lambda *_: pytest.fail("they were kept"))
        again = FormSubwords(corpus, one, least_kept=1)
    assert all(np.array_equal(mine, yours) for mine, yours in zip(first.table, again.table))
    for path in kept:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    healed = FormSubwords(corpus, one, least_kept=1)
    assert all(np.array_equal(mine, yours) for mine, yours in zip(first.table, healed.table))


def test_a_store_that_cannot_be_written_keeps_nothing(write_store, tiny_teacher, monkeypatch, caplog):
    corpus = write_store("The old still stands by the river.")

    def refuse(*_):
        raise OSError("read-only")

    monkeypatch.setattr("wordstill.corpus.words.atomic_path", refuse)
    FormSubwords(corpus, tiny_teacher("bert-uncased").tokenizer, least_kept=1)
    assert not list(corpus.path.glob("subwords-*"))
    assert caplog.messages == ["The subwords of the text are not kept for the next run: read-only"]
