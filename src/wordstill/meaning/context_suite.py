"""Running tasks for several representations of one teacher, and showing the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordstill.errors import unknown_name
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.data.sentence_sets import SentencePairs
from wordstill.meaning import context_tasks
from wordstill.meaning.context_tasks import Figures, Representations
from wordstill.teacher.spans import UNITS, StateReader, Unit

__all__ = ["TASKS", "Evaluation", "evaluate"]


YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
TASKS = ("usim", "wic", "cosimlex", "scws", *YEARS, "paws-wiki", "paws-words")
"""All tasks, in the order of the report."""
HEADLINES = (
    "usim", "wic", "cosimlex-1", "cosimlex-2", "scws", *YEARS, "sts-mean", "paws-wiki",
    "cosimlex-1-official", "cosimlex-2-official",
)  # fmt: skip


@dataclass(frozen=True)
class EvaluationConfig:
    """How tasks are run."""

    unit: Unit = "subwords"
    """What is averaged for a sentence; ``subwords`` as in paper 002, or ``words``."""
    limit: int | None = None
    """Most pairs of each sentence task, for a quick look; None takes all."""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise unknown_name("unit", self.unit, UNITS)


@dataclass(frozen=True)
class Evaluation:
    """Figures of several representations."""

    figures: Figures
    """For each representation, the value of each metric, between -1 and 1."""

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Plain numbers, for JSON."""
        return {name: dict(values) for name, values in self.figures.items()}

    def markdown(self) -> str:
        """A table with a row for each representation, figures times 100, as far as they were asked for."""
        shown = [metric for metric in HEADLINES if any(metric in row for row in self.figures.values())]
        groups = [f"cosine-{group}" for group in context_tasks.GROUPS]
        tables = [_table(self.figures, shown, 100.0)]
        if any(groups[0] in row for row in self.figures.values()):
            tables.append(_table(self.figures, groups, 1.0))
        return "\n".join(tables)


def evaluate(
    reader: StateReader,
    representations: Representations,
    tasks: Sequence[str] | None = None,
    config: EvaluationConfig | None = None,
) -> Evaluation:
    """Run tasks.

    Args:
        reader: Reads the texts, once for all representations.
        representations: What to score, by name.
        tasks: Names of tasks; None runs all.
        config: How.

    Raises:
        UsageError: There is no such task.
        DataError: The data of a task are not there.
    """
    config = config or EvaluationConfig()
    figures: Figures = {name: {} for name in representations}
    for task in tasks or TASKS:
        for name, values in _run(task, reader, representations, config).items():
            figures[name].update(values)
    for values in figures.values():
        if all(year in values for year in YEARS):
            values["sts-mean"] = sum(values[year] for year in YEARS) / len(YEARS)
    return Evaluation(figures)


_LEXICAL: Mapping[str, Callable[[StateReader, Representations, Any], Figures]] = {
    "usim": context_tasks.usim,
    "wic": context_tasks.wic,
    "cosimlex": context_tasks.cosimlex,
    "scws": context_tasks.scws,
}


def _run(
    task: str, reader: StateReader, representations: Representations, config: EvaluationConfig
) -> Figures:
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if task in _LEXICAL:
        return _LEXICAL[task](reader, representations, _data(task))
    if task in YEARS:
        data = _first(_data(task), config.limit)
        return context_tasks.sts(reader, representations, data, task, config.unit)
    parts = {name: _first(part, config.limit) for name, part in _data("paws-wiki").items()}
    if task == "paws-wiki":
        return context_tasks.paws(reader, representations, parts, config.unit)
    return context_tasks.paws_words(reader, representations, parts["test"])


def _data(name: str) -> Any:
    found = locate(name)
    return found.reader(found.path)


def _first(data: SentencePairs, limit: int | None) -> SentencePairs:
    """A part of each sub-corpus, so that every one has some pairs."""
    if limit is None or len(data) <= limit:
        return data
    step = -(-len(data) // limit)
    return replace(
        data,
        first=data.first[::step],
        second=data.second[::step],
        gold=data.gold[::step],
        corpus=data.corpus[::step],
    )


def _table(figures: Figures, metrics: Sequence[str], scale: float) -> str:
    head = ["", *metrics]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    digits = 1 if scale > 1 else 3
    for name, values in figures.items():
        cells = [f"{scale * values[metric]:.{digits}f}" if metric in values else "" for metric in metrics]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines) + "\n"
