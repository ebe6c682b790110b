from __future__ import annotations

import re

import numpy as np
import pytest

from wordstill.formats.card import card
from wordstill.vectors import WordVectors


def table(**provenance):
    return WordVectors(["1", "sun", "moon"], np.eye(3, dtype=np.float32), counts=np.arange(3), provenance=provenance)


def written(**provenance):
    return card(table(**provenance), provenance)


def test_it_says_what_the_table_is_and_was_made_from():
    text = written(
        name="Small vectors",
        teacher={"name": "bert-tiny", "sha256": "ab12"},
        corpus="my notes",
        method="still.v1",
        seed=3,
    )
    assert "# Small vectors\n" in text
    assert "3 words, 3 numbers each (float32), with the count of each word" in text
    assert "- **teacher**\n  - name: bert-tiny\n  - sha256: ab12\n- **corpus**: my notes\n" in text
    assert "- **method**: still.v1\n- **seed**: 3\n" in text
    assert "Evaluation" not in text


def test_nothing_is_made_up_when_nothing_is_known():
    assert "Made from" not in written()
    assert "# Word vectors\n" in written()


def test_the_code_to_load_it_runs(tmp_path):
    table().save(tmp_path / "table")
    code = re.search(r"```python\n(.*?)```", (tmp_path / "table" / "README.md").read_text(), re.DOTALL)[1]
    assert len([line for line in code.splitlines() if line]) <= 5
    names: dict = {}
    exec(code.replace("path/to/this/folder", str(tmp_path / "table")), names)
    assert names["vectors"].words == ("1", "sun", "moon")


@pytest.mark.parametrize(
    ("evaluation", "lines"),
    [
        ({"simlex": 0.41239, "men": 1}, ["| task | score |", "| --- | --- |", "| simlex | 0.4124 |", "| men | 1 |"]),
        (
            [{"score": 0.5, "task": "a|b"}, {"task": "c", "coverage": "99 %"}],
            ["| task | score | coverage |", "| --- | --- | --- |", "| a\\|b | 0.5 |  |", "| c |  | 99 % |"],
        ),
        (
            {"men": {"value": 0.7, "pairs": 3000}},
            ["| task | value | pairs |", "| --- | --- | --- |", "| men | 0.7 | 3000 |"],
        ),
    ],
)
def test_evaluation_becomes_a_table(evaluation, lines):
    assert "## Evaluation\n\n" + "\n".join(lines) + "\n" in written(evaluation=evaluation)


@pytest.mark.parametrize("evaluation", [None, [], {}, "good", [1, 2], 3.5])
def test_no_table_from_what_is_none(evaluation):
    assert "## Evaluation" not in written(evaluation=evaluation)


def test_a_value_cannot_break_out_of_its_line():
    assert "- **corpus**: a # b" in written(corpus="a\n\n# b")


def test_frequent_content_words_are_shown_with_their_neighbors():
    words = ["the", "of", "river", "stream", "lake", "bread"]
    rows = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 0.1, 0], [1, 0.2, 0], [0, 1, 0]], np.float32)
    vectors = WordVectors(words, rows)
    assert "vectors.most_similar('river', topn=5)" in card(vectors, {})
    assert "| river | stream, lake, " in card(vectors, {})
