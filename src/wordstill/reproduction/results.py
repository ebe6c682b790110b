"""What a table of a paper is made with, and what comes of it: our scores beside the printed ones."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Annotated, Literal, Protocol

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.evaluation.statistics import Interval
from wordstill.teacher import TeacherConfig

ELSEWHERE = "choose another --out, or delete the folder"
"""What to do where a folder was made with other settings."""


class Plan(Protocol):
    """What every plan of a table says."""

    @property
    def name(self) -> str:
        """As the user writes it."""

    @property
    def protocol(self) -> str:
        """Rules of evaluation."""


@dataclass(frozen=True)
class ReproduceConfig(Config):
    """What the paper does not decide."""

    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    seeds: Annotated[int, Range(1, 1_000)] = 1
    """Runs of the systems that draw random numbers; their mean is the score."""
    baselines: bool = True
    """Whether systems without a teacher are trained too."""
    lexicon: str = "ppdb-xl"
    """A set of the registry, a file, a WordNet folder or ``wn:NAME``; the paper does not name its own."""
    workers: Annotated[int, Range(1, 1_024)] = 1
    """Threads of skip-gram and its kin; with several, results differ from run to run."""
    trees: tuple[str, ...] = ()
    """CoNLL-U files with the dependency trees of the text; without them, systems that need trees are not made."""
    triples: Annotated[int, Range(100)] = 100_000
    """Of the tables of meaning: words in sentences that triples are made of; the paper has a million."""
    there: str | None = None
    """Of the tables of meaning: a translator from the language of the text; None replaces words instead."""
    back: str | None = None
    """The translator back."""
    masked: str | None = None
    """Of the tables of meaning: the masked language model, where the teacher is none."""
    vectors: str | None = None
    """Of the tables of meaning: static vectors; None distils them. The paper has fastText."""
    preset: Literal["paper", "default"] = "paper"
    """Of the tables of meaning: how distillers are trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.there is None) != (self.back is None):
            raise UsageError("A round trip needs two translators: use --there and --back.")


@dataclass(frozen=True)
class Row:
    """A system on one set: our score beside the printed one."""

    system: str
    dataset: str
    printed_row: str | None
    printed: float | None
    ours: float | None
    """The mean over seeds."""
    deviation: float | None
    """The standard deviation over seeds; with one, that over the trainings of a task that trains."""
    interval: Interval | None
    """Of the first seed."""
    used: int
    total: int
    problem: str | None = None
    """Why there is no score of ours."""
    layer: int | None = None
    """The chosen one, where the system is the best of several."""


@dataclass(frozen=True)
class Reproduction:
    """A table of a paper, made again."""

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
