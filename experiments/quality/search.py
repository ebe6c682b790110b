"""Search the settings of a mixture of blocks for several teachers and texts at once, on development halves.

Example: python -m experiments.quality.search --name v4 --title "Two teachers, two texts" --run minilm=MODEL,STORE
    --run mpnet=MODEL,STORE

One pass for each teacher and text keeps the sums of more blocks than `still` has: layers between, isolated words,
words in prompts, windows of other layers, contexts in which common words count less, and states less what their
contexts let one expect. A coordinate search then changes one setting at a time and keeps what raises the mean gain
(`experiments.quality.halves.gain`). The result, results/choice/NAME.json, has every step that was kept, and how
much the gain falls if one block is left out at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from experiments.quality.halves import DevelopmentHalves, Scores, gain
from experiments.quality.scoring import evaluation_words
from experiments.record import origin, result_parser, write_json
from wordstill.core.settings import Config, Configured
from wordstill.corpus import VocabularyConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import make_plan
from wordstill.methods import MethodSpec
from wordstill.methods.base import Method, RunContext
from wordstill.methods.blocks import ROWS_AT_ONCE, Block, ShrunkRows, WhitenedBlock, frequent_words, shrunk_table
from wordstill.methods.sentence import Bags, observe_bags, regress
from wordstill.methods.sums import Moments, RowSums, row_blocks
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.states import RangeMeans, WordStates
from wordstill.vectors import WordVectors

MODULE = "experiments.quality.search"
WHOLE_SENTENCE = 10_000
RARE = 1e-3
"""Frequency of context words that count half in weighted windows."""
WITHIN_RIDGE = 1e-3
STRENGTHS = (0.01, 0.03, 0.1)
SPARE_AXES, FIRST_ITERATIONS, ITERATIONS = 96, 8, 3
LEAST_GAIN = 0.01
KEPT_BLOCKS = 60
PROMPTS = {
    "meaning": "the meaning of {}", "kind": "a kind of {}", "is": "a {} is", "mean": "what does {} mean?",
    "definition": "{}: definition and meaning", "word": "the meaning of the word {}", "like": "something like {}",
    "similar": "{} and similar things", "example": "an example of {}", "about": "this is about {}",
    "synonyms": "synonyms of {}", "this": "This is a {}.",
}  # fmt: skip
"""Candidates; of each there is the mean state of the whole prompt, and the state of the word in it."""
PROMPTED = tuple(f"{name}{what}" for name in PROMPTS for what in (".whole", ".within"))
PROMPT_WEIGHT, SEARCHED_PROMPTS = 0.3, 3

Settings = dict[str, float]
START: Settings = {
    "states.weight": 0.3, "states.exponent": 0.08,
    "low2.weight": 0.65, "low2.exponent": 0.2,
    "window.weight": 0.35, "window.exponent": 0.35,
    "neighbors.weight": 0.3, "neighbors.exponent": 0.25,
    "sentence.weight": 0.55, "sentence.exponent": 0.0,
    "low1.weight": 0.0, "low1.exponent": 0.2,
    "low3.weight": 0.0, "low3.exponent": 0.2,
    "mid.weight": 0.0, "mid.exponent": 0.1,
    "window0.weight": 0.0, "window0.exponent": 0.25,
    "neighbors0.weight": 0.2, "neighbors0.exponent": 0.05,
    "weighted.weight": 0.0, "weighted.exponent": 0.3,
    "weighted0.weight": 0.0, "weighted0.exponent": 0.25,
    "context.weight": 0.0, "context.exponent": 0.25,
    "adjusted.weight": 0.0, "adjusted.exponent": 0.08,
    "adjusted.share": 1.0,
    "alone.weight": 0.3, "alone.exponent": 0.15,
    "low1.alone.weight": 0.0, "low1.alone.exponent": 0.2,
    "low2.alone.weight": 0.0, "low2.alone.exponent": 0.2,
    "low3.alone.weight": 0.0, "low3.alone.exponent": 0.2,
    "mid.alone.weight": 0.0, "mid.alone.exponent": 0.2,
    **{f"{name}.weight": 0.0 for name in PROMPTED}, **{f"{name}.exponent": 0.15 for name in PROMPTED},
    "state_prior": 0.5, "context_prior": 2.0, "strength": 0.03, "exponent": 0.05, "frequency": 0.0,
    "common": 20_000, "dim": 256,
}  # fmt: skip
"""The settings of `still.v4`; every other block has no weight."""
CHOICES: dict[str, tuple[float, ...]] = {
    "strength": STRENGTHS, "state_prior": (0.25, 0.5, 1.0, 2.0), "context_prior": (2.0, 4.0, 6.0, 10.0, 20.0),
    "exponent": (0.0, 0.05, 0.1), "frequency": (0.0, 0.5, 1.0), "common": (10_000, 20_000, 40_000),
    "adjusted.share": (0.5, 0.75, 1.0), "sentence.exponent": (0.0,),
}  # fmt: skip
FIRST_WEIGHTS, STEPS, EXPONENT_STEPS = (0.15, 0.3, 0.5), (0.0, 0.6, 0.8, 0.9, 1.1, 1.25, 1.6), (-0.1, -0.05, 0.05, 0.1)
CONTEXTS = ("window", "neighbors", "window0", "neighbors0", "weighted", "weighted0", "context")
"""Blocks of what stands around a word, which count less if it is rare."""


@dataclass(frozen=True)
class ManySumsConfig(Config):
    """Settings of `ManySums`."""

    layer: int = 0


class ManySums(Method):
    """Every block of the search, in one pass."""

    name: ClassVar[str] = "many-sums"
    config_type: ClassVar[type[ManySumsConfig]] = ManySumsConfig

    def __init__(self, config: ManySumsConfig, run: RunContext) -> None:
        super().__init__(config, run)
        depth = run.depth
        self.top = depth
        self.lower = {"low1": 1, "low2": 2, "low3": 3, "mid": round(2 * depth / 3)}
        pairs = ("left", "right", "left0", "right0")
        names = ("states", "alone", "window", "window0", "weighted", "weighted0", "context", *pairs)
        low = [name for layer in self.lower for name in (layer, f"{layer}.alone")]
        size = len(run.vocabulary), run.width, run.device
        self.sums = {name: RowSums(*size) for name in (*names, *low)}
        self.bags = Bags(*size)
        self.parts = {**self.sums, "bags": self.bags}
        self.tokens = Moments(2 * run.width, run.device)
        frequency = torch.from_numpy(run.vocabulary.counts / max(run.words, 1)).float()
        self.rarity = torch.cat([RARE / (RARE + frequency), torch.ones(1)]).to(run.device)

    @property
    def layers(self) -> tuple[int, ...]:
        """The input embeddings, the low layers and the last."""
        return tuple(sorted({0, self.top, *self.lower.values()}))

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add words and what stands around them."""
        known, ids = states.known, states.word_ids[states.known]
        for name, layer in {"states": self.top, **self.lower}.items():
            self.sums[name].add(ids, states.words(layer), known)
        for suffix, layer in (("", self.top), ("0", 0)):
            around = states.windows(layer, 2, 2, include_self=False, chosen=known)
            self.sums[f"window{suffix}"].add(ids, around)
            words, places = states.adjacent(layer)
            for side, place in zip(("left", "right"), places):
                self.sums[f"{side}{suffix}"].add(ids, words, place[known])
            self.sums[f"weighted{suffix}"].add(ids, self._weighted(states, layer))
        context = states.windows(self.top, WHOLE_SENTENCE, WHOLE_SENTENCE, include_self=False, chosen=known)
        self.sums["context"].add(ids, context)
        tokens = torch.cat([states.words(self.top)[known], context], dim=1)
        self.tokens.add(tokens, torch.ones_like(known))
        observe_bags(self.bags, states, states.sentences(self.top), self.run.words)

    def observe_isolated(self, states: WordStates) -> None:
        """Keep the states of words."""
        known, ids = states.known, states.word_ids[states.known]
        for name, layer in {"": self.top, **self.lower}.items():
            self.sums[f"{name}.alone" if name else "alone"].add(ids, states.words(layer), known)

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """Refuse: `Condition` makes tables of the sums."""
        raise NotImplementedError("The search makes its tables itself.")

    def _weighted(self, states: WordStates, layer: int) -> Tensor:
        """[K, d] mean of five words on each side, in which common words count less."""
        known, n_words = states.known, states.batch.n_words
        every = torch.arange(n_words, device=states.device)
        start = torch.cat([every, states.batch.phrase_start])[known]
        end = torch.cat([every + 1, states.batch.phrase_end])[known]
        sentence, running = states.word_sentence[known], states.word_sentence[:n_words].contiguous()
        low = torch.searchsorted(running, sentence).maximum(start - 5)
        high = torch.searchsorted(running, sentence, right=True).minimum(end + 5)
        weights = self.rarity[states.word_ids[:n_words]]
        means = RangeMeans(states.words(layer)[:n_words] * weights[:, None])
        total = means(low, high, sums=True) - means(start, end, sums=True)
        sums = torch.cat([weights.new_zeros(1, dtype=torch.float64), weights.double().cumsum(0)])
        mass = (sums[high] - sums[low] - sums[end] + sums[start]).float()
        mean: Tensor = total / mass.clamp(min=1e-3)[:, None]
        return mean

    def within_words(self) -> Tensor:
        """[d, d] regression of a state on the rest of its sentence, among occurrences of the same word."""
        width, number = self.run.width, float(self.sums["states"].counts.sum())
        total = self.tokens.covariance() * number
        means = torch.cat([self.sums["states"].pooled(), self.sums["context"].pooled()], dim=1).double()
        means -= self.tokens.mean()
        total -= (means * self.sums["states"].counts[:, None]).T @ means
        inner = total[width:, width:]
        scale = torch.trace(inner) / width
        regular = inner + WITHIN_RIDGE * scale * torch.eye(width, dtype=inner.dtype, device=inner.device)
        found: Tensor = torch.linalg.solve(regular, total[width:, :width])
        return found


@dataclass(frozen=True)
class PromptedConfig(ManySumsConfig):
    """Settings of `Prompted`."""

    text: str = ""


class Prompted(Method):
    """Mean states of one prompt, and of the words in it."""

    name: ClassVar[str] = "prompted"
    config_type: ClassVar[type[PromptedConfig]] = PromptedConfig
    reads_text: ClassVar[bool] = False
    config: PromptedConfig

    def __init__(self, config: PromptedConfig, run: RunContext) -> None:
        super().__init__(config, run)
        size = len(run.vocabulary), run.width, run.device
        self.parts = {"whole": RowSums(*size), "within": RowSums(*size)}

    @property
    def prompt(self) -> str:
        """The one of the settings."""
        return self.config.text

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe_isolated(self, states: WordStates) -> None:
        """Nothing."""

    def observe_prompted(self, states: WordStates) -> None:
        """Keep the states."""
        known, layer = states.known, self.config.layer
        ids = states.word_ids[known]
        self.sums("whole").add(ids, states.sentences(layer), states.word_sentence[known])
        self.sums("within").add(ids, states.words(layer), known)

    def sums(self, part: str) -> RowSums:
        """Of the whole prompt, or of the word within."""
        found = self.parts[part]
        assert isinstance(found, RowSums)
        return found

    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """Refuse: `Condition` makes tables of the sums."""
        raise NotImplementedError("The search makes its tables itself.")


@dataclass(frozen=True)
class SearchConfig(DistillConfig):
    """A distillation that keeps `ManySums` and makes no table."""

    def specs(self, teacher: Teacher) -> list[MethodSpec]:
        """The sums alone."""
        found: list[MethodSpec] = [Configured("many-sums", ManySums, ManySumsConfig(teacher.depth))]
        for name, text in PROMPTS.items():
            found.append(Configured(name, Prompted, PromptedConfig(teacher.depth, text)))
        return found


@dataclass(eq=False)
class Condition:
    """One teacher and text: its sums, its halves, and rows of blocks that were made before."""

    name: str
    method: ManySums
    halves: DevelopmentHalves
    frequent: Tensor
    order: Tensor
    tables: dict[float, Tensor]
    adjust: Tensor
    seconds: float
    words: int
    rows: dict[tuple[Any, ...], Tensor] = field(default_factory=dict)
    axes: dict[int, Tensor] = field(default_factory=dict)

    def score(self, settings: Settings) -> Scores:
        """Development scores of a table."""
        return self.halves.score(self.table(settings))

    def table(self, settings: Settings) -> Tensor:
        """[V, dim] rows with the lengths of the sentence regression."""
        sentence = self.tables[settings["strength"]]
        parts = [part for name in self.blocks(settings) for part in self.parts(name, settings)]
        common = self.order[: int(settings["common"])]
        chosen = torch.cat([part[common] for part in parts], dim=1)
        mean = chosen.double().mean(dim=0).float()
        chosen = (chosen - mean).double()
        covariance = (chosen.T @ chosen / len(chosen)).float()
        variances, directions = self._leading(covariance, int(settings["dim"]))
        scaled = directions * variances.clamp(min=1e-12) ** -settings["exponent"]
        pieces = torch.split(scaled, [part.shape[1] for part in parts])
        vectors = sum((part @ piece for part, piece in zip(parts, pieces)), start=-mean @ scaled)
        assert isinstance(vectors, Tensor)
        if settings["frequency"]:
            logs = torch.log1p(self.method.sums["states"].counts.float())
            deviation = logs - logs[common].mean()
            slope = deviation[common] @ vectors[common] / (deviation[common] ** 2).sum()
            vectors = vectors - settings["frequency"] * deviation[:, None] * slope
        table: Tensor = normalize(vectors, dim=1) * torch.linalg.vector_norm(sentence, dim=1, keepdim=True)
        return table

    @staticmethod
    def blocks(settings: Settings) -> list[str]:
        """Blocks with a weight."""
        names = [name.removesuffix(".weight") for name in settings if name.endswith(".weight")]
        return [name for name in names if settings[f"{name}.weight"]]

    def parts(self, name: str, settings: Settings) -> Iterator[Tensor]:
        """[V, width] weighted rows of a block; the neighbors are two."""
        weight, exponent = settings[f"{name}.weight"], settings[f"{name}.exponent"]
        prior = settings["context_prior" if name in CONTEXTS else "state_prior"]
        sums = self.method.sums
        sides = [name.replace("neighbors", side) for side in ("left", "right")] if "neighbors" in name else [name]
        for side in sides:
            share = settings["adjusted.share"] if name == "adjusted" else 0.0
            key = side, exponent, prior, settings["strength"] if name == "sentence" else share
            if key not in self.rows:
                if len(self.rows) >= KEPT_BLOCKS:
                    del self.rows[next(iter(self.rows))]
                self.rows[key] = self._unit(side, exponent, prior, settings["strength"], share)
            part = weight * self.rows[key]
            if name in CONTEXTS:
                counts = sums[side].counts[:, None].float()
                part = part * counts / (counts + prior)
            yield part

    def _unit(self, name: str, exponent: float, prior: float, strength: float, share: float) -> Tensor:
        """[V, width] float32 rows of length one; before that, shrunk and whitened."""
        sums = self.method.sums
        if name == "sentence":
            block = Block(as_rows(self.tables[strength]), exponent=exponent)
        elif name == "adjusted":
            block = Block(as_rows(self._adjusted(prior, share)), exponent=exponent)
        elif name.endswith("alone") or name in PROMPTED:
            block = Block(sums[name], exponent=exponent)
        else:
            low = sums["low2.alone"] if name.endswith("0") else sums["alone"]
            isolated = sums[f"{name}.alone"] if name in self.method.lower else low
            block = Block(sums[name], isolated, prior, exponent)
        whitened = WhitenedBlock(block, self.frequent, ROWS_AT_ONCE)
        return torch.cat([whitened(rows).float() for rows in row_blocks(len(self.frequent), ROWS_AT_ONCE)])

    def _adjusted(self, prior: float, share: float) -> Tensor:
        """Mean states less what their contexts let one expect, shrunk."""
        sums = self.method.sums
        context = sums["context"].pooled().double()
        shift = share * (context - self.method.tokens.mean()[self.method.run.width :]) @ self.adjust
        found = RowSums(1, 1, shift.device)
        found.counts = sums["states"].counts
        found.sums = (sums["states"].pooled().double() - torch.where(found.counts[:, None] > 0, shift, 0.0)).float()
        found.sums *= found.counts[:, None]
        shrunk = ShrunkRows(Block(found, sums["alone"], prior), self.frequent)
        return torch.cat([shrunk(rows).float() for rows in row_blocks(len(found.counts), ROWS_AT_ONCE)])

    def _leading(self, covariance: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """About the largest variances and their directions, by subspace iteration from the last ones."""
        size = len(covariance)
        axes, iterations = self.axes.get(size), ITERATIONS
        if axes is None:
            generator = torch.Generator(covariance.device).manual_seed(0)
            shape = (size, min(size, count + SPARE_AXES))
            axes = torch.randn(shape, device=covariance.device, generator=generator)
            iterations = FIRST_ITERATIONS
        for _ in range(iterations):
            axes = torch.linalg.qr(covariance @ axes)[0]
        values, turned = torch.linalg.eigh(axes.T @ covariance @ axes)
        self.axes[size] = axes @ turned
        return values.flip(0)[:count], self.axes[size].flip(1)[:, :count]


def as_rows(table: Tensor) -> RowSums:
    """A table as sums of one observation each."""
    rows = RowSums(1, 1, table.device)
    rows.sums, rows.counts = table, torch.ones(len(table), dtype=torch.int64, device=table.device)
    return rows


def read(name: str, teacher: str, text: str) -> Condition:
    """One pass over a text."""
    config = SearchConfig(
        methods=("ase",), teacher=TeacherConfig(teacher), vocabulary=VocabularyConfig(words=evaluation_words())
    )
    with tempfile.TemporaryDirectory() as folder:
        corpus = open_or_prepare([text], config.prepare, Path(folder), progress=False)
        plan = make_plan(Teacher.from_config(config.teacher), corpus, config)
        start = time.monotonic()
        plan.engine.run()
        seconds = round(time.monotonic() - start, 1)
        words = corpus.n_words
    method, *prompted = plan.engine.methods.values()
    assert isinstance(method, ManySums)
    for prompt, each in zip(PROMPTS, prompted):
        assert isinstance(each, Prompted)
        method.sums |= {f"{prompt}.{part}": each.sums(part) for part in each.parts}
    states = method.sums["states"]
    frequent = frequent_words(states.counts, method.sums["alone"].counts, method.run.width)
    order = torch.argsort(torch.where(frequent, states.counts, 0), descending=True, stable=True)
    prior = shrunk_table(Block(states, method.sums["alone"], START["state_prior"]), frequent)
    tables = {strength: regress(method.bags, prior, strength).table for strength in STRENGTHS}
    halves = DevelopmentHalves(method.run.vocabulary.keys, method.run.device)
    order = order[: int(frequent.sum())]
    print(f"{name}: {words} words in {seconds} s, {len(frequent)} rows, {len(order)} frequent", flush=True)
    return Condition(name, method, halves, frequent, order, tables, method.within_words(), seconds, words)


class Search:
    """A coordinate search for the best mean gain over all conditions."""

    def __init__(self, conditions: list[Condition], start: Settings, options: argparse.Namespace) -> None:
        self.conditions, self.end = conditions, time.monotonic() + options.seconds
        self.analogies, self.only = options.analogies, options.only
        self.tried: dict[tuple[float, ...], float] = {}
        self.best, self.scores = dict(start), self.measure(start)
        self.steps = [{"change": "start", "gain": self.gain(self.scores), "scores": self.scores}]

    def prompts(self) -> dict[str, dict[str, Any]]:
        """What each prompt gains beside the start, best first; only the first ones take part in the search."""
        found = {name: self.measure(self.best | {f"{name}.weight": PROMPT_WEIGHT}) for name in PROMPTED}
        gains = {name: self.gain(scores) for name, scores in found.items()}
        ranked = sorted(found, key=lambda name: -gains[name])
        for name in ranked[SEARCHED_PROMPTS:]:
            del self.best[f"{name}.weight"], self.best[f"{name}.exponent"]
        for name in ranked:
            print(f"{gains[name]:8.3f}  {name}  {found[name]}", flush=True)
        return {name: {"gain": gains[name], "scores": found[name]} for name in ranked}

    def run(self) -> None:
        """Change one setting at a time, in an order that is drawn, until nothing helps or the time is up."""
        generator = random.Random(0)
        while True:
            before, names = self.gain(self.scores), list(self.best)
            generator.shuffle(names)
            for name in names:
                self._improve(name)
                if time.monotonic() > self.end:
                    return
            if self.gain(self.scores) < before + LEAST_GAIN:
                return

    def _improve(self, name: str) -> None:
        if name == "dim" or self._idle(name):
            return
        for value in candidates(name, self.best[name]):
            settings = self.best | {name: value}
            key = tuple(settings.values())
            if key in self.tried or time.monotonic() > self.end:
                continue
            scores = self.measure(settings)
            self.tried[key] = self.gain(scores)
            if self.gain(scores) > self.gain(self.scores) + LEAST_GAIN:
                self.best, self.scores = settings, scores
                self.steps.append({"change": f"{name}={value:g}", "gain": self.gain(scores), "scores": scores})
                print(f"{self.gain(scores):8.3f}  {name}={value:g}  {scores}", flush=True)

    def _idle(self, name: str) -> bool:
        """Whether a setting is one of a block that has no weight or may get none."""
        block, _, what = name.rpartition(".")
        if not block:
            return False
        return bool(self.only and block not in self.only) or (what != "weight" and not self.best[f"{block}.weight"])

    def measure(self, settings: Settings) -> dict[str, Scores]:
        """Scores under each condition."""
        return {each.name: each.score(settings) for each in self.conditions}

    def gain(self, scores: dict[str, Scores]) -> float:
        """The mean of the conditions' gains."""
        return round(float(np.mean([gain(each, self.analogies) for each in scores.values()])), 3)

    def without(self) -> dict[str, Any]:
        """What is lost if a block is left out, or a size changes, at the end."""
        rows = {}
        for block in Condition.blocks(self.best):
            rows[f"without {block}"] = self.measure(self.best | {f"{block}.weight": 0.0})
        for dim in (192, 224, 288, 320, 384):
            rows[f"dim={dim}"] = self.measure(self.best | {"dim": dim})
        return {label: {"gain": self.gain(scores), "scores": scores} for label, scores in rows.items()}


def candidates(name: str, value: float) -> list[float]:
    """Other values of a setting."""
    if name in CHOICES:
        return [each for each in CHOICES[name] if each != value]
    if name.endswith("exponent"):
        return [round(value + step, 3) for step in EXPONENT_STEPS if 0 <= round(value + step, 3) <= 0.6]
    return [round(value * step, 3) for step in STEPS] if value else list(FIRST_WEIGHTS)


def main() -> None:
    """Read every text, search, and write the result."""
    parser = result_parser(MODULE, __doc__, "choice", "teachers and texts")
    parser.add_argument("--run", action="append", required=True, help="NAME=TEACHER,TEXT")
    parser.add_argument("--start", type=Path, help="a result to start from; else the settings of still.v3")
    parser.add_argument("--only", action="append", help="a block that may have a weight; all, if none is named")
    parser.add_argument("--analogies", type=float, default=0.2, help="weight of the analogies in the gain")
    parser.add_argument("--seconds", type=float, default=200, help="time for the search, after the passes")
    options = parser.parse_args()
    conditions = []
    for run in options.run:
        name, _, rest = run.partition("=")
        teacher, _, text = rest.rpartition(",")
        conditions.append(read(name, teacher or TeacherConfig.name, text))
    start = START | (json.loads(options.start.read_text())["best"] if options.start else {})
    if options.only:
        names = [name for name in start if name.endswith(".weight")]
        start |= {name: 0.0 for name in names if name.removesuffix(".weight") not in options.only}
    search = Search(conditions, start, options)
    print(f"start {search.gain(search.scores)} {search.scores}", flush=True)
    prompts = search.prompts()
    facts = {
        **origin(MODULE, options),
        "prompts": prompts,
        "runs": {each.name: {"words": each.words, "seconds": each.seconds} for each in conditions},
    }
    path = options.out / f"{options.name}.json"
    try:
        search.run()
    finally:
        found = {"best": search.best, "tried": len(search.tried), "steps": search.steps}
        write_json(path, {**facts, **found})
    print(f"best {search.gain(search.scores)} {search.best}", flush=True)
    write_json(path, {**facts, **found, "changed": search.without()})


if __name__ == "__main__":
    main()
