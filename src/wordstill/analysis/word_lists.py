"""Word lists of association tests: published lists, and those in a user's file.

Files are TOML or JSON: ``lists`` has words by name, ``tests`` names one or two lists of targets and two of attributes.
A plain text file has one test: a line ``name: word, word, ...`` for each list, targets first, attributes last.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from wordstill.core.guard import reading
from wordstill.core.text_io import numbered_lines, without_suffix
from wordstill.errors import DataError, unknown_name
from wordstill.evaluation.data.fields import filled_lines

LAYOUT = '[lists] NAME = "word word" and [tests.NAME] targets = ["LIST", "LIST"], attributes = ["LIST", "LIST"]'


class WordList(NamedTuple):
    """Words that represent a concept."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class AssociationTest:
    """An association test: one or two lists of targets, and two of attributes."""

    name: str
    targets: tuple[WordList, ...]
    """One or two concepts."""
    attributes: tuple[WordList, ...]
    """The two poles; positive effects mean nearer to the first."""
    published: float | None = None
    """The effect size in the paper that published the lists."""

    def __post_init__(self) -> None:
        if len(self.targets) not in (1, 2) or len(self.attributes) != 2:
            raise DataError(
                f"The test {self.name!r} has {len(self.targets)} lists of targets and {len(self.attributes)} of "
                "attributes, expected 1 or 2 and 2."
            )
        for chosen in (*self.targets, *self.attributes):
            if not chosen.words:
                raise DataError(f"The list {chosen.name!r} of the test {self.name!r} is empty. Put words in it.")
        for one, other in (pair for pair in (self.targets, self.attributes) if len(pair) == 2):
            if common := sorted(set(one.words) & set(other.words)):
                raise DataError(
                    f"The lists {one.name!r} and {other.name!r} of the test {self.name!r} both have {common[0]!r}. "
                    "A word can be in one of them only."
                )


@cache
def published_tests() -> Mapping[str, AssociationTest]:
    """The ten tests of Caliskan et al. 2017 by name, ``weat-1`` to ``weat-10``."""
    text = files("wordstill.analysis").joinpath("weat.toml").read_text(encoding="utf-8")
    return _tests(tomllib.loads(text), "weat.toml")


def find_test(name: str) -> AssociationTest:
    """A published test by name."""
    known = published_tests()
    if name not in known:
        raise unknown_name("test", name, known, "Tests of your own come from a file: --lists FILE.")
    return known[name]


def read_tests(path: Path) -> Mapping[str, AssociationTest]:
    """The tests of a file, ``.toml``, ``.json`` or plain text, by name."""
    kind = Path(without_suffix(path.name)).suffix.lower()
    with reading(path, remedy=f"Expected {LAYOUT}."):
        if kind not in (".toml", ".json"):
            return {path.stem: _plain(path)}
        text = "\n".join(line for _, line in numbered_lines(path))
        content = (tomllib.loads if kind == ".toml" else json.loads)(text)
        return _tests(content, str(path))


def _plain(path: Path) -> AssociationTest:
    lists = []
    for place, line in filled_lines(path, "#"):
        name, colon, words = line.partition(":")
        if not colon:
            raise DataError(f"{place}: expected 'name: word, word, ...', but got {line[:80]!r}.")
        lists.append(WordList(name.strip(), _distinct(words.split(","))))
    if len(lists) not in (3, 4):
        raise DataError(
            f"{path}: expected 3 or 4 lists but got {len(lists)}. Write one on each line as 'name: word, word, ...': "
            "one or two of targets, then two of attributes."
        )
    return AssociationTest(path.stem, tuple(lists[:-2]), (lists[-2], lists[-1]))


def _tests(content: Any, name: str) -> Mapping[str, AssociationTest]:
    lists, tests = (content.get(key) if isinstance(content, dict) else None for key in ("lists", "tests"))
    if not isinstance(lists, dict) or not isinstance(tests, dict) or not tests:
        raise DataError(f"{name} has no tests. Expected {LAYOUT}.")
    words = {key: WordList(key, _words(value, key, name)) for key, value in lists.items()}

    def chosen(test: str, row: Any, key: str) -> tuple[WordList, ...]:
        names = row.get(key) if isinstance(row, dict) else None
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise DataError(f"{name}: the test {test!r} has no {key}. Expected {LAYOUT}.")
        for one in names:
            if one not in words:
                raise unknown_name(f"list in {key} of {test!r} ({name}):", one, words)
        return tuple(words[one] for one in names)

    found = {}
    for key, row in tests.items():
        targets, attributes = chosen(key, row, "targets"), chosen(key, row, "attributes")
        published = row.get("published")
        found[key] = AssociationTest(
            key, targets, attributes, float(published) if isinstance(published, int | float) else None
        )
    return found


def _words(value: Any, key: str, name: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return _distinct(value.split())
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return _distinct(value)
    raise DataError(f"{name}: the list {key!r} is {value!r}, expected words: a text with spaces, or a list of texts.")


def _distinct(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
