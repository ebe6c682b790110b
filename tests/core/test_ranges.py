"""Numbers that a setting cannot have are refused by name, before any teacher is loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from wordstill.core.settings import Config, Range, each_of_grid, field_kinds
from wordstill.errors import UsageError
from wordstill.methods import METHODS, parse_specs
from wordstill.methods.context_to_vec import ContextToVecConfig
from wordstill.methods.learning.objectives import NegativeSampler

NUMBERS = {int: ["9" * 30, "-" + "9" * 30, "3000000000"], float: ["nan", "inf", "-inf", "9" * 400]}
NO_NUMBERS = {int: ["1.5", "1e30", "nan", "many", "true", ""], float: ["much", "1,5", "true", ""]}


SETTINGS = [
    (name, setting, kind)
    for name, method in METHODS.items()
    for setting, kind in field_kinds(method.config_type).items()
    if setting != "layer" and kind.type in NUMBERS
]


def refusal(spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_specs([spec], METHODS)
    return str(caught.value)


@pytest.mark.parametrize(("name", "setting", "kind"), SETTINGS)
def test_no_setting_takes_what_is_no_usable_number(name, setting, kind):
    for value in NUMBERS[kind.type]:
        assert refusal(f"{name}:{setting}={value}").startswith(f"{name}:{setting} must be a ")
    for value in NO_NUMBERS[kind.type]:
        message = refusal(f"{name}:{setting}={value}")
        assert message.startswith((f"{name}:{setting}: expected a ", "Cannot read"))


def outside(allowed: Range) -> list[float]:
    beyond = [allowed.low - 1] if allowed.high == math.inf else [allowed.low - 1, allowed.high + 1]
    return [*beyond, *[allowed.low] * allowed.above, *[allowed.high] * allowed.below]


@pytest.mark.parametrize(("name", "setting", "kind"), SETTINGS)
def test_every_setting_has_bounds(name, setting, kind):
    if setting == "dim" and name in ("still", "still.v1"):
        return  # It depends on the teacher's width.
    for value in outside(kind.allowed):
        message = refusal(f"{name}:{setting}={value!r}")
        expected = f"{name}: {setting} must be {kind.allowed}; got "
        assert message.startswith((expected, f"{name}:{setting} must be a", f"{name}:{setting}: expected"))


def test_a_new_default_keeps_the_range():
    assert refusal("x2static:negatives=0") == "x2static: negatives must be from 1 to 10,000; got 0."


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (Range(1, 16_384), "from 1 to 16,384"),
        (Range(0, 1e15, above=True), "above 0 and at most 1e+15"),
        (Range(0, 1, below=True), "0 or more and below 1"),
        (Range(0, above=True), "above 0"),
        (Range(1), "1 or more"),
    ],
)
def test_ranges_are_told_in_words(allowed, text):
    assert str(allowed) == text
    for value in [*outside(allowed), math.inf, math.nan, True, "1"]:
        with pytest.raises(UsageError, match=f"^dim must be {text}; got".replace("+", r"\+")):
            allowed.check("dim", value)


@pytest.mark.parametrize("pair", [("centre", "neighbours"), ("semantic", "contrastive")])
def test_weights_that_leave_nothing_are_refused(pair):
    assert "cannot both be 0" in refusal(f"context-to-vec:{pair[0]}=0,{pair[1]}=0")
    parse_specs([f"context-to-vec:{pair[0]}=0", f"context-to-vec:{pair[1]}=0"], METHODS)


def test_no_size_is_the_teachers_width_and_zero_is_refused():
    parse_specs(["bert-skipgram:dim=none"], METHODS)
    assert refusal("bert-skipgram:dim=0") == "bert-skipgram: dim must be from 1 to 16,384; got 0."
    assert refusal("context-to-vec:dim=-3") == "context-to-vec: dim must be from 1 to 16,384; got -3."


@pytest.mark.parametrize("value", ["300", True, [300]])
def test_other_things_than_numbers_are_refused(value):
    with pytest.raises(UsageError, match=r"dim must be from 1 to 16,384; got"):
        ContextToVecConfig(layer=0, dim=value)


class _Words:
    def __init__(self, counts: list[int], keep: float) -> None:
        self.counts, self.keep = np.array(counts), keep

    def __len__(self) -> int:
        return len(self.counts)

    def keep_probability(self, t: float) -> np.ndarray:
        return np.full(len(self), self.keep)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (_Words([100, 100], 1e-3), r"subsample=1e-30 reduces the text to 0\.2 words\. Raise it"),
        (_Words([0, 0], 1.0), "None of the 2 words of the vocabulary occurs in the text.*use decontextual"),
    ],
)
def test_nothing_to_learn_from(words, message):
    with pytest.raises(UsageError, match=message):
        NegativeSampler(words, 1.0, "counts", 1e-30, torch.device("cpu"))


@dataclass(frozen=True)
class _Inner(Config):
    size: int = 1


@dataclass(frozen=True)
class _Outer(Config):
    inner: _Inner = _Inner()
    words: tuple[str, ...] = ()


def test_a_text_is_no_list_of_texts_and_no_config():
    with pytest.raises(UsageError, match=r"words must be a list of texts; got the text 'new york'. Use \['new york'\]"):
        _Outer(words="new york")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"inner must be a _Inner; got 'big'. Use _Inner\(...\)"):
        _Outer(inner="big")  # type: ignore[arg-type]
    assert _Outer(words=["new york"]).words == ["new york"]  # type: ignore[arg-type]


def test_grids():
    assert each_of_grid("ase") == ["ase"]
    assert each_of_grid("ase:layer=0,2") == ["ase:layer=0,2"]
    assert each_of_grid("a:x=1|2,y=3|4") == ["a:x=1,y=3", "a:x=1,y=4", "a:x=2,y=3", "a:x=2,y=4"]
    labels = [request.label for request in parse_specs(["bert-skipgram:window=1|2|3"], METHODS)]
    assert labels == [f"bert-skipgram-window-{size}" for size in (1, 2, 3)]
    with pytest.raises(UsageError, match=r"has 1,024 combinations of settings\. Name at most 1,000"):
        each_of_grid("a:" + ",".join(f"x{number}=1|2" for number in range(10)))
    with pytest.raises(UsageError, match="window must be"):
        parse_specs(["bert-skipgram:window=1|0"], METHODS)
    with pytest.raises(UsageError, match="named twice"):
        parse_specs(["bert-skipgram:window=1|1"], METHODS)
