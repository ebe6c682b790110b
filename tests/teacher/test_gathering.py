from __future__ import annotations

import random
import warnings
from itertools import islice

import numpy as np
import pytest
import torch

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.teacher import BatchConfig, TextBatches, subword_source
from wordstill.teacher.batch import FIELDS
from wordstill.teacher.gathering import Gatherer, gatherer
from wordstill.teacher.subwords import FormSubwords

CPU = torch.device("cpu")
LIMIT = 40
INVISIBLE = "\u200b"


@pytest.fixture(scope="module")
def corpus(write_store, unique_words):
    """Short and long paragraphs, sentences over the limit, and words without subwords."""
    words, rng = unique_words(), random.Random(0)

    def sentence(size):
        return " ".join(islice(words, size)).capitalize() + rng.choice([".", "!", "...", ",", ""])

    lines = []
    for sentences in [1, 2, 3, 30, 1, 4, 12, 2]:
        lines += [sentence(rng.choice([1, 2, 3, 4, 6])) for _ in range(sentences)] + [""]
    lines += [sentence(60), sentence(3), sentence(80), "", sentence(2), INVISIBLE, ""]
    lines += [f"{sentence(2)} {INVISIBLE} {sentence(3)}", "", INVISIBLE, "", sentence(4)]
    return write_store(*lines, sentences_per_line=True)


@pytest.fixture(params=["bert-uncased", "roberta", "gpt2", "llama3", "xlmr", "t5"])
def tokenizer(request, tiny_teacher):
    """Tokenizers that never join characters across a space."""
    return tiny_teacher(request.param).tokenizer


@pytest.fixture
def source(corpus, tokenizer):
    found = subword_source(corpus, tokenizer)
    assert isinstance(found, FormSubwords)
    return found


def on_cpu(source, vocabulary, tokenizer):
    return Gatherer(source, vocabulary, tokenizer, LIMIT, CPU)


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("order", [None, 5])
@pytest.mark.parametrize("unit", ["paragraph", "sentence"])
@pytest.mark.parametrize("packed", [False, True])
def test_gathered_batches_are_those_of_the_host(corpus, source, tokenizer, packed, unit, order, min_count):
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=min_count))
    config = BatchConfig(budget=150, limit=LIMIT, unit=unit, packed=packed)
    given = (corpus, vocabulary, source, tokenizer, config, order)
    expected = list(TextBatches(*given).since((0, 0)))
    found = list(TextBatches(*given, on_cpu(source, vocabulary, tokenizer)).since((0, 0)))
    assert len(found) == len(expected) > 3
    assert any(batch.n_truncated for _, batch in expected)
    for (place, batch), (right_place, right) in zip(found, expected):
        assert place == right_place
        for field in FIELDS:
            assert getattr(batch, field).tolist() == getattr(right, field).tolist(), field
            assert getattr(batch, field).dtype == torch.int64
        assert batch.known.tolist() == np.flatnonzero(right.word_ids >= 0).tolist()
        assert batch.host_word_ids.tolist() == right.word_ids.tolist()
        assert batch.lengths.tolist() == right.lengths.tolist()
        assert (batch.n_words, batch.n_truncated) == (right.n_words, right.n_truncated)
        assert batch.max_subword >= right.subwords.max()
        assert batch.host.source_ids.tolist() == right.source_ids.tolist()


def test_reading_begins_in_the_middle_as_on_the_host(corpus, source, tokenizer):
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1))
    config = BatchConfig(budget=150, limit=LIMIT)
    gathered = TextBatches(
        corpus, vocabulary, source, tokenizer, config, gather=on_cpu(source, vocabulary, tokenizer)
    )
    whole = list(gathered.since((0, 0)))
    rest = list(gathered.since(whole[1][0]))
    assert [batch.subwords.tolist() for _, batch in rest] == [
        batch.subwords.tolist() for _, batch in whole[2:]
    ]


@pytest.mark.parametrize(
    ("device", "words", "by_form", "reason"),
    [
        ("cpu", (), True, "the teacher is on the cpu"),
        ("cuda", (), False, "cannot be split into subwords apart"),
        ("cuda", ("a b",), True, "phrases have to be found"),
    ],
)
def test_where_a_gpu_cannot_gather_a_warning_says_why(
    corpus, source, tokenizer, device, words, by_form, reason
):
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1, words=words))
    given = (source if by_form else None, vocabulary, tokenizer, LIMIT, torch.device(device))
    with warnings.catch_warnings(action="error"):
        assert gatherer("host", *given) is None
        assert gatherer("auto", *given) is None
    with pytest.warns(UserWarning, match=f"made on the host, not on the device: .*{reason}"):
        assert gatherer("device", *given) is None
