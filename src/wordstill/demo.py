"""The main job in one command, offline: ``python -m wordstill.demo``, or ``make demo`` in the repository."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from wordstill.core.files import atomic_file
from wordstill.core.gensim_files import gensim_folder, unpack_gensim
from wordstill.corpus import VocabularyConfig, prepare
from wordstill.corpus.sources import embedded_text
from wordstill.distillation import DistillConfig, distill
from wordstill.evaluation import evaluate
from wordstill.evaluation.report.plots import group_map
from wordstill.evaluation.report.tables import table
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.vectors import WordVectors

SETS = ("wordsim353", "simlex999")
METHODS = ("still", "ase")
SHOWN = ("philosopher", "river", "quickly")
MAP = {
    "people": ("king", "queen", "president", "emperor", "soldier", "priest", "teacher", "doctor", "lawyer", "poet"),
    "animals": ("dog", "cat", "horse", "tiger", "bird", "fish", "wolf", "bear", "cow", "sheep"),
    "places": ("river", "mountain", "island", "sea", "lake", "coast", "forest", "desert", "valley", "ocean"),
    "money": ("money", "bank", "cash", "stock", "market", "price", "credit", "dollar", "tax", "investment"),
    "mind": ("idea", "belief", "fear", "anger", "joy", "memory", "wisdom", "knowledge", "dream", "thought"),
    "machines": ("car", "train", "plane", "computer", "telephone", "engine", "ship", "keyboard", "camera", "radio"),
}
"""Words of the picture; those that the table lacks are left out."""


def main() -> None:
    """Read the output folder from the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m wordstill.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the results")
    parser.add_argument("--gensim", type=Path, metavar="WHEEL", help="take text and sets from this wheel of gensim")
    parser.add_argument("--text", type=Path, help="read this text instead of the bundled excerpt")
    given = parser.parse_args()
    if given.gensim is not None and gensim_folder() is None:
        unpack_gensim(given.gensim)
    run(given.out, Console(), given.text)


def run(out: Path, console: Console, text: Path | None = None) -> dict[str, WordVectors]:
    """Prepare the embedded text, distil the embedded teacher, evaluate, and say what to try next."""
    started = time.monotonic()
    console.rule(f"1  prepare: {text or 'an excerpt of the English Wikipedia'}")
    corpus = prepare([text or embedded_text()], out / "store", overwrite=True, progress=True)
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

    with atomic_file(out / "map.svg") as file:
        file.write(group_map(vectors["still"], MAP).encode())

    console.rule("nearest words")
    for word in SHOWN:
        near = ", ".join(name for name, _ in vectors["still"].most_similar(word, topn=6))
        console.print(f"{word}: {near}")
    console.rule(f"done in {time.monotonic() - started:.0f} s")
    console.print(_next_steps(out), soft_wrap=True)
    return vectors


def _next_steps(out: Path) -> str:
    still = out / "vectors" / "still"
    page = f"  wordstill explore {still} --text {out / 'store'}\n" if find_spec("wordstill.explore") else ""
    return (
        f"A map of some words: {out / 'map.svg'}\n"
        f"Try next:\n{page}"
        f"  wordstill similar {still} language\n"
        f"  wordstill analogy {still} king queen man\n"
        f"  wordstill info {still}\n"
        "  wordstill distill your-text.txt --out vectors        (your own text)\n"
        "  wordstill distill --help                             (other teachers, methods and settings)"
    )


if __name__ == "__main__":
    main()
