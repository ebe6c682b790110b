"""The third phase of measuring meanings: every task for every representation, and the cost of encoding."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from itertools import islice

import torch

from experiments.meaning.distillers import ABLATION, PAPER, SCALED_RAW, Encoders, distilled, raw
from experiments.meaning.triples import sentences_of
from experiments.record import TimedRecord
from wordstill.evaluation import Score
from wordstill.evaluation.data.catalog import YEARS
from wordstill.evaluation.report.tables import markdown
from wordstill.evaluation.suite import IN_CONTEXT, evaluate_in_context
from wordstill.meaning import MeaningEncoder, Triples
from wordstill.meaning.context_encoder import StateEncoder
from wordstill.meaning.distiller import Representation
from wordstill.meaning.liu import LiuTransform
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

LIU = "Liu et al. 2020"
WORDS = "paws-words"
COST_TEXTS, COST_ROUNDS = 2000, 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this phase."""
    group = parser.add_argument_group("tasks")
    group.add_argument("--task", action="append", help="run only these tasks")
    group.add_argument("--limit", type=int, help="pairs of each sentence task")
    group.add_argument("--unit", default="subwords")
    group.add_argument("--liu-sentences", type=int, default=20_000, help="sentences for Liu et al. 2020; 0 for none")


def all_representations(
    options: argparse.Namespace, encoders: Encoders, vectors: WordVectors, record: TimedRecord
) -> dict[str, Representation]:
    """Raw means, distilled vectors, and Liu et al. 2020, fitted on the first sentences of the text."""
    found = raw(encoders)
    if options.liu_sentences:
        texts = list(islice(sentences_of(options), options.liu_sentences))
        with record.timed(LIU):
            found[LIU] = LiuTransform.fit_texts(encoders[PAPER].reader, texts, vectors)
    return {**found, **distilled(encoders)}


def evaluated(
    options: argparse.Namespace, reader: StateReader, representations: dict[str, Representation], record: TimedRecord
) -> None:
    """All tasks, each printed and written when it is done.

    Cosines of words, which take long, only for what the paper's table has, and the chosen.
    """
    values_of: dict[str, dict[str, float]] = {}
    record.facts["figures"] = values_of
    names = (PAPER, PAPER + ABLATION, record.facts["chosen"], record.facts["chosen"] + ABLATION)
    shown = {"raw", *SCALED_RAW, LIU, *(f"{kind} ({name})" for kind in ("meaning", "context") for name in names)}
    few = {name: represent for name, represent in representations.items() if name in shown}
    # The years together: their mean is a score too.
    groups = [[task] for task in IN_CONTEXT if task not in (*YEARS, WORDS)] + [list(YEARS), [WORDS]]
    for group in groups:
        tasks = [task for task in group if task in (options.task or IN_CONTEXT)]
        if tasks:
            encoder = StateEncoder(reader, few if tasks == [WORDS] else representations)
            found = evaluate_in_context(encoder, tasks, unit=options.unit, limit=options.limit)
            print(markdown(found), flush=True)
            for name, scores in found.scores.items():
                values_of.setdefault(name, {}).update(fractions(scores))
            record.write()


def fractions(scores: Mapping[str, Score]) -> dict[str, float]:
    """The scores of a representation and those beside them, as fractions of one."""
    values = {name: score.value for name, score in scores.items()}
    for name, score in scores.items():
        values |= {f"{name}-{part.name}": part.value for part in score.parts}
    if all(values.get(name) is not None for name in YEARS):
        values["sts-mean"] = sum(values[name] or 0.0 for name in YEARS) / len(YEARS)
    return {name: value / 100 for name, value in values.items() if value is not None}


def encoding_costs(encoders: Encoders, triples: Triples) -> dict[str, float]:
    """For each variant, the time to encode every word of texts relative to reading their states."""
    texts = [triple.original.text for triple in triples[:COST_TEXTS]]
    return {
        name: round(encoding_cost(encoder, texts), 3)
        for name, encoder in encoders.items()
        if not name.endswith(ABLATION)
    }


def encoding_cost(encoder: MeaningEncoder, texts: list[str]) -> float:
    """The time to encode every word of texts relative to reading their states."""
    raw = MeaningEncoder(encoder.teacher, encoder.distillers, encoder.layers, kind="raw")
    best = {raw.kind: float("inf"), encoder.kind: float("inf")}
    for _ in range(COST_ROUNDS):
        for one in (raw, encoder):
            synchronise()
            start = time.perf_counter()
            one.encode_sentences(texts)
            synchronise()
            best[one.kind] = min(best[one.kind], time.perf_counter() - start)
    return best[encoder.kind] / best[raw.kind]


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
