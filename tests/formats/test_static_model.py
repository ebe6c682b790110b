from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.pre_tokenizers import Whitespace

from wordstill import formats
from wordstill.errors import FormatError, UsageError
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.similarity import SentenceVectors
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder

WORDS = ["the", "queen", "don't", "3.5", "new york", "é", "...", "_", "日本", "well-known"]
LOWER = [
    "the",
    "queen",
    "don't",
    "3",
    "new york",
    "new",
    "york",
    "é",
    ".",
    "日",
    "well",
    "known",
    "new_york_city",
    "rock & roll",
    "日本 語",
]
CASED = ["the", "Queen", "queen", "don't", "New York", "new", "york", "É", "IBM", "in", "los_angeles", ","]
SENTENCES = [
    "The Queen, the queen!",
    "DON'T — “don't”; Don't…",
    "In New York, IBM's new york: NEW YORK?",
    "new  york\nYork's new_york",
    "New York City; new york city hall, Los Angeles",
    "well-known 3.5 日本 É e\u0301",
    "Rock & roll in New Yorkshire. renew york",
    "日本 語学, the 日 本 語",
    "",
    "Unknown!",
    "...",
    "the queen " * 300,
]
MATRIX = np.random.default_rng(5).standard_normal((15, 5)).astype(np.float32)
BOTH = ("model2vec", "sentence-transformers")


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX[:10], counts=np.arange(10), provenance={"teacher": "t"})


def static_model(folder):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    return model2vec.StaticModel.from_pretrained(folder)


def sentence_model(folder):
    transformers = pytest.importorskip("sentence_transformers", reason="sentence-transformers is missing")
    return transformers.SentenceTransformer(str(folder), device="cpu")


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("load", [static_model, sentence_model])
@pytest.mark.parametrize("case", ["lower", "cased"])
def test_sentences_have_our_vectors_in_both_tools(tmp_path, name, load, case):
    words = LOWER if case == "lower" else CASED
    lengths = np.geomspace(0.1, 10, len(words))[:, None]
    table = WordVectors(words, (MATRIX[: len(words)] * lengths).astype(np.float32))
    table.save(tmp_path / "x", name)
    expected = SentenceEncoder(table, SentenceConfig("mean")).encode(SENTENCES)
    np.testing.assert_allclose(load(tmp_path / "x").encode(SENTENCES), expected, atol=1e-5)
    assert expected.any(axis=1).sum() == len(SENTENCES) - 3
    assert formats.read(tmp_path / "x").words == table.words


def test_mixed_case_is_not_found_if_the_table_has_capitals(tmp_path):
    table = WordVectors(["Us", "ibm"], MATRIX[:2])
    table.save(tmp_path / "x", "model2vec")
    np.testing.assert_array_equal(static_model(tmp_path / "x").encode(["Ibm", "iBm"]), [MATRIX[1], np.zeros(5)])


def test_a_long_text_is_not_cut(tmp_path):
    table = WordVectors(["a", "b"], MATRIX[:2])
    table.save(tmp_path / "x", "model2vec")
    text = "a " * 2000 + "b " * 2000
    np.testing.assert_allclose(static_model(tmp_path / "x").encode([text])[0], MATRIX[:2].mean(axis=0), rtol=1e-3)


@pytest.mark.parametrize(
    "words",
    [
        ["new_york", "new york", "new  york"],
        ["", "▁", " ", "_"],
        ["Us", "us", "US", "[UNK]", "a b", "A B"],
        ["e\u0301"],
    ],
)
@pytest.mark.parametrize("name", BOTH)
def test_words_that_look_alike_come_back(tmp_path, name, words):
    table = WordVectors(words, MATRIX[: len(words)])
    table.save(tmp_path / "x", name)
    again = formats.read(tmp_path / "x")
    assert again.words == table.words
    np.testing.assert_array_equal(again.matrix, table.matrix)


def test_the_old_folder_with_a_row_for_unknown_pieces_is_read(tmp_path):
    Tokenizer(WordLevel({"the": 0, "queen": 1, "[UNK]": 2}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    save_file({"embeddings": MATRIX[:3]}, tmp_path / "model.safetensors")
    (tmp_path / "wordstill.json").write_text('{"counts": [2, 1]}')
    assert formats.read(tmp_path).words == ("the", "queen")


@pytest.mark.parametrize("model", ["wordpiece", "unigram"])
def test_a_table_with_its_own_tokenizer_has_model2vecs_sentence_vectors(tmp_path, model):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    if model == "wordpiece":
        pieces = {"[UNK]": 0, "[CLS]": 1, "the": 2, "qu": 3, "##een": 4, "##s": 5, ".": 6, "New": 7}
        tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]"))
    else:
        tokenizer = Tokenizer(
            Unigram(
                [("[UNK]", 0.0), ("[CLS]", -9.0), *((piece, -1.0) for piece in ("the", "qu", "een", "s", ".", "New"))],
                0,
            )
        )
    tokenizer.pre_tokenizer = Whitespace()
    oracle = model2vec.StaticModel(MATRIX[:8], tokenizer)
    oracle.save_pretrained(tmp_path / "x")
    table = formats.read(tmp_path / "x")
    texts = ["the queens.", "New new york", "", "zzz", "the the queen"]
    encoder = SentenceEncoder(table)
    assert encoder.config.weighting == "mean"
    np.testing.assert_allclose(encoder.encode(texts), oracle.encode(texts), atol=1e-6)
    np.testing.assert_allclose(
        SentenceVectors.of(texts, table, Protocol("p", case="lower")).matrix, oracle.encode(texts), atol=1e-6
    )
    np.testing.assert_allclose(table.with_backoff("subwords")["queens"], oracle.encode(["queens"])[0], atol=1e-6)
    for name, load in zip(BOTH, (static_model, sentence_model)):
        table.save(tmp_path / name, name)
        again = formats.read(tmp_path / name)
        assert (again.words, again.provenance) == (table.words, {"lengths": "sentence"})
        # sentence-transformers counts unknown pieces, model2vec does not.
        expected = load(tmp_path / name).encode(texts)
        np.testing.assert_allclose(SentenceEncoder(again).encode(texts), expected, atol=1e-6)
        np.testing.assert_allclose(static_model(tmp_path / name).encode(texts), oracle.encode(texts), atol=1e-6)
    with pytest.raises(UsageError, match="a tokenizer of 8 tokens, of which it has 2"):
        table.select([2, 3]).save(tmp_path / "some", "model2vec")


def test_we_read_what_model2vec_writes(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "the": 1, "queen": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights, mapping = np.array([1, 2, 0.5], np.float32), np.array([1, 0, 1])
    model2vec.StaticModel(MATRIX[:3], tokenizer).save_pretrained(tmp_path / "plain")
    quantised = model2vec.StaticModel(MATRIX[:2], tokenizer, weights=weights, token_mapping=mapping)
    quantised.save_pretrained(tmp_path / "quantised")
    plain = formats.read(tmp_path / "plain")
    assert plain.words == ("[UNK]", "the", "queen")
    np.testing.assert_array_equal(plain.matrix, MATRIX[:3])
    np.testing.assert_allclose(
        formats.read(tmp_path / "quantised").matrix, MATRIX[mapping] * weights[:, None], rtol=1e-6
    )


def test_we_read_what_sentence_transformers_writes(tmp_path):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is missing")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "the": 1, "queen": 2}, unk_token="[UNK]"))
    module = StaticEmbedding(tokenizer, embedding_weights=MATRIX[:3])
    SentenceTransformer(modules=[module], device="cpu").save(str(tmp_path / "x"))
    again = formats.read(tmp_path / "x")
    assert again.words == ("[UNK]", "the", "queen")
    np.testing.assert_array_equal(again.matrix, MATRIX[:3])


@pytest.mark.parametrize(
    "model",
    [
        WordPiece({"[UNK]": 0, "qu": 1, "##een": 2}, unk_token="[UNK]"),
        BPE({"[UNK]": 0, "qu": 1, "##een": 2}, [], unk_token="[UNK]"),
        Unigram([("[UNK]", 0.0), ("qu", -1.0), ("##een", -2.0)], 0),
    ],
    ids=["wordpiece", "bpe", "unigram"],
)
def test_tokens_of_every_kind_of_tokenizer(tmp_path, model):
    tokenizer = Tokenizer(model)
    tokenizer.add_tokens(["added"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file({"embeddings": MATRIX[:4]}, tmp_path / "model.safetensors")
    again = formats.read(tmp_path)
    assert again.words == ("[UNK]", "qu", "##een", "added")
    np.testing.assert_array_equal(again.matrix, MATRIX[:4])


def change(folder, file, content):
    (folder / file).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("tokenizer.json", {"model": {"vocab": {"a": 0}}}, "10 rows, the tokenizer next to it 1 tokens"),
        ("tokenizer.json", {"model": {"vocab": {"a": 5}}}, "'a' has the number 5, expected 0 to 0"),
        ("tokenizer.json", {"model": {"vocab": {"a": 0, "b": 0}}}, "'a' and 'b' have the same number"),
        ("tokenizer.json", {"model": {"vocab": [["a", 1], ["a", 2]]}}, "a token twice"),
        ("tokenizer.json", {"model": {"vocab": 3}}, "not a vocabulary"),
        ("tokenizer.json", {"model": 3}, "not a vocabulary"),
        ("tokenizer.json", {"model": {"vocab": {}}, "added_tokens": [3]}, "'added_tokens' has 3"),
        ("tokenizer.json", b"{", "not JSON"),
        ("modules.json", [{"type": "x.StaticEmbedding", "path": "../other"}], "not a folder in"),
        ("modules.json", [{"type": "x.Transformer", "path": ""}], "names no StaticEmbedding"),
        ("modules.json", b"{", "not JSON"),
        ("wordstill.json", {"tokens": {"marker": 3}}, "must have 'marker', 'words' and 'spelled'"),
        ("wordstill.json", {"tokens": {"marker": "_", "words": 11, "spelled": {}}}, "counts 11 words, .* 10 tokens"),
    ],
)
def test_damage(vectors, tmp_path, file, content, message):
    vectors.save(tmp_path / "x", "model2vec")
    change(tmp_path / "x", file, content)
    with pytest.raises(FormatError, match=message):
        formats.read(tmp_path / "x", "model2vec")


def test_a_mapping_outside_the_rows(tmp_path, vectors):
    vectors.save(tmp_path / "x", "model2vec")
    for mapping in (np.full(10, 99), np.full(10, -1), np.zeros(10, np.float32)):
        save_file({"embeddings": MATRIX[:10], "mapping": mapping}, tmp_path / "x" / "model.safetensors")
        with pytest.raises(FormatError, match="'mapping' does not map each token to one of 10 rows"):
            formats.read(tmp_path / "x")


@pytest.mark.parametrize("name", BOTH)
def test_a_folder_with_other_files_is_not_replaced(vectors, tmp_path, name):
    vectors.save(tmp_path / "x", name)
    (tmp_path / "x" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"holds other files \(thesis\.tex\)"):
        vectors.save(tmp_path / "x", name, overwrite=True)
