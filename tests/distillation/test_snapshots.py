"""Tables at several sizes of the text from one pass: each is what the beginning of the text gives."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig, prepare
from wordstill.distillation import DistillConfig, distill, distill_from_teacher
from wordstill.distillation.snapshots import Beginning, read_sizes, size_name
from wordstill.errors import Interrupted, UsageError
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

SUMS = ("still", "ase", "principal", "decontextual", "sentence")
SIZES = (100, 300)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, short_text: Path) -> Corpus:
    return prepare(short_text, tmp_path_factory.mktemp("sizes") / "store", workers=1)


@pytest.fixture(scope="module")
def config(saved_teacher: Path) -> DistillConfig:
    return DistillConfig(
        SUMS,
        TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=6, words=("never seen", "old still")),
        budget=100,
    )


@pytest.fixture(scope="module")
def teacher(config: DistillConfig) -> Teacher:
    return Teacher.from_config(config.teacher)


def beginning_of(text: Path, paragraphs: int, folder: Path) -> Corpus:
    folder.mkdir(exist_ok=True)
    part = folder / "part.txt"
    part.write_text("\n".join(text.read_text().splitlines()[:paragraphs]))
    return prepare(part, folder / "part", workers=1)


@pytest.mark.parametrize(
    ("words", "expected"), [(1, 1), (13, 1), (14, 2), (300, 24), (519, 40), (520, 40), (10**9, 40)]
)
def test_the_beginning_is_the_fewest_paragraphs_with_so_many_words(corpus, words, expected):
    found = Beginning(corpus, words)
    assert found.paragraphs == expected
    assert found.words == sum(
        len(sentence.words) for n in range(expected) for sentence in corpus.paragraph(n).sentences
    )


def test_counts_of_the_beginning_are_those_of_its_text(corpus, config, short_text, tmp_path):
    vocabulary, found = Vocabulary.build(corpus, config.vocabulary), Beginning(corpus, 300)
    alone = beginning_of(short_text, found.paragraphs, tmp_path)
    slow = Vocabulary.build(alone, replace(config.vocabulary, min_count=1))
    counts = dict(zip(vocabulary.keys, found.counts(vocabulary).tolist()))
    assert counts == {key: int(slow.counts[slow.id(key)]) if key in slow else 0 for key in vocabulary.keys}
    assert counts["old still"] > 0


@pytest.mark.filterwarnings("ignore:The text has .* sentences:UserWarning")
def test_sums_are_those_of_the_beginning_alone(corpus, config, teacher, short_text, tmp_path):
    tables = distill_from_teacher(teacher, corpus, config=replace(config, snapshots=SIZES))
    assert list(tables) == [*SUMS, *(f"{name}-{size}" for name in SUMS for size in SIZES)]
    words = tuple(Vocabulary.build(corpus, config.vocabulary).keys)
    for size in SIZES:
        alone = beginning_of(short_text, Beginning(corpus, size).paragraphs, tmp_path / str(size))
        same_words = replace(config, vocabulary=replace(config.vocabulary, words=words))
        expected = distill_from_teacher(teacher, alone, config=same_words)
        frequent = {*Vocabulary.build(alone, config.vocabulary).keys}
        for name in SUMS:
            table = tables[f"{name}-{size}"]
            late = {"old still"} if size == 100 and name in ("ase", "principal") else set()
            assert {*table.words} == {word for word in frequent if word in expected[name]} - late
            np.testing.assert_allclose(table[list(table.words)], expected[name][list(table.words)], atol=1e-5)
            assert table.provenance["corpus"]["words"] == Beginning(corpus, size).words
            assert dict(zip(table.words, table.counts)) == {
                word: expected[name].counts[expected[name].index(word)] for word in table.words
            }


def test_the_last_table_is_the_usual_one(corpus, config, teacher):
    usual = distill_from_teacher(teacher, corpus, config=config)
    tables = distill_from_teacher(teacher, corpus, config=replace(config, snapshots=SIZES))
    for name in SUMS:
        np.testing.assert_allclose(tables[name].matrix, usual[name].matrix, atol=1e-5)
        assert tables[name].words == usual[name].words


def test_a_learner_has_read_the_beginning_and_nothing_else(corpus, config, teacher):
    def x2static(*sizes: int) -> dict[str, WordVectors]:
        learner = replace(config, methods=("x2static:preset=paper,subsample=0",), snapshots=sizes)
        return distill_from_teacher(teacher, corpus, config=learner)

    first, again = x2static(100), x2static(100, 300)
    early = next(name for name in first if name.endswith("-100"))
    np.testing.assert_array_equal(first[early].matrix, again[early].matrix)
    word = first[early].words[0]
    assert not np.allclose(first[early][word], first[early.removesuffix("-100")][word])


def test_a_stopped_run_goes_on_to_the_same_tables(corpus, config, tmp_path, monkeypatch):
    chosen = replace(config, methods=("still", "x2static:subsample=0"), snapshots=SIZES, checkpoint_seconds=0.0)
    expected = distill(corpus.path, tmp_path / "undisturbed", config=chosen)
    real, calls = Teacher.encode, [0]

    def stopped(self, batch, layers):
        calls[0] += 1
        if calls[0] in (3, 5, 7):
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, batch, layers)

    monkeypatch.setattr(Teacher, "encode", stopped)
    for _ in range(3):
        with pytest.raises(Interrupted):
            distill(corpus.path, tmp_path / "out", config=chosen)
    found = distill(corpus.path, tmp_path / "out", config=chosen)
    assert list(found) == list(expected)
    for label, table in found.items():
        np.testing.assert_array_equal(table.matrix, expected[label].matrix)
        assert (tmp_path / "out" / label / "config.json").is_file()


def test_sizes_beyond_the_text_are_reported(corpus, config, teacher):
    with pytest.warns(UserWarning, match="520 words, so there is no table at 1k"):
        tables = distill_from_teacher(teacher, corpus, config=replace(config, methods=("ase",), snapshots=(100, 1000)))
    assert list(tables) == ["ase", "ase-100"]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("1M,3M", (10**6, 3 * 10**6)), ("500k", (500_000,)), ("2.5m, 1G", (2_500_000, 10**9)), ("7", (7,))],
)
def test_sizes_as_text(text, sizes):
    assert read_sizes(text) == sizes
    assert read_sizes(",".join(map(size_name, sizes))) == sizes


@pytest.mark.parametrize("text", ["", "1M,", "x", "1.5", "-3", "0", "1T"])
def test_sizes_that_are_none(text):
    with pytest.raises(UsageError, match="numbers of words, as in 500k,1M,10M"):
        read_sizes(text)


def test_snapshots_that_cannot_be():
    with pytest.raises(UsageError, match="Sizes must grow"):
        read_sizes("3M,1M")
    with pytest.raises(UsageError, match="read once; got epochs=2"):
        DistillConfig(("x2static",), epochs=2, snapshots=(10,))
    with pytest.raises(UsageError, match="decontextual reads none"):
        DistillConfig(("decontextual",), snapshots=(10,))
