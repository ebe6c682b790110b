"""Make triples, train distillers and their ablation, run every task, and keep the figures as JSON.

Example: python scripts/measure_meaning.py STORE --masked MODEL --vectors TABLE --work work --out meaning.json

What is in the working folder already, triples, states and encoders of the same settings, is not made again.
With --only-targets FILE the targets are chosen and written, nothing else; FILE can then stand for STORE, on a
machine with a GPU that has no room or time for the whole text. With several --variant the one that is best on
development data is marked as chosen; see meaning_choice.py. The JSON file is written after every step, so
that a run that is cut off leaves what it has.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import meaning_tasks
import meaning_trainings
import meaning_triples
from meaning_record import Record
from measure import command, commit, hardware

from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors


def main() -> None:
    """Measure, print the table and write the result."""
    options = arguments()
    if options.only_targets is not None:
        meaning_triples.write_sources(meaning_triples.sources_of(options), options.only_targets)
        return
    options.work.mkdir(parents=True, exist_ok=True)
    record = Record(options.out, options.work / "seconds.json")
    record.facts |= {
        "command": command(sys.argv),
        "commit": options.commit or commit(),
        "hardware": hardware(),
    }
    vectors = WordVectors.load(options.vectors)
    triples = meaning_triples.triples_of(options, vectors, record)
    record.write()
    if options.stop_after_triples:
        return
    teacher = Teacher.from_config(
        TeacherConfig(options.teacher or options.masked, options.device, options.dtype)
    )
    encoders = meaning_trainings.trained(options, triples, teacher, record)
    representations = meaning_tasks.all_representations(options, encoders, vectors, record)
    with record.timed("tasks"):
        reader = encoders[meaning_trainings.PAPER].reader
        result = meaning_tasks.evaluated(options, reader, representations, record)
    print(result.markdown())
    record.facts["encoding, beside reading the states"] = meaning_tasks.encoding_costs(encoders, triples)
    record.write()


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path, help="a prepared text, or a file of chosen targets")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--commit", help="what is checked out, where git does not tell")
    for phase in (meaning_triples, meaning_trainings, meaning_tasks):
        phase.add_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
