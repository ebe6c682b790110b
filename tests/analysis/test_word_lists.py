from __future__ import annotations

import json

import pytest

from wordstill.analysis.word_lists import AssociationTest, WordList, find_test, published_tests, read_tests
from wordstill.errors import DataError, UsageError

TOML = """
[lists]
fruit = "apple pear"
tools = ["hammer", "power drill"]
good = "joy love"
bad = "war hate"
[tests.own]
targets = ["fruit", "tools"]
attributes = ["good", "bad"]
"""


def test_the_published_tests_are_ten_with_the_sizes_of_the_paper():
    tests = published_tests()
    assert list(tests) == [f"weat-{number}" for number in range(1, 11)]
    sizes = [[len(one.words) for one in (*test.targets, *test.attributes)] for test in tests.values()]
    assert sizes == [
        [25, 25, 25, 25],
        [25, 25, 25, 25],
        [32, 32, 25, 25],
        [16, 16, 25, 25],
        [16, 16, 8, 8],
        [8, 8, 8, 8],
        [8, 8, 8, 8],
        [8, 8, 8, 8],
        [6, 6, 7, 7],
        [8, 8, 8, 8],
    ]
    assert [test.published for test in tests.values()] == [1.50, 1.53, 1.41, 1.50, 1.28, 1.81, 1.06, 1.24, 1.38, 1.21]


def test_a_test_is_found_by_name():
    assert find_test("weat-7").targets[0].name == "math"
    with pytest.raises(UsageError, match=r"Unknown test 'weat7'. Did you mean 'weat-7'.*--lists FILE"):
        find_test("weat7")


def test_toml_json_and_plain_files_say_the_same(tmp_path):
    plain = "# comment\nfruit: apple, pear, apple\ntools: hammer, power drill\n\ngood: joy, love\nbad: war, hate\n"
    content = {
        "lists": {"fruit": "apple pear", "tools": ["hammer", "power drill"], "good": "joy love", "bad": "war hate"},
        "tests": {"own": {"targets": ["fruit", "tools"], "attributes": ["good", "bad"]}},
    }
    for name, text in (("own.toml", TOML), ("own.json", json.dumps(content)), ("own.txt", plain)):
        (tmp_path / name).write_text(text)
    found = [read_tests(tmp_path / f"own.{suffix}") for suffix in ("toml", "json", "txt")]
    assert found[0] == found[1] == found[2]
    assert found[0]["own"].targets[1] == WordList("tools", ("hammer", "power drill"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[lists", "damaged or of another kind"),
        ("a.toml", "x = 1", "has no tests. Expected \\[lists\\]"),
        ("a.json", "[]", "has no tests"),
        ("a.toml", TOML.replace('"joy love"', "5"), "the list 'good' is 5, expected words"),
        ("a.toml", TOML.replace('"joy love"', '""'), "The list 'good' of the test 'own' is empty"),
        ("a.toml", TOML.replace('"war hate"', '"war joy"'), "'good' and 'bad' of the test 'own' both have 'joy'"),
        ("a.toml", TOML.replace('["good", "bad"]', '"good"'), "the test 'own' has no attributes"),
        ("a.toml", TOML.replace('["good", "bad"]', '["good"]'), "2 lists of targets and 1 of attributes"),
        ("a.txt", "fruit apple\n", "a.txt:1: expected 'name: word, word, ...', but got 'fruit apple'"),
        ("a.txt", "fruit: apple\n", "expected 3 or 4 lists but got 1"),
        ("a.txt", "", "expected 3 or 4 lists but got 0"),
    ],
)
def test_bad_files_are_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_tests(tmp_path / name)
    assert "\n" not in str(error.value)


def test_an_unknown_list_has_near_names(tmp_path):
    (tmp_path / "a.toml").write_text(TOML.replace('["good"', '["god"'))
    with pytest.raises(UsageError, match=r"'god'\. Did you mean 'good'"):
        read_tests(tmp_path / "a.toml")


def test_three_lists_of_targets_are_refused():
    one = WordList("one", ("a",))
    with pytest.raises(DataError, match="3 lists of targets"):
        AssociationTest("t", (one, one, one), (one, one))
