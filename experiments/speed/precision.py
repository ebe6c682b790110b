"""The effect of the teacher's precision on the tables of `still` and `ase`, compared with float32.

The embedded teacher reads the whole text in float32 and then in each other precision, in one run, with default
settings. Words that occur at least five times get a vector, and so do all words of the eight similarity sets. Cosines
are word by word after the best rotation of the table; scores are rank correlations times 100. Words per second are for
the pass over the text, without preparing it, reading isolated words and finishing the tables.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.record import machine
from experiments.speed.common import LEAST_COSINE, Row, add_commit, agreement, met, save, show
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig
from wordstill.distillation.engine import Position, Stage
from wordstill.distillation.plan import make_plan
from wordstill.errors import DataError, WordstillError
from wordstill.evaluation import evaluate, words_of
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.teacher import Batch, DeviceBatch, Teacher, TeacherConfig
from wordstill.teacher.device import choose_device, synchronize
from wordstill.teacher.loading import NAME
from wordstill.vectors import WordVectors

BENCHMARK = "precision"
TITLE = "Effect of the precision"
METHODS = ("still", "ase")
EXACT, USUAL = "float32", "bfloat16"
OTHERS = (USUAL, "float16")
MOST_DIFFERENCE = 0.2


def main() -> None:
    """Measure, print and save after every precision."""
    options = _options()
    result: dict[str, Any] = {}
    try:
        words = checked_words(options.device, options.dtype)
        with TemporaryDirectory(prefix="wordstill-") as folder:
            corpus = open_or_prepare(options.text, PrepareConfig(), Path(folder), progress=True)
            for result in measure(corpus, words, options.device, options.dtype):
                save(BENCHMARK, result, commit=options.commit)
    except WordstillError as error:
        sys.exit(str(error))
    show(rows(result), remarks(result))


def checked_words(device: str, dtypes: Sequence[str]) -> tuple[str, ...]:
    """The words of the sets; a missing set or an unavailable precision is an error now."""
    words = tuple(dict.fromkeys(word for name in EIGHT for word in words_of(name)))
    for dtype in dtypes:
        Teacher.from_config(TeacherConfig(NAME, device, dtype))
    return words


def measure(corpus: Corpus, words: tuple[str, ...], device: str, dtypes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The results so far, after each precision that is compared with float32."""
    config = DistillConfig(METHODS, vocabulary=VocabularyConfig(words=words))
    reference, facts = make(corpus, replace(config, teacher=TeacherConfig(NAME, device, EXACT)))
    result: dict[str, Any] = {
        "device": _device_name(device),
        "words": corpus.n_words,
        "vectors": {label: len(table) for label, table in reference.items()},
        "precisions": {EXACT: facts},
    }
    for dtype in dtypes:
        tables, facts = make(corpus, replace(config, teacher=TeacherConfig(NAME, device, dtype)))
        cosines = {label: agreement(tables[label].unit, reference[label].unit) for label in tables}
        result["precisions"][dtype] = facts | {"cosine_to_float32": cosines}
        yield result


def make(corpus: Corpus, config: DistillConfig) -> tuple[dict[str, WordVectors], dict[str, Any]]:
    """The tables with their speed and scores; the teacher is freed on return."""
    print(f"{config.teacher.dtype}:", flush=True)
    teacher = Teacher.from_config(config.teacher)
    plan = make_plan(teacher, corpus, config)
    clock = Clock(plan.engine.stages[-1])
    tables = plan.run(progress=True)
    facts = {"words_per_second": corpus.n_words / clock.seconds, "scores": _scores(tables)}
    del teacher, plan, clock
    # The next teacher may need the memory.
    gc.collect()
    torch.cuda.empty_cache()
    return tables, facts


class Clock:
    """Seconds of a stage; waits for the GPU only at its end."""

    def __init__(self, stage: Stage) -> None:
        self.batches, self.should_stop, self.started, self.seconds = (stage.batches, stage.should_stop, 0.0, 0.0)
        stage.batches, stage.should_stop = self, self.end

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """The stage begins."""
        self.started = time.perf_counter()
        return self.batches.since(position)

    def end(self) -> bool:
        """The stage is over."""
        synchronize()
        self.seconds = time.perf_counter() - self.started
        return self.should_stop()


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    labels = list(result["vectors"])
    titles = ((f"{label}: minimum cosine", "mean", "scores differ by") for label in labels)
    table: list[Row] = [("", "words/s", *chain(*titles))]
    for dtype, found in result["precisions"].items():
        cells = chain(*(_cells(result, dtype, label) for label in labels))
        table.append((dtype, f"{found['words_per_second']:,.0f}", *cells))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, where scores differ most, and whether the targets are met."""
    vectors = " and ".join(f"{number:,} of `{label}`" for label, number in result["vectors"].items())
    compared = [dtype for dtype in result["precisions"] if dtype != EXACT]
    return [
        f"{result['device']}; {result['words']:,} words and punctuation marks; word vectors: {vectors}.",
        *(_remark(result, dtype, label) for dtype in compared for label in result["vectors"]),
    ]


def differences(result: dict[str, Any], dtype: str, label: str) -> dict[str, float]:
    """How far the scores of a table are from those in float32, by set."""
    exact, other = (result["precisions"][name]["scores"][label] for name in (EXACT, dtype))
    return {name: abs(other[name] - exact[name]) for name in exact}


def _cells(result: dict[str, Any], dtype: str, label: str) -> Row:
    if dtype == EXACT:
        return "", "", ""
    cosine = result["precisions"][dtype]["cosine_to_float32"][label]
    most = max(differences(result, dtype, label).values())
    return f"{cosine['least']:.5f}", f"{cosine['mean']:.5f}", f"{most:.3f}"


def _remark(result: dict[str, Any], dtype: str, label: str) -> str:
    found, by_set = result["precisions"][dtype], differences(result, dtype, label)
    least = found["cosine_to_float32"][label]["least"]
    farthest, most = max(by_set.items(), key=itemgetter(1))
    cosine = f"minimum cosine {least:.5f}"
    scores = f"scores differ most on `{farthest}`, by {most:.3f}"
    if dtype == USUAL:
        cosine += f", target {LEAST_COSINE}: {met(least >= LEAST_COSINE)}"
        scores += f", target {MOST_DIFFERENCE}: {met(most <= MOST_DIFFERENCE)}"
    return f"`{label}` in {dtype}: {cosine}; {scores}."


def _scores(tables: Mapping[str, WordVectors]) -> dict[str, dict[str, float]]:
    """Scores by table and set."""
    values: dict[str, dict[str, float]] = {label: {} for label in tables}
    for label, scores in evaluate(tables, EIGHT).scores.items():
        for name, score in scores.items():
            if score.value is None:
                raise DataError(f"{label} has no score on {name}: {score.problem}.")
            values[label][name] = score.value
    return values


def _device_name(device: str) -> str:
    chosen = choose_device(device)
    return torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else str(machine()["cpu"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", type=Path, help="a text of any format that wordstill reads, or a store")
    parser.add_argument("--dtype", action="append", choices=OTHERS, help="may be repeated; bfloat16 if none")
    parser.add_argument("--device", default="auto")
    add_commit(parser)
    options = parser.parse_args()
    options.dtype = list(dict.fromkeys(options.dtype or [USUAL]))
    return options


if __name__ == "__main__":
    main()
