from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wordstill.core.tensors import read_checked, write_tensors
from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig, prepare, words
from wordstill.corpus.store import Forms

LINES = ["The cat's well-known hat, and/or a (cat).", "A cat; THE Cat. Über-cat 好的!", "the hat\tthe end."]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("\n".join(LINES * 40), encoding="utf-8")
    return prepare([tmp_path / "text.txt"], tmp_path / "store", workers=2, block_bytes=500).path


def counted(corpus: Corpus) -> Counter[str]:
    return Counter(word.text for paragraph in corpus for sentence in paragraph.sentences for word in sentence.words)


def test_prepare_finds_the_distinct_words(store: Path) -> None:
    corpus = Corpus.open(store)
    spelled, expected = list(corpus.words), counted(corpus)
    assert spelled == sorted(expected)
    assert dict(zip(spelled, corpus.words.counts.tolist())) == expected
    of_slot = [spelled[number] for number in corpus.words.of_slot]
    assert of_slot == [word for chunk in corpus.forms.word_chunks() for word in chunk]


def test_a_vocabulary_needs_no_pass_over_the_forms(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Forms, "slice", lambda *_: pytest.fail("forms are read"))
    corpus = Corpus.open(store)
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1))
    assert vocabulary.counts[vocabulary.id("cat")] == 120
    assert vocabulary.counts_in(corpus).tolist() == vocabulary.counts.tolist()


@pytest.mark.parametrize("harm", ["missing", "damaged", "of another store", "of another kind", "not text"])
def test_words_that_are_not_there_are_counted_again(store: Path, tmp_path: Path, harm: str) -> None:
    path = store / words.FILE
    before = path.read_bytes()
    if harm == "of another store":
        (tmp_path / "other.txt").write_text("Nothing like it.")
        path.write_bytes((prepare([tmp_path / "other.txt"], tmp_path / "other").path / words.FILE).read_bytes())
    elif harm == "of another kind":
        arrays, facts = read_checked(path)
        write_tensors(path, {name: array.astype(np.float32) for name, array in arrays.items()}, facts, checksum=True)
    elif harm == "not text":
        arrays, facts = read_checked(path)
        copies = {name: array.copy() for name, array in arrays.items()}
        copies["text"][0] = 0xFF
        write_tensors(path, copies, facts, checksum=True)
    elif harm == "damaged":
        path.write_bytes(before[:-1] + b"?")
    else:
        path.unlink()
    corpus = Corpus.open(store, verify=True)
    assert dict(zip(corpus.words, corpus.words.counts.tolist())) == counted(corpus)
    assert path.read_bytes() == before


def test_a_store_that_cannot_be_written(
    store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("read-only")

    (store / words.FILE).unlink()
    monkeypatch.setattr(words, "atomic_path", refuse)
    corpus = Corpus.open(store)
    assert len(corpus.words) == len(counted(corpus))
    assert caplog.messages == ["The words of the text are not kept for the next run: read-only"]


def test_more_words_than_are_decoded_at_once(store: Path) -> None:
    corpus = Corpus.open(store)
    expected = list(corpus.words)
    for at_once in (1, 3, len(expected)):
        assert [word for chunk in corpus.words.chunks(at_once) for word in chunk.splitlines()] == expected
