"""Scores that are kept as soon as they are known: a table of trained tasks takes hours, and may be stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wordstill.core.resume import read_record, write_record
from wordstill.errors import DataError
from wordstill.evaluation import Score, evaluate
from wordstill.evaluation.statistics import Interval
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class KeptScore:
    """What is kept of a score."""

    value: float | None
    interval: Interval | None
    deviation: float | None
    """Over the trainings of a task that trains."""
    macro_f1: float | None
    """Of a task with classes."""
    used: int
    total: int
    problem: str | None

    @classmethod
    def of(cls, score: Score) -> KeptScore:
        """From a whole one."""
        macro_f1 = next((part.value for part in score.parts if part.metric == "macro_f1"), None)
        return cls(score.value, score.interval, score.deviation, macro_f1, *score.coverage, score.problem)

    @classmethod
    def read(cls, interval: Sequence[float] | None, **fields: Any) -> KeptScore:
        """From a file, in which an interval is a list."""
        return cls(interval=None if interval is None else Interval(*interval), **fields)


class KeptScores:
    """The scores of tables under one protocol, in a file.

    A table is known by its provenance, which says all that it was made from.

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
        """The score of a table on each task; those that are not known yet are made, and kept."""
        facts = json.dumps([self.protocol, table.provenance], sort_keys=True, default=str)
        known = self._known.setdefault(hashlib.sha256(facts.encode()).hexdigest(), {})
        missing = [task for task in tasks if task not in known]
        if missing:
            (scores,) = evaluate({"table": table}, missing, self.protocol, progress=self.progress).scores.values()
            known |= {task: asdict(KeptScore.of(scores[task])) for task in missing}
            write_record(self.path, self._known)
        return {task: KeptScore.read(**known[task]) for task in tasks}
