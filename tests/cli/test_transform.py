"""``wordstill transform``: what it writes."""

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


def test_the_next_command_has_a_word_with_letters(cli, tmp_path):
    WordVectors([",", "river", "boat"], np.eye(3, dtype=np.float32)).save(tmp_path / "table")
    done = cli("transform", tmp_path / "table", "--chain", "unit", "--out", tmp_path / "out")
    assert f"wordstill similar {tmp_path / 'out'} river" in done.out


def test_info_tells_what_was_done(cli, table, tmp_path):
    cli("transform", tmp_path / "table", "--chain", "centre,pca:dim=4", "--out", tmp_path / "out")
    told = cli("info", tmp_path / "out").out
    assert "transforms  centre.v1; pca.v1, dim 4" in told


def test_what_was_learnt_before_is_kept(cli, table, tmp_path):
    cli("transform", tmp_path / "table", "-c", "centre,abtt", "-o", tmp_path / "one")
    cli("transform", tmp_path / "one", "-c", "unit", "-o", tmp_path / "two")
    learnt = tmp_path / "two.transforms"
    done = cli("transform", tmp_path / "table", "--apply", learnt, "-o", tmp_path / "all")
    assert done.code == 0, done.err
    two, whole = WordVectors.load(tmp_path / "two"), WordVectors.load(tmp_path / "all")
    np.testing.assert_array_equal(whole.matrix, two.matrix)
    assert whole.provenance == two.provenance


def test_retrofitting_in_a_chain(cli, table, tmp_path):
    (tmp_path / "alike.txt").write_text("word1 word2 word3\n")
    chain = f"centre,faruqui:lexicon={tmp_path / 'alike.txt'}"
    done = cli("transform", tmp_path / "table", "--chain", chain, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    out = WordVectors.load(tmp_path / "out")
    assert out.similarity("word1", "word2") > table.similarity("word1", "word2")


def test_steps_learnt_from_one_table_for_another(cli, table, tmp_path):
    table.subset(["word3", "word1"]).save(tmp_path / "part")
    cli("transform", tmp_path / "table", "-c", "pca:dim=2", "-o", tmp_path / "out")
    done = cli("transform", tmp_path / "part", "--apply", tmp_path / "out.transforms", "-o", tmp_path / "again")
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
        ((), "Use exactly one of --chain and --apply"),
        (("--chain", "centre", "--apply", "file"), "Use exactly one of --chain and --apply"),
        (("--chain", "centr"), "Did you mean 'centre'"),
        (("--chain", "pca:dim=7"), "pca:dim must be at most 6"),
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
    other = ("transform", tmp_path / "table", "--chain", "unit", "--out", tmp_path / "out", "--overwrite")
    assert cli(*other).code == 0
    assert [step.short_name for step in Pipeline.load(tmp_path / "out.transforms")] == ["unit"]
