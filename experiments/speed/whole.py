"""From raw text to vectors: the seconds of every stage of `wordstill distill`, on a CPU or a GPU.

One process runs the command as a user does, with `--profile`; its start is counted too. Rates of the stages that grow
with the text are carried over to the words of the whole English Wikipedia; fixed costs are counted once. Peers work on
the same input in the same run: sentence-transformers' `encode` on the first paragraphs, and for a dump gensim's
`segment_wiki`, which only extracts text.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from experiments.speed.common import Row, read_paragraphs, save, show
from wordstill.corpus import Corpus, prepare
from wordstill.corpus.readers import detect_kind
from wordstill.corpus.sources import embedded_text, find_sources
from wordstill.teacher.loading import NAME, embedded_teacher

BENCHMARK = "whole"
TITLE = "From raw text to vectors"
WIKIPEDIA = 1.28e9
"""Words of the dump that X2Static was trained on."""
FIXED = ("loading the teacher", "all else", "starting Python")
"""Stages that do not grow with the text."""
STAGE = re.compile(r"^  (.+?) {2,}(\d+\.\d+) s +\d+\.\d%$", re.MULTILINE)
NOTE = re.compile(r"^  precision +(.+)$", re.MULTILINE)
PREPARED = re.compile(r"^  text +prepared in (\d+\.\d+) s", re.MULTILINE)
PEER_WORDS = 200_000
"""About so many words are given to sentence-transformers on a GPU, and a tenth on a CPU."""


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(options, Path(folder))
    show(rows(result), remarks(result))
    save(BENCHMARK, result, kind=options.name)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run the command, then the peers."""
    text = options.text or embedded_text()
    start = time.perf_counter()
    told = _wordstill(
        *("distill", text, "--out", folder / "vectors", "--teacher", options.teacher, "--device", options.device),
        *("--profile", "--no-progress", "--method", "still", "--method", "ase"),
    )
    seconds = time.perf_counter() - start
    stages = {name.strip(): float(spent) for name, spent in STAGE.findall(told)}
    stages["starting Python"] = max(0.0, seconds - sum(stages.values()))
    corpus = prepare([text], folder / "store")
    note, prepared = NOTE.search(told), PREPARED.search(told)
    preparing = float(prepared.group(1)) if prepared else stages.get("preparing the text", 0.0)
    on_gpu = options.device != "cpu" and torch.cuda.is_available()
    return {
        "text": Path(text).name,
        "megabytes": round(Path(text).stat().st_size / 1e6, 1),
        "teacher": options.teacher,
        **({"gpu": torch.cuda.get_device_name()} if on_gpu else {}),
        "precision": note.group(1) if note else "",
        "words": corpus.n_words,
        "seconds": seconds,
        "stages": stages,
        "preparing_seconds": preparing,
        "wikipedia_seconds": wikipedia_seconds(stages, preparing, corpus.n_words),
        "peers": peers(text, corpus, options, on_gpu=on_gpu),
    }


def wikipedia_seconds(stages: dict[str, float], preparing: float, words: int) -> float:
    """All stages for the words of the Wikipedia: those that grow with the text at the rate that was measured.

    The text is prepared while the teacher is loaded, so its stage is only the time that the run waited for it.
    """
    scale = WIKIPEDIA / words
    others = {name: spent for name, spent in stages.items() if name != "preparing the text"}
    waiting = max(0.0, preparing * scale - stages.get("loading the teacher", 0.0))
    return waiting + sum(spent if name in FIXED else spent * scale for name, spent in others.items())


def peers(text: Path, corpus: Corpus, options: argparse.Namespace, *, on_gpu: bool) -> dict[str, float]:
    """Words per second of each peer."""
    from sentence_transformers import SentenceTransformer

    wanted = PEER_WORDS if on_gpu else PEER_WORDS // 10
    with TemporaryDirectory(prefix="wordstill-") as folder:
        paragraphs = list(islice(read_paragraphs(text, Path(folder) / "store"), wanted // 80))
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
    table: list[Row] = [("stage", "seconds", "share")]
    for name, spent in result["stages"].items():
        table.append((name, f"{spent:.2f}", f"{spent / result['seconds']:.1%}"))
    return [*table, ("in all", f"{result['seconds']:.2f}", "100.0%")]


def remarks(result: dict[str, Any]) -> list[str]:
    """What stands below it."""
    rate = result["words"] / result["seconds"]
    lines = [
        f"{result['words']:,} words of {result['text']} ({result['megabytes']} MB), {result['teacher']}, still, ase: "
        f"{rate:,.0f} words/s, all stages counted. Precision: {result['precision']}.",
        f"1.28 billion words at these rates: {result['wikipedia_seconds'] / 60:,.1f} minutes.",
    ]
    return lines + [f"{name}: {words:,.0f} words/s." for name, words in result["peers"].items()]


def _wordstill(*arguments: object) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "wordstill", *map(str, arguments)], check=False, capture_output=True, text=True
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return run.stdout + run.stderr


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.speed.whole", description=__doc__)
    parser.add_argument("text", type=Path, nargs="?", help="a text or a dump; by default the embedded dump")
    parser.add_argument("--teacher", default=NAME)
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--name", default="", help="part of the name of the result, for several texts or machines")
    return parser.parse_args()


if __name__ == "__main__":
    main()
