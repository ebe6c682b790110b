from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
import torch

from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.teacher import BatchConfig, TextBatches, subword_source
from wordstill.teacher.batch import FIELDS
from wordstill.teacher.batches import batch_arrays
from wordstill.teacher.gathering import HOST, DeviceArrays
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


@pytest.mark.parametrize(("min_count", "order"), [(1, None), (2, 5)])
@pytest.mark.parametrize("unit", ["paragraph", "sentence"])
@pytest.mark.parametrize("packed", [False, True])
def test_batches_made_of_tensors_are_those_of_the_host(corpus, source, tokenizer, packed, unit, order, min_count):
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=min_count))
    config = BatchConfig(budget=150, limit=LIMIT, unit=unit, packed=packed)
    given = (corpus, vocabulary, source, tokenizer, config, order)
    expected = list(TextBatches(*given).since((0, 0)))
    found = list(TextBatches(*given, DeviceArrays(CPU)).since((0, 0)))
    assert len(found) == len(expected) > 3
    assert any(batch.n_truncated for _, batch in expected)
    for (place, batch), (right_place, right) in zip(found, expected):
        assert place == right_place
        for field in FIELDS:
            assert getattr(batch, field).tolist() == getattr(right, field).tolist(), field
            assert getattr(batch, field).dtype == torch.int64
        assert batch.known.tolist() == np.flatnonzero(right.word_ids >= 0).tolist()
        assert batch.host_word_ids.tolist() == right.word_ids.tolist()
        assert right.word_ids.dtype == np.int32
        assert batch.lengths.tolist() == right.lengths.tolist()
        assert (batch.n_words, batch.n_truncated) == (right.n_words, right.n_truncated)
        assert batch.max_subword >= right.subwords.max()
        assert batch.source_ids.tolist() == right.source_ids.tolist()


def slow_words(paragraph, keys, tokenizer, base):
    """Id, subwords and sentence of each word of a text that begins at ``base``, found one by one."""
    encoded = tokenizer.encode([paragraph.text])
    spans = list(zip(encoded.starts.tolist(), encoded.ends.tolist()))
    room = LIMIT - len(tokenizer.prefix + tokenizer.suffix)
    for number, sentence in enumerate(paragraph.sentences):
        for word in sentence.words:
            mine = [place for place, (a, b) in enumerate(spans) if max(a, word.start) < min(b, word.end)]
            if mine and mine[-1] < room:
                first = base + len(tokenizer.prefix)
                yield keys.get(word.text.lower(), -1), first + mine[0], first + mine[-1] + 1, number
            else:
                yield -1, base, base, number


@pytest.mark.parametrize("arrays", [HOST, DeviceArrays(CPU)], ids=["numpy", "torch"])
def test_batches_against_loops(arrays, tokenizer, write_store, unique_words):
    words = unique_words()
    lines = [" ".join(islice(words, size)).capitalize() for size in (1, 4, 60, 3, 2)]
    corpus = write_store(*lines, f"{INVISIBLE} {lines[1]}. So {lines[3]}, {INVISIBLE} it! Is.")
    vocabulary, paragraphs = Vocabulary.build(corpus, VocabularyConfig(min_count=2)), list(corpus)
    keys = {key: id for id, key in enumerate(vocabulary.keys)}
    room = LIMIT - len(tokenizer.prefix + tokenizer.suffix)
    given = (corpus, vocabulary, subword_source(corpus, tokenizer), tokenizer, BatchConfig(90, LIMIT))
    seen = 0
    for _, batch in TextBatches(*given, arrays=arrays).since((0, 0)):
        columns = (batch.word_ids, batch.word_start, batch.word_end, batch.word_sentence)
        found = zip(*(column.tolist() for column in columns))
        expected, sentences, offset = [], 0, 0
        for number, source_id in enumerate(batch.source_ids.tolist()):
            paragraph = paragraphs[source_id]
            for *word, sentence in slow_words(paragraph, keys, tokenizer, offset):
                expected.append((*word, sentences + sentence))
            ids = tokenizer.encode([paragraph.text]).ids.tolist()
            whole = [*tokenizer.prefix, *ids[:room], *tokenizer.suffix]
            assert batch.subwords.tolist()[offset : offset + len(whole)] == whole
            for sentence in range(len(paragraph.sentences)):
                assert batch.sentence_text[sentences + sentence] == number
            sentences, offset, seen = sentences + len(paragraph.sentences), offset + len(whole), seen + 1
            assert batch.text_offsets[number + 1] == offset
        assert list(found) == expected
    assert seen == len(paragraphs)


@pytest.mark.parametrize(
    ("device", "words", "by_form"), [("cpu", (), True), ("cuda", (), False), ("cuda", ("a b",), True)]
)
def test_where_a_gpu_cannot_gather_the_host_does(corpus, source, device, words, by_form):
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1, words=words))
    assert batch_arrays(source if by_form else None, vocabulary, torch.device(device)) is HOST
