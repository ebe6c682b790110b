"""The main job in one command, offline: ``python -m wordstill.demo``, or ``make demo`` in the repository."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rich.console import Console

from wordstill.corpus import VocabularyConfig, prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig, distill
from wordstill.evaluation import evaluate
from wordstill.evaluation.report.tables import table
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.vectors import WordVectors

SETS = ("wordsim353", "simlex999")
METHODS = ("still", "ase")
SHOWN = ("philosopher", "river", "quickly")


def main() -> None:
    """Read the output folder from the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m wordstill.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the results")
    run(parser.parse_args().out, Console())


def run(out: Path, console: Console) -> dict[str, WordVectors]:
    """Prepare the embedded text, distil the embedded teacher, evaluate, and say what to try next."""
    started = time.monotonic()
    console.rule("1  prepare: an excerpt of the English Wikipedia")
    corpus = prepare([embedded_text()], out / "store", overwrite=True, progress=True)
    console.print(f"{len(corpus):,} paragraphs, {corpus.n_words:,} words -> {out / 'store'}")

    console.rule("2  distill: all-MiniLM-L6-v2, one pass for every method")
    wanted = tuple(dict.fromkeys(word for name in SETS for word in SimilarityTask(name).words()))
    config = DistillConfig(methods=METHODS, vocabulary=VocabularyConfig(min_count=2, words=wanted))
    vectors = distill(out / "store", out / "vectors", config=config, overwrite=True, progress=True)
    console.print(f"{len(vectors['still']):,} words -> {out / 'vectors'}")

    console.rule("3  evaluate: against human judgements of similarity")
    result = evaluate(vectors, SETS)
    result.save(out / "evaluation.json", overwrite=True)
    console.print(table(result))

    console.rule("nearest words")
    for word in SHOWN:
        near = ", ".join(name for name, _ in vectors["still"].most_similar(word, topn=6))
        console.print(f"{word}: {near}")
    console.rule(f"done in {time.monotonic() - started:.0f} s")
    console.print(_next_steps(out), soft_wrap=True)
    return vectors


def _next_steps(out: Path) -> str:
    still = out / "vectors" / "still"
    return (
        "Try next:\n"
        f"  wordstill similar {still} language\n"
        f"  wordstill analogy {still} king queen man\n"
        f"  wordstill info {still}\n"
        "  wordstill distill your-text.txt --out vectors        (your own text)\n"
        "  wordstill distill --help                             (other teachers, methods and settings)"
    )


if __name__ == "__main__":
    main()
