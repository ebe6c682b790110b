from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import pytest

from wordstill.core.plugins import Registry
from wordstill.errors import UsageError
from wordstill.methods import METHODS, Method, parse_specs, read_specs

DEPTH = 4
KNOWN = ", ".join(sorted(METHODS))


def labels(*texts: str) -> list[str]:
    return [spec.label for spec in read_specs(texts, METHODS, DEPTH)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["still"], ["still"]),
        (["still", "ase", "decontextual"], ["still", "ase", "decontextual"]),
        (["still:"], ["still"]),
        (["ase:layer=last"], ["ase-layer-4"]),
        (["ase:layer=-1"], ["ase-layer-4"]),
        (["ase:layer=0-2,-1"], ["ase-layer-0", "ase-layer-1", "ase-layer-2", "ase-layer-4"]),
        (["ase:layer=top-half"], ["ase-layer-3", "ase-layer-4"]),
        (["ase:layer=all,subword=max"], [f"ase-subword-max-layer-{layer}" for layer in range(5)]),
        (["ase:layer=0,2,subword=max"], ["ase-subword-max-layer-0", "ase-subword-max-layer-2"]),
        (["ase:context=min,subword=max"], ["ase-subword-max-context-min"]),
        ([" ase : layer = 1 , subword = min "], ["ase-subword-min-layer-1"]),
        (["still:dim=0300,window_weight=.5"], ["still-dim-300-window_weight-0.5"]),
        (["still:dim=none"], ["still-dim-None"]),
        (["still", "still:dim=300"], ["still", "still-dim-300"]),
        (["x2static:preset=paper,negatives=5"], ["x2static-paper-negatives-5"]),
    ],
)
def test_labels(texts, expected):
    assert labels(*texts) == expected
    parse_specs(texts, METHODS)


@pytest.mark.parametrize("kind", [METHODS["still"], METHODS["sentence"], METHODS["still.v1"]])
def test_methods_are_found_by_the_name_that_tables_record(kind):
    (spec,) = read_specs([kind.name], METHODS, DEPTH)
    assert spec.kind is kind


def test_settings_reach_the_method():
    (spec,) = read_specs(["ase:layer=1,subword=max"], METHODS, DEPTH)
    assert spec.kind is METHODS["ase"]
    assert spec.facts() == {"name": "ase.v1", "layer": 1, "subword": "max", "context": "mean"}
    (spec,) = read_specs(["still:dim=30,window_weight=1"], METHODS, DEPTH)
    assert (spec.config.layer, spec.config.dim, spec.config.window_weight) == (DEPTH, 30, 1.0)


WRONG_ANYWHERE = [
    ([], f"No method was named. Known: {KNOWN}."),
    (["stil"], f"Unknown method 'stil'. Did you mean 'still' or 'still.v1' or 'x2static'? Known: {KNOWN}."),
    (["x2static:preset=papr"], "Unknown preset of x2static 'papr'. Did you mean 'paper'? Known: fixed, paper."),
    ([""], "Unknown method ''."),
    (["ase", "glove"], "Unknown method 'glove'. Known: ase"),
    (["ase:layers=1"], "Unknown setting of ase 'layers'. Did you mean 'layer'? Known: context, layer, subword."),
    (["ase:subword=median"], "Unknown value of ase:subword 'median'. Did you mean 'mean' or 'min'? Known: max,"),
    (["ase:subword"], "Cannot read 'subword' in the settings of ase. Expected ase:setting=value"),
    (["ase:subword=max,min"], "Cannot read 'min' in the settings of ase."),
    (["ase:subword=max,subword=min"], "ase:subword is set twice, to 'max' and 'min'."),
    (["still:dim=many"], "still:dim: expected a whole number or none, got 'many'."),
    (["still:window_weight=much"], "still:window_weight: expected a number, got 'much'."),
    (["still:state_prior=0"], "still: state_prior must be above 0 and at most 1e+15; got 0.0."),
    (["ase", "ase"], "The method 'ase' was named twice."),
    (["ase:context=max,subword=min", "ase:subword=min,context=max"], "'ase-subword-min-context-max' was named twice"),
]
WRONG_FOR_THE_TEACHER = [
    (["ase:layer=5"], "'5' is outside 0 to 4, the layers this teacher has."),
    (["ase:layer=0-9"], "'0-9' is outside 0 to 4"),
    (["ase:layer=-6"], "'-6' is outside 0 to 4"),
    (["ase:layer=first"], "cannot read 'first'. Expected last, all, top-half, a number or a list"),
    (["ase:layer="], "cannot read ''"),
    (["ase:layer=0-2", "ase:layer=2-3"], "The method 'ase-layer-2' was named twice."),
]


@pytest.mark.parametrize(("texts", "message"), WRONG_ANYWHERE + WRONG_FOR_THE_TEACHER)
def test_what_cannot_be_read(texts, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        read_specs(texts, METHODS, DEPTH)


@pytest.mark.parametrize(("texts", "message"), WRONG_ANYWHERE)
def test_most_is_known_before_the_teacher_is(texts, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_specs(texts, METHODS)


@dataclass(frozen=True)
class _Config:
    """Settings of kinds that no method has yet, and no layer."""

    shared: bool = False
    name: str = "a"
    kind: Literal["x", "y"] = "x"


class _Other(Method):
    name = "other.v1"
    config_type = _Config
    layers = ()

    def finish(self):
        raise AssertionError


OTHERS = Registry("method", "wordstill.no-methods", {"other": _Other})


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_yes_and_no(text, value):
    (spec,) = read_specs([f"other:shared={text}"], OTHERS, DEPTH)
    assert spec.config == _Config(shared=value)


def test_what_is_neither_yes_nor_no():
    with pytest.raises(UsageError, match="other:shared: expected true or false, got 'maybe'"):
        read_specs(["other:shared=maybe"], OTHERS, DEPTH)


def test_labels_are_names_of_folders_whatever_the_settings():
    (spec,) = read_specs(["other:name=../up: down,kind=y"], OTHERS, DEPTH)
    assert spec.config.name == "../up: down"
    assert spec.label == "other-name-.._up_down-kind-y"


def test_methods_without_layers_have_none():
    with pytest.raises(UsageError, match="Unknown setting of other 'layer'"):
        read_specs(["other:layer=1"], OTHERS, DEPTH)


def test_given_settings_have_the_last_word_over_a_preset():
    (spec,) = read_specs(["x2static:preset=paper,negatives=5"], METHODS, DEPTH)
    facts = spec.facts()
    assert (facts["negatives"], facts["rate"], facts["optimiser"]) == (5, 1e-3, "lazy-adam")
    (fixed,) = read_specs(["x2static:preset=fixed"], METHODS, DEPTH)
    (plain,) = read_specs(["x2static"], METHODS, DEPTH)
    assert fixed.config == plain.config
