"""From raw text to vectors: the seconds of every stage of `wordstill distill`, on a CPU or a GPU.

The command runs like a user's, with `--profile`; starting and ending Python counts too. It runs twice more over a
quarter of the paragraphs, the second time with vectors for all words however rare. From the three runs, the time of
each stage is split into a fixed part, one that grows with the words of the text, and one that grows with the rows of
the table, none of them negative. Finishing grows with the words only up to the limit of the sentence regression.
Preparing is timed separately, over the text once and three times. The sum is extrapolated to the 1.28 billion words of
an English Wikipedia dump; its rows are estimated by Heaps' law from those of two runs. In so long a run, checkpoints
would take up to a tenth more.
Peers work on the same input: sentence-transformers' `encode` on the first paragraphs, and for a dump gensim's
`segment_wiki`, which only extracts text.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls

from experiments.speed.common import Row, add_commit, met, save, show
from experiments.speed.gpu_throughput import SHAPES, random_model
from wordstill import WordVectors
from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.corpus.readers import detect_kind
from wordstill.corpus.sources import embedded_text, find_sources
from wordstill.methods.sentence import MOST_WORDS
from wordstill.teacher.loading import NAME, embedded_teacher

BENCHMARK = "whole"
TITLE = "From raw text to vectors"
KINDS = {
    "cpu": "Plain text on a CPU:",
    "minilm": "Plain text, compressed, on a GPU:",
    "bert-base": "The same with a larger model:",
}
WIKIPEDIA, MINUTES = 1.28e9, 15
"""Words of the dump that X2Static was trained on, and what they may take on a GPU."""
GPU_SECONDS = {"minilm": 25}
"""Of the whole text."""
PREPARING, LOADING, FINISHING = "preparing the text", "loading the teacher", "finishing"
STARTING, IMPORTING, ENDING = "starting Python", "importing torch", "ending Python"
FIXED = (STARTING, IMPORTING, LOADING, ENDING)
"""What takes the same time for any text."""
PART, TIMES = 0.25, 3
"""Of the text: of the paragraphs of smaller runs, and how often preparing alone reads it."""
STAGE = re.compile(r"^  (.+?) {2,}(\d+\.\d+) s +\d+\.\d%$", re.MULTILINE)
NOTE = re.compile(r"^  (precision|loading|text) {2,}(.+)$", re.MULTILINE)
PEER_WORDS = 200_000
"""About so many words are given to sentence-transformers on a GPU, and a tenth on a CPU."""


@dataclass(frozen=True)
class Run:
    """One run of the command over so many words."""

    words: int
    rows: int
    seconds: float
    stages: dict[str, float]
    precision: str
    steps: dict[str, str]
    """Of loading the teacher and preparing the text, which are done side by side."""


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(options, Path(folder))
    show(rows(result), remarks(result))
    save(BENCHMARK, result, commit=options.commit, kind=options.name)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the command over the text and over a part of it, then the peers."""
    text = options.text or embedded_text()
    if options.shape:
        tokenizer = None if options.teacher == NAME else Path(options.teacher)
        options.teacher = str(folder / options.shape)
        for each in random_model(options.shape, tokenizer):
            each.save_pretrained(options.teacher)
    corpus, once = _prepared([text], folder / "store")
    several = _prepared([text] * TIMES, folder / "several")[1]
    part = prepare([text], folder / "part", PrepareConfig(share=PART))
    repeated = [run(text, corpus, options, folder / f"vectors-{turn}") for turn in range(options.repeats)]
    whole = repeated[-1]
    smaller = run(part.path, part, options, folder / "part-vectors")
    rarer = run(part.path, part, options, folder / "rare-vectors", "--min-count", "1")
    runs = (*repeated, smaller, rarer)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    return {
        "text": Path(text).name,
        "megabytes": round(Path(text).stat().st_size / 1e6, 1),
        "teacher": f"{options.shape} with random weights" if options.shape else Path(options.teacher).name,
        **({"gpu": torch.cuda.get_device_name()} if on_gpu else {}),
        "precision": whole.precision,
        "words": whole.words,
        "rows": whole.rows,
        "seconds": whole.seconds,
        "repeated_seconds": [each.seconds for each in repeated],
        "stages": whole.stages,
        "runs": [asdict(each) for each in runs],
        "preparing_seconds": [once, several],
        "wikipedia_rows": wikipedia_rows(smaller, whole),
        "wikipedia_seconds": wikipedia_seconds(runs[-3:], (once, several)),
        "peers": peers(text, corpus, options, on_gpu=on_gpu) if options.peers else {},
    }


def _prepared(texts: Sequence[Path], out: Path) -> tuple[Corpus, float]:
    """A text, and how long it took to prepare it."""
    start = time.perf_counter()
    return prepare(texts, out), time.perf_counter() - start


def run(text: Path, corpus: Corpus, options: argparse.Namespace, out: Path, *more: str) -> Run:
    """Run the command over a text or the store of it, as if it had not run before."""
    for kept in text.glob("subwords-*"):
        kept.unlink()
    told, seconds, ending = _wordstill(
        *("distill", text, "--out", out, "--teacher", options.teacher, "--device", options.device),
        *("--profile", "--no-progress", "--method", "still", "--method", "ase", *more),
    )
    print(told, file=sys.stderr, flush=True)
    stages = {name.strip(): float(spent) for name, spent in STAGE.findall(told)}
    stages[ENDING] = ending
    stages[STARTING] = max(0.0, seconds - sum(stages.values()))
    notes = dict(NOTE.findall(told))
    table = WordVectors.load(out / "still")
    return Run(corpus.n_words, len(table), seconds, stages, notes.pop("precision", ""), notes)


def wikipedia_rows(part: Run, whole: Run) -> float:
    """Rows of the table of the Wikipedia, if they go on to grow as a power of the words of the text."""
    exponent = math.log(whole.rows / part.rows) / math.log(whole.words / part.words)
    return float(whole.rows * (WIKIPEDIA / whole.words) ** min(max(exponent, 0.0), 1.0))


def wikipedia_seconds(runs: Sequence[Run], preparing: tuple[float, float]) -> dict[str, float]:
    """Every stage for the words of the Wikipedia, from runs over the whole text, a part, and a part with more rows.

    Starting, loading and ending do not grow. The text is prepared while the teacher is loaded, so the run waits for the
    rest of it only; ``preparing`` has the seconds for the text once and `TIMES` times.
    """
    whole = runs[0]
    rows = wikipedia_rows(runs[1], whole)
    found = {}
    for name, spent in whole.stages.items():
        size = _words_kept if name == FINISHING else float
        measured = [(size(run.words), run.rows, run.stages.get(name, 0.0)) for run in runs]
        found[name] = spent if name in FIXED else _fitted(measured, size(WIKIPEDIA), rows)
    once, several = preparing
    slope = min(max((several - once) / (TIMES - 1), 0.0), once)
    found[PREPARING] = max(0.0, once + slope * (WIKIPEDIA / whole.words - 1) - whole.stages.get(LOADING, 0.0))
    return found


def _words_kept(words: float) -> float:
    """Words of a text whose sentences the regression of `still` keeps."""
    return words / math.ceil(words / MOST_WORDS)


def _fitted(measured: Sequence[tuple[float, int, float]], words: float, rows: float) -> float:
    """Seconds at other numbers of words and rows, by what each costs in some runs; errors count relative to a run."""
    sizes = np.array([(1.0, words, rows) for words, rows, _ in measured])
    seconds = np.array([max(spent, 1e-3) for *_, spent in measured])
    scale = sizes.max(axis=0)
    costs, _ = nnls(sizes / scale / seconds[:, None], np.ones(len(seconds)))
    return float(costs @ (np.array([1.0, words, rows]) / scale))


def peers(text: Path, corpus: Corpus, options: argparse.Namespace, *, on_gpu: bool) -> dict[str, float]:
    """Words per second of each peer."""
    from sentence_transformers import SentenceTransformer

    wanted = (PEER_WORDS if on_gpu else PEER_WORDS // 10) // 80
    paragraphs = [corpus.text(number) for number in range(min(wanted, len(corpus)))]
    source = str(embedded_teacher()) if options.teacher == NAME else options.teacher
    model = SentenceTransformer(source, device="cuda" if on_gpu else "cpu")
    model.max_seq_length = 512
    model.encode(paragraphs[:32], show_progress_bar=False)
    start = time.perf_counter()
    model.encode(paragraphs, show_progress_bar=False)
    share = sum(map(len, paragraphs)) / max(1, corpus.meta["counts"]["characters"])
    found = {"sentence-transformers, encode": share * corpus.n_words / (time.perf_counter() - start)}
    with find_sources([text])[0].open() as stream:
        is_dump = detect_kind(stream) == "mediawiki"
    if is_dump:
        found["gensim, segment_wiki (text only)"] = corpus.n_words / _segment_wiki(text)
    return found


def _segment_wiki(dump: Path) -> float:
    """Seconds of gensim over a dump, with its default number of processes; articles of any length are kept."""
    with TemporaryDirectory(prefix="wordstill-") as folder:
        start = time.perf_counter()
        command = ("gensim.scripts.segment_wiki", "-f", str(dump), "-o", f"{folder}/out.json.gz", "-m", "0")
        subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True)
        return time.perf_counter() - start


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    large, total = result["wikipedia_seconds"], result["seconds"]
    table: list[Row] = [("stage", "seconds", "share", "1.28 billion words, minutes")]
    for name, spent in result["stages"].items():
        table.append((name, f"{spent:.2f}", f"{spent / total:.1%}", f"{large[name] / 60:,.1f}"))
    return [*table, ("total", f"{total:.2f}", "100.0%", f"{sum(large.values()) / 60:,.1f}")]


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    rate = result["words"] / result["seconds"]
    text = result["words"] / result["preparing_seconds"][0]
    lines = [
        f"{result['words']:,} words of {result['text']} ({result['megabytes']} MB), {result['rows']:,} rows, "
        f"{result['teacher']}, still, ase: {rate:,.0f} words/s, all stages counted. Preparing alone: "
        f"{text:,.0f} words/s. Precision: {result['precision']}.",
        f"The table of 1.28 billion words would have about {result['wikipedia_rows'] / 1e6:,.1f} million rows.",
    ]
    if "gpu" in result:
        minutes = sum(result["wikipedia_seconds"].values()) / 60
        lines.append(f"1.28 billion words: {minutes:.1f} minutes, target {MINUTES}: {met(minutes <= MINUTES)}.")
        if most := GPU_SECONDS.get(result["teacher"]):
            seconds = result["seconds"]
            lines.append(f"From command to artifact: {seconds:.1f} s, target {most}: {met(seconds <= most)}.")
    if len(result["repeated_seconds"]) > 1:
        each = " and ".join(f"{spent:.1f}" for spent in result["repeated_seconds"])
        lines.append(f"Runs from command to artifact took {each} s; kernels may be compiled in the first.")
    return lines + [f"{name}: {words:,.0f} words/s." for name, words in result["peers"].items()]


def _wordstill(*arguments: object) -> tuple[str, float, float]:
    """What the command prints, its seconds, and those of them after its last line."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "wordstill", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        assert run.stdout is not None
        lines, last = [], start
        for line in run.stdout:
            lines.append(line)
            last = time.perf_counter()
    end = time.perf_counter()
    if run.returncode:
        raise SystemExit("".join(lines))
    return "".join(lines), end - start, end - last


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.speed.whole", description=__doc__)
    parser.add_argument("text", type=Path, nargs="?", help="a text or a dump; by default the embedded dump")
    parser.add_argument("--teacher", default=NAME)
    parser.add_argument(
        "--shape", choices=SHAPES, help="random weights in the shape of a known model, and the tokenizer of --teacher"
    )
    parser.add_argument("--repeats", type=int, default=1, help="runs over the whole text; the last one is shown")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave other tools out")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--name", default="", choices=("", *KINDS), help="part of the name of the result")
    add_commit(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
