"""Studies over several tables of one kind: of the layers of a teacher, and of the size of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluation.score import ItemScores, points

if TYPE_CHECKING:
    from wordstill.evaluation.result import Evaluation, TableFacts

FEWEST_LAYERS = 2
FEWEST_SIZES = 2


class Curve(NamedTuple):
    """The scores of one method, with one teacher and one choice of settings, over the size of its text."""

    label: str
    points: tuple[tuple[float, float], ...]
    """Words of the text and score."""


@dataclass(frozen=True)
class LayerChoice:
    """What choosing a layer on one set gives. All scores are in points and of the test half."""

    dataset: str
    chosen: str
    """The table that is best on the development half."""
    chosen_value: float
    oracle: str
    """The table that is best on the test half itself. The papers choose on what they score too, on whole sets."""
    oracle_value: float
    overall_value: float | None
    """Of the table that is best on the mean of all development halves."""


@dataclass(frozen=True)
class LayerStudy:
    """The layers of a teacher, chosen on one half of every set and scored on the other."""

    layers: Mapping[str, int]
    """The layer of each table."""
    overall: str
    """The table that is best on the mean of all development halves."""
    oracle_overall: str
    """The table that is best on the mean of all test halves."""
    choices: tuple[LayerChoice, ...]


def layer_study(evaluation: Evaluation, seed: int = 0) -> LayerStudy:
    """Choose among tables of different layers, on one half of every set.

    Args:
        evaluation: Of tables that tell their method and layer, on any sets. Of several methods, teachers or
            settings, the one with the most layers is studied.
        seed: Of the halves; all tables are scored on the same ones.
    """
    layers = _layers(evaluation)
    if len(set(layers.values())) < FEWEST_LAYERS:
        raise DataError(
            f"A study of layers needs tables of one method with at least {FEWEST_LAYERS} layers, but got "
            f"{len(set(layers.values()))}. Make them with: wordstill distill TEXT --method ase:layer=all "
            "--out vectors"
        )
    halves = {name: _halves(evaluation, name, list(layers), seed) for name in evaluation.sets}
    usable = {name: scores for name, scores in halves.items() if scores is not None}
    if not usable:
        raise DataError("No set has a score for every layer on both of its halves.")
    means = {
        table: [np.mean([scores[table][half] for scores in usable.values()]) for half in (0, 1)] for table in layers
    }
    overall = max(layers, key=lambda table: means[table][0])
    choices = tuple(_choice(name, scores, overall) for name, scores in usable.items())
    return LayerStudy(layers, overall, max(layers, key=lambda table: means[table][1]), choices)


def layers_if_any(evaluation: Evaluation) -> LayerStudy | None:
    """The study of layers, None where the tables or the sets do not allow one."""
    try:
        return layer_study(evaluation, evaluation.seed)
    except DataError:
        return None


def learning_curves(evaluation: Evaluation, name: str) -> list[Curve]:
    """Scores on one set over the size of the text, a curve for each method, teacher, layer and choice of settings.

    Where several tables differ in nothing else, such as those of several seeds, it is the mean of their scores.
    """
    spots: dict[tuple[str, int | None], dict[int, list[float]]] = {}
    origins: dict[tuple[str, int | None], TableFacts] = {}
    for table, facts in evaluation.facts.items():
        score = evaluation.scores[table].get(name)
        if score is None or score.value is None or not facts.corpus_words or facts.series is None:
            continue
        key = (facts.series, facts.layer)
        origins.setdefault(key, facts)
        spots.setdefault(key, {}).setdefault(facts.corpus_words, []).append(score.value)
    drawn = {key: sizes for key, sizes in spots.items() if len(sizes) >= FEWEST_SIZES}
    labels = _labels([origins[key] for key in drawn])
    return [
        Curve(label, tuple((float(size), float(np.mean(values))) for size, values in sorted(sizes.items())))
        for label, sizes in zip(labels, drawn.values())
    ]


def _labels(tables: Sequence[TableFacts]) -> list[str]:
    """The method of each, with whatever else differs between them."""
    described = [
        {"method": facts.method, "teacher": facts.teacher, "layer": facts.layer, "unit": facts.unit, **facts.settings}
        for facts in tables
    ]
    labels = []
    for own in described:
        others = [other for other in described if other["method"] == own["method"]]
        shown = {name: value for name, value in own.items() if any(other.get(name) != value for other in others)}
        # A number alone would not say that it is a layer; a teacher's name needs no explanation.
        parts = [str(value) if name in ("teacher", "unit") else f"{name} {value}" for name, value in shown.items()]
        layer = [] if own["layer"] is None or "layer" in shown else [f"layer {own['layer']}"]
        labels.append(", ".join([str(own["method"]), *layer, *parts]))
    return labels


def _layers(evaluation: Evaluation) -> dict[str, int]:
    """The layer of each table of the method, teacher, settings and text that have the most layers."""
    studies: dict[tuple[str, int | None], dict[str, int]] = {}
    for name, facts in evaluation.facts.items():
        if facts.layer is not None and facts.series is not None:
            studies.setdefault((facts.series, facts.corpus_words), {})[name] = facts.layer
    return max(studies.values(), key=lambda layers: len(set(layers.values())), default={})


def _choice(name: str, scores: Mapping[str, tuple[float, float]], overall: str) -> LayerChoice:
    chosen = max(scores, key=lambda table: scores[table][0])
    oracle = max(scores, key=lambda table: scores[table][1])
    return LayerChoice(name, chosen, scores[chosen][1], oracle, scores[oracle][1], scores[overall][1])


def _halves(evaluation: Evaluation, name: str, tables: list[str], seed: int) -> dict[str, tuple[float, float]] | None:
    """Scores of every table on the development and the test half; None unless all have both."""
    scores = {}
    for table in tables:
        score = evaluation.scores[table].get(name)
        if score is None or score.items is None or score.value is None:
            return None
        first = development_half(score.items, seed)
        dev, test = (points(score.items.only(half).value()) for half in (first, ~first))
        if dev is None or test is None:
            return None
        scores[table] = (dev, test)
    return scores


def development_half(items: ItemScores, seed: int) -> NDArray[np.bool_]:
    """Which items are in the development half: of every group the same share.

    Sets share pairs, and splits of a set all of them. A pair that has a key is in the same half of every set,
    so that no layer is scored on what another set's half has chosen it by.
    """
    if items.keys is not None:
        digests = (blake2b(f"{seed}\t{key}".encode(), digest_size=1).digest() for key in items.keys)
        return np.array([digest[0] % 2 == 0 for digest in digests], dtype=np.bool_)
    size = len(items.predicted)
    order = np.random.default_rng(seed).permutation(size)
    groups = np.zeros(size, dtype=np.int64) if items.groups is None else items.groups
    first = np.zeros(size, dtype=np.bool_)
    for group in np.unique(groups):
        members = order[groups[order] == group]
        first[members[: len(members) // 2]] = True
    return first
