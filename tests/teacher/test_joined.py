"""Texts that are tokenized together against each by itself."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from wordstill.teacher.subwords import encode_joined, joining_changes_nothing

TEXTS = [" the", "river", " stands", ' "still",', " ", "", " a\u0301b", " \u200d", " Σας", " 3.5", "x"] * 20


def assert_same(one, other):
    for field in fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def test_every_tokenizer_that_splits_at_spaces(space_splitting, tiny_teacher, nasty_store):
    tokenizer = tiny_teacher(space_splitting).tokenizer
    forms = nasty_store.forms.slice(0, len(nasty_store.forms))
    assert_same(encode_joined(tokenizer, forms), tokenizer.encode(forms))
    assert joining_changes_nothing(tokenizer, forms)


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta"])
@pytest.mark.parametrize("together", [1, 3, 64, 1000])
def test_odd_texts_in_runs_of_every_length(kind, together, tiny_teacher):
    tokenizer = tiny_teacher(kind).tokenizer
    assert_same(encode_joined(tokenizer, TEXTS, together), tokenizer.encode(TEXTS))


def test_no_texts(tiny_teacher):
    tokenizer = tiny_teacher("bert-uncased").tokenizer
    assert encode_joined(tokenizer, []).offsets.tolist() == [0]
    assert joining_changes_nothing(tokenizer, [])


def test_a_tokenizer_that_joins_across_spaces_is_found_out(tiny_teacher):
    texts = [" new", " york", " is", " not", " old"] * 40
    assert not joining_changes_nothing(tiny_teacher("swallowing").tokenizer, texts)
