"""Settings and results of a reproduction: our scores next to the published ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np

from wordstill.core.resume import read_record, write_record
from wordstill.core.settings import Config, Range
from wordstill.errors import DataError, UsageError
from wordstill.evaluation import Score, evaluate
from wordstill.evaluation.score import POINTS
from wordstill.evaluation.statistics import Interval
from wordstill.evaluation.trained.base import TrainedScore
from wordstill.meaning.make_triples import vectors_digest
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors


class Plan(Protocol):
    """The common part of all plans."""

    @property
    def name(self) -> str:
        """As the user writes it."""

    @property
    def number(self) -> int:
        """Title of the table in the paper."""

    @property
    def protocol(self) -> str:
        """Rules of evaluation."""


@dataclass(frozen=True)
class ReproduceConfig(Config):
    """Settings that the paper leaves open."""

    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    seeds: Annotated[int, Range(1, 1_000)] = 1
    """Number of runs of systems with random numbers; the score is their mean."""
    baselines: bool = True
    """Whether to train systems without a teacher too."""
    systems: tuple[str, ...] = ()
    """The systems to make, by their names in the plan; empty makes all."""
    lexicon: str = "ppdb-xl"
    """A lexicon of the registry, a file, a WordNet folder or ``wn:NAME``; the paper does not name its own."""
    workers: Annotated[int, Range(1, 1_024)] = 1
    """Threads for gensim's methods; with several, results differ from run to run."""
    own: tuple[tuple[str, str], ...] = ()
    """The user's own tables, such as published vectors: the model of the published row, and the path."""
    trees: tuple[str, ...] = ()
    """CoNLL-U files with the dependency trees of the text, for the systems that need trees."""
    triples: Annotated[int, Range(100)] = 100_000
    """For tables on meaning: number of targets for triples; the paper has a million."""
    there: str | None = None
    """For tables on meaning: a translator from the language of the text; None replaces words instead."""
    back: str | None = None
    """The translator back."""
    masked: str | None = None
    """For tables on meaning: the masked language model, if the teacher is not one."""
    vectors: str | None = None
    """For tables on meaning: static vectors; None distills them. The paper uses fastText."""
    preset: Literal["paper", "default"] = "paper"
    """For tables on meaning: training settings of the distillers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.there is None) != (self.back is None):
            raise UsageError("A round trip needs two translators: use --there and --back.")


@dataclass(frozen=True)
class Row:
    """The score of a system on one set, next to the published one."""

    system: str
    dataset: str
    printed_row: str | None
    printed: float | None
    ours: float | None
    """The mean over seeds."""
    deviation: float | None
    """The standard deviation over seeds; with one seed, over the runs of a task that trains."""
    interval: Interval | None
    """The interval of the first seed."""
    used: int
    total: int
    problem: str | None = None
    """Why there is no score."""
    layer: int | None = None
    """The chosen layer, if the system is the best of several."""


@dataclass(frozen=True)
class Reproduction:
    """A reproduced table."""

    plan: Plan
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    """Sets that were not found."""
    teacher: str
    text: str
    """The hash of the prepared text."""

    def to_json(self) -> str:
        """Everything as JSON text."""
        content = {
            "table": self.plan.name,
            "teacher": self.teacher,
            "text": self.text,
            "protocol": self.plan.protocol,
            "missing": list(self.missing),
            "rows": [asdict(row) for row in self.rows],
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


@dataclass(frozen=True)
class KeptScore:
    """The stored part of a score."""

    value: float | None
    interval: Interval | None
    deviation: float | None
    """Standard deviation over the runs of a task that trains."""
    macro_f1: float | None
    """Macro-F1 of a task with classes."""
    used: int
    total: int
    problem: str | None
    dev: float | None = None
    """Mean score on the development part, for a task with early stopping on it."""

    @classmethod
    def of(cls, score: Score) -> KeptScore:
        """From a complete score."""
        macro_f1 = next((part.value for part in score.parts if part.metric == "macro_f1"), None)
        dev = score.settings.get("dev") if isinstance(score, TrainedScore) else None
        mean = None if dev is None else POINTS * float(np.mean(dev))
        return cls(score.value, score.interval, score.deviation, macro_f1, *score.coverage, score.problem, mean)

    @classmethod
    def read(cls, interval: Sequence[float] | None, **fields: Any) -> KeptScore:
        """From JSON, in which the interval is a list."""
        return cls(interval=None if interval is None else Interval(*interval), **fields)


class KeptScores:
    """The scores of tables under one protocol, saved as soon as they are known, because tasks that train take hours.

    A table is identified by its provenance, or by its words and vectors if its provenance has no method: that of a
    published file, if any, is the same for many files.

    Raises:
        DataError: The file is damaged.
    """

    def __init__(self, path: Path, protocol: str, *, progress: bool = False) -> None:
        self.path, self.protocol, self.progress = path, protocol, progress
        try:
            self._known: dict[str, dict[str, Any]] = read_record(path) if path.exists() else {}
        except DataError as error:
            raise DataError(f"{path} is damaged. Delete it: its scores are then made again.") from error

    def of(self, table: WordVectors, tasks: Sequence[str]) -> dict[str, KeptScore]:
        """The score of a table on each task; missing scores are computed and saved."""
        identity = table.provenance if "method" in table.provenance else vectors_digest(table)
        facts = json.dumps([self.protocol, identity], sort_keys=True, default=str)
        known = self._known.setdefault(hashlib.sha256(facts.encode()).hexdigest(), {})
        missing = [task for task in tasks if task not in known]
        if missing:
            (scores,) = evaluate({"table": table}, missing, self.protocol, progress=self.progress).scores.values()
            known |= {task: asdict(KeptScore.of(scores[task])) for task in missing}
            write_record(self.path, self._known)
        return {task: KeptScore.read(**known[task]) for task in tasks}


ELSEWHERE = "choose another --out, or delete the folder"
"""Advice for a folder that was made with other settings."""
