"""Subwords per second on a GPU: the teacher alone, and with methods, in the same run.

Models have the shape of a known one and random weights, which is enough for speed; all read the same text with the
embedded teacher's tokenizer. A pass is timed from its first batch to its last, after a short warm-up. It includes
reading the store and building batches, but not preparing the text. The product rate is that of a square matrix product
of size 8,192 in bfloat16, measured in the same run; the share of it counts only matrix products in the teacher's linear
layers and attention.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from experiments.speed.common import Row, add_commit, met, save, show
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation.engine import Engine, Stage
from wordstill.methods import METHODS, RunContext, read_specs
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, TextBatches, subword_source
from wordstill.teacher.batch import usual_budget
from wordstill.teacher.batches import AnyBatch, batch_arrays
from wordstill.teacher.layers import blocks_of
from wordstill.teacher.loading import embedded_teacher

BENCHMARK = "gpu_throughput"
TITLE = "Speed on a GPU"
SHAPES: dict[str, tuple[str, dict[str, int]]] = {
    "BERT-base": ("bert", {}),
    "BERT-large": (
        "bert",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "RoBERTa-base": ("roberta", {"max_position_embeddings": 514}),
    "GPT-2": ("gpt2", {}),
    "MPNet-base": ("mpnet", {"max_position_embeddings": 514}),
    "ModernBERT-base": ("modernbert", {}),
    "MiniLM": (
        "bert",
        {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    ),
}
PRODUCT = 8192
ALL = ("still", "ase", "x2static", "bert-skipgram", "context-to-vec")
MIXES: dict[str, tuple[str, ...]] = {
    "teacher alone": (),
    "still, ase": ("still", "ase"),
    "x2static": ("x2static",),
    "x2static, own negatives": ("x2static:shared=0",),
    "bert-skipgram": ("bert-skipgram",),
    "context-to-vec": ("context-to-vec",),
    "all five": ALL,
}
FEW = ("teacher alone", "still, ase")
"""What is measured with the other shapes, over a part of the text."""
PART = 1 / 8
SCALES = (1 / 16, 1 / 4)
"""Parts of the text that `SCALED` is also measured over."""
FULL = "BERT-base"
"""The shape that everything is measured with, over the whole text."""
SCALED = "still, ase"
"""The mix that is also measured over parts of the text."""
TARGETS = {"still, ase": 0.90, "x2static": 0.85, "x2static, own negatives": 0.85, "all five": 0.65}
LEAST_RATES = {"BERT-base": 2.4e6, "MiniLM": 6e6}
OF_FULL = {"MPNet-base": 0.85}
"""Least rates alone, as a share of that of `FULL`."""
WIKIPEDIA = 1.28e9
"""Words of the dump that X2Static was trained on."""
LONG_RUN = 180.0
"""Seconds of a run that the whole Wikipedia is estimated from."""
KINDS = {
    shape: f"A model of the shape of {shape}, over about a tenth of the text:" for shape in SHAPES if shape != FULL
}
WARM_UP = 6


@dataclass(frozen=True)
class Text:
    """A prepared text and its vocabulary."""

    corpus: Corpus
    vocabulary: Vocabulary


class Counted:
    """Batches, all or the first few, with a count of their subwords."""

    def __init__(self, batches: TextBatches, first: int | None = None) -> None:
        self.batches, self.first, self.subwords = batches, first, 0

    def since(self, position: tuple[int, int]) -> Iterator[tuple[tuple[int, int], AnyBatch]]:
        """Count the subwords of the batches."""
        for after, batch in itertools.islice(self.batches.since(position), self.first):
            self.subwords += len(batch.subwords)
            yield after, batch


def main() -> None:
    """Measure, print and save after every step."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        corpus = open_or_prepare(options.text, PrepareConfig(), Path(folder), progress=False)
        text = Text(corpus, Vocabulary.build(corpus, VocabularyConfig()))
        facts: dict[str, Any] = {
            "gpu": torch.cuda.get_device_name(),
            "words": corpus.n_words,
            "product_tflops": product_rate() / 1e12,
        }
        for shape in options.shape:
            result: dict[str, Any] = {}
            for found in measure_shape(shape, text, options):
                result = facts | found
                if shape == FULL:
                    facts["full_rate"] = _rate(found["mixes"]["teacher alone"])
                save(BENCHMARK, result, commit=options.commit, kind="" if shape == FULL else shape)
            show(rows(result), remarks(result))


def measure_shape(shape: str, text: Text, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All mixes of methods with one teacher; yields the results so far after each."""
    teacher = random_teacher(shape, options.tokenizer, compiled=not options.eager)
    budget = options.budget or usual_budget(teacher.device, teacher.width)
    config = BatchConfig(budget, teacher.limit, packed=teacher.packs)
    batches = text_batches(teacher, text, config)
    found: dict[str, Any] = {
        "shape": shape,
        "packed": teacher.packs,
        "flops_per_subword": flops_per_subword(teacher, batches),
        "mixes": {},
        "scaling": {},
    }
    part = None if shape == FULL else PART
    for name in options.mix or (MIXES if shape == FULL else FEW):
        passes = options.repeat if name in options.repeated else 1
        found["mixes"][name] = measure_mix(teacher, text, batches, MIXES[name], passes, part)
        print(f"{shape}, {name}: {found['mixes'][name]}", flush=True)
        yield found
    for part in SCALES if shape == FULL and not options.mix else ():
        found["scaling"][str(part)] = measure_mix(teacher, text, batches, MIXES[SCALED], 1, part)
        yield found


def measure_mix(
    teacher: Teacher, text: Text, batches: TextBatches, specs: tuple[str, ...], passes: int, part: float | None
) -> dict[str, Any]:
    """Seconds, subwords and peak memory of passes over the text or the first part of it."""
    words = text.corpus.n_words
    context = RunContext(text.vocabulary, teacher.width, teacher.depth, teacher.device, words=words, epochs=passes)
    chosen = read_specs(specs, METHODS, teacher.depth) if specs else []
    methods = {spec.label: spec.build(context) for spec in chosen}
    first = None if part is None else round(part * words / batches.config.budget)
    torch.cuda.reset_peak_memory_stats()
    seconds, subwords = 0.0, 0
    for limit, times in ((WARM_UP, 1), (first, passes)):
        counted = Counted(batches, limit)
        stages = [Stage("text", counted, list(methods.values()), isolated=False, words=words) for _ in range(times)]
        for stage in stages:
            stage.layers = stage.layers or (teacher.depth,)
        torch.cuda.synchronize()
        start = time.perf_counter()
        Engine(teacher, methods, stages).run()
        torch.cuda.synchronize()
        seconds, subwords = time.perf_counter() - start, counted.subwords
    return {
        "seconds": round(seconds, 3),
        "subwords": subwords,
        "passes": passes,
        "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
        "budget": batches.config.budget,
    }


def text_batches(teacher: Teacher, text: Text, config: BatchConfig) -> TextBatches:
    """The text as the teacher reads it, in a random order that learners need."""
    tokenizer, vocabulary = teacher.tokenizer, text.vocabulary
    source = subword_source(text.corpus, tokenizer)
    arrays = batch_arrays(source, vocabulary, teacher.device)
    return TextBatches(text.corpus, vocabulary, source, tokenizer, config, order=1, arrays=arrays)


def random_teacher(shape: str, tokenizer: Path | None, *, compiled: bool) -> Teacher:
    """A teacher of a known shape on the GPU."""
    teacher = Teacher(*random_model(shape, tokenizer), TeacherConfig(shape, "cuda", max_length=512, compiled=compiled))
    teacher.compile_if_worth(0, (teacher.depth,))
    return teacher


def random_model(shape: str, tokenizer: Path | None = None) -> tuple[Any, Any]:
    """A model of a known shape and a tokenizer."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    kind, sizes = SHAPES[shape]
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes))
    return model, AutoTokenizer.from_pretrained(str(tokenizer or embedded_teacher()))


def product_rate() -> float:
    """Operations per second of a large product in bfloat16."""
    left, right = (torch.randn(PRODUCT, PRODUCT, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(8):
        # torch does not type its events.
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        for _ in range(5):
            left @ right
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 5e3)
    return float(2 * PRODUCT**3 / sorted(times)[len(times) // 2])


def flops_per_subword(teacher: Teacher, batches: TextBatches) -> float:
    """Products of linear layers and of attention per subword, on average over some texts."""
    blocks = list(blocks_of(teacher.model, teacher.depth) or [])
    linear = sum(2 * weight.numel() for block in blocks for weight in block.parameters() if weight.dim() == 2)
    lengths = np.concatenate([batch.lengths for _, batch in itertools.islice(batches.since((0, 0)), 8)])
    seen = float((lengths.astype(float) ** 2).sum() / lengths.sum())
    return float(linear + 4 * seen * teacher.width * teacher.depth)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "subwords/s", "of the teacher alone", "of the product rate", "peak memory")]
    alone = _rate(result["mixes"]["teacher alone"])
    for name, mix in result["mixes"].items():
        share = _rate(mix) * result["flops_per_subword"] / (result["product_tflops"] * 1e12)
        table.append(
            (
                f"{result['shape']}, {name}",
                f"{_rate(mix):,.0f}",
                f"{_rate(mix) / alone:.0%}",
                f"{share:.0%}" if name == "teacher alone" else "",
                f"{mix['peak_gb']:.1f} GB",
            )
        )
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    shape, mixes = result["shape"], result["mixes"]
    alone = _rate(mixes["teacher alone"])
    said = [
        f"{result['gpu']}; {result['words']:,} words and punctuation marks; a matrix product runs at "
        f"{result['product_tflops']:.0f} TFLOP/s."
    ]
    if shape in LEAST_RATES:
        least = LEAST_RATES[shape]
        said.append(f"{shape} alone {alone / 1e6:.2f} million/s, target {least / 1e6:g}: {met(alone >= least)}.")
    if shape in OF_FULL and "full_rate" in result:
        share, least = alone / result["full_rate"], OF_FULL[shape]
        said.append(f"{shape} alone: {share:.1%} of {FULL} in the same run, target {least:.0%}: {met(share >= least)}.")
    if shape != FULL:
        return said
    said += [
        f"{shape} with {mix}: {_rate(mixes[mix]) / alone:.1%} of the teacher alone, target "
        f"{target:.0%}: {met(_rate(mixes[mix]) >= target * alone)}."
        for mix, target in TARGETS.items()
        if mix in mixes
    ]
    return [*said, *_five_in_one(mixes), *_whole_wikipedia(mixes, result["words"]), *_scaling(result)]


def _five_in_one(mixes: dict[str, Any]) -> list[str]:
    single = ["x2static", "bert-skipgram", "context-to-vec"]
    if any(name not in mixes for name in [*single, "still, ase", "all five"]):
        return []
    # A run of `still` or of `ase` alone takes no less than one teacher pass.
    apart = sum(_seconds(mixes[name]) for name in single) + 2 * _seconds(mixes["teacher alone"])
    ratio = _seconds(mixes["all five"]) / apart
    return [
        f"Five methods in one pass take {ratio:.2f} of the time of five passes, each with one method "
        f"(`still` and `ase` counted as a teacher pass each); limit 0.5: {met(ratio <= 0.5)}."
    ]


def _whole_wikipedia(mixes: dict[str, Any], words: int) -> list[str]:
    """The time for the text of X2Static's authors, if the run was long enough to extrapolate."""
    mix = mixes.get(SCALED)
    if mix is None or mix["seconds"] < LONG_RUN:
        return []
    rate = words * mix["passes"] / mix["seconds"]
    minutes = WIKIPEDIA / rate / 60
    return [
        f"{SCALED}: {rate / 1e6:.2f} million words and punctuation marks/s over a run of "
        f"{mix['seconds']:.0f} s, so 1.28 billion in {minutes:.1f} minutes, target 15: {met(minutes <= 15)}."
    ]


def _scaling(result: dict[str, Any]) -> list[str]:
    whole = result["mixes"].get(SCALED)
    if whole is None or not result["scaling"]:
        return []
    parts = [*result["scaling"].values(), whole]
    sizes = [
        f"{mix['subwords'] / mix['passes'] / 1e6:.1f} million subwords at {_rate(mix) / 1e6:.2f} million/s "
        f"with {mix['peak_gb']:.1f} GB"
        for mix in parts
    ]
    return [f"{result['shape']} with {SCALED} over growing texts: {'; '.join(sizes)}."]


def _rate(mix: dict[str, Any]) -> float:
    return float(mix["subwords"] / mix["seconds"])


def _seconds(mix: dict[str, Any]) -> float:
    return float(mix["seconds"] / mix["passes"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("text", type=Path, help="a text of any format that wordstill reads")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--mix", action="append", choices=MIXES)
    parser.add_argument("--repeat", type=int, default=1, help="passes over the text, for the mixes named by --repeated")
    parser.add_argument("--repeated", action="append", default=[], choices=MIXES)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--tokenizer", type=Path, help="folder of a tokenizer; the embedded teacher's if left out")
    add_commit(parser)
    parser.add_argument("--eager", action="store_true", help="do not compile the model")
    options = parser.parse_args()
    options.shape = options.shape or list(SHAPES)
    return options


if __name__ == "__main__":
    main()
