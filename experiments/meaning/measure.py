"""Make triples, train distillers and their ablation, run every task, and write JSON.

Example: python -m experiments.meaning.measure STORE --masked MODEL --vectors TABLE --work WORK --out FILE

Triples, states and encoders with the same settings are reused from the working folder. With --only-targets FILE,
targets are chosen and written, and nothing else is done; FILE can then replace STORE on a machine without room or time
for the whole text. With several --variant, the one that is best on development data is marked as chosen; see
development.py. The JSON file is written after every step, so that an interrupted run keeps its results.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.meaning import distillers, tasks
from experiments.meaning import triples as triple_making
from experiments.record import TimedRecord, command_line, current_commit, device_name
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

MODULE = "experiments.meaning.measure"


def main() -> None:
    """Measure, print the tables and write the result."""
    options = arguments()
    if options.only_targets is not None:
        triple_making.write_sources(triple_making.sources_of(options), options.only_targets)
        return
    options.work.mkdir(parents=True, exist_ok=True)
    record = TimedRecord(options.out, options.work / "seconds.json")
    record.facts |= {
        "command": command_line(MODULE, sys.argv[1:]),
        "commit": options.commit or current_commit(),
        "hardware": device_name(),
    }
    vectors = WordVectors.load(options.vectors)
    triples = triple_making.triples_of(options, vectors, record)
    record.write()
    if options.stop_after_triples:
        return
    teacher = Teacher.from_config(TeacherConfig(options.teacher or options.masked, options.device, options.dtype))
    encoders = distillers.trained(options, triples, teacher, record)
    representations = tasks.all_representations(options, encoders, vectors, record)
    with record.timed("tasks"):
        reader = encoders[distillers.PAPER].reader
        tasks.evaluated(options, reader, representations, record)
    record.facts["encoding, beside reading the states"] = tasks.encoding_costs(encoders, triples)
    record.write()


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path, help="a prepared text, or a file of chosen targets")
    parser.add_argument("--work", required=True, type=Path, help="working folder")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--commit", help="commit to record, where git is not available")
    for phase in (triple_making, distillers, tasks):
        phase.add_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
