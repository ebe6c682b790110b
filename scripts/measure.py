"""Make word vectors over a text with several seeds, score every table, and keep the figures as JSON.

Example: python scripts/measure.py TEXT --name demo --title "A text" --method x2static --seed 0 --seed 1

The result is docs/results/NAME.json; `python scripts/tables.py` turns all of them into docs/results.md. Rows
of the same table that another command makes are kept as NAME.SOMETHING.

The text is prepared and the teacher loaded once. Methods that draw nothing are made once, with the first
seed. Tables are scored in other processes while the next ones are made, and the file is written anew whenever
one is scored.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, get_args

import torch
from making import Made, Text, loaded
from scoring import SEEN, check_data, score_file, use_one_thread, wanted_words

from wordstill.corpus import VocabularyConfig
from wordstill.files import atomic_file
from wordstill.formats.artefact import ARTEFACT, TENSORS
from wordstill.run import DistillConfig
from wordstill.teacher import TeacherConfig
from wordstill.teacher.batches.config import Unit
from wordstill.vectors import WordVectors

RESULTS = Path(__file__).parents[1] / "docs" / "results"
METHODS = ("still", "ase", "decontextual")
SPARE_CORES = 4
PART_BYTES = 15 << 20
PLACES = ("--out", "--keep", "--save", "--commit")
"""Options that say where things are put, or what is said beside the command."""

Scores = dict[str, Any]


def main() -> None:
    """Measure, and write the result."""
    options = arguments()
    check_data()
    facts = {
        "title": options.title,
        "command": command(sys.argv),
        "commit": options.commit or commit(),
        "hardware": hardware(),
    }
    result = Result(options.out / f"{options.name}.json", facts)
    workers = ProcessPoolExecutor(options.workers, get_context("spawn"), initializer=use_one_thread)
    with TemporaryDirectory() as folder, workers as pool:
        for number, made in enumerate(everything(options, Path(folder))):
            if made.label == options.save_label and made.seed in (None, options.seed[0]):
                save(made.vectors, options.save, options.save_dtype)
            path = place(made, options.keep, number, Path(folder))
            made.vectors.save(path, ARTEFACT.name, overwrite=True)
            result.expect(made, pool.submit(score_file, path))
        # Others may want the GPU while tables are scored.
        torch.cuda.empty_cache()
        result.wait()
    print(f"Written: {result.path}")


def command(words: list[str]) -> str:
    """A command line as it can be given elsewhere: files by name, without the folders of one machine."""
    kept, skip = [], False
    for word in words[1:]:
        if not skip and word not in PLACES:
            kept.append(Path(word).name if os.sep in word else word)
        skip = word in PLACES
    return shlex.join(["python", f"scripts/{Path(words[0]).name}", *kept])


def everything(options: argparse.Namespace, work: Path) -> Iterator[Made]:
    """All tables, as they are made."""
    yield from loaded(options.table)
    if not options.text:
        return
    config = DistillConfig(
        methods=options.method or METHODS,
        teacher=TeacherConfig(options.teacher, dtype=options.dtype),
        vocabulary=VocabularyConfig(min_count=SEEN, max_size=options.max_vocab, words=wanted_words()),
        budget=options.budget,
        read=options.read,
        epochs=options.epochs,
    )
    text = Text(options.text, config, work)
    yield from text.distilled(options.method, options.seed)
    yield from text.trained(options.baseline, options.seed, options.baseline_workers)


class Result:
    """The file, which is written anew whenever a table is scored, whatever else is being made.

    Args:
        path: Where it lies.
        facts: What all rows have in common.
    """

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.path, self.facts = path, facts
        self.rows: list[dict[str, Any]] = []
        self.jobs: list[Future[Scores]] = []
        self.lock = Lock()

    def expect(self, made: Made, job: Future[Scores]) -> None:
        """Keep a row for a table whose figures will come."""
        row = made.facts()
        self.rows.append(row)
        self.jobs.append(job)
        job.add_done_callback(lambda job: self._take(row, job))

    def wait(self) -> None:
        """Wait for all figures; a table that could not be scored is an error now."""
        for job in self.jobs:
            job.result()

    def _take(self, row: dict[str, Any], job: Future[Scores]) -> None:
        if job.cancelled() or job.exception() is not None:
            return
        with self.lock:
            row["scores"] = job.result()
            content = {**self.facts, "rows": [row for row in self.rows if "scores" in row]}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(self.path) as handle:
                handle.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
            print(f"Scored: {row['label']}, seed {row['seed']}", flush=True)


def place(made: Made, keep: Path | None, number: int, work: Path) -> Path:
    """Where a table lies while it is scored, and for good if tables are kept."""
    if keep is None:
        return work / f"table-{number}"
    return keep / (made.label if made.seed is None else f"{made.label}.seed{made.seed}")


def save(vectors: WordVectors, folder: Path, dtype: str) -> None:
    """Keep a table in files that are small enough to be sent; ``cat FILE.*`` puts the large one together."""
    vectors.save(folder, ARTEFACT.name, overwrite=True, dtype=dtype)
    whole = folder / TENSORS
    with whole.open("rb") as source:
        for number, part in enumerate(iter(lambda: source.read(PART_BYTES), b"")):
            (folder / f"{TENSORS}.{number:02}").write_bytes(part)
    whole.unlink()


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("text", nargs="*", help="a prepared store, or text")
    parser.add_argument("--name", required=True, help="name of the result")
    parser.add_argument("--title", required=True, help="what the text is")
    parser.add_argument("--teacher", default=TeacherConfig.name)
    parser.add_argument("--dtype", default=TeacherConfig.dtype, help="what the teacher calculates in")
    parser.add_argument("--method", action="append", default=[], help="may be repeated")
    parser.add_argument(
        "--baseline", action="append", default=[], help="may be repeated, as skipgram:dim=384"
    )
    parser.add_argument(
        "--table", action="append", default=[], help="NAME=PATH, a table that is made already"
    )
    parser.add_argument("--seed", type=int, action="append", help="may be repeated")
    parser.add_argument("--max-vocab", type=int, default=400_000)
    parser.add_argument("--budget", type=int, default=None)
    parser.add_argument("--read", default=DistillConfig.read, choices=get_args(Unit))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--baseline-workers", type=int, default=os.cpu_count(), help="threads of gensim")
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 1) - SPARE_CORES))
    parser.add_argument("--keep", type=Path, help="keep every table in this folder")
    parser.add_argument("--save", type=Path, help="keep the table of --save-label in this folder, in parts")
    parser.add_argument("--save-label", help="by default the first method")
    parser.add_argument("--save-dtype", default="f16", choices=("f32", "f16", "i8"))
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result")
    parser.add_argument("--commit", help="what is checked out, where git cannot say it")
    options = parser.parse_args()
    options.seed = options.seed or [0]
    if not (options.method or options.baseline or options.table):
        options.method = list(METHODS)
    if options.save and not options.save_label:
        options.save_label = next(iter([*options.method, *options.baseline]), None)
    if not options.save:
        options.save_label = None
    if (options.method or options.baseline) and not options.text:
        parser.error("methods and baselines need a text")
    return options


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
