from __future__ import annotations

import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import Prepend, Replace, Sequence

from wordstill import formats
from wordstill.errors import FormatError
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol
from wordstill.vectors.sentences import SentenceEncoder

PIECES = ["<unk>", "▁", "▁a", "a", "b", "▁ab", "c"]
MATRIX = np.random.default_rng(5).standard_normal((7, 4)).astype(np.float16)


@pytest.fixture
def folder(tmp_path):
    model = BPE(dict(zip(PIECES, range(7))), [("▁", "a"), ("▁a", "b")], unk_token="<unk>")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = Sequence([Prepend("▁"), Replace(" ", "▁")])
    tokenizer.save(str(tmp_path / "l2_tokenizer_config.json"))
    save_file({"embedding.weight": MATRIX}, tmp_path / "l2_256.safetensors")
    return tmp_path


def test_sentences_and_words_are_means_of_tokens(folder):
    table = formats.read(folder)
    assert table.words == tuple(PIECES)
    rows = MATRIX.astype(np.float64)
    # The unknown piece counts, as in WordLlama.
    expected = [rows[[5, 4, 2]].mean(axis=0), rows[[5, 0]].mean(axis=0), np.zeros(4)]
    np.testing.assert_allclose(SentenceEncoder(table).encode(["abb a", "abZ", ""]), expected, atol=1e-6)
    found = Lookup.of(["a", "abc", ""], table, Protocol("p"), split=True)
    np.testing.assert_allclose(found.matrix, [rows[2], rows[[5, 6]].mean(axis=0), np.zeros(4)], atol=1e-6)
    assert found.known.tolist() == found.usable.tolist() == [True, True, False]
    np.testing.assert_array_equal(Lookup.of(["a"], table, Protocol("p")).matrix, rows[[3]])


def test_a_folder_with_two_tables(folder):
    shutil.copy(folder / "l2_256.safetensors", folder / "l2_64.safetensors")
    with pytest.raises(FormatError, match=r"must hold one .* found l2_256\.safetensors, l2_64\.safetensors"):
        formats.read(folder)


def test_a_tokenizer_of_another_table(folder):
    save_file({"embedding.weight": MATRIX[:5]}, folder / "l2_256.safetensors")
    with pytest.raises(FormatError, match="has 5 rows, the tokenizer next to it 7 tokens"):
        formats.read(folder)
