"""``wordstill retrofit``: what it writes and says, and what it refuses before anything is written."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.errors import DataError
from wordstill.evaluation.data.locate import locate
from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, open_lexicon, retrofitter

WORDS = ["big", "large", "huge", "small", "little", "river"]


@pytest.fixture
def table(tmp_path):
    matrix = np.random.default_rng(0).standard_normal((len(WORDS), 5)).astype(np.float32)
    table = WordVectors(WORDS, matrix, counts=np.arange(len(WORDS), 0, -1), provenance={"teacher": "tiny"})
    table.save(tmp_path / "table")
    return table


@pytest.fixture
def lexicon(tmp_path):
    path = tmp_path / "synonyms.txt"
    path.write_text("big large huge\nsmall little tiny\n")
    return path


@pytest.fixture
def antonyms(tmp_path):
    path = tmp_path / "antonyms.csv"
    path.write_text("big,small\nlarge,little,2\n")
    return path


def test_the_table_is_the_librarys(cli, table, lexicon, tmp_path):
    done = cli("retrofit", tmp_path / "table", "--lexicon", lexicon, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    step = retrofitter("context-graph", open_lexicon(lexicon))
    expected = step.fit_transform(table)
    written = WordVectors.load(tmp_path / "out")
    np.testing.assert_array_equal(written.matrix, expected.matrix)
    assert written.provenance == expected.provenance
    assert "4 links between 6 words" in done.out
    assert "5 of the 6 words of the table" in done.out
    assert f"from {step.objective[0]:.6g} to {step.objective[-1]:.6g} in 10 steps" in done.out
    assert f"wordstill compare {tmp_path / 'table'} {tmp_path / 'out'}" in done.out


def test_settings_and_antonyms_as_a_further_step(cli, table, lexicon, antonyms, tmp_path):
    settings = ("--method", "faruqui", "--alpha", "2", "--beta", "0.5", "--passes", "3", "--order", "gauss-seidel")
    done = cli(
        "retrofit", tmp_path / "table", "-l", lexicon, "-o", tmp_path / "out.vec", *settings,
        "--antonyms", antonyms, "--margin", "0.5",
    )  # fmt: skip
    assert done.code == 0, done.err
    first = retrofitter("faruqui", open_lexicon(lexicon), alpha=2.0, beta=0.5, passes=3, order="gauss-seidel")
    second = CounterFit(CounterFitConfig(antonyms=open_lexicon(antonyms), margin=0.5))
    expected = second.fit_transform(first.fit_transform(table))
    np.testing.assert_allclose(WordVectors.load(tmp_path / "out.vec").matrix, expected.matrix, atol=1e-6)
    assert "antonyms   4 words moved, objective from " in done.out


def test_an_objective_that_may_rise_is_told(cli, table, lexicon, tmp_path):
    shown = [
        cli("retrofit", tmp_path / "table", "-l", lexicon, "-o", tmp_path / method, "-m", method).out
        for method in ("context-graph", "context-graph-printed")
    ]
    assert ["may rise" in text for text in shown] == [False, True]


def test_several_lexicons_are_one(cli, table, lexicon, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("river\tbig\t0.5\n")
    done = cli("retrofit", tmp_path / "table", "-l", lexicon, "-l", other, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "6 of the 6 words" in done.out
    (entry,) = WordVectors.load(tmp_path / "out").provenance["transforms"]
    assert [part["file"] for part in entry["lexicon"]["union"]] == ["synonyms.txt", "other.tsv"]


def test_groups(cli, table, lexicon, tmp_path):
    done = cli("retrofit", tmp_path / "table", "-l", lexicon, "--lexicon-format", "groups", "-o", tmp_path / "out")
    assert "6 links between 6 words" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--method", "faruki"), 2, "Unknown method of retrofitting 'faruki'. Did you mean 'faruqui'"),
        (("--method", "faruqui", "--nu", "3"), 2, "faruqui has no setting nu"),
        (("--alpha", "-1"), 2, "alpha must be above 0"),
        (("--order", "random"), 2, "Unknown value of order 'random'"),
        (("--lexicon-format", "list"), 2, "Unknown format of a lexicon 'list'"),
        (("--antonyms", "nowhere.csv"), 1, "There is no lexicon 'nowhere.csv'"),
        (("--margin", "0.5"), 2, "--margin needs antonyms"),
        (("--relation", "antonyms"), 2, "use --antonyms for opposites"),
        (("--format", "glove"), 2, "Unknown format 'glove'"),
        (("--lexicon", "nowhere.txt"), 1, "There is no lexicon 'nowhere.txt'"),
    ],
)
def test_refusals_leave_nothing(cli, table, lexicon, tmp_path, arguments, code, message):
    done = cli("retrofit", tmp_path / "table", "-l", lexicon, "-o", tmp_path / "out", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert not (tmp_path / "out").exists()


def test_bad_lines_are_named(cli, table, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("big,large,1\nbig,huge,much\n")
    done = cli("retrofit", tmp_path / "table", "-l", path, "-o", tmp_path / "out")
    assert done.code == 1
    assert f"{path}:2: expected a finite weight above 0 but got 'much'" in done.err


def test_an_output_that_exists(cli, table, lexicon, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.json").touch()
    done = cli("retrofit", tmp_path / "table", "-l", lexicon, "-o", tmp_path / "out")
    assert done.code == 2
    assert "exists already" in done.err


def test_a_lexicon_of_the_registry(cli, table, tmp_path):
    try:
        path = locate("framenet").path
    except DataError:
        pytest.skip("the data set framenet is not here")
    for name, lexicon in (("named", "framenet"), ("file", path)):
        done = cli("retrofit", tmp_path / "table", "--lexicon", lexicon, "--out", tmp_path / name)
        assert done.code == 0, done.err
    assert np.array_equal(WordVectors.load(tmp_path / "named").matrix, WordVectors.load(tmp_path / "file").matrix)
