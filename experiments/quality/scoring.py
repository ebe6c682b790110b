"""Scores of one table: every intrinsic task, sentence similarity, and the linear probe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from wordstill.evaluation import DATASETS, PROTOCOLS, SUITES, Evaluation, Score, evaluate, make_task, words_of
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.vectors import WordVectors

SETS, PROBES = SUITES["papers"], SUITES["probe"]
SENTENCES = SUITES["sentences"]
SIF = replace(PROTOCOLS["default"], name="default with sentence=sif", sentence="sif")
SEEN = 2
DECIMALS = 4
WITH_PARTS = ("analogy", "classification", "tagging", "parent")


def evaluation_words() -> tuple[str, ...]:
    """The words of the intrinsic sets: what a vocabulary must hold, however rare they are in the text."""
    named = (name for name in SUITES["papers"] if DATASETS[name].task != "sts")
    return tuple(dict.fromkeys(word for name in named for word in words_of(name)))


def check_data(*, probe: bool = True) -> None:
    """Read every set, so that a missing one is an error before anything is made."""
    for name in (*SETS, *(PROBES if probe else ())):
        make_task(name)


def use_one_thread() -> None:
    """Limit a worker of a pool to one thread."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1)


def score_file(path: Path, *, probe: bool = True) -> dict[str, Any]:
    """Score a table from a file or folder."""
    return score(WordVectors.load(path), probe=probe)


def score(vectors: WordVectors, *, probe: bool = True) -> dict[str, Any]:
    """Scores by kind of measurement, then by set.

    ``pairs seen in the text`` are the similarity sets once more with the words that the text shows at least
    twice, so that methods which know other words too can be compared with those which do not.
    """
    sets = (*SETS, *(PROBES if probe else ()))
    found = {"all": _by_set(evaluate(vectors, sets)), "sif": _by_set(evaluate(vectors, SENTENCES, SIF))}
    if vectors.counts is not None:
        shown = [word for word, count in zip(vectors.words, vectors.counts) if count >= SEEN]
        found["pairs seen in the text"] = _by_set(evaluate(vectors.subset(shown), EIGHT))
    return found


def _by_set(evaluation: Evaluation) -> dict[str, Any]:
    (scores,) = evaluation.scores.values()
    return {name: score_facts(each) for name, each in scores.items()}


def score_facts(score: Score) -> dict[str, Any]:
    """The JSON of a score."""
    facts: dict[str, Any] = {
        "value": rounded(score.value),
        "interval": None if score.interval is None else [rounded(end) for end in score.interval],
        "used": score.coverage.used,
        "total": score.coverage.total,
    }
    if score.problem:
        facts["problem"] = score.problem
    if score.deviation is not None:
        facts["deviation"] = rounded(score.deviation)
    if score.task in WITH_PARTS:
        facts["parts"] = {part.name: rounded(part.value) for part in score.parts}
    return facts


def rounded(value: float | None) -> float | None:
    """As scores are kept."""
    return None if value is None else round(value, DECIMALS)
