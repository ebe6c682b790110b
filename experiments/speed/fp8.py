"""Sub-words per second of a teacher on a GPU with its linear layers in fp8, beside the same in bfloat16.

A model with the shape of BERT-base and random weights, and the embedded teacher, read about a tenth of the
text; both precisions take turns in one run, each turn after a few batches of warming up. Mean states of words
over a part of that text (`ase`) are compared with those in float32, for words that occur at least five times
there; random weights show no more than that nothing is broken, since the states hardly depend on them. What
fp8 does to scores is measured by `experiments.quality.measure --dtype fp8`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from experiments.speed.common import Row, save, show
from experiments.speed.gpu_models import random_teacher
from experiments.speed.gpu_throughput import PART, Counted, Text, measure_mix, text_batches
from wordstill.corpus import PrepareConfig, Vocabulary, VocabularyConfig
from wordstill.engine import Engine, Stage
from wordstill.input_text import open_or_prepare
from wordstill.methods import METHODS, Setup, read_specs
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig
from wordstill.teacher.batches.budget import usual_budget
from wordstill.teacher.embedded import NAME

BENCHMARK = "fp8"
TITLE = "Speed in fp8 on a GPU"
SHAPE = "BERT-base"
EXACT, USUAL, QUICK = "float32", "bfloat16", "fp8"
VECTORS_PART = 1 / 64
SEEN = 5
TITLES = {SHAPE: f"{SHAPE}, random weights", NAME: NAME}
"""How the models are called in a result."""


def main() -> None:
    """Measure, print and save; what has been measured is saved after every model."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        corpus = open_or_prepare(options.text, PrepareConfig(), Path(folder), progress=False)
        text = Text(corpus, Vocabulary.build(corpus, VocabularyConfig()))
        result: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "words": corpus.n_words, "models": {}}
        for model in options.model:
            found = result["models"][TITLES[model]] = measure(partial(_make, model), text, options)
            print(f"{model}: {found}", flush=True)
            save(BENCHMARK, result, commit=options.commit)
    show(rows(result), remarks(result))


def measure(make: Callable[[str, bool], Teacher], text: Text, options: argparse.Namespace) -> dict[str, Any]:
    """Turns of both precisions, and cosines of their word vectors."""
    teachers = {dtype: make(dtype, not options.eager) for dtype in (USUAL, QUICK)}
    turns: dict[str, list[dict[str, Any]]] = {dtype: [] for dtype in teachers}
    for _ in range(options.repeats):
        for dtype, teacher in teachers.items():
            turns[dtype].append(measure_mix(teacher, text, _batches(teacher, text), (), 1, PART))
    teachers[EXACT] = make(EXACT, False)
    vectors = {dtype: word_vectors(teacher, text) for dtype, teacher in teachers.items()}
    return {
        "precision": {dtype: teacher.precision for dtype, teacher in teachers.items()},
        "compiled": not options.eager,
        "rates": {dtype: [turn["subwords"] / turn["seconds"] for turn in turns[dtype]] for dtype in turns},
        "vectors": len(vectors[EXACT]),
        "cosines": {
            f"{one} to {other}": _cosines(vectors[one], vectors[other])
            for one, other in ((USUAL, EXACT), (QUICK, EXACT), (QUICK, USUAL))
        },
    }


def word_vectors(teacher: Teacher, text: Text) -> Tensor:
    """[words, d] means of the states of words that occur often enough in a part of the text."""
    words = text.corpus.n_words
    setup = Setup(text.vocabulary, teacher.width, teacher.depth, teacher.device, words=words, epochs=1)
    (spec,) = read_specs(("ase",), METHODS, teacher.depth)
    method: Any = spec.build(setup)
    batches = _batches(teacher, text)
    counted = Counted(batches, max(1, round(VECTORS_PART * words / batches.config.budget)))
    stage = Stage("text", counted, [method], alone=False, words=words)
    Engine(teacher, {spec.label: method}, [stage]).run()
    often = method.states.counts >= SEEN
    means: Tensor = method.states.pooled()
    return means[often].float().cpu()


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "sub-words/s", "ratio", "least cosine to float32", "mean")]
    for name, model in result["models"].items():
        for dtype in (USUAL, QUICK):
            cosine = model["cosines"][f"{dtype} to {EXACT}"]
            table.append(
                (
                    f"{name}, {dtype}",
                    f"{median(model['rates'][dtype]):,.0f}",
                    f"{median(model['rates'][dtype]) / median(model['rates'][USUAL]):.2f}",
                    f"{cosine['least']:.5f}",
                    f"{cosine['mean']:.5f}",
                )
            )
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """What was read, and what the table does not say."""
    return [
        f"{result['gpu']}; {result['words']:,} words and punctuation marks, of which a part was read.",
        *_closeness(result),
    ]


def _closeness(result: dict[str, Any]) -> Iterator[str]:
    for name, model in result["models"].items():
        cosine = model["cosines"][f"{QUICK} to {USUAL}"]
        speed = "; ".join(
            f"{dtype} {min(rates):,.0f} to {max(rates):,.0f}" for dtype, rates in model["rates"].items()
        )
        yield (
            f"{name}{', compiled' if model['compiled'] else ''}: {model['vectors']:,} word vectors in "
            f"{model['precision'][QUICK]} have a least cosine of {cosine['least']:.5f} and a mean of "
            f"{cosine['mean']:.5f} with those in {USUAL}; sub-words/s of the turns: {speed}."
        )


def _make(model: str, dtype: str, compiled: bool) -> Teacher:
    if model == SHAPE:
        return random_teacher(SHAPE, None, compiled=compiled, dtype=dtype)
    teacher = Teacher.from_config(TeacherConfig(NAME, "cuda", dtype, compiled=compiled))
    teacher.compile_if_worth(0, (teacher.depth,))
    return teacher


def _batches(teacher: Teacher, text: Text) -> Any:
    budget = usual_budget(teacher.device, teacher.width)
    return text_batches(teacher, text, BatchConfig(budget, teacher.limit, packed=teacher.packs))


def _cosines(one: Tensor, other: Tensor) -> dict[str, float]:
    cosines = cosine_similarity(one, other)
    return {"least": float(cosines.min()), "mean": float(cosines.mean())}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", type=Path, help="a text of any format that wordstill reads")
    parser.add_argument(
        "--model",
        action="append",
        choices=TITLES,
        help="may be repeated; both if left out. The result is of this run alone",
    )
    parser.add_argument("--repeats", type=int, default=3, help="turns; medians are reported")
    parser.add_argument("--commit", help="of the code, where its history is not at hand")
    parser.add_argument("--eager", action="store_true", help="do not compile the models")
    options = parser.parse_args()
    options.model = list(dict.fromkeys(options.model or TITLES))
    return options


if __name__ == "__main__":
    main()
