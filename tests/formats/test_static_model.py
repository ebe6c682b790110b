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
from wordstill.vectors import WordVectors

WORDS = ["the", "queen", "don't", "3.5", "new york", "é", "...", "_", "日本", "well-known"]
MATRIX = np.random.default_rng(5).standard_normal((10, 5)).astype(np.float32)
BOTH = ("model2vec", "sentence-transformers")


@pytest.fixture
def vectors():
    return WordVectors(WORDS, MATRIX, counts=np.arange(10), provenance={"teacher": "t"})


def static_model(folder):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    return model2vec.StaticModel.from_pretrained(folder)


def sentence_model(folder):
    transformers = pytest.importorskip("sentence_transformers", reason="sentence-transformers is missing")
    return transformers.SentenceTransformer(str(folder), device="cpu")


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("load", [static_model, sentence_model])
def test_both_tools_read_both_folders(vectors, tmp_path, name, load):
    vectors.save(tmp_path / "x", name)
    oracle = load(tmp_path / "x")
    for word in WORDS:
        if word != "new york":
            np.testing.assert_allclose(oracle.encode([word.title()])[0], vectors[word.lower()], rtol=1e-6)
    both = oracle.encode(["The queen, the queen!"])[0]
    expected = 2 * (vectors["the"] + vectors["queen"])
    # sentence-transformers counts the two unknown marks as zeros.
    np.testing.assert_allclose(both, expected / (4 if load is static_model else 6), rtol=1e-5)
    assert not oracle.encode(["unknown"])[0].any()


def test_case_is_kept_where_words_have_it(tmp_path):
    WordVectors(["Us", "us", "[UNK]"], MATRIX[:3]).save(tmp_path / "x", "model2vec")
    oracle = static_model(tmp_path / "x")
    np.testing.assert_array_equal(oracle.encode(["Us", "us", "unknown"]), [*MATRIX[:2], np.zeros(5)])
    assert formats.read(tmp_path / "x").words == ("Us", "us", "[UNK]")


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
        ("tokenizer.json", {"model": {"vocab": {"a": 0}}}, "11 rows, the tokenizer next to it 1 tokens"),
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
    ],
)
def test_damage(vectors, tmp_path, file, content, message):
    vectors.save(tmp_path / "x", "model2vec")
    change(tmp_path / "x", file, content)
    with pytest.raises(FormatError, match=message):
        formats.read(tmp_path / "x", "model2vec")


def test_a_mapping_outside_the_rows(tmp_path, vectors):
    vectors.save(tmp_path / "x", "model2vec")
    for mapping in (np.full(11, 99), np.full(11, -1), np.zeros(11, np.float32)):
        save_file({"embeddings": MATRIX, "mapping": mapping}, tmp_path / "x" / "model.safetensors")
        with pytest.raises(FormatError, match="'mapping' does not map each token to one of 10 rows"):
            formats.read(tmp_path / "x")


@pytest.mark.parametrize("name", BOTH)
def test_a_folder_with_other_files_is_not_replaced(vectors, tmp_path, name):
    vectors.save(tmp_path / "x", name)
    (tmp_path / "x" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match=r"holds other files \(thesis\.tex\)"):
        vectors.save(tmp_path / "x", name, overwrite=True)
