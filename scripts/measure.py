"""Distil a teacher over a text, score the vectors on every similarity set, and keep the figures as JSON.

Example: python scripts/measure.py TEXT --name enwiki-a --title "English Wikipedia, 27 million words"

The result is docs/results/NAME.json; `python scripts/tables.py` turns all of them into docs/results.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from wordstill.corpus import VocabularyConfig
from wordstill.evaluate import SUITES, Evaluation, evaluate, words_of
from wordstill.files import atomic_file
from wordstill.run import DistillConfig, Run
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SEEN = 2


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    wanted = tuple(dict.fromkeys(word for name in SUITES["similarity"] for word in words_of(name)))
    config = DistillConfig(
        methods=tuple(options.method),
        teacher=TeacherConfig(options.teacher),
        vocabulary=VocabularyConfig(min_count=SEEN, max_size=options.max_vocab, words=wanted),
        budget=options.budget,
        epochs=options.epochs,
        seed=options.seed,
    )
    started = time.monotonic()
    with TemporaryDirectory() as folder:
        run = Run.load(options.text, config, Path(folder), progress=True, checkpoints=False)
        ready = time.monotonic()
        tables = run.tables(progress=True)
    finished = time.monotonic()
    facts = {
        "title": options.title,
        "command": shlex.join(["python", *sys.argv]),
        "commit": options.commit or commit(),
        "hardware": hardware(),
        "recipe": json.loads(run.recipe.to_json()),
        "seconds": {"prepare and load": round(ready - started, 1), "distill": round(finished - ready, 1)},
        "every pair": figures(evaluate(tables)),
        "pairs seen in the text": figures(evaluate({name: seen(table) for name, table in tables.items()})),
    }
    with atomic_file(RESULTS / f"{options.name}.json") as handle:
        handle.write(json.dumps(facts, indent=1, ensure_ascii=False).encode())
    print(
        json.dumps({key: facts[key] for key in ("seconds", "every pair", "pairs seen in the text")}, indent=1)
    )


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", help="a prepared store, or text")
    parser.add_argument("--name", required=True, help="name of the result")
    parser.add_argument("--title", required=True, help="what the text is")
    parser.add_argument("--teacher", default=TeacherConfig.name)
    parser.add_argument("--method", action="append", default=None)
    parser.add_argument("--max-vocab", type=int, default=400_000)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commit", help="what is checked out, where git cannot say it")
    options = parser.parse_args()
    options.method = options.method or ["still", "ase", "decontextual"]
    return options


def seen(table: WordVectors) -> WordVectors:
    """Only the words that the text shows at least twice."""
    assert table.counts is not None
    return table.subset([word for word, count in zip(table.words, table.counts) if count >= SEEN])


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """Scores by table and set, with the mean of the eight."""
    means = evaluation.a8
    return {
        table: {
            "a8": means.get(table),
            "sets": {
                name: {"value": score.value, "used": score.coverage.used, "total": score.coverage.total}
                for name, score in scores.items()
            },
        }
        for table, scores in evaluation.scores.items()
    }


def commit() -> str:
    """The commit that is checked out, if this is a repository."""
    result = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=RESULTS.parent,
        check=False,
    )
    return result.stdout.strip() or "unknown"


def hardware() -> str:
    """The device that did the work."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {torch.get_num_threads()} threads"


if __name__ == "__main__":
    main()
