from __future__ import annotations

import pickle

import pytest

from wordstill import errors
from wordstill.errors import Interrupted, MissingExtra, UsageError, WordstillError, unknown_name


def test_every_error_has_an_exit_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) >= 7
    for kind in kinds:
        assert issubclass(kind, WordstillError)
        assert kind.exit_code == {UsageError: 2, MissingExtra: 2, Interrupted: 130}.get(kind, 1)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("stil", "Unknown method 'stil'. Did you mean 'still'? Known: ase, still."),
        ("xyz", "Unknown method 'xyz'. Known: ase, still."),
    ],
)
def test_unknown_names(got, expected):
    assert str(unknown_name("method", got, ["still", "ase"])) == expected


def test_numbers_in_names_are_in_their_order():
    message = str(unknown_name("test", "x", ["weat-10", "weat-2", "axis"]))
    assert message == "Unknown test 'x'. Known: axis, weat-2, weat-10."


def test_an_unknown_name_with_a_hint():
    assert str(unknown_name("set", "x", ["y"], "See the list.")) == "Unknown set 'x'. Known: y. See the list."


def test_a_missing_extra_survives_the_way_from_a_worker():
    error = MissingExtra("lingua", "language", "The language filter")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert "pip install 'wordstill[language]'" in str(again)
    assert (again.package, again.extra, again.feature) == ("lingua", "language", "The language filter")


def test_an_interrupted_run_says_what_is_saved():
    assert (
        str(Interrupted("reading text", 1200, 5000, "words"))
        == "Stopped while reading text: 1,200 of 5,000 words done and saved."
    )
    assert "nothing is saved" in str(Interrupted("reading text", 1, 2, "words", saved=False))
