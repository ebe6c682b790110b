"""Texts with one word masked, against the model itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.errors import UsageError
from wordstill.methods.x2static import sentence_contexts
from wordstill.teacher import BatchConfig, TextBatches, subword_source
from wordstill.teacher.batches import Masking

PARAGRAPHS = (
    "The old still stands in the small house. Nobody has moved it since 1923!",
    "Nobody knows why the well-known river turned grey; the newspapers wrote about it for weeks.",
    "It drips.",
)


@pytest.fixture(scope="module")
def teacher(masking_teacher):
    return masking_teacher


@pytest.fixture(scope="module")
def corpus(write_store):
    return write_store(*PARAGRAPHS)


@pytest.fixture(scope="module")
def vocabulary(corpus):
    return Vocabulary.build(corpus, VocabularyConfig(min_count=1))


def batches(teacher, corpus, vocabulary, masking, *, unit="sentence", budget=10_000):
    source = subword_source(corpus, teacher.tokenizer)
    config = BatchConfig(budget, teacher.limit, unit)
    text = TextBatches(corpus, vocabulary, source, teacher.tokenizer, config, masking=masking)
    return [batch for _, batch in text.since((0, 0))]


def masking(teacher, vocabulary, number=0, keep=1.0) -> Masking:
    return Masking(teacher.tokenizer.mask_id, np.full(len(vocabulary), keep, np.float32), number, (7,))


def test_a_context_is_that_of_the_text_with_the_mask(teacher, corpus, vocabulary, tiny_model):
    """Reading: the model itself, on each sentence with the subwords of its target replaced."""
    (plain,) = batches(teacher, corpus, vocabulary, None)
    (batch,) = batches(teacher, corpus, vocabulary, masking(teacher, vocabulary))
    assert len(batch.masked) == len(batch.source_ids) == 4
    states = teacher.encode(batch, (2,))
    found = sentence_contexts(states, torch.from_numpy(batch.masked), 2, "subwords", leave_out=False)
    for context, word in zip(found, batch.masked):
        text = batch.sentence_text[batch.word_sentence[word]]
        part = slice(batch.text_offsets[text], batch.text_offsets[text + 1])
        ids = plain.subwords[part].copy()
        own = slice(batch.word_start[word] - part.start, batch.word_end[word] - part.start)
        ids[own] = teacher.tokenizer.mask_id
        with torch.no_grad():
            alone = tiny_model("bert-uncased")(torch.from_numpy(ids)[None], output_hidden_states=True)
        torch.testing.assert_close(context, alone.hidden_states[2][0, 1:-1].mean(dim=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("unit", "texts"), [("sentence", 4), ("paragraph", 3)])
def test_rounds_take_every_word_of_a_text_once(teacher, corpus, vocabulary, unit, texts):
    (plain,) = batches(teacher, corpus, vocabulary, None, unit=unit)
    seen: Counter[int] = Counter()
    for number in range(len(plain.word_ids)):
        (batch,) = batches(teacher, corpus, vocabulary, masking(teacher, vocabulary, number), unit=unit)
        assert len(batch.masked) <= texts
        seen.update(batch.masked.tolist())
        changed = np.flatnonzero(batch.subwords != plain.subwords)
        inside = [range(batch.word_start[word], batch.word_end[word]) for word in batch.masked]
        assert set(changed) <= {place for places in inside for place in places}
    assert seen == Counter(np.flatnonzero(plain.word_ids >= 0).tolist())


def test_words_that_are_thinned_out_are_not_masked(teacher, corpus, vocabulary):
    nobody = vocabulary.id("nobody")
    keep = np.zeros(len(vocabulary), np.float32)
    keep[nobody] = 1.0
    for number, expected in ((0, 2), (1, 0)):
        (batch,) = batches(teacher, corpus, vocabulary, Masking(1, keep, number, (0,)))
        assert batch.word_ids[batch.masked].tolist() == [nobody] * expected


def test_a_teacher_without_a_mask_is_refused(tiny_teacher, corpus):
    from wordstill.distillation import distill_from_teacher

    with pytest.raises(UsageError, match=r"x2static-masked-1: the teacher tiny-gpt2 has no mask token.*masked=0"):
        distill_from_teacher(tiny_teacher("gpt2"), corpus, "x2static:masked=1")
