"""Studies over several tables: the layers of a teacher, learning curves, seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluation.score import FEWEST_COMPARED, ItemScores, Score, points
from wordstill.evaluation.statistics import Interval

if TYPE_CHECKING:
    from wordstill.evaluation.result import Evaluation, TableFacts
    from wordstill.vectors import WordVectors

WORDS, LAYER = "words", "layer"
FEWEST_LAYERS = 2
FEWEST_SIZES = 2


class Curve(NamedTuple):
    """The scores of one method over the size of its text, or over one of its settings."""

    label: str
    points: tuple[tuple[float, float], ...]
    """Words of the text, or value of the setting, and score."""
    ranges: tuple[tuple[float, float, float], ...] = ()
    """The same value with the lower and upper end of its interval."""
    items: int | None = None
    """How many items all scores are over; None if each table has its own."""


@dataclass(frozen=True)
class LayerChoice:
    """The layer chosen on one set. All scores are in points, on the test half."""

    dataset: str
    chosen: str
    """The table that is best on the development half."""
    chosen_value: float
    oracle: str
    """The table that is best on the test half itself. Papers choose like this, on whole sets."""
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
        evaluation: Of tables whose provenance has method and layer, on any sets. Of several methods, teachers or
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
    """The layer study, or None if the tables or sets do not allow one."""
    try:
        return layer_study(evaluation, evaluation.seed)
    except DataError:
        return None


def learning_curves(evaluation: Evaluation, name: str, over: str = WORDS) -> list[Curve]:
    """Scores on one set over the size of the text or a setting, with a curve for each combination of other settings.

    Scores of tables with the same settings, such as those of several seeds, are averaged. All scores are over the
    items that every table of the curves covers, if these are enough for a score: tables made from more text cover
    rarer words, which would make their scores incomparable.

    Args:
        evaluation: Of tables with provenance.
        name: The set.
        over: ``words`` of the text, ``layer``, or a number among the method's settings, such as ``window``.
    """
    spots: dict[tuple[str, ...], dict[float, list[Score]]] = {}
    origins: dict[tuple[str, ...], TableFacts] = {}
    for table, facts in evaluation.facts.items():
        score, place = evaluation.scores[table].get(name), facts.place(over)
        if score is None or score.value is None or place is None:
            continue
        key = facts.series(over)
        origins.setdefault(key, facts)
        spots.setdefault(key, {}).setdefault(place, []).append(score)
    drawn = {key: places for key, places in spots.items() if len(places) >= FEWEST_SIZES}
    values, items = _on_shared_items(
        [score for places in drawn.values() for scores in places.values() for score in scores]
    )
    labels = _labels([origins[key] for key in drawn], over)
    return [
        Curve(
            label,
            tuple(
                (place, float(np.mean([values[id(score)] for score in scores])))
                for place, scores in sorted(places.items())
            ),
            items=items,
        )
        for label, places in zip(labels, drawn.values())
    ]


class SeedScores(NamedTuple):
    """The scores on one set of tables that differ only in their seeds."""

    label: str
    dataset: str
    mean: float
    deviation: float
    """The standard deviation of the tables."""
    interval: Interval
    """95 % of the mean, by Student's t over the tables."""
    tables: int


def over_seeds(evaluation: Evaluation) -> list[SeedScores]:
    """Mean, deviation and interval over the seeds of each method, on every set where all its tables have a score."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for table, facts in evaluation.facts.items():
        if facts.seed is not None and facts.method is not None:
            groups.setdefault(facts.series(""), []).append(table)
    found = []
    for tables in groups.values():
        if len({evaluation.facts[name].seed for name in tables}) < 2:
            continue
        label = re.sub(r"-seed-\d+$", "", tables[0])
        for name in evaluation.sets:
            values = [evaluation.scores[table][name].value for table in tables]
            known = [value for value in values if value is not None]
            if len(known) == len(tables):
                mean, deviation = float(np.mean(known)), float(np.std(known, ddof=1))
                reach = _student_t(len(known) - 1) * deviation / len(known) ** 0.5
                interval = Interval(mean - reach, mean + reach)
                found.append(SeedScores(label, name, mean, deviation, interval, len(known)))
    return found


def _student_t(freedom: int) -> float:
    """The two-sided 95 % point of Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))


def training_curves(tables: Mapping[str, WordVectors]) -> list[Curve]:
    """Scores on development data during training, from the provenance of the tables."""
    curves = []
    for name, table in tables.items():
        development = table.provenance.get("development")
        scored = development.get("curve") if isinstance(development, Mapping) else None
        if isinstance(scored, list) and len(scored) >= FEWEST_SIZES:
            curves.append(Curve(name, tuple((float(words), float(score)) for words, score in scored)))
    return curves


def _on_shared_items(scores: Sequence[Score]) -> tuple[dict[int, float], int | None]:
    """The value of each score, by its `id`, over the items that all scores have, and the number of these items.

    If there are too few, each score keeps its own value, and the number is None.
    """
    own = {id(score): score.value for score in scores if score.value is not None}
    items = [score.items for score in scores]
    if any(each is None for each in items) or len({len(each.predicted) for each in items if each is not None}) != 1:
        return own, None
    shared = np.logical_and.reduce([each.scored for each in items if each is not None])
    values = {id(score): points(score.items.only(shared).value()) for score in scores if score.items is not None}
    if shared.sum() < FEWEST_COMPARED or any(value is None for value in values.values()):
        return own, None
    return {key: value for key, value in values.items() if value is not None}, int(shared.sum())


def _labels(tables: Sequence[TableFacts], over: str) -> list[str]:
    """The method of each table, with the settings in which tables differ."""
    described: list[dict[str, Any]] = [
        {"method": facts.method, "teacher": facts.teacher, "layer": facts.layer, "unit": facts.unit, **facts.settings}
        for facts in tables
    ]
    for facts, known in zip(tables, described):
        known.pop(over, None)
        if over != WORDS and len({each.corpus_words for each in tables}) > 1:
            known["words"] = facts.corpus_words
    labels = []
    for own in described:
        others = [other for other in described if other["method"] == own["method"]]
        shown = {name: value for name, value in own.items() if any(other.get(name) != value for other in others)}
        # A number alone would not say that it is a layer; a teacher's name needs no explanation.
        parts = [str(value) if name in ("teacher", "unit") else f"{name} {value}" for name, value in shown.items()]
        layer = [] if own.get("layer") is None or "layer" in shown else [f"layer {own['layer']}"]
        labels.append(", ".join([str(own["method"]), *layer, *parts]))
    return labels


def _layers(evaluation: Evaluation) -> dict[str, int]:
    """The layer of each table of the method, teacher, settings and text that have the most layers."""
    studies: dict[tuple[str, ...], dict[str, int]] = {}
    for name, facts in evaluation.facts.items():
        if facts.layer is not None and facts.method is not None:
            studies.setdefault(facts.series(LAYER), {})[name] = facts.layer
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
    """Which items are in the development half: half of every group.

    Sets share pairs with each other and with their subsets. A pair with a key is in the same half of every set, so
    that no layer is scored on pairs that it was chosen on.
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
