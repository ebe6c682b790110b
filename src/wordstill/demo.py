"""The main job in one command, offline: ``python -m wordstill.demo``, or ``make demo`` in the repository."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from wordstill.core.files import write_file
from wordstill.core.gensim_files import gensim_folder, unpack_gensim
from wordstill.corpus import Corpus, VocabularyConfig, prepare
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
PAGE_WORDS = 4000
"""Most frequent words on the page: a map of all takes longer than everything else."""


def main() -> None:
    """Read the output folder from the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m wordstill.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the results")
    parser.add_argument("--gensim", type=Path, metavar="WHEEL", help="take text and sets from this wheel of gensim")
    parser.add_argument("--text", type=Path, help="read this text instead of the bundled excerpt")
    parser.add_argument("--no-page", action="store_true", help="do not write the page, whose map takes a while")
    given = parser.parse_args()
    if given.gensim is not None and gensim_folder() is None:
        unpack_gensim(given.gensim)
    run(given.out, Console(), given.text, with_page=not given.no_page)


def run(out: Path, console: Console, text: Path | None = None, *, with_page: bool = True) -> dict[str, WordVectors]:
    """Prepare the embedded text, distill the embedded teacher, evaluate, draw, and print what to try next."""
    started = time.monotonic()
    console.rule(f"1  prepare: {text or 'an excerpt of the English Wikipedia'}")
    corpus = prepare([text or embedded_text()], out / "store", overwrite=True, progress=True)
    console.print(f"{len(corpus):,} paragraphs, {corpus.n_words:,} words -> {out / 'store'}")

    console.rule("2  distill: all-MiniLM-L6-v2, one pass for every method")
    wanted = tuple(dict.fromkeys(word for name in SETS for word in SimilarityTask(name).words()))
    config = DistillConfig(methods=METHODS, vocabulary=VocabularyConfig(min_count=2, words=wanted))
    vectors = distill(out / "store", out / "vectors", config=config, overwrite=True, progress=True)
    console.print(f"{len(vectors['still']):,} words -> {out / 'vectors'}")

    console.rule("3  evaluate: against human judgments of similarity")
    result = evaluate(vectors, SETS)
    result.save(out / "evaluation.json", overwrite=True)
    console.print(table(result))

    console.rule("4  draw: a map, and a page to explore")
    write_file(out / "map.svg", group_map(vectors["still"], MAP))
    page = _write_page(out, vectors["still"], corpus) if with_page else None

    console.rule("nearest words")
    for word in SHOWN:
        near = ", ".join(name for name, _ in vectors["still"].most_similar(word, topn=6))
        console.print(f"{word}: {near}")
    console.rule(f"done in {time.monotonic() - started:.0f} s")
    console.print(_next_steps(out, page), soft_wrap=True)
    return vectors


def _write_page(out: Path, vectors: WordVectors, corpus: Corpus) -> Path | None:
    """Write the page of `wordstill explore` as one file; None without the extra that it needs."""
    if not all(map(find_spec, ("starlette", "openTSNE"))):
        return None
    from wordstill.explore.library import Library, read_scores
    from wordstill.explore.offline import write_page

    shown = {"still": vectors.select(range(min(PAGE_WORDS, len(vectors))))}
    page, scores = out / "explore.html", read_scores(out / "evaluation.json")
    library = Library(shown, corpus=corpus, scores=scores)
    page.unlink(missing_ok=True)
    write_page(library, page)
    return page


def _next_steps(out: Path, page: Path | None) -> str:
    still = out / "vectors" / "still"
    command = _command()
    explore = f"{command} explore {still} --text {out / 'store'}"
    return (
        f"The map:   {(out / 'map.svg').resolve().as_uri()}\n"
        + (f"The page:  {page.resolve().as_uri()}\n" if page else "")
        + f"\nTry next:\n  {explore}    (the page with all words and sentences)\n"
        f"  {command} similar {still} language\n"
        f"  {command} analogy {still} man king woman\n"
        f"  {command} distill your-text.txt --out vectors\n"
        f"  {command} --help"
    )


def _command() -> str:
    """How to call wordstill from here: by its name if it is on the path, else where it was installed."""
    beside = Path(sys.executable).with_name("wordstill")
    if shutil.which("wordstill") or not beside.exists():
        return "wordstill"
    try:
        return str(beside.relative_to(Path.cwd()))
    except ValueError:
        return str(beside)


if __name__ == "__main__":
    main()
