"""The Google analogies, compared with gensim on the same table.

Both answer the same questions by 3CosAdd over the same words, ignoring case, and must reach the same accuracy. gensim
answers one question at a time, so it gets every n-th question of each section, and its time for all of them is
extrapolated; accuracies are compared on these questions. The table is random, except that it has the words of the
questions and many analogies hold in it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.speed.common import Row, met, save, show, use_cores
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.analogy import AnalogyTask
from wordstill.vectors import WordVectors

BENCHMARK = "analogies"
TITLE = "Analogies"
TARGET = 10
AGREEMENT = 1e-6
RULES = Protocol("gensim", case="ignore")


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(options, Path(folder))
    show(rows(result), remarks(result))
    save(BENCHMARK, result, seed=options.seed)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Time both on the same questions."""
    task = AnalogyTask("google")
    vectors = _table(task, options.words, options.dim, options.seed)
    vectors.unit  # noqa: B018
    start = time.perf_counter()
    whole = task.run(vectors, RULES)
    ours = time.perf_counter() - start
    path, questions = _sample(task, folder, options.every)
    peer = _gensim(vectors)
    start = time.perf_counter()
    accuracy, _ = peer.evaluate_word_analogies(str(path))
    sampled = time.perf_counter() - start
    score = AnalogyTask(path).run(vectors, RULES)
    return {
        "words": options.words,
        "dim": options.dim,
        "questions": len(task.dataset.content),
        "gensim_questions": questions,
        "seconds": {"wordstill": ours, "gensim": sampled * len(task.dataset.content) / questions},
        "accuracy": {"wordstill": score.value, "gensim": 100 * accuracy, "wordstill, all": whole.value},
        "ratio": sampled * len(task.dataset.content) / questions / ours,
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "seconds", "questions/s", "accuracy")]
    for name, seconds in result["seconds"].items():
        rate = f"{result['questions'] / seconds:,.0f}"
        table.append((name, f"{seconds:.1f}", rate, f"{result['accuracy'][name]:.4f}"))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    apart = abs(result["accuracy"]["wordstill"] - result["accuracy"]["gensim"])
    return [
        f"{result['questions']:,} questions over {result['words']:,} words of {result['dim']} dimensions; "
        f"gensim got {result['gensim_questions']:,} of them, which the accuracies are for.",
        f"Ratio {result['ratio']:.1f}, target {TARGET}: {met(result['ratio'] >= TARGET)}.",
        f"Accuracies differ by {apart:.1e}, target {AGREEMENT:.0e}: {met(apart <= AGREEMENT)}.",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--every", type=int, default=40, help="gensim gets every N-th question")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _table(task: AnalogyTask, words: int, dim: int, seed: int) -> WordVectors:
    """Random vectors; d of a question is usually near b - a + c."""
    random = np.random.default_rng(seed)
    names = list(dict.fromkeys(word.lower() for word in task.words()))
    matrix = random.normal(size=(words, dim)).astype(np.float32)
    place = {name: row for row, name in enumerate(names)}
    steps = random.normal(size=(len(task.dataset.content.sections), dim)).astype(np.float32)
    moved: set[str] = set()
    for question, section in zip(task.dataset.content.words, task.dataset.content.section.tolist()):
        _, _, third, fourth = (word.lower() for word in question)
        if fourth not in moved:
            moved.add(fourth)
            matrix[place[fourth]] = 0.3 * matrix[place[fourth]] + 0.6 * matrix[place[third]] + steps[section]
    fillers = [f"filler{number}" for number in range(words - len(names))]
    return WordVectors([*names, *fillers], matrix)


def _sample(task: AnalogyTask, folder: Path, every: int) -> tuple[Path, int]:
    """A file with some questions of every section."""
    content = task.dataset.content
    lines, count = [], 0
    for number, name in enumerate(content.sections):
        chosen = np.flatnonzero(content.section == number)[::every]
        lines += [f": {name}", *(" ".join(content.words[place]) for place in chosen)]
        count += len(chosen)
    path = folder / "questions.txt"
    path.write_text("\n".join(lines) + "\n")
    return path, count


def _gensim(vectors: WordVectors) -> Any:
    from gensim.models import KeyedVectors

    peer = KeyedVectors(vectors.dim, dtype=np.float32)
    peer.add_vectors(list(vectors.words), vectors.matrix)
    peer.fill_norms()
    return peer


if __name__ == "__main__":
    main()
