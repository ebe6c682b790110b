"""Numbers that a setting cannot have are refused by name, before any teacher is loaded."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.methods import METHODS, check_specs
from wordstill.methods.context_to_vec import WEIGHTS, ContextToVecConfig
from wordstill.methods.learning.learner import RANGES as LEARNING
from wordstill.methods.learning.negatives import Noise
from wordstill.methods.learning.window_learner import RANGES
from wordstill.methods.still import RANGES as STILL
from wordstill.methods.x2static import RANGES as X2STATIC

WINDOWS = ("bert-skipgram", "context-to-vec")
NUMBERS = {int: ["9" * 30, "-" + "9" * 30, "3000000000"], float: ["nan", "inf", "-inf", "9" * 400]}
NO_NUMBERS = {int: ["1.5", "1e30", "nan", "many", "true", ""], float: ["much", "1,5", "true", ""]}


def kind_of(hint: Any) -> type | None:
    """``int`` or ``float`` for settings of numbers, which may be None too."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return next((option for option in options if option in NUMBERS), None)


SETTINGS = [
    (name, setting, kind)
    for name, method in METHODS.items()
    for setting, hint in get_type_hints(method.config_type).items()
    if setting != "layer" and (kind := kind_of(hint)) is not None
]


def refusal(spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        check_specs([spec], METHODS)
    return str(caught.value)


@pytest.mark.parametrize(("name", "setting", "kind"), SETTINGS)
def test_no_setting_takes_what_is_no_usable_number(name, setting, kind):
    for value in NUMBERS[kind]:
        assert refusal(f"{name}:{setting}={value}").startswith(f"{name}:{setting} must be a ")
    for value in NO_NUMBERS[kind]:
        message = refusal(f"{name}:{setting}={value}")
        assert message.startswith((f"{name}:{setting}: expected a ", "Cannot read"))


def outside(allowed: Range) -> list[float]:
    beyond = [allowed.low - 1, allowed.high + 1, 10 * allowed.high]
    return [*beyond, allowed.low] if allowed.above else beyond


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("setting", RANGES)
def test_windows_have_bounds(name, setting):
    allowed = RANGES[setting]
    for value in outside(allowed):
        message = refusal(f"{name}:{setting}={value}")
        assert message.startswith(f"{name}: {setting} must be {allowed}; got "), message
    check_specs([f"{name}:{setting}={allowed.high}"], METHODS)


BOUNDED = [
    *((name, setting, allowed) for name in ("x2static", *WINDOWS) for setting, allowed in LEARNING.items()),
    *(("x2static", setting, allowed) for setting, allowed in X2STATIC.items()),
    *(("still", setting, allowed) for setting, allowed in STILL.items()),
]


@pytest.mark.parametrize(("name", "setting", "allowed"), BOUNDED)
def test_every_other_setting_has_bounds(name, setting, allowed):
    for value in outside(allowed):
        message = refusal(f"{name}:{setting}={value!r}")
        assert f"{setting} must be {allowed}; got " in message or f"{setting}: expected" in message, message


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("value", ["-1", "1e30"])
def test_weights_have_bounds(weight, value):
    assert f"{weight} must be from 0 to 1,000,000" in refusal(f"context-to-vec:{weight}={value}")


@pytest.mark.parametrize("pair", [("centre", "neighbours"), ("semantic", "contrastive")])
def test_weights_that_leave_nothing_are_refused(pair):
    assert "cannot both be 0" in refusal(f"context-to-vec:{pair[0]}=0,{pair[1]}=0")
    check_specs([f"context-to-vec:{pair[0]}=0", f"context-to-vec:{pair[1]}=0"], METHODS)


def test_no_size_is_the_teachers_width_and_zero_is_refused():
    check_specs(["bert-skipgram:dim=none"], METHODS)
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
        (_Words([100, 100], 1e-3), r"subsample=1e-30 thins the text out to 0\.2 words\. Raise it"),
        (_Words([0, 0], 1.0), "None of the 2 words of the vocabulary occurs in the text.*use decontextual"),
    ],
)
def test_nothing_to_learn_from(words, message):
    with pytest.raises(UsageError, match=message):
        Noise(words, 1.0, "counts", 1e-30, torch.device("cpu"))
