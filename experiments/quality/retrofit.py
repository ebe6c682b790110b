"""Retrofit a table to several lexicons, score every result, and keep JSON.

Example: python -m experiments.quality.retrofit vectors/still --name enwiki-a --title "English Wikipedia"

Lexicons are those of $WORDSTILL_DATA, and with --wordnet the antonyms of a WordNet database. Settings are
chosen by the mean of the eight similarity sets over every second pair only, the development half; the scores
are then over all pairs. The result is results/retrofit/NAME.json; `python -m experiments.tables` puts it
into results.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.record import lexicon_folder, origin, table_parser, write_json
from wordstill.evaluation import SimilarityTask, evaluate
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.evaluation.statistics import spearman
from wordstill.postprocess import Transform
from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, Lexicon, open_lexicon, retrofitter
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.retrofit"
ANALOGIES = "google"
SEEN = 2
DECIMALS = 4
HOLDS = (0.7, 0.6, 0.5, 0.4, 0.3)
SIGMAS = (1.0, 0.5, 0.25)
MARGINS = (0.6, 0.8, 1.0)


@dataclass
class Made:
    """A table with how it was made."""

    label: str
    vectors: WordVectors
    seconds: float | None = None
    tried: list[dict[str, Any]] = field(default_factory=list)
    """Settings that were tried, each with its score on the development half."""


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    facts = {**origin(MODULE, options), "rows": []}
    path = options.out / f"{options.name}.json"
    for made in everything(WordVectors.load(options.vectors), options):
        facts["rows"].append(row_of(made))
        write_json(path, facts)
        print(f"{made.label}: development half {development(made.vectors):.2f}", flush=True)
    print(f"Written: {path}")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = table_parser(MODULE, __doc__, "retrofit")
    parser.add_argument("--label", default="still", help="what the table is called")
    parser.add_argument("--wordnet", type=Path, help="folder of a WordNet database, for antonyms")
    options = parser.parse_args()
    options.lexicons = lexicon_folder(parser)
    return options


def everything(table: WordVectors, options: argparse.Namespace) -> Iterator[Made]:
    """The table as it is, and with each lexicon."""
    plain = options.label
    ppdb = open_lexicon(options.lexicons / "ppdb-xl.txt")
    framenet = open_lexicon(options.lexicons / "framenet.txt")
    yield Made(plain, table)
    yield chosen(f"{plain}, PPDB, faruqui", table, [retrofitter("faruqui", ppdb)])
    yield chosen(f"{plain}, PPDB, as released", table, [retrofitter("context-graph-released", ppdb)])
    yield chosen(f"{plain}, PPDB, defaults", table, [retrofitter("context-graph", ppdb)])
    best = chosen(f"{plain}, PPDB", table, settings(ppdb))
    yield best
    yield chosen(f"{plain}, FrameNet", table, settings(framenet))
    yield chosen(f"{plain}, PPDB and FrameNet", table, settings(Lexicon.union([ppdb, framenet])))
    if options.wordnet is not None:
        opposites = open_lexicon(options.wordnet, relations=("antonyms",))
        apart = [CounterFit(CounterFitConfig(opposites, margin=margin)) for margin in MARGINS]
        yield chosen(f"{plain}, PPDB, WordNet's opposites", best.vectors, apart)


def settings(lexicon: Lexicon) -> list[Transform]:
    """The settings to try with a lexicon."""
    return [
        retrofitter("context-graph", lexicon, alpha=hold, beta=round(1 - hold, 1), sigma=sigma)
        for hold in HOLDS
        for sigma in SIGMAS
    ]


def chosen(label: str, table: WordVectors, steps: Iterable[Transform]) -> Made:
    """The table after the step that does best on the development half."""
    best: Made | None = None
    highest, tried = -np.inf, []
    for step in steps:
        start = time.perf_counter()
        vectors = step.fit_transform(table)
        seconds = round(time.perf_counter() - start, 1)
        value = development(vectors)
        tried.append({"settings": step.settings(), "development": round(value, DECIMALS)})
        if value > highest:
            highest, best = value, Made(label, vectors, seconds)
    assert best is not None
    best.tried = tried
    return best


def development(vectors: WordVectors) -> float:
    """The mean of the eight sets over every second pair."""
    return halves(vectors, lambda numbers: numbers % 2 == 0)


def halves(vectors: WordVectors, chosen_pairs: Callable[[np.ndarray], np.ndarray]) -> float:
    """The mean of the eight sets over some pairs, by their numbers."""
    values = []
    for name in EIGHT:
        task = SimilarityTask(name)
        similarities = task.similarities(vectors)
        used = ~np.isnan(similarities) & chosen_pairs(np.arange(len(similarities)))
        values.append(100 * spearman(task.dataset.content.gold[used], similarities[used]))
    return float(np.mean(values))


def row_of(made: Made) -> dict[str, Any]:
    """The JSON row of a table: how it was made, and its scores over all pairs and over those of the text."""
    vectors = made.vectors
    scores = {"all": scores_of(vectors, (*EIGHT, ANALOGIES))}
    if vectors.counts is not None:
        shown = [word for word, count in zip(vectors.words, vectors.counts) if count >= SEEN]
        scores["pairs seen in the text"] = scores_of(vectors.subset(shown), EIGHT)
    return {
        "label": made.label,
        "seed": None,
        "seconds": made.seconds,
        "beside": [made.label],
        "words": len(vectors),
        "dim": vectors.dim,
        "provenance": vectors.provenance,
        "tried": made.tried,
        "halves": {
            "development": round(development(vectors), DECIMALS),
            "other": round(halves(vectors, lambda numbers: numbers % 2 == 1), DECIMALS),
        },
        "scores": scores,
    }


def scores_of(vectors: WordVectors, sets: Iterable[str]) -> dict[str, Any]:
    """Score and coverage by set."""
    (scores,) = evaluate(vectors, list(sets)).scores.values()
    return {
        name: {
            "value": None if score.value is None else round(score.value, DECIMALS),
            "used": score.coverage.used,
            "total": score.coverage.total,
            "parts": {part.name: part.value for part in score.parts},
        }
        for name, score in scores.items()
    }


if __name__ == "__main__":
    main()
