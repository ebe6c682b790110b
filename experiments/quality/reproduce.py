"""Make tables of the papers again over one text, and keep JSON.

Example: python -m experiments.quality.reproduce wang:table2 --text wiki.txt --work wang --name wang --title "A text"

The result is results/reproduction/NAME.json: each row of each table that was named, and how long each took. Tables of
one paper share the working folder, in which a run that was stopped is continued. Rows that another command makes, such
as those of baselines, are kept under another name.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from experiments.quality.scoring import rounded
from experiments.record import machine, origin, result_parser, write_json
from wordstill.reproduction import ReproduceConfig, Reproduction, find_plan, reproduce
from wordstill.reproduction.reproducing import open_text
from wordstill.teacher import TeacherConfig

MODULE = "experiments.quality.reproduce"


def main() -> None:
    """Make the tables, and write the result after each."""
    options = arguments()
    facts = {**origin(MODULE, options), "machine": machine(), "seeds": options.seeds, "tables": []}
    config = ReproduceConfig(
        TeacherConfig(options.teacher, options.device, options.dtype),
        options.seeds,
        baselines=not options.no_baselines,
        systems=tuple(options.system),
        lexicon=options.lexicon,
        workers=options.workers,
        own=tuple((row, path) for row, _, path in (text.rpartition("=") for text in options.own)),
        trees=tuple(options.trees),
        triples=options.triples,
        there=options.there,
        back=options.back,
        masked=options.masked,
    )
    for name in options.tables:
        plan = find_plan(name)
        start = time.monotonic()
        found = reproduce(plan, [options.text], options.work, config, say=lambda line: print(line, flush=True))
        seconds = round(time.monotonic() - start, 1)
        corpus = open_text(plan, [options.text], options.work, progress=False)
        facts["tables"].append({**table_facts(found), "words": corpus.n_words, "seconds": seconds})
        write_json(options.out / f"{options.name}.json", facts)
        # Others may want the GPU while the next table is scored.
        torch.cuda.empty_cache()


def table_facts(found: Reproduction) -> dict[str, Any]:
    """The JSON of a table, with scores as the others have them and no folders."""
    content = json.loads(found.to_json())
    for row in content["rows"]:
        for name in ("ours", "deviation"):
            row[name] = rounded(row[name])
        row["interval"] = row["interval"] and [rounded(end) for end in row["interval"]]
    return {**content, "teacher": Path(found.teacher).name}


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "reproduction")
    parser.add_argument("tables", nargs="+", metavar="PAPER:TABLE", help="of one paper, such as wang:table2")
    parser.add_argument("--text", required=True, help="a file, or a store that was prepared as the paper says")
    parser.add_argument("--work", type=Path, required=True, help="folder of text, vectors and scores")
    parser.add_argument("--teacher", default=TeacherConfig.name)
    parser.add_argument("--device", default=TeacherConfig.device)
    parser.add_argument("--dtype", default=TeacherConfig.dtype)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--system", action="append", default=[], help="make only this one; may be repeated")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--lexicon", default=ReproduceConfig.lexicon)
    parser.add_argument("--own", action="append", default=[], metavar="ROW=TABLE", help="score a table in a row")
    parser.add_argument("--trees", action="append", default=[], help="CoNLL-U files, for Deps and SynGCN")
    parser.add_argument("--workers", type=int, default=1, help="threads of gensim")
    parser.add_argument("--triples", type=int, default=ReproduceConfig.triples, help="targets, for tables of meaning")
    parser.add_argument("--masked", help="masked language model, for tables of meaning")
    parser.add_argument("--there", help="translator from the language of the text, for tables of meaning")
    parser.add_argument("--back", help="translator back into it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
