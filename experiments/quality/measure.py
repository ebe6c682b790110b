"""Score word vectors of methods, baselines and files over one text, with several seeds, and keep JSON.

Example: python -m experiments.quality.measure TEXT --name demo --title "A text" --method x2static --seed 1

The result is results/quality/NAME.json; `python -m experiments.tables` turns all of them into results.md.
Rows of the same table that another command makes are kept as NAME.SOMETHING.

The text is prepared and the teacher loaded once. Methods that draw nothing run once, with the first seed.
Tables are scored in other processes while the next ones are made; the file is rewritten after each.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, get_args

import torch

from experiments.quality.scoring import check_data, evaluation_words, score_file, use_one_thread
from experiments.quality.word_tables import Made, Text, loaded
from experiments.record import origin, result_parser, write_json
from wordstill.corpus import VocabularyConfig
from wordstill.distillation import DistillConfig
from wordstill.formats.artifact import ARTIFACT
from wordstill.teacher import TeacherConfig
from wordstill.teacher.batch import Unit

MODULE = "experiments.quality.measure"
METHODS = ("still", "ase", "decontextual")
SPARE_CORES = 4

Scores = dict[str, Any]


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    check_data(probe=not options.no_probe)
    facts = origin(MODULE, options)
    result = Result(options.out / f"{options.name}.json", facts)
    workers = ProcessPoolExecutor(options.workers, get_context("spawn"), initializer=use_one_thread)
    with TemporaryDirectory() as folder, workers as pool:
        for number, made in enumerate(everything(options, Path(folder))):
            path = made.file
            if path is None:
                path = place(made, options.keep, number, Path(folder))
                made.vectors.save(path, ARTIFACT.name, overwrite=True)
            result.expect(made, pool.submit(score_file, path, probe=not options.no_probe))
        # Others may want the GPU while tables are scored.
        torch.cuda.empty_cache()
        result.wait()
    print(f"Written: {result.path}")


def everything(options: argparse.Namespace, work: Path) -> Iterator[Made]:
    """All tables, as they are made."""
    yield from loaded(options.table)
    if not options.text:
        return
    config = DistillConfig(
        methods=options.method or METHODS,
        teacher=TeacherConfig(options.teacher, dtype=options.dtype),
        vocabulary=VocabularyConfig(min_count=options.min_count, max_size=options.max_vocab, words=evaluation_words()),
        budget=options.budget,
        read=options.read,
        epochs=options.epochs,
    )
    text = Text(options.text, config, work)
    yield from text.distilled(options.method, options.seed)
    yield from text.trained(options.baseline, options.seed, options.baseline_workers)
    yield from text.encoded(options.encoder)


class Result:
    """The JSON file, rewritten whenever a table is scored.

    Args:
        path: The file.
        facts: What all rows have in common.
    """

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.path, self.facts = path, facts
        self.rows: list[dict[str, Any]] = []
        self.jobs: list[Future[Scores]] = []
        self.lock = Lock()

    def expect(self, made: Made, job: Future[Scores]) -> None:
        """Keep a row for a table that is being scored."""
        row = made.facts()
        self.rows.append(row)
        self.jobs.append(job)
        job.add_done_callback(lambda job: self._take(row, job))

    def wait(self) -> None:
        """Wait for all scores; a table that could not be scored is an error now."""
        for job in self.jobs:
            job.result()

    def _take(self, row: dict[str, Any], job: Future[Scores]) -> None:
        if job.cancelled() or job.exception() is not None:
            return
        with self.lock:
            row["scores"] = job.result()
            content = {**self.facts, "rows": [row for row in self.rows if "scores" in row]}
            write_json(self.path, content)
            print(f"Scored: {row['label']}, seed {row['seed']}", flush=True)


def place(made: Made, keep: Path | None, number: int, work: Path) -> Path:
    """The folder of a table while it is scored, and afterwards if tables are kept."""
    if keep is None:
        return work / f"table-{number}"
    return keep / (made.label if made.seed is None else f"{made.label}.seed{made.seed}")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "quality")
    parser.add_argument("text", nargs="*", help="a prepared store, or text")
    parser.add_argument("--teacher", default=TeacherConfig.name)
    parser.add_argument("--dtype", default=TeacherConfig.dtype, help="precision of the teacher")
    parser.add_argument("--method", action="append", default=[], help="may be repeated")
    parser.add_argument("--baseline", action="append", default=[], help="may be repeated, as skipgram:dim=384")
    parser.add_argument("--table", action="append", default=[], help="NAME=PATH, an existing table")
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        help="NAME=PATH, a table of subwords that encodes the text's vocabulary",
    )
    parser.add_argument("--seed", type=int, action="append", help="may be repeated")
    parser.add_argument("--min-count", type=int, default=VocabularyConfig.min_count)
    parser.add_argument("--no-probe", action="store_true", help="leave out the linear probe, which takes longest")
    parser.add_argument("--max-vocab", type=int, default=400_000)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--read", default=DistillConfig.read, choices=get_args(Unit))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--baseline-workers", type=int, default=os.cpu_count(), help="threads of gensim")
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 1) - SPARE_CORES))
    parser.add_argument("--keep", type=Path, help="keep every table in this folder")
    options = parser.parse_args()
    options.seed = options.seed or [0]
    if not (options.method or options.baseline or options.table or options.encoder):
        options.method = list(METHODS)
    if (options.method or options.baseline or options.encoder) and not options.text:
        parser.error("methods, baselines and encoders need a text")
    return options


if __name__ == "__main__":
    main()
