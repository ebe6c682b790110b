"""The gain in similarity and the loss in analogies from a lexicon, by how far words may turn.

Example: python -m experiments.quality.bounded_retrofit vectors --name enwiki-a --title "English Wikipedia"

Every lexicon is tried without a bound and with several minimum cosines. Among the settings that lose nothing on the
development half of the analogies (every second question), the one that is best on the development half of the
similarity sets (every second pair) is chosen. The result is results/bounded-retrofit/NAME.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.quality.retrofit import development, halves
from experiments.record import lexicon_folder, origin, table_parser, write_json
from wordstill.evaluation.tasks.analogy import AnalogyTask
from wordstill.postprocess import Pipeline
from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, Lexicon, open_lexicon, retrofitter
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.bounded_retrofit"
ANALOGIES = ("google", "msr")
BOUNDS = (None, 0.95, 0.97, 0.98, 0.99, 0.995)
DECIMALS = 3

Scores = dict[str, Any]


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    table = WordVectors.load(options.vectors)
    plain = scores_of(table)
    facts = {**origin(MODULE, options), "words": len(table), "plain": plain, "rows": []}
    for label, steps in chains(options):
        tried = []
        for bound in BOUNDS:
            tried.append({"least_cosine": bound, **scores_of(steps(bound).fit_transform(table))})
            print(label, tried[-1], flush=True)
        facts["rows"].append({"label": label, "tried": tried, "chosen": free_choice(plain, tried)})
        write_json(options.out / f"{options.name}.json", facts)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = table_parser(MODULE, __doc__, "bounded-retrofit")
    parser.add_argument("--wordnet", type=Path, help="folder of a WordNet database, for synonyms and antonyms")
    options = parser.parse_args()
    options.lexicons = lexicon_folder(parser)
    return options


class Steps:
    """Retrofitting to a lexicon and then, if there are any, away from antonyms, under one bound."""

    def __init__(self, lexicon: Lexicon, antonyms: Lexicon | None = None) -> None:
        self.lexicon, self.antonyms = lexicon, antonyms

    def __call__(self, bound: float | None) -> Pipeline:
        """The chain with this least cosine."""
        steps: list[Any] = [retrofitter("context-graph", self.lexicon, least_cosine=bound)]
        if self.antonyms is not None:
            steps.append(CounterFit(CounterFitConfig(self.antonyms, least_cosine=bound)))
        return Pipeline(steps)


def chains(options: argparse.Namespace) -> Iterator[tuple[str, Steps]]:
    """Each lexicon with its label."""
    ppdb = open_lexicon(options.lexicons / "ppdb-xl.txt")
    yield "PPDB", Steps(ppdb)
    yield "PPDB and FrameNet", Steps(Lexicon.union([ppdb, open_lexicon(options.lexicons / "framenet.txt")]))
    if options.wordnet is not None:
        both = Lexicon.union([ppdb, open_lexicon(options.wordnet)])
        yield "PPDB and WordNet", Steps(both)
        yield "PPDB and WordNet, with its antonyms", Steps(both, open_lexicon(options.wordnet, relations=("antonyms",)))


def scores_of(vectors: WordVectors) -> Scores:
    """Both halves of similarity and analogies, and all analogies by set."""
    items = [AnalogyTask(name).run(vectors).items for name in ANALOGIES]
    found: dict[str, dict[str, float]] = {
        "similarity": {"development": development(vectors), "other": halves(vectors, lambda numbers: numbers % 2 == 1)},
        "analogies": {},
        "all": {"similarity": halves(vectors, lambda numbers: numbers >= 0)},
    }
    for half, rest in (("development", 0), ("other", 1)):
        values = [each.only(np.arange(len(each.predicted)) % 2 == rest).value() for each in items if each is not None]
        found["analogies"][half] = 100 * float(np.mean([value for value in values if value is not None]))
    for name, each in zip(ANALOGIES, items):
        found["all"][name] = 100 * float((each.value() if each is not None else None) or 0.0)
    return {group: {name: round(value, DECIMALS) for name, value in by.items()} for group, by in found.items()}


def free_choice(plain: Mapping[str, Any], tried: list[Scores]) -> int | None:
    """The number of the best setting for similarity that costs no analogies, by the development halves."""
    free = [
        number
        for number, each in enumerate(tried)
        if each["analogies"]["development"] >= plain["analogies"]["development"]
    ]
    return max(free, key=lambda number: float(tried[number]["similarity"]["development"]), default=None)


if __name__ == "__main__":
    main()
