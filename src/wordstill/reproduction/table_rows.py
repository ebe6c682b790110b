"""The rows of a reproduced table: every system on every set, next to the published scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from wordstill.baselines import read_baselines
from wordstill.distillation import DistillConfig
from wordstill.reproduction.plans import BEST_BY_F1, BEST_PER_SET, MEASURES, System, TablePlan
from wordstill.reproduction.results import KeptScore, ReproduceConfig, Row

Scores = Mapping[str, Mapping[str, KeptScore]]
"""Scores by the label of a table, then by task."""


def trained_label(spec: str) -> str:
    """The name of the table of a baseline."""
    (found,) = read_baselines([spec])
    return found.label


def label_of(system: System) -> str:
    """The name of a system's table."""
    if system.made == "trained":
        return trained_label(system.spec)
    if system.made == "retrofitted":
        return f"{system.source} + {system.spec}"
    if system.made == "model":
        return f"the model itself, {system.spec}"
    if system.made == "own":
        return f"own {system.row}"
    (request,) = DistillConfig(methods=(system.spec,)).requests
    return f"{system.unit} {request.label}"


def rows_of(
    plan: TablePlan, system: System, config: ReproduceConfig, tasks: Mapping[str, str], runs: Sequence[Scores]
) -> Iterator[Row]:
    """The rows of a system: for each set the score, and the other measures in the paper.

    Args:
        plan: The table.
        system: One of its systems.
        config: The settings, with the teacher.
        tasks: The tasks by the name of the set.
        runs: The scores of each seed.
    """
    model = plan.row_of(system, config.teacher.name)
    printed = None if model is None else plan.printed_row(model)
    label = label_of(system) if system.select is None else f"{label_of(system)} ({system.select})"
    for name, task in tasks.items():
        layer, scores = chosen_scores(system, task, list(tasks.values()), runs)
        first = scores[0] if scores else None
        for column in plan.columns_of(name):
            measure = MEASURES[column.removeprefix(name)]
            whole = measure == "value"
            values = [value for score in scores if (value := getattr(score, measure)) is not None]
            deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
            yield Row(
                label,
                column,
                printed.model if printed else None,
                printed.scores.get(column) if printed else None,
                float(np.mean(values)) if values else None,
                deviation if first is None or len(scores) > 1 or not whole else first.deviation,
                first.interval if first is not None and whole else None,
                0 if first is None else first.used,
                0 if first is None else first.total,
                "no such table was made" if first is None else first.problem,
                layer,
            )


def chosen_scores(
    system: System, task: str, tasks: Sequence[str], runs: Sequence[Scores]
) -> tuple[int | None, list[KeptScore]]:
    """The scores of a system on a set for each seed; with several layers, those of the best, and its index."""
    label = label_of(system)
    if system.select is None:
        return None, [scores[label][task] for scores in runs if label in scores]
    first, start = runs[0], label.removesuffix("all")
    numbers = (name.removeprefix(start) for name in first if name.startswith(start))
    layers = sorted(map(int, filter(str.isdigit, numbers)))
    measure = "macro_f1" if system.select == BEST_BY_F1 else "value"
    values = np.array(
        [[getattr(first[f"{start}{layer}"][each], measure) for each in tasks] for layer in layers], dtype=np.float64
    )
    # Sets without a score for one of the layers are not used for choosing the best.
    usable = ~np.isnan(values).any(axis=0) & ((np.array(tasks) == task) | (system.select != BEST_PER_SET))
    best = layers[int(values[:, usable].mean(axis=1).argmax())] if usable.any() else layers[-1]
    return best, [first[f"{start}{best}"][task]]
