"""The result of an evaluation: scores of tables on data sets, and paired comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from wordstill.core.files import refuse_existing, write_file
from wordstill.errors import MissingExtra
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.score import POINTS, Score, compare
from wordstill.evaluation.statistics import CONFIDENCE, RESAMPLES, Interval
from wordstill.evaluation.studies import layers_if_any

if TYPE_CHECKING:
    from pandas import DataFrame

    from wordstill.vectors import WordVectors

SCHEMA_VERSION = 2
FILE_NAME = "evaluation.json"


class TableFacts(NamedTuple):
    """What reports show of a table's provenance."""

    words: int
    dimensions: int
    method: str | None = None
    layer: int | None = None
    corpus_words: int | None = None
    teacher: str | None = None
    unit: str | None = None
    """What the teacher read at a time."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """Those of the method, but for its layer."""
    seed: int | None = None

    @classmethod
    def of(cls, vectors: WordVectors) -> TableFacts:
        """Read the facts of a table."""
        known = vectors.provenance
        method, corpus, teacher, batches = (
            _mapping(known.get(part)) for part in ("method", "corpus", "teacher", "batches")
        )
        return cls(
            len(vectors),
            vectors.dim,
            str(method["name"]) if "name" in method else None,
            _whole(method.get("layer")),
            _whole(corpus.get("words")),
            str(teacher["name"]) if "name" in teacher else None,
            str(batches["unit"]) if "unit" in batches else None,
            {name: value for name, value in method.items() if name not in ("name", "layer")},
            _whole(known.get("seed")),
        )

    def place(self, over: str) -> float | None:
        """The table's position on the axis of a study: words of its text, layer, or a numeric setting."""
        value = {"words": self.corpus_words or None, "layer": self.layer, **self.settings}.get(over)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and self.method is not None else None  # type: ignore[arg-type]

    def series(self, over: str) -> tuple[str, ...]:
        """What tables of one study have in common: everything but the axis of the study."""
        layer = None if over == "layer" else self.layer
        words = None if over == "words" else self.corpus_words
        settings = {name: value for name, value in self.settings.items() if name != over}
        known = [self.method, self.teacher, self.unit, settings, layer, words]
        return tuple(json.dumps(each, sort_keys=True, default=str) for each in known)


@dataclass(frozen=True)
class Comparison:
    """A paired test between two tables on the items of a set that both have a score for."""

    dataset: str
    first: str
    second: str
    difference: float
    """Of the first less that of the second, in points."""
    interval: Interval
    p_value: float
    n: int
    """Items that both tables have a score for."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of every table on every set, with the rules used."""

    scores: Mapping[str, Mapping[str, Score]]
    """By the name of the table, then by the name of the set."""
    protocol: Protocol
    seed: int
    missing: tuple[str, ...] = ()
    """Sets of the suite that were not found."""
    facts: Mapping[str, TableFacts] = field(default_factory=dict)
    """Facts about the tables."""

    @property
    def sets(self) -> list[str]:
        """The names of the sets, in the order in which they were asked for."""
        return list(dict.fromkeys(name for scores in self.scores.values() for name in scores))

    @property
    def tasks(self) -> list[str]:
        """The kinds of tasks."""
        return list(dict.fromkeys(score.task for scores in self.scores.values() for score in scores.values()))

    @property
    def a8(self) -> dict[str, float]:
        """The mean of the eight usual similarity sets, for tables with a score on all eight."""
        return self.mean(EIGHT)

    def mean(self, sets: Sequence[str]) -> dict[str, float]:
        """The mean over some sets, for tables with a score on all of them."""
        means = {}
        for table, scores in self.scores.items():
            values = [scores[name].value for name in sets if name in scores]
            found = [value for value in values if value is not None]
            if len(found) == len(sets):
                means[table] = sum(found) / len(sets)
        return means

    def comparisons(self, baseline: str | None = None) -> list[Comparison]:
        """Paired tests of every other table against one, by default the first."""
        if baseline is None:
            return self._against_first
        return self._against(baseline)

    def rows(self) -> list[dict[str, Any]]:
        """One plain record for each table and set: ready to print, or to make a data frame of."""
        return [
            {"table": table, **score.to_dict()} for table, by_set in self.scores.items() for score in by_set.values()
        ]

    def to_frame(self) -> DataFrame:
        """The rows of `rows` as a pandas data frame, with the interval and the coverage in columns of their own."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "pandas", "A data frame") from None
        frame = pandas.json_normalize([{**row, "parts": len(row["parts"])} for row in self.rows()], sep="_")
        return frame.drop(columns=["parts"])

    def to_markdown(self) -> str:
        """The table that ``wordstill evaluate --markdown`` prints."""
        from wordstill.evaluation.report.tables import markdown

        return markdown(self)

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"<Evaluation: {len(self.scores)} tables, {len(self.sets)} sets, protocol {self.protocol.name}>"

    def _repr_html_(self) -> str:
        """Shown by a notebook: the table of scores with its notes."""
        from wordstill.evaluation.report.page import html_table, paragraph
        from wordstill.evaluation.report.tables import NAMES, best_cells, cells, notes

        return html_table(cells(self), words=NAMES, bold=best_cells(self)) + paragraph(notes(self))

    def to_json(self) -> str:
        """The evaluation as JSON text, with the version of its schema."""
        means, study = self.a8, layers_if_any(self)
        content = {
            "schema_version": SCHEMA_VERSION,
            "protocol": asdict(self.protocol) | {"description": self.protocol.describe(self.tasks)},
            "bootstrap": {"seed": self.seed, "resamples": RESAMPLES, "confidence": CONFIDENCE},
            "missing": list(self.missing),
            "tables": {
                table: {
                    "a8": means.get(table),
                    "facts": self.facts[table]._asdict() if table in self.facts else None,
                    "scores": [score.to_dict() for score in by_set.values()],
                }
                for table, by_set in self.scores.items()
            },
            "comparisons": [asdict(one) | {"interval": one.interval._asdict()} for one in self.comparisons()],
            "layer_study": None if study is None else asdict(study),
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write ``evaluation.json`` into a folder, or a file of any name; returns where it was written."""
        target = Path(path)
        if target.is_dir():
            target = target / FILE_NAME
        refuse_existing(target, overwrite=overwrite)
        write_file(target, self.to_json())
        return target

    @cached_property
    def _against_first(self) -> list[Comparison]:
        return self._against(next(iter(self.scores))) if self.scores else []

    def _against(self, first: str) -> list[Comparison]:
        found = []
        for name in self.sets:
            for second in self.scores:
                if second != first and (made := self._compared(name, second, first)):
                    found.append(made)
        return found

    def _compared(self, name: str, first: str, second: str) -> Comparison | None:
        one, other = (self.scores[table].get(name) for table in (first, second))
        if one is None or other is None or one.items is None or other.items is None:
            return None
        # With oov=mean or oov=zero, a table without any of the words still has items, all of them wrong.
        if one.value is None or other.value is None:
            return None
        if one.items.predicted.shape != other.items.predicted.shape:
            return None
        test = compare(one.items, other.items, self.seed)
        if test is None:
            return None
        low, high = test.interval
        both = int((one.items.scored & other.items.scored).sum())
        interval = Interval(POINTS * low, POINTS * high)
        return Comparison(name, first, second, POINTS * test.difference, interval, test.p_value, both)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
