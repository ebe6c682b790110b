"""How well the directions of opposites tell antonyms from synonyms, on words not learned from; keeps JSON.

Example: python -m experiments.quality.opposites GloVe=glove.txt --wordnet FOLDER --name wordnet --title "WordNet"

The result is results/opposites/NAME.json: the share of antonyms caught if a tenth of the synonyms is lost.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments.quality.associations import named
from experiments.record import origin, result_parser, write_json
from wordstill.analysis.synonyms import LOST, NEAR, learn_opposites, rows_of_links
from wordstill.postprocess.retrofit import Lexicon, read_wordnet
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.opposites"
SEED = 0
TRIED = ((1, 1.0), (3, 1.0), (5, 1.0), (8, 1.0), (20, 1.0), (5, 0.1), (5, 10.0))
"""Numbers of directions, and ridges."""
DECIMALS = 4


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    synonyms, antonyms = (read_wordnet(options.wordnet, (relation,)) for relation in ("synonyms", "antonyms"))
    facts: dict[str, Any] = {
        **origin(MODULE, options),
        "seed": SEED,
        "tables": {name: measured(WordVectors.load(path), synonyms, antonyms) for name, path in options.tables},
    }
    write_json(options.out / f"{options.name}.json", facts)
    print(facts["tables"], flush=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "opposites", "what the tables are")
    parser.add_argument("tables", nargs="+", type=named, help="NAME=PATH of a table")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of a WordNet database")
    return parser.parse_args()


def measured(table: WordVectors, synonyms: Lexicon, antonyms: Lexicon) -> dict[str, Any]:
    """The share of antonyms that each setting catches, and the pairs that it is over."""
    apart = rows_of_links(table, antonyms)
    known = set(map(tuple, apart.tolist()))
    alike = np.array([pair for pair in rows_of_links(table, synonyms).tolist() if tuple(pair) not in known])
    apart, alike = (pairs[cosines(table, pairs) >= NEAR] for pairs in (apart, alike))
    bound = np.quantile(cosines(table, alike), 1 - LOST)
    caught = {"the cosine alone": round(float((cosines(table, apart) > bound).mean()), DECIMALS)}
    for directions, ridge in TRIED:
        learned = learn_opposites(table.unit, apart, alike, SEED, directions=directions, ridge=ridge)
        if learned is None:
            raise SystemExit("The table has too few pairs of the wordnet.")
        plural = "direction" if directions == 1 else "directions"
        caught[f"{directions} {plural}, ridge {ridge:g}"] = round(learned.caught, DECIMALS)
    return {"words": len(table), "antonyms": len(apart), "synonyms": len(alike), "caught": caught}


def cosines(table: WordVectors, pairs: Any) -> Any:
    """The cosine of each pair of rows."""
    return np.einsum("ij,ij->i", table.unit[pairs[:, 0]], table.unit[pairs[:, 1]])


if __name__ == "__main__":
    main()
