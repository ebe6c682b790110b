"""Vectors of several policies for words that do not occur in a text.

Example: python -m experiments.quality.unseen_words vectors --name demo --title "The excerpt" --teacher all-MiniLM-L6-v2

Held-out words: a tenth of the words that occur at least twice is removed from the table, and the vector of each by a
policy is compared with its real one. Settings of `subwords` are chosen by these cosines only. Rare Words: words that
occur fewer than twice are removed, and the policy provides their vectors. The result is results/unseen-words/NAME.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.record import origin, table_parser, write_json
from wordstill.evaluation import SimilarityTask
from wordstill.evaluation.statistics import spearman
from wordstill.formats.floret import FloretTable
from wordstill.postprocess import Pipeline
from wordstill.vectors import WordVectors
from wordstill.vectors.char_ngrams import NgramVectors
from wordstill.vectors.search import unit_rows

MODULE = "experiments.quality.unseen_words"
SEEN, RARE = 2, 5
SHARE = 0.1
SEED = 0
SETTINGS = (
    "subwords",
    "subwords:minn=3",
    "subwords:maxn=5",
    "subwords:maxn=8",
    "subwords:ridge=0.3",
    "subwords:buckets=200000",
    "subwords:kind=floret",
    "subwords:kind=floret,buckets=200000",
)
DECIMALS = 4

Find: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    table = WordVectors.load(options.vectors)
    facts: dict[str, Any] = {**origin(MODULE, options), "seed": SEED, "words": len(table), "dim": table.dim, "rows": []}
    for label in [*SETTINGS, "ngrams", "spelling", *(["teacher"] if options.teacher else [])]:
        row: dict[str, Any] = {"label": label, **held_out(table, label, options.teacher)}
        if label in options.rare_words:
            row["rareword"] = rare_words(table, label, options.teacher)
        facts["rows"].append(row)
        write_json(options.out / f"{options.name}.json", facts)
        print(row, flush=True)
    for label, known in (("skipped", table.select(shown(table))), ("in the vocabulary", table)):
        facts["rows"].append({"label": label, "rareword": correlation(known, None)})
    write_json(options.out / f"{options.name}.json", facts)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = table_parser(MODULE, __doc__, "unseen-words")
    parser.add_argument("--teacher", help="model for the policy that reads words with it")
    options = parser.parse_args()
    options.rare_words = ("subwords", "subwords:kind=floret", "ngrams", "spelling", "teacher")
    return options


def shown(table: WordVectors) -> NDArray[np.int64]:
    """The rows of words that the text shows at least twice."""
    if table.counts is None:
        raise SystemExit("The table has no counts; make it with wordstill distill.")
    return np.flatnonzero(table.counts >= SEEN)


def held_out(table: WordVectors, label: str, teacher: str | None) -> dict[str, Any]:
    """Cosines with the vectors of words that were taken out, and the CPU time that it took."""
    assert table.counts is not None
    rows = shown(table)
    out = np.random.default_rng(SEED).random(len(rows)) < SHARE
    words = [table.words[row] for row in rows[out].tolist()]
    start = time.process_time()
    find, size = policy(table.select(rows[~out]), label, teacher)
    fitted = time.process_time()
    got = find(words)
    ended = time.process_time()
    cosines = np.sum(unit_rows(got) * table.unit[rows[out]], axis=1)
    rare = table.counts[rows[out]] <= RARE
    rare = rare if rare.any() else ~rare
    return {
        "held_out": len(words),
        "cosine": round(float(cosines.mean()), DECIMALS),
        "cosine_rare": round(float(cosines[rare].mean()), DECIMALS),
        "fit_seconds": round(fitted - start, 1),
        "microseconds_per_word": round(1e6 * (ended - fitted) / len(words), 1),
        "megabytes": round(size / 1e6, 1),
    }


def rare_words(table: WordVectors, label: str, teacher: str | None) -> dict[str, Any]:
    """Rare Words where unseen words have the vector of a policy."""
    known = table.select(shown(table))
    return correlation(known, policy(known, label, teacher)[0])


def correlation(known: WordVectors, find: Find | None) -> dict[str, Any]:
    """Spearman's correlation by halves, every second pair being the development half."""
    task = SimilarityTask("rareword")
    vectors = known
    if find is not None:
        words = dict.fromkeys(task.words())
        missing = [word for word in words if word not in known and word.lower() not in known]
        matrix = np.concatenate([known.matrix, find(missing)])
        vectors = WordVectors([*known.words, *missing], matrix)
    similarities = task.similarities(vectors)
    gold, used = task.dataset.content.gold, ~np.isnan(similarities)
    numbers = np.arange(len(gold))
    parts = {"development": numbers % 2 == 0, "other": numbers % 2 == 1, "all": numbers >= 0}
    scores = {
        name: round(100 * spearman(gold[used & part], similarities[used & part]), 2) for name, part in parts.items()
    }
    return {**scores, "pairs": int(used.sum())}


def policy(table: WordVectors, label: str, teacher: str | None) -> tuple[Find, int]:
    """What gives vectors to words that a table does not have, and the bytes that it needs beside the table."""
    if label.startswith("subwords"):
        fitted = Pipeline.from_spec(label).fit_transform(table).subwords
        assert isinstance(fitted, NgramVectors | FloretTable)
        size = sum(part.nbytes for part in vars(fitted).values() if isinstance(part, np.ndarray))
        return fitted.vectors, size
    if label == "teacher":
        from wordstill.teacher.isolated_words import TeacherBackoff, WordsAlone

        backed = table.with_backoff(TeacherBackoff(table, WordsAlone(str(teacher)), teacher=str(teacher)))
    else:
        backed = table.with_backoff(label)
    backed.find(["warm-up"])
    return lambda words: np.stack(list(answers(backed, words))), 0


def answers(backed: WordVectors, words: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    """The vector of each word, zeros where there is none."""
    for found in backed.find(words):
        if isinstance(found, int):
            yield backed.take([found])[0]
        else:
            yield np.zeros(backed.dim, np.float32) if found is None else found


if __name__ == "__main__":
    main()
