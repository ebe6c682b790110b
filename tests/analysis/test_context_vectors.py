"""Words in documents: contexts by plain loops, and a planted difference that regression finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.context_vectors import read_documents, read_group_fields, word_in_documents, word_in_folds
from wordstill.analysis.embedding_regression import embedding_regression, make_design
from wordstill.errors import DataError, UsageError
from wordstill.vectors.folds import Folds
from wordstill.vectors.oov import UnknownWord

WORDS = ["bank", "river", "water", "boat", "money", "loan", "rate", "the", "new york"]


@pytest.fixture
def table():
    return WordVectors(WORDS, np.random.default_rng(0).standard_normal((len(WORDS), 4)).astype(np.float32))


TEXTS = [
    "The river bank, the water; a boat at the bank of the river.",
    "Money in the bank: New York loan rate.",
    "Nothing here of it",
    "the loan and the money",
]


def test_vectors_are_those_of_plain_loops(table):
    window = 2
    found = word_in_documents(table, TEXTS, "bank", window=window)
    tokens = [
        ["the", "river", "bank", "the", "water", "a", "boat", "at", "the", "bank", "of", "the", "river"],
        ["money", "in", "the", "bank", "new york", "loan", "rate"],
        ["nothing", "here", "of", "it"],
        ["the", "loan", "and", "the", "money"],
    ]

    def context(words, place):
        around = [
            words[other]
            for other in range(max(0, place - window), min(len(words), place + window + 1))
            if other != place
        ]
        known = [table[word].astype(np.float64) for word in around if word in table]
        return np.mean(known, axis=0) if known else None

    contexts: dict[str, list] = {}
    for words in tokens:
        for place, word in enumerate(words):
            if word in table and (vector := context(words, place)) is not None:
                contexts.setdefault(word, []).append(vector)
    means = np.array([np.mean(vectors, axis=0) for vectors in contexts.values()])
    rows = np.array([table[word] for word in contexts], dtype=np.float64)
    weights = np.diag([np.log(1 + len(vectors)) for vectors in contexts.values()])
    moment = means.T @ weights @ means
    transform = np.linalg.solve(moment + 1e-3 * np.trace(moment) / 4 * np.eye(4), means.T @ weights @ rows)
    assert found.documents == (0, 1)
    assert found.counts.tolist() == [2, 1]
    expected = [np.mean([context(tokens[0], 2), context(tokens[0], 9)], axis=0), context(tokens[1], 3)]
    np.testing.assert_allclose(found.vectors, np.array(expected) @ transform, rtol=1e-5)


def test_a_planted_difference_between_parties_is_found():
    random = np.random.default_rng(1)
    words = [f"w{number}" for number in range(60)] + ["bank"]
    matrix = random.standard_normal((61, 8)).astype(np.float32)
    matrix[:30, 0] += 3
    matrix[30:60, 0] -= 3
    documents = []
    for _ in range(60):
        party, place = random.choice(["A", "B"]), random.choice(["north", "south"])
        topic = random.integers(0, 30, 12) + (0 if party == "A" else 30)
        text = " ".join([f"w{number}" for number in topic[:6]] + ["bank"] + [f"w{number}" for number in topic[6:]])
        documents.append({"text": text, "party": party, "place": place})
    found = word_in_documents(WordVectors(words, matrix), [one["text"] for one in documents], "bank")
    result = embedding_regression(
        found.vectors, make_design(documents, ["party", "place"]), found.counts, permutations=199
    )
    party, place = result.coefficients
    assert party.p_value == 1 / 200
    assert place.p_value > 0.01
    assert party.norm > 3 * place.norm


def test_what_is_not_there(table):
    with pytest.raises(UnknownWord):
        word_in_documents(table, TEXTS, "nowhere")
    with pytest.raises(DataError, match="No document has 'boat' with a known word near it"):
        word_in_documents(table, ["boat", "river"], "boat")
    with pytest.raises(UsageError, match="window must be 1 or more"):
        word_in_documents(table, TEXTS, "bank", window=0)


def test_documents_of_json_lines_and_csv_are_the_same(tmp_path):
    rows = [{"text": 'a "quoted", text\nof lines', "year": "1990"}, {"text": "b", "year": "2000"}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, {"text": "", "year": "1"}]))
    (tmp_path / "a.csv").write_text('year,text\n1990,"a ""quoted"", text\nof lines"\n2000,b\n1,\n')
    both = [read_documents(tmp_path / name) for name in ("a.jsonl", "a.csv")]
    assert both[0] == both[1]
    assert both[0][1] == ("b", {"year": "2000"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"body": "b"}\n', r"a\.jsonl:2: no field 'text'. Fields: 'body'"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', r"a\.jsonl:2: not JSON"),
        ("a.jsonl", '{"text": "a"}\n[1]\n', r"a\.jsonl:2: not a JSON object"),
        ("a.csv", "text,year\na,1,2\n", r"a\.csv:2: 3 fields, expected 2"),
        ("a.csv", "", "has no documents"),
        ("a.csv", "text,year\n,1\n", "has no documents"),
    ],
)
def test_bad_documents_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        read_documents(tmp_path / name)


@pytest.fixture
def folded():
    """A word with rows in 24 folds of three groups; those of the last lie elsewhere."""
    random = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 8).astype(np.int32)
    rows = (0.2 * random.standard_normal((24, 5))).astype(np.float32)
    rows[16:, 0] += 1
    kept = np.arange(24) != 3
    table = WordVectors(["bank", "rare"], np.vstack([rows[kept].mean(axis=0), np.ones(5)]).astype(np.float32))
    counts = random.integers(1, 9, 24)
    table.folds = Folds(
        rows[kept], np.zeros(23, np.int32), np.flatnonzero(kept).astype(np.int32), counts[kept], group,
        np.full(24, 100), ("1990", "2000", "2010"), ("documents",) * 3,
    )  # fmt: skip
    return table, rows, counts


def test_folds_are_rows_with_the_fields_of_their_group(folded):
    table, rows, counts = folded
    found, fields = word_in_folds(table, "bank")
    assert 3 not in found.documents and len(found.documents) == 23
    np.testing.assert_allclose(found.vectors, rows[list(found.documents)], rtol=1e-6)
    np.testing.assert_array_equal(found.counts, counts[list(found.documents)])
    assert [one["group"] for one in fields] == ["1990"] * 8 + ["2000"] * 8 + ["2010"] * 8


def test_regression_on_groups_finds_the_one_that_moved(folded, tmp_path):
    table, *_ = folded
    (tmp_path / "groups.csv").write_text("group,era,late\n1990,old,no\n2000,old,no\n2010,new,yes\n")
    found, fields = word_in_folds(table, "bank", read_group_fields(tmp_path / "groups.csv"))
    design = make_design([fields[number] for number in found.documents], ["era"])
    (era,) = embedding_regression(found.vectors, design, found.counts, permutations=199).coefficients
    assert (era.name, era.p_value) == ("era=old", 1 / 200)
    assert era.norm == pytest.approx(1, abs=0.15)


def test_whole_groups_are_the_means_of_their_folds(folded):
    table, rows, counts = folded
    found, fields = word_in_folds(table, "bank", unit="group")
    assert [one["group"] for one in fields] == ["1990", "2000", "2010"]
    counts[3] = 0
    for number in range(3):
        own = slice(8 * number, 8 * number + 8)
        np.testing.assert_allclose(found.vectors[number], np.average(rows[own], axis=0, weights=counts[own]), rtol=1e-5)
        assert found.counts[number] == counts[own].sum()
    with pytest.raises(UsageError, match="Unknown unit 'text'"):
        word_in_folds(table, "bank", unit="text")


def test_groups_that_cannot_be_used(folded, tmp_path, table):
    grouped, *_ = folded
    with pytest.raises(DataError, match=r"no fields for the group '2000'\. Groups: 1990, 2000, 2010"):
        word_in_folds(grouped, "bank", {"1990": {}})
    with pytest.raises(UsageError, match="'rare' has no rows by fold"):
        word_in_folds(grouped, "rare")
    with pytest.raises(UsageError, match="keeps no groups or folds"):
        word_in_folds(table, "bank")
    (tmp_path / "groups.csv").write_text("name,era\n1990,old\n")
    with pytest.raises(DataError, match=r"no field 'group'.*Rename the one that names the groups"):
        read_group_fields(tmp_path / "groups.csv")
