from __future__ import annotations

import pytest

from wordstill.errors import UsageError
from wordstill.evaluate.protocol import ABSENT, PROTOCOLS, Protocol, resolve

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
    ],
)
def test_lookup(random_vectors, case, max_vocab, expected):
    protocol = Protocol("p", case=case, max_vocab=max_vocab)
    rows = protocol.rows(["Paris", "FBI", "cat", "Cat", "dog", "unicorn"], random_vectors(TABLE))
    assert rows.tolist() == expected


def test_no_words_have_no_rows(random_vectors):
    assert Protocol("p").rows([], random_vectors(TABLE)).tolist() == []


@pytest.mark.parametrize(
    "wrong", [{"oov": "drop"}, {"case": "upper"}, {"max_vocab": 0}, {"max_vocab": -1}], ids=str
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
        for oov in ("skip", "mean", "zero")
        for case in ("fallback", "lower", "exact")
    }
    assert len(described) == 9
    assert "200,000" in Protocol("p", max_vocab=200_000).describe()
