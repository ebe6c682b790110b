"""Words in documents: contexts by plain loops, and a planted difference that regression finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.context_vectors import read_documents, word_in_documents
from wordstill.analysis.embedding_regression import embedding_regression, make_design
from wordstill.errors import DataError, UsageError
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
