"""``wordstill transform``: what it writes, and what it takes back."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.postprocess import Pipeline


@pytest.fixture
def table(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32) + 1
    words = [f"word{number}" for number in range(40)]
    table = WordVectors(words, matrix, counts=np.arange(40, 0, -1), provenance={"teacher": "tiny"})
    table.save(tmp_path / "table")
    return table


def test_a_chain(cli, table, tmp_path):
    chain = "centre,whiten:exponent=0.3,pca:dim=4"
    done = cli("transform", tmp_path / "table", "--chain", chain, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    written = WordVectors.load(tmp_path / "out")
    expected = Pipeline.from_spec(chain).fit_transform(table)
    np.testing.assert_array_equal(written.matrix, expected.matrix)
    assert written.provenance == expected.provenance
    assert "40 words x 6" in done.out
    assert "40 words x 4" in done.out
    assert "wordstill similar" in done.out


def test_info_tells_what_was_done(cli, table, tmp_path):
    cli("transform", tmp_path / "table", "--chain", "centre,pca:dim=4", "--out", tmp_path / "out")
    told = cli("info", tmp_path / "out").out
    assert "transforms  centre.v1; pca.v1, dim 4" in told


def test_undo_by_name_and_of_all(cli, table, tmp_path):
    cli("transform", tmp_path / "table", "-c", "centre,abtt", "-o", tmp_path / "one")
    cli("transform", tmp_path / "one", "-c", "unit", "-o", tmp_path / "two")
    assert cli("transform", tmp_path / "two", "--undo", "abtt", "-o", tmp_path / "three").code == 0
    expected = Pipeline.from_spec("centre,unit").fit_transform(table)
    three = WordVectors.load(tmp_path / "three")
    np.testing.assert_allclose(three.matrix, expected.matrix, atol=1e-5)
    assert [step["name"] for step in three.provenance["transforms"]] == ["centre.v1", "unit.v1"]
    assert cli("transform", tmp_path / "three", "--undo", "all", "-o", tmp_path / "four").code == 0
    four = WordVectors.load(tmp_path / "four")
    np.testing.assert_allclose(four.matrix, table.matrix, atol=1e-5)
    assert four.provenance == table.provenance
    assert not (tmp_path / "four.transforms").exists()


def test_retrofitting_in_a_chain_and_back(cli, table, tmp_path):
    (tmp_path / "alike.txt").write_text("word1 word2 word3\n")
    chain = f"centre,faruqui:lexicon={tmp_path / 'alike.txt'}"
    done = cli("transform", tmp_path / "table", "--chain", chain, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    out = WordVectors.load(tmp_path / "out")
    assert out.similarity("word1", "word2") > table.similarity("word1", "word2")
    assert cli("transform", tmp_path / "out", "--undo", "faruqui", "-o", tmp_path / "back").code == 0
    expected = Pipeline.from_spec("centre").fit_transform(table)
    back = WordVectors.load(tmp_path / "back")
    np.testing.assert_allclose(back.matrix, expected.matrix, atol=1e-5)
    assert back.provenance == expected.provenance


def test_steps_learnt_from_one_table_for_another(cli, table, tmp_path):
    table.subset(["word3", "word1"]).save(tmp_path / "part")
    cli("transform", tmp_path / "table", "-c", "pca:dim=2", "-o", tmp_path / "out")
    done = cli(
        "transform", tmp_path / "part", "--apply", tmp_path / "out.transforms", "-o", tmp_path / "again"
    )
    assert done.code == 0, done.err
    whole, part = WordVectors.load(tmp_path / "out"), WordVectors.load(tmp_path / "again")
    np.testing.assert_allclose(part["word3"], whole["word3"], atol=1e-6)


def test_other_formats_and_joining(cli, table, tmp_path):
    chain = f"concatenate:table={tmp_path / 'table'},weight=0.5,quantise"
    assert cli("transform", tmp_path / "table", "-c", chain, "-o", tmp_path / "out.vec").code == 0
    assert WordVectors.load(tmp_path / "out.vec").dim == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give one of --chain, --undo and --apply"),
        (("--chain", "centre", "--undo", "all"), "Give one of --chain, --undo and --apply"),
        (("--chain", "center"), "Did you mean 'centre'"),
        (("--chain", "pca:dim=7"), "pca:dim must be at most 6"),
        (("--undo", "centre"), "table.transforms with fitted transforms"),
        (("--apply", "nothing"), "There is no file nothing"),
        (("--chain", "centre", "--format", "wrod2vec"), "Unknown format 'wrod2vec'"),
    ],
)
def test_bad_input_writes_nothing(cli, table, tmp_path, arguments, message):
    before = sorted(tmp_path.iterdir())
    done = cli("transform", tmp_path / "table", *arguments, "--out", tmp_path / "out")
    assert done.code != 0
    assert message in done.err
    assert "Traceback" not in done.err
    assert sorted(tmp_path.iterdir()) == before


def test_what_exists_is_replaced_only_on_request(cli, table, tmp_path):
    arguments = ("transform", tmp_path / "table", "--chain", "centre", "--out", tmp_path / "out")
    assert cli(*arguments).code == 0
    assert cli(*arguments).code == 2
    assert cli(*arguments, "--overwrite").code == 0
    undone = ("transform", tmp_path / "table", "--chain", "unit", "--out", tmp_path / "out", "--overwrite")
    assert cli(*undone).code == 0
    assert [step.short_name for step in Pipeline.load(tmp_path / "out.transforms")] == ["unit"]
