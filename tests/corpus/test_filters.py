from __future__ import annotations

import pytest

from wordstill.corpus import PrepareConfig
from wordstill.corpus.filters import FILTERS, get_filter
from wordstill.errors import UsageError

LONG = "A sentence of quite a few words that has more than forty characters. "
TEN = "one two three four five six seven eight nine ten. "

CASES = [
    ("none", ["Short."], [["Short."]]),
    ("x2static", [LONG, LONG, LONG], [[LONG, LONG, LONG]]),
    ("x2static", [LONG, LONG * 2], []),
    ("x2static", ["A. ", "B. ", "C."], []),
    ("x2static", ["A. ", "B. ", "C" * 134], [["A. ", "B. ", "C" * 134]]),
    ("x2static", ["A. ", "B. ", "C" * 133], []),
    ("sentences-10-40", ["Too short. ", TEN, TEN.strip()], [[TEN.strip()], [TEN.strip()]]),
    ("sentences-10-40", [TEN * 4], [[(TEN * 4).strip()]]),
    ("sentences-10-40", [TEN * 4 + "more"], []),
]


@pytest.mark.parametrize(("name", "pieces", "kept"), CASES)
def test_what_is_kept(name: str, pieces: list[str], kept: list[list[str]]) -> None:
    assert get_filter(name)(pieces) == kept


def test_every_filter_has_a_case() -> None:
    plain = {name for name, _, _ in CASES}
    assert set(FILTERS) == plain | {"lower"} | {f"{name}-lower" for name in plain - {"none"}}


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"filter 'x2statik'.*'x2static'"):
        PrepareConfig(filter="x2statik")


def test_text_in_lower_case():
    sentences = ["The Old Still stands. ", "It drips. ", "Nobody in İzmir has moved it since 1923, and " + "x" * 120]
    for name in ("none", "x2static", "sentences-10-40"):
        lower = get_filter("lower" if name == "none" else f"{name}-lower")(sentences)
        assert lower == [[sentence.lower() for sentence in kept] for kept in get_filter(name)(sentences)]
