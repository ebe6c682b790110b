from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.corpus.segment import SentencexSplitter, WordSegmenter
from wordstill.errors import DataError

TEXT = (
    "\u00a0Mr. Smith  paid\t€100.  “Really?” she said.\r\n\n他说好。然后走了！ yes\n \n"
    "\x00 odd \x07 bell\x85here\nThe end. The end."
)


def test_a_store_by_hand(make_corpus) -> None:
    corpus = make_corpus("The cat sat. The cat ran!\n\nThe end\n")
    forms = ["The", " The", " cat", " end", " ran!", " sat."]
    assert corpus.forms.slice(0, len(corpus.forms)) == sorted(forms)
    number = {form: index for index, form in enumerate(sorted(forms))}
    order = ["The", " cat", " sat.", " The", " cat", " ran!", "The", " end"]
    assert corpus.form_ids.tolist() == [number[form] for form in order]
    assert corpus.sentences.tolist() == [0, 3, 6, 8]
    assert corpus.paragraphs.tolist() == [0, 2, 3]
    assert [corpus.forms.counts[number[form]] for form in forms] == [2, 1, 2, 1, 1, 1]
    assert corpus.meta["counts"] == {
        "paragraphs": 2, "sentences": 3, "tokens": 8, "forms": 6, "words": 10, "characters": 32,
        "dropped_by_filter": 0, "dropped_by_language": 0,
    }  # fmt: skip
    assert (len(corpus), corpus.n_words, corpus.n_unspaced) == (2, 10, 0)
    dtypes = {"tokens": np.uint32, "sentences": np.int64, "paragraphs": np.int64, "form_offsets": np.int64}
    dtypes |= {"form_lengths": np.uint32, "form_counts": np.int64, "form_words": np.int64}
    dtypes |= {"word_starts": np.uint32, "word_ends": np.uint32}
    for name, dtype in dtypes.items():
        assert np.load(corpus.path / f"{name}.npy", mmap_mode="r").dtype == dtype


def reference(text: str) -> list[str]:
    return [paragraph for line in text.split("\n") if (paragraph := " ".join(line.split()))]


def check_against_reference(corpus: Corpus, text: str) -> None:
    splitter, segmenter = SentencexSplitter(), WordSegmenter()
    expected = reference(text)
    assert [corpus.text(index) for index in range(len(corpus))] == expected
    glued = 0
    for paragraph, wanted in zip(corpus, expected):
        assert paragraph.text == wanted
        sentences = [piece for piece in splitter.split(wanted) if piece.strip()]
        assert [sentence.text for sentence in paragraph.sentences] == [piece.strip() for piece in sentences]
        covered: set[int] = set()
        for sentence in paragraph.sentences:
            assert wanted[sentence.start : sentence.start + len(sentence.text)] == sentence.text
            glued += sentence.start > 0 and wanted[sentence.start - 1] != " "
            for word in sentence.words:
                assert wanted[word.start : word.end] == word.text
                assert not covered & set(range(word.start, word.end))
                covered |= set(range(word.start, word.end))
            words = [run[a:b] for run in sentence.text.split() for a, b in segmenter.spans(run)]
            assert [word.text for word in sentence.words] == words
        assert covered == {place for place, character in enumerate(wanted) if character != " "}
    assert corpus.n_unspaced == glued


def test_paragraphs_sentences_and_words(make_corpus) -> None:
    corpus = make_corpus(TEXT, format="text")
    check_against_reference(corpus, TEXT)
    assert corpus.n_unspaced == 1
    assert " 他说好。" not in corpus.forms.slice(0, len(corpus.forms))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('aA. \n!?。他"“”()')),
        min_size=1,
        max_size=300,
    )
)
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8", newline="")
    text = text.removeprefix("\ufeff")
    if not reference(text):
        with pytest.raises(DataError, match="No text"):
            prepare([file], tmp_path / "store", workers=1, overwrite=True)
        return
    corpus = prepare([file], tmp_path / "store", PrepareConfig(format="text"), workers=1, overwrite=True)
    check_against_reference(corpus, text)


def test_word_slots(make_corpus) -> None:
    corpus = make_corpus("One, two. Three (four)!\nfive six\n")
    slots, sentence_of_word = corpus.word_slots(1, 3)
    starts, forms = corpus.forms.word_starts, corpus.forms
    form_of_slot = np.searchsorted(forms.word_offsets, slots, side="right") - 1
    words = [forms[form][starts[slot] : forms.word_ends[slot]] for form, slot in zip(form_of_slot, slots)]
    assert words == ["Three", "(", "four", ")", "!", "five", "six"]
    assert sentence_of_word.tolist() == [1] * 5 + [2] * 2
    assert len(corpus.word_slots(0, 3)[0]) == corpus.n_words


def test_indices_outside(make_corpus) -> None:
    corpus = make_corpus("word")
    for index in (-1, 1):
        with pytest.raises(IndexError):
            corpus.text(index)
        with pytest.raises(IndexError):
            corpus.forms[index]


def test_a_corpus_travels_to_other_processes(make_corpus) -> None:
    corpus = make_corpus("Some text.")
    assert pickle.loads(pickle.dumps(corpus)).text(0) == "Some text."


FILES = ["tokens.npy", "sentences.npy", "paragraphs.npy", "forms.bin", "form_offsets.npy", "form_lengths.npy"]
FILES += ["form_counts.npy", "form_words.npy", "word_starts.npy", "word_ends.npy"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["missing", "truncated", "longer", "changed"])
def test_a_damaged_store(make_corpus, name: str, harm: str) -> None:
    corpus = make_corpus("Some text. More text.")
    path = corpus.path / name
    content = path.read_bytes()
    path.unlink()
    if harm != "missing":
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        path.write_bytes({"truncated": content[:-3], "longer": content + b"\x00", "changed": flipped}[harm])
    with pytest.raises(DataError, match=rf"{name}: .*Prepare the text again"):
        Corpus.open(corpus.path, verify=True)
    if harm != "changed":
        with pytest.raises(DataError, match=name):
            Corpus.open(corpus.path)


def test_a_header_that_lies(make_corpus) -> None:
    corpus = make_corpus("Some text. More text.")
    content = (corpus.path / "tokens.npy").read_bytes()
    (corpus.path / "tokens.npy").write_bytes(content.replace(b"(4,)", b"(3,)"))
    with pytest.raises(DataError, match=r"tokens\.npy: uint32 of shape \(3,\) needs 12 bytes"):
        Corpus.open(corpus.path)


def test_one_flipped_bit_of_the_meta_file_is_told(make_corpus) -> None:
    """D14: the number of words, which sets learning rates, was not checked."""
    corpus = make_corpus("Some text.")
    path = corpus.path / "meta.json"
    whole = path.read_bytes()
    for place in range(0, len(whole), 9):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            Corpus.open(corpus.path)


def test_a_store_from_before_its_meta_file_had_a_checksum(make_corpus) -> None:
    corpus = make_corpus("Some text.")
    path = corpus.path / "meta.json"
    meta = {**json.loads(path.read_text()), "schema": 1}
    del meta["sha256"]
    path.write_text(json.dumps(meta))
    assert Corpus.open(corpus.path, verify=True).hash == corpus.hash
    for changed in ({"settings": {}}, {"glued": -1}, {"counts": {}}, {"counts": 5}, {"hash": "0"}):
        path.write_text(json.dumps({**meta, **changed}))
        with pytest.raises(DataError):
            Corpus.open(corpus.path)


@pytest.mark.parametrize("descr", ["<U0", "|O", "<f4"])
def test_arrays_that_would_end_the_process(make_corpus, descr: str) -> None:
    """D7: numpy divides by the size of an element."""
    corpus = make_corpus("Some text.")
    path = corpus.path / "sentences.npy"
    size = path.stat().st_size
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (-1,), }}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    path.write_bytes(content.ljust(size, b"\x00"))
    with pytest.raises(DataError, match=r"store is damaged.*sentences\.npy"):
        Corpus.open(corpus.path)


METAS = [
    (b"", r"meta\.json.*Prepare the text again"),
    (b"[]", "damaged"),
    (b'{"schema": 99, "files": {}}', "schema 99"),
    (b'{"schema": 1, "files": {}}', "entries are missing"),
]


@pytest.mark.parametrize(("content", "message"), METAS)
def test_a_damaged_meta_file(make_corpus, content: bytes, message: str) -> None:
    corpus = make_corpus("Some text.")
    (corpus.path / "meta.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Corpus.open(corpus.path)


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not a prepared corpus.*wordstill prepare"):
        Corpus.open(tmp_path)


def test_the_hash_tells_contents_and_settings_apart(make_corpus) -> None:
    hashes = [
        make_corpus(text, **settings).hash
        for text, settings in [
            ("Some text. More.", {}),
            ("Some text.  More.\n\n", {}),
            ("Some text. Less.", {}),
            ("Some text. More.", {"splitter_language": "de"}),
            ("Some text. More.", {"sentences_per_line": True}),
        ]
    ]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_meta(make_corpus) -> None:
    corpus = make_corpus("Some text.")
    meta = json.loads((corpus.path / "meta.json").read_text())
    assert {**meta, "sha256": None} == {**corpus.meta, "sha256": None}
    assert meta["settings"] == {
        "splitter": "sentencex:en", "segmenter": "words.v1", "sentences_per_line": False, "filter": "none",
        "language": None,
    }  # fmt: skip
    assert meta["sources"][0].endswith("text1.txt")
    assert set(meta["files"]) == set(FILES)
