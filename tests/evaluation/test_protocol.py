from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from wordstill.errors import UsageError
from wordstill.evaluation.protocol import ABSENT, PROTOCOLS, Protocol, resolve

TABLE = ["paris", "FBI", "Paris", "fbi", "cat", "Dog"]


def test_names_match_the_table():
    assert {name: protocol.name for name, protocol in PROTOCOLS.items()} == {name: name for name in PROTOCOLS}


def test_the_default_skips_and_falls_back_to_lower_case():
    assert PROTOCOLS["default"] == Protocol("default", oov="skip", case="fallback", max_vocab=None)


@pytest.mark.parametrize(
    ("case", "max_vocab", "expected"),
    [
        ("fallback", None, [2, 1, 4, 4, ABSENT, ABSENT]),
        ("exact", None, [2, 1, 4, ABSENT, ABSENT, ABSENT]),
        ("lower", None, [0, 3, 4, 4, ABSENT, ABSENT]),
        ("fallback", 2, [0, 1, ABSENT, ABSENT, ABSENT, ABSENT]),
        ("exact", 2, [ABSENT, 1, ABSENT, ABSENT, ABSENT, ABSENT]),
        ("fallback", 100, [2, 1, 4, 4, ABSENT, ABSENT]),
        ("ignore", None, [0, 1, 4, 4, 5, ABSENT]),
        ("ignore", 5, [0, 1, 4, 4, ABSENT, ABSENT]),
    ],
)
def test_lookup(random_vectors, case, max_vocab, expected):
    protocol = Protocol("p", case=case, max_vocab=max_vocab)
    rows = protocol.rows(["Paris", "FBI", "cat", "Cat", "dog", "unicorn"], random_vectors(TABLE))
    assert rows.tolist() == expected


def test_no_words_have_no_rows(random_vectors):
    assert Protocol("p").rows([], random_vectors(TABLE)).tolist() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"oov": "drop"},
        {"case": "upper"},
        {"max_vocab": 0},
        {"max_vocab": -1},
        {"analogy": "3cosavg"},
        {"analogy_asks": "second"},
        {"analogy_vocab": 0},
        {"analogy_words": "upper"},
        {"relation": "euclidean"},
        {"clusters": "spectral"},
        {"sentence": "max"},
        {"average": "median"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_right(wrong):
    with pytest.raises(UsageError):
        Protocol("p", **wrong)


def test_resolve():
    own = Protocol("own", oov="zero")
    assert resolve(own) is own
    assert resolve("default") is PROTOCOLS["default"]
    with pytest.raises(UsageError, match="Did you mean 'default'"):
        resolve("defualt")


def test_every_rule_is_described():
    described = {
        Protocol("p", oov=oov, case=case).describe()
        for oov in ("skip", "mean", "zero", "backoff")
        for case in ("fallback", "lower", "exact", "ignore")
    }
    assert len(described) == 16
    assert "200,000" in Protocol("p", max_vocab=200_000).describe()


def test_absent_words_of_texts_are_described():
    skip, zero, mean = (Protocol("p", oov=oov) for oov in ("skip", "zero", "mean"))
    assert "Classifiers do not see" in skip.describe(["probe"])
    assert "taggers see zeros" in skip.describe(["tagging"]) and "taggers" not in skip.describe(["probe"])
    assert "a word that is not in the table is all zeros" in zero.describe(["tagging"])
    assert mean.describe(["tagging"]) == mean.describe()


@pytest.mark.parametrize(
    ("oov", "kinds", "begins"),
    [
        ("skip", ["similarity"], "Items with a word that is not in the table are skipped."),
        ("skip", ["categorisation", "probe"], "Items with a word"),
        ("skip", ["classification"], "Words are looked up"),
        ("skip", ["sts", "tagging"], "Words are looked up"),
        ("skip", ["parent"], "Words are looked up"),
        ("mean", ["categorisation"], "A word that is not in the table gets the mean"),
        ("zero", ["analogy"], "An item with a word that is not in the table gets a similarity of 0 or counts"),
        ("zero", ["categorisation"], "Words are looked up"),
        ("zero", ["sts"], "Words are looked up"),
        ("backoff", ["tagging"], "A word that is not in the table gets a vector from the table's back-offs"),
    ],
)
def test_the_rule_for_absent_words_is_told_where_it_holds(oov, kinds, begins):
    assert Protocol("p", oov=oov).describe(kinds).startswith(begins)


def test_absent_words_under_zero_are_described_for_every_kind():
    zero = Protocol("p", oov="zero")
    assert "In clustering, a word that is not in the table is all zeros" in zero.describe(["categorisation"])
    assert "a similarity of 0 if either sentence has no known word" in zero.describe(["sts"])


@pytest.mark.parametrize("name", ["default", "muse", "web", "official"])
def test_named_protocols_say_what_they_do(name):
    kinds = ("similarity", "analogy", "relation", "categorisation", "sts")
    everything = PROTOCOLS[name].describe(kinds)
    assert everything.startswith(PROTOCOLS[name].describe())
    assert "3CosAdd" in everything and "Relations" in everything and "STS" in everything
    assert "  " not in everything


def test_named_protocols_are_those_of_the_evaluators():
    muse, web, official = (PROTOCOLS[name] for name in ("muse", "web", "official"))
    assert (muse.oov, muse.case, muse.max_vocab, muse.analogy_asks) == ("skip", "lower", 200_000, "third")
    assert (web.oov, web.case, web.max_vocab, web.relation, web.clusters) == ("mean", "exact", None, "dot", "best")
    assert (official.case, official.analogy_vocab, official.average) == ("ignore", 30_000, "pairs")
    assert "third word" in muse.describe(["analogy"]) and "200,000" in muse.describe()
    assert "30,000" in official.describe(["analogy"]) and "30,000" not in official.describe()


def test_the_page_tells_every_rule():
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)`[^|]*\|(.*)\|$", page.partition("## Protocols")[2], flags=re.MULTILINE))
    for field in fields(Protocol):
        if field.name != "name":
            told = [cell.strip().replace(",", "") for cell in rows[field.name].split("|")]
            assert told == [str(getattr(PROTOCOLS[name], field.name) or "all") for name in PROTOCOLS]
