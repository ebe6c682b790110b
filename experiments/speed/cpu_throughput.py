"""Words per second of a whole distillation on a CPU, compared with sentence-transformers over the same paragraphs.

Both use the same model on the same cores and take turns. sentence-transformers runs with its defaults, float32 and
batches of 32, except that it reads up to 512 subwords of a paragraph instead of 256, so that it does the same work.
Our time includes everything except loading the model and preparing the text. Two limits are measured for comparison:
the teacher alone over our batches, and the matrix products of its linear layers alone, without padding or attention.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch

from experiments.speed.common import LEAST_COSINE, Row, agreement, met, read_paragraphs, save, show, use_cores
from wordstill.core.threads import OrderedPool
from wordstill.corpus import Corpus, prepare
from wordstill.distillation import DistillConfig, distill_from_teacher
from wordstill.distillation.plan import make_plan
from wordstill.teacher import Teacher, TeacherConfig, WordStates
from wordstill.teacher.amx import AmxLinear
from wordstill.teacher.batches import AnyBatch
from wordstill.teacher.device import shared_cores
from wordstill.teacher.loading import NAME, embedded_teacher
from wordstill.teacher.precision import SortedLinear
from wordstill.vectors import WordVectors

BENCHMARK = "cpu_throughput"
TITLE = "Speed on a CPU"
METHODS = ("still", "ase")
LONGEST = 512
PRODUCT_ROWS = 4096
TARGETS = {"everywhere": 2.5, "with bfloat16, but no matrix tiles": 3.0, "with matrix tiles": 4.0}
KINDS = {"no-tiles": "A CPU with bfloat16 products (avx512_bf16), but without matrix tiles:"}
TITLES = {
    "sentence_transformers": "sentence-transformers, encode",
    "wordstill": "wordstill, still and ase",
    "teacher_alone": "limit: teacher alone, our batches",
    "products_alone": "limit: its linear layers alone",
}

LINEAR = (torch.nn.Linear, SortedLinear, AmxLinear)

Tables = dict[str, WordVectors]


class Times(NamedTuple):
    """Wall time and CPU time of all cores in seconds; CPU time is more reliable on a busy machine."""

    wall: float
    cpu: float


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        sample = Sample.make(options.text, options.words, Path(folder))
        result = measure(sample, options)
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


@dataclass(frozen=True)
class Sample:
    """Some paragraphs, plain and prepared, and how long it took to prepare them."""

    paragraphs: list[str]
    corpus: Corpus
    seconds: float

    @classmethod
    def make(cls, text: Path | None, words: int, folder: Path) -> Sample:
        """Take paragraphs from all over a text, with about the given number of words in all."""
        everything = read_paragraphs(text, folder / "everything")
        total = sum(len(paragraph.split()) for paragraph in everything)
        paragraphs = everything[:: max(1, round(total / words))]
        plain = folder / "sample.txt"
        plain.write_text("\n".join(paragraphs), encoding="utf-8")
        start = time.perf_counter()
        corpus = prepare([plain], folder / "store")
        return cls(paragraphs, corpus, time.perf_counter() - start)


def measure(sample: Sample, options: argparse.Namespace) -> dict[str, Any]:
    """Time all contestants in turns over the sample."""
    teacher = Teacher.from_config(TeacherConfig(options.teacher, device="cpu", dtype=options.dtype))
    config = DistillConfig(METHODS, budget=options.budget, read="paragraph", seed=options.seed)
    plan = make_plan(teacher, sample.corpus, config)
    batches = [batch for _, batch in plan.engine.stages[-1].batches.since((0, 0))]
    peer = _sentence_transformer(options.teacher)
    tables: Tables = {}
    contestants: dict[str, Callable[[], object]] = {
        "sentence_transformers": lambda: peer.encode(sample.paragraphs, show_progress_bar=False),
        "wordstill": lambda: tables.update(distill_from_teacher(teacher, sample.corpus, config=config)),
        "teacher_alone": lambda: _read(teacher, batches),
    }
    peer.encode(sample.paragraphs[:32], show_progress_bar=False)
    teacher.encode(batches[0], (teacher.depth,))
    times = _take_turns(contestants, options.repeats)
    words, subwords = sample.corpus.n_words, sum(len(batch.subwords) for batch in batches)
    rates = {name: words / median(turn.wall for turn in turns) for name, turns in times.items()}
    rates["products_alone"] = words / (subwords * _product_seconds(teacher))
    return {
        "text": options.text.name if options.text else "embedded",
        "words": words,
        "paragraphs": len(sample.paragraphs),
        "subwords": subwords,
        "padding": 0.0 if teacher.packs else _padding(batches),
        "vocabulary": len(plan.vocabulary),
        "dtype": teacher.precision,
        "budget": plan.recipe.batches["budget"],
        "prepare_seconds": sample.seconds,
        "seconds": {name: [turn.wall for turn in turns] for name, turns in times.items()},
        "cpu_seconds": {name: [turn.cpu for turn in turns] for name, turns in times.items()},
        "words_per_second": rates,
        "ratio": rates["wordstill"] / rates["sentence_transformers"],
        "cosine_to_float32": _cosines(tables, teacher, sample.corpus, config),
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    rates = result["words_per_second"]
    table: list[Row] = [("", "words/s", "ratio", "CPU seconds")]
    for name, title in TITLES.items():
        ratio = f"{rates[name] / rates['sentence_transformers']:.2f}"
        used = [f"{seconds:.1f}" for seconds in result["cpu_seconds"].get(name, ())]
        table.append((title, f"{rates[name]:,.0f}", ratio, " ".join(used)))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    lines = [
        f"{result['words']:,} words, {result['subwords']:,} subwords and {result['padding']:.0%} padding; "
        f"{result['dtype']}, batches of {result['budget']:,} subwords; {result['vocabulary']:,} vectors of "
        f"each kind; preparing the text took {result['prepare_seconds']:.1f} s, not included.",
        *(
            f"Ratio {result['ratio']:.2f}, target {least} {where}: {met(result['ratio'] >= least)}."
            for where, least in TARGETS.items()
        ),
    ]
    for name, cosine in (result["cosine_to_float32"] or {}).items():
        lines.append(
            f"Vectors of `{name}` compared with float32: minimum cosine {cosine['least']:.5f}, mean "
            f"{cosine['mean']:.5f}, target {LEAST_COSINE}: {met(cosine['least'] >= LEAST_COSINE)} "
            f"(after the best rotation of the table; without it {cosine['least_unrotated']:.5f} and "
            f"{cosine['mean_unrotated']:.5f})."
        )
    return lines


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--text", type=Path, help="text to read; by default the embedded Wikipedia excerpt")
    parser.add_argument("--words", type=int, default=231_000, help="number of words to read, approximately")
    parser.add_argument("--repeats", type=int, default=2, help="repeats of every contestant; medians are reported")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--teacher", default=NAME, help="another model, as a folder")
    parser.add_argument("--dtype", default="auto", help="precision of our teacher")
    parser.add_argument("--budget", type=int, help="subwords per batch")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _sentence_transformer(teacher: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    peer = SentenceTransformer(str(embedded_teacher() if teacher == NAME else teacher), device="cpu")
    peer.max_seq_length = LONGEST
    return peer


def _take_turns(work: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[Times]]:
    times: dict[str, list[Times]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, do in work.items():
            start = Times(time.perf_counter(), time.process_time())
            do()
            times[name].append(Times(time.perf_counter() - start.wall, time.process_time() - start.cpu))
    return times


def _read(teacher: Teacher, batches: list[AnyBatch]) -> None:
    """Let a teacher read as it does in a run."""
    layers = (teacher.depth,)
    size = teacher.readers()

    def read(batch: AnyBatch) -> WordStates:
        return teacher.encode(batch, layers)

    with shared_cores(size) as take_share:
        for _ in OrderedPool(read, size, take_share).map(batches):
            pass


def _padding(batches: list[AnyBatch]) -> float:
    """The share of padding."""
    computed = sum(int(batch.lengths.max()) * len(batch.lengths) for batch in batches)
    return computed / sum(len(batch.subwords) for batch in batches) - 1


@torch.inference_mode()
def _product_seconds(teacher: Teacher) -> float:
    """Seconds per subword of the teacher's linear layers alone."""
    total = 0.0
    for name, layer in teacher.model.named_modules():
        if isinstance(layer, LINEAR) and "pooler" not in name:
            rows = torch.randn(PRODUCT_ROWS, layer.in_features, dtype=teacher.dtype)
            total += min(_take_turns({name: partial(layer, rows)}, repeats=4)[name]).wall
    return total / PRODUCT_ROWS


def _cosines(
    tables: Tables, teacher: Teacher, corpus: Corpus, config: DistillConfig
) -> dict[str, dict[str, float]] | None:
    """Mean and least cosine over words to the result in float32, of each table; None if it is in float32."""
    if teacher.precision == "float32":
        return None
    exact = Teacher.from_config(replace(teacher.config, dtype="float32"))
    reference = distill_from_teacher(exact, corpus, config=config)
    return {label: agreement(tables[label].unit, reference[label].unit) for label in tables}


if __name__ == "__main__":
    main()
