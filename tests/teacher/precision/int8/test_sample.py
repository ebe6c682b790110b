from __future__ import annotations

import pytest
import torch

from wordstill.teacher.precision.int8.sample import LONGEST, PARAGRAPHS, WORDS, sample_of

LINES = [f"The {word} still stands in house {word} by the river. Nobody moved it." for word in "abcdefghij"]


@pytest.fixture(scope="module")
def tokenizer(tiny_teacher):
    return tiny_teacher("bert-uncased").subwords


def strings(texts, tokenizer):
    return [tokenizer.backend.decode(text[1:-1].tolist()) for text in texts]


def test_paragraphs_and_words_alone(write_store, tokenizer):
    corpus = write_store(*LINES)
    sample = sample_of(corpus, tokenizer, 128)
    read = strings(sample.learnt, tokenizer)
    for line in LINES:
        whole = tokenizer.backend.decode(tokenizer.encode([line]).ids.tolist())
        assert (whole in read) != (whole == strings([sample.judged], tokenizer)[0])
    assert {"the", "river.", "still"} <= {text.replace(" ", "") for text in read}
    assert all(text[0] == tokenizer.prefix[0] and text[-1] == tokenizer.suffix[0] for text in sample.learnt)
    assert sample.facts()["texts"] == len(sample.learnt)
    assert sample.facts()["sub_words"] == sum(map(len, sample.learnt))


def test_it_depends_on_the_corpus_only(write_store, tokenizer):
    one, again, other = (
        sample_of(write_store(*lines), tokenizer, 128) for lines in (LINES, LINES, LINES[::-1])
    )
    assert one.facts() == again.facts()
    assert torch.equal(one.judged, again.judged)
    assert one.facts()["sha256"] != other.facts()["sha256"]


def test_of_a_long_text_it_is_a_part(write_store, tokenizer, unique_words):
    words = unique_words()
    lines = [" ".join(next(words) for _ in range(3 + 40 * (number % 3))) for number in range(300)]
    sample = sample_of(write_store(*lines), tokenizer, 512)
    assert PARAGRAPHS + WORDS - 5 <= len(sample.learnt) <= PARAGRAPHS + WORDS
    assert max(map(len, sample.learnt)) == len(sample.judged) == LONGEST
    assert max(map(len, sample_of(write_store(*lines), tokenizer, 20).learnt)) == 20


def test_one_paragraph_is_learnt_from_and_judged_by(write_store, tokenizer):
    sample = sample_of(write_store("The still stands."), tokenizer, 128)
    assert any(torch.equal(text, sample.judged) for text in sample.learnt)


def test_paragraphs_without_sub_words(write_store, tokenizer):
    sample = sample_of(write_store("\u200b"), tokenizer, 128)
    assert (sample.learnt, len(sample.judged)) == ((), 0)
