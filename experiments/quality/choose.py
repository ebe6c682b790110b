"""Choose the settings of `still` and `sentence` on development halves, for several teachers and texts.

Example: python -m experiments.quality.choose STORE --teacher MODEL --name minilm-a --title "MiniLM, a text"

One pass keeps the sums of every block. Then each candidate mixture is scored on one half of every similarity set, of
every category of analogy questions, and of every part of the sentence sets. The objective, called gain, is the mean of
the eight similarity sets + 0.2 x the mean of both analogy sets + 0.2 x the mean of the sentence sets. The result is
results/choice/NAME.json. With ``--only priors``, only the strength and the prior of the sentence regression vary, which
takes minutes on a CPU with a short text.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.quality.halves import DevelopmentHalves, gain
from experiments.quality.scoring import evaluation_words
from experiments.record import origin, result_parser, write_json
from wordstill.corpus import VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import make_plan
from wordstill.methods.blocks import COMMON_WORDS, ROWS_AT_ONCE, Block, WhitenedBlock, frequent_words, shrunk_table
from wordstill.methods.sentence_regression import Features, regress
from wordstill.methods.still import USUAL_DIM, Still, StillConfig
from wordstill.methods.sums import RowSums, row_blocks
from wordstill.teacher import Teacher, TeacherConfig

MODULE = "experiments.quality.choose"
SPARE_AXES, ITERATIONS = 96, 8
STRENGTHS = (0.01, 0.03, 0.1, 0.3)
DIMS = (128, 192, 256, 300, 384)
STEPS = (0.0, 0.5, 0.75, 1.33, 2.0)
"""Factors for each weight, one at a time."""
WEIGHTS = (
    "state_weight",
    "isolated_weight",
    "prompt_weight",
    "lower_weight",
    "window_weight",
    "neighbor_weight",
    "embedding_weight",
    "sentence_weight",
)
V2 = (
    "still:prompt_weight=0,state_weight=0.25,isolated_weight=0,embedding_weight=0,context_prior=6,lower=1,"
    "window_weight=0.55,neighbor_layer=0,neighbor_weight=0.15,neighbor_exponent=0.15,sentence_weight=0.55"
)
"""The settings of `still.v2`."""
V4 = "still:prompt_weight=0,window_weight=0.35,neighbor_exponent=0.25"
"""The settings of `still.v4`."""
V3 = f"{V4},state_weight=0.25,isolated_weight=0,embedding_weight=0,context_prior=6,sentence_weight=0.5"
"""The settings of `still.v3`."""
PARTS = ("priors", "layers", "settings")
"""What is varied beside strengths: priors of the sentence regression, layers and versions, every other setting."""
OTHER_LAYERS = ("still:lower=1", "still:lower=3", V2, V3, V4)
"""Candidates that need sums of their own, kept in the same pass."""
EXPONENTS = {
    "state_exponent": (0.0, 0.2),
    "isolated_exponent": (0.05, 0.25),
    "prompt_exponent": (0.05, 0.25),
    "embedding_exponent": (0.0, 0.15),
    "context_prior": (1.0, 4.0, 8.0),
    "lower_exponent": (0.1, 0.3),
    "window_exponent": (0.25, 0.45),
    "exponent": (0.0, 0.1),
}


def main() -> None:
    """Read once, score every candidate, and write the result."""
    options = arguments()
    sums = Sums(options.text, TeacherConfig(options.teacher), options.only or PARTS)
    halves = DevelopmentHalves(sums.method.run.vocabulary.keys, sums.method.run.device)
    rows: list[dict[str, Any]] = []
    for label, vectors in sums.candidates():
        scores = halves.score(vectors)
        rows.append({"label": label, "gain": round(gain(scores), 3), **scores})
        print(f"{label:34s} gain {gain(scores):7.2f}  {scores}", flush=True)
    facts = {"version": Still.name, **origin(MODULE, options), "seconds": sums.seconds, "words": sums.words}
    write_json(options.out / f"{options.name}.json", {**facts, "rows": rows})


class Sums:
    """What one pass of the teacher leaves of every block."""

    def __init__(self, text: list[str], teacher: TeacherConfig, varied: Collection[str]) -> None:
        self.parts = varied
        methods = ("still", *(OTHER_LAYERS if "layers" in varied else ()))
        config = DistillConfig(methods, teacher, VocabularyConfig(words=evaluation_words()))
        with tempfile.TemporaryDirectory() as folder:
            corpus = open_or_prepare(text, config.prepare, Path(folder), progress=False)
            plan = make_plan(Teacher.from_config(teacher), corpus, config)
            start = time.monotonic()
            plan.engine.run()
            self.seconds, self.words = round(time.monotonic() - start, 1), corpus.n_words
        method, *self.others = [each for each in plan.engine.methods.values() if isinstance(each, Still)]
        self.method = method
        self.frequent = frequent_words(method.states.counts, method.isolated.counts, method.run.width)
        counts = torch.where(self.frequent, method.states.counts, 0)
        self.common = torch.topk(counts, min(COMMON_WORDS, int(self.frequent.sum()))).indices
        self._blocks: dict[tuple[int, float, float], Tensor] = {}
        self._rows: dict[int, RowSums] = {}

    def candidates(self) -> Iterator[tuple[str, Tensor]]:
        """Tables with lengths, by label."""
        base = self.method.config
        prior = shrunk_table(self.method.state_block(), self.frequent)
        yield "ase", prior
        tables = self.regressed(prior)
        for strength, table in tables.items():
            yield f"sentence:strength={strength}", table
        for strength, table in tables.items():
            yield f"still:strength={strength}", self.mixed(replace(base, strength=strength), table)
        if "priors" in self.parts:
            yield from self.fitted(replace(base, sentence_prior="fitted"), prior)
        for label, other in zip(OTHER_LAYERS, self.others):
            yield label, self.mixed(other.config, tables[base.strength], other)
        if "settings" in self.parts:
            yield from self.varied(base, tables[base.strength])

    def regressed(self, prior: Tensor | Features) -> dict[float, Tensor]:
        """Rows of the sentence regression by strength."""
        assert self.method.bags is not None
        return {strength: regress(self.method.bags, prior, strength).table for strength in STRENGTHS}

    def fitted(self, config: StillConfig, shrunk: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Tables with a fitted prior of the sentence regression."""
        method = self.method
        method.config = config
        features = Features([shrunk, method.isolated.sums], method.states.counts)
        for strength, table in self.regressed(features).items():
            yield f"sentence:prior=fitted,strength={strength}", table
        for strength, table in self.regressed(method.sentence_prior(shrunk)).items():
            label = f"still:sentence_prior=fitted,strength={strength}"
            yield label, self.mixed(replace(config, strength=strength), table)

    def varied(self, base: StillConfig, table: Tensor) -> Iterator[tuple[str, Tensor]]:
        """The default with one setting changed at a time."""
        for name in WEIGHTS:
            for step in STEPS:
                changed: dict[str, Any] = {name: round(getattr(base, name) * step, 3)}
                yield f"still:{name}={changed[name]}", self.mixed(replace(base, **changed), table)
        for name, values in EXPONENTS.items():
            for value in values:
                changed = {name: value}
                yield f"still:{name}={value}", self.mixed(replace(base, **changed), table)
        for dim in DIMS:
            yield f"still:dim={dim}", self.mixed(replace(base, dim=dim), table)

    def mixed(self, config: StillConfig, sentence: Tensor, method: Still | None = None) -> Tensor:
        """The table of some settings, with the lengths of the sentence regression; the sums are a method's."""
        method = method or self.method
        method.config = config
        blocks = method.blocks(self._as_rows(sentence))
        parts = [block.weight * self._unit(block) for block in blocks]
        chosen = torch.cat([part[self.common] for part in parts], dim=1).double()
        mean = chosen.mean(dim=0)
        covariance = (chosen - mean).T @ (chosen - mean) / len(chosen)
        variances, directions = leading_axes(covariance.float(), min(config.dim or USUAL_DIM, len(covariance)))
        scaled = directions * variances.clamp(min=1e-12) ** -config.exponent
        pieces = torch.split(scaled, [part.shape[1] for part in parts])
        vectors = sum((part @ piece for part, piece in zip(parts, pieces)), start=-mean.float() @ scaled)
        unit: Tensor = torch.nn.functional.normalize(vectors, dim=1)
        lengths: Tensor = torch.linalg.vector_norm(sentence, dim=1, keepdim=True)
        return unit * lengths

    def _as_rows(self, table: Tensor) -> RowSums:
        if id(table) not in self._rows:
            rows = RowSums(1, 1, table.device)
            rows.sums, rows.counts = table, torch.ones(len(table), dtype=torch.int64, device=table.device)
            self._rows[id(table)] = rows
        return self._rows[id(table)]

    def _unit(self, block: Block) -> Tensor:
        """[V, width] float32 rows of a block without its weight; kept, since most candidates share them."""
        key = (id(block.sums), block.exponent, block.prior)
        if key not in self._blocks:
            whitened = WhitenedBlock(replace(block, weight=1.0), self.frequent, ROWS_AT_ONCE)
            size = len(block.sums.counts)
            self._blocks[key] = torch.cat([whitened(rows).float() for rows in row_blocks(size, ROWS_AT_ONCE)])
        return self._blocks[key]


def leading_axes(covariance: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Approximately the largest variances [count] and their directions [d, count], by subspace iteration.

    This is much faster and good enough for comparisons; the method itself computes them exactly.
    """
    generator = torch.Generator(covariance.device).manual_seed(0)
    size = (len(covariance), min(len(covariance), count + SPARE_AXES))
    axes = torch.randn(size, device=covariance.device, generator=generator)
    for _ in range(ITERATIONS):
        axes = torch.linalg.qr(covariance @ axes)[0]
    values, turned = torch.linalg.eigh(axes.T @ covariance @ axes)
    return values.flip(0)[:count], (axes @ turned).flip(1)[:, :count]


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = result_parser(MODULE, __doc__, "choice", "teacher and text")
    parser.add_argument("text", nargs="+", help="a prepared store, or text")
    parser.add_argument("--teacher", default=TeacherConfig.name)
    parser.add_argument("--only", action="append", choices=PARTS, help="what to vary beside strengths; repeatable")
    return parser.parse_args()


if __name__ == "__main__":
    main()
