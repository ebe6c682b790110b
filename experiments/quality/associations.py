"""The ten tests of Caliskan et al. 2017 on tables, next to the effect sizes of the paper.

Example: python -m experiments.quality.associations GloVe=glove.txt still=vectors --name weat --title "WEAT"

The result is results/associations/NAME.json. For names that do not occur in a text, use `wordstill distill --words
FILE` with the words that `wordstill test --list` prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.record import origin, result_parser, write_json
from wordstill.analysis.association import Association, associations
from wordstill.analysis.word_lists import published_tests
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.associations"
SEED = 0
DECIMALS = 6
NEAR = 0.4
"""Maximum difference from the paper's effect size to count as near."""


def main() -> None:
    """Run the tests, and write the result."""
    options = arguments()
    tables = {name: WordVectors.load(path) for name, path in options.tables}
    found = associations(tables, list(published_tests().values()), seed=SEED)
    facts: dict[str, Any] = {
        **origin(MODULE, options),
        "seed": SEED,
        "tables": {name: about(table) for name, table in tables.items()},
        "rows": [row(result) for result in found],
        "agreement": {name: agreement([one for one in found if one.table == name]) for name in tables},
    }
    write_json(options.out / f"{options.name}.json", facts)
    print(facts["agreement"], flush=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "associations", "what the tables are")
    parser.add_argument("tables", nargs="+", type=named, help="NAME=PATH of a table")
    return parser.parse_args()


def named(text: str) -> tuple[str, Path]:
    """NAME=PATH in two."""
    name, equals, path = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, Path(path)


def about(table: WordVectors) -> dict[str, Any]:
    """Size of a table, and its teacher and the words of its text where they are recorded."""
    teacher, corpus = table.provenance.get("teacher"), table.provenance.get("corpus")
    return {
        "words": len(table),
        "dim": table.dim,
        "teacher": teacher.get("name") if isinstance(teacher, Mapping) else None,
        "text_words": corpus.get("words") if isinstance(corpus, Mapping) else None,
    }


def row(result: Association) -> dict[str, Any]:
    """One test on one table, without the words."""
    plain = result.to_dict()
    del plain["words"]
    for name in ("effect", "p_value"):
        plain[name] = None if plain[name] is None else round(plain[name], DECIMALS)
    plain["interval"] = plain["interval"] and [round(end, DECIMALS) for end in plain["interval"]]
    return plain


def agreement(results: list[Association]) -> dict[str, int]:
    """Tests whose effect has the paper's sign, and those within `NEAR` of its size."""
    both = [(one.effect, one.published) for one in results if one.effect is not None and one.published is not None]
    return {
        "tests": len(both),
        "same_sign": sum(effect * published > 0 for effect, published in both),
        "near": sum(abs(effect - published) <= NEAR for effect, published in both),
    }


if __name__ == "__main__":
    main()
