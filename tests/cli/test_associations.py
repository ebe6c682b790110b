"""``wordstill test``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.association import associations
from wordstill.analysis.word_lists import published_tests

CAREER = published_tests()["weat-6"]


@pytest.fixture
def table(tmp_path):
    words = [word.lower() for one in (*CAREER.targets, *CAREER.attributes) for word in one.words]
    matrix = np.random.default_rng(0).standard_normal((len(words), 6)).astype(np.float32)
    matrix[:8, 0] += 2
    matrix[16:24, 0] += 2
    table = WordVectors(words, matrix)
    table.save(tmp_path / "table")
    return table


def test_a_published_test_in_lower_case(cli, table, tmp_path):
    done = cli("test", tmp_path / "table", "--test", "weat-6", "--each", "--out", tmp_path / "out.json")
    assert done.code == 0, done.err
    (expected,) = associations({"table": table}, [CAREER])
    assert f"{expected.effect:+.2f} [{expected.interval.low:+.2f}" in done.out
    assert "32 of 32 words" in done.out and "+1.81" in done.out
    assert f"{expected.words['Bill']:+8.4f}  Bill" in done.out
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["schema"] == 1
    assert written["results"] == [json.loads(json.dumps(expected.to_dict()))]


def test_tables_side_by_side_as_json(cli, table, tmp_path):
    table.save(tmp_path / "other.txt")
    done = cli("test", tmp_path / "table", tmp_path / "other.txt", "-t", "weat-6", "--json", "-s", "rnd")
    assert done.code == 0, done.err
    results = json.loads(done.out)["results"]
    assert [(row["table"], row["targets"]) for row in results] == [
        (name, [target]) for name in ("table", "other.txt") for target in ("male-names", "female-names")
    ]


def test_tests_without_enough_words_say_so(cli, table, tmp_path):
    done = cli("test", tmp_path / "table")
    assert done.code == 0, done.err
    assert "none: 0 of the 25 words of" in " ".join(done.out.split())
    assert "Not in table (weat-1): flowers: aster" in done.out


def test_lists_are_shown(cli):
    done = cli("test", "--list", "--test", "weat-7")
    assert done.code == 0
    assert "math          math algebra geometry" in done.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--test", "weat-11"), 2, "Unknown test 'weat-11'"),
        (("--statistic", "wheat"), 2, "Unknown statistic 'wheat'. Did you mean 'weat'"),
        (("--test", "weat-1"), 1, "No test could be run: 0 of the 25 words of 'flowers' have vectors, 2 needed"),
        (("--lists", "nowhere.toml"), 1, "Cannot read nowhere.toml"),
    ],
)
def test_refusals(cli, table, tmp_path, arguments, code, message):
    done = cli("test", tmp_path / "table", *arguments)
    assert done.code == code
    assert message in done.err


def test_no_table(cli):
    done = cli("test")
    assert done.code == 2
    assert "No table was named" in done.err
