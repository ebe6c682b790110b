from __future__ import annotations

import pytest

from wordstill.errors import UsageError
from wordstill.evaluation.protocol import PROTOCOLS, changed_protocol


def test_without_changes_it_is_the_protocol_itself():
    assert changed_protocol("muse", []) is PROTOCOLS["muse"]


def test_the_name_says_what_is_changed():
    made = changed_protocol("muse", ["oov=zero", "max_vocab=all", "analogy_vocab=500"])
    assert (made.oov, made.max_vocab, made.analogy_vocab, made.case) == ("zero", None, 500, "lower")
    assert made.name == "muse with oov=zero, max_vocab=all, analogy_vocab=500"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("oov", "must be NAME=VALUE"),
        ("ov=skip", "Did you mean 'oov'"),
        ("name=mine", "Unknown rule 'name'"),
        ("oov=drop", "Unknown value of oov 'drop'"),
        ("max_vocab=many", "max_vocab: expected a whole number or all, got 'many'"),
        ("max_vocab=-3", "max_vocab must be 1 or more; got -3"),
        ("max_vocab=0", "max_vocab must be 1 or more; got 0"),
        ("max_vocab=²", "expected a whole number or all"),
    ],
)
def test_rules_that_cannot_be_right(rule, says):
    with pytest.raises(UsageError, match=says):
        changed_protocol("default", [rule])
