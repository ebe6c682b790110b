"""``sent2vec``: the words and word n-grams of a sentence together predict each of its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from wordstill.baselines.base import Baseline, Trained
from wordstill.baselines.ngrams import Examples, leave_one_out, make_bags, source_gradients_of
from wordstill.baselines.progress import refuse_divergence
from wordstill.baselines.text import Stretch, WordText
from wordstill.methods.learning.objectives import pairwise
from wordstill.methods.learning.rows import RowOptimiser, RowTable
from wordstill.methods.ranges import LARGEST, Range, check_ranges
from wordstill.teacher.device import choose_device

CPU_BATCH, GPU_BATCH = 64, 1024
RANGES = {
    "dim": Range(1, 16_384),
    "epochs": Range(1, 1_000_000),
    "ngrams": Range(1, 100),
    "dropped": Range(0, 1_000_000),
    "buckets": Range(1, 1_000_000_000),
    "negatives": Range(1, 10_000),
    "noise_power": Range(0, 100),
    "subsample": Range(0, 1),
    "min_target_count": Range(0, 2**31 - 1),
    "rate": Range(0, LARGEST, above=True),
    "batch": Range(1, 1_000_000),
    "row_limit": Range(1, LARGEST),
}


@dataclass(frozen=True)
class Sent2vecConfig:
    """Settings of `Sent2vec`, with the defaults of the paper's models of Wikipedia."""

    dim: int = 700
    """Size of the vectors."""
    epochs: int = 9
    ngrams: int = 2
    """Words of the longest n-gram; 1 takes words only."""
    dropped: int = 4
    """N-grams that a sentence loses at random each time it is read; one always stays."""
    buckets: int = 2_000_000
    """Rows that all n-grams share by a hash; their memory is buckets x dim float32."""
    negatives: int = 10
    """Negatives for each target; draws of the target itself do not count."""
    noise_power: float = 0.5
    """Power of the counts by which negatives are drawn."""
    subsample: float = 5e-6
    """Threshold above which frequent targets are thinned out; 0 keeps all."""
    min_target_count: int = 20
    """Rarer words are in bags, but neither targets nor negatives."""
    rate: float = 0.2
    """Learning rate at the start; it falls evenly to 0."""
    batch: int | None = None
    """Sentences in a step; None takes 64 on a CPU and 1,024 on a GPU."""
    row_limit: float = 8.0
    """A row that a batch names more often takes the step of so many mean gradients, not of their sum, which
    is too long for frequent words; one by one, as the authors take them, each step would correct the last."""

    def __post_init__(self) -> None:
        check_ranges(self, RANGES)


class Sent2vec(Baseline):
    r"""A sentence without one of its words predicts that word; negative sampling.

    With :math:`R(S)` the words and word n-grams of a sentence, and :math:`v`, :math:`u` two tables:

    .. math::
        \min \sum_S \sum_{w \in S} \ell\big(u_w \cdot \bar v_{S \setminus w}\big)
        + \sum_{n \sim \mathrm{noise}} \ell\big(-u_n \cdot \bar v_{S \setminus w}\big), \qquad
        \bar v_S = \frac{1}{|R(S)|} \sum_{r \in R(S)} v_r, \qquad \ell(x) = \log(1 + e^{-x})

    A word's vector is its :math:`v`. Targets are thinned out, sentences are not.

    Paper: Pagliardini et al. 2018, "Unsupervised Learning of Sentence Embeddings using Compositional n-Gram
    Features"; as word vectors: Gupta et al. 2019, "Better Word Embeddings by Disentangling Contextual n-Gram
    Information".

    Cost: (2 x vocabulary + buckets) x dim float32, 5.6 GB for the n-grams by default. A sentence is summed
    once and each target taken out of it, so that a target costs the same in sentences of any length.
    Deviations: n-grams are dropped once for all targets of a sentence, and those with the target go with it
    (the authors draw for each target, and put a placeholder for it); sentences are shuffled; a step is that
    of a batch of sentences, with the gradients of a row added up, but see ``row_limit``.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="sent2vec:dim=300,ngrams=1")  # doctest: +SKIP
    """

    name: ClassVar[str] = "sent2vec.v1"
    config_type: ClassVar[type[Sent2vecConfig]] = Sent2vecConfig
    package: ClassVar[str] = "torch"
    config: Sent2vecConfig

    def fit(self, text: WordText) -> Trained:
        """Train, epoch by epoch, over shuffled sentences."""
        device = choose_device(self.training.device)
        model = Sent2vecModel(self.config, text, device, self.training.seed)
        size = self.config.batch or (GPU_BATCH if device.type == "cuda" else CPU_BATCH)
        loss, targets = torch.zeros((), dtype=torch.float64, device=device), 0
        with self.meter(text.words * self.config.epochs, "words") as meter:
            for words, sentence in self._batches(text, size):
                examples = model.examples(words.to(device), sentence.to(device))
                if len(examples.targets):
                    loss += model.step(examples, self.config.rate * (1 - meter.share))
                    targets += len(examples.targets)
                meter.advance(len(words))
                if targets and (meter.due() or meter.done == meter.total):
                    mean = float(loss) / targets
                    where = f"{meter.done:,} of {meter.total:,} words"
                    refuse_divergence(mean, setting="sent2vec:rate", value=self.config.rate, where=where)
                    meter.show(mean)
                    loss, targets = torch.zeros_like(loss), 0
        vectors = model.sources.weights[: len(text.vocabulary)].cpu().numpy()
        return Trained(vectors, text.occurring)

    def _batches(self, text: WordText, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Words [W] and their sentences, from 0, [W] of some sentences at a time."""
        generator = np.random.default_rng(self.training.seed)
        for _ in range(self.config.epochs):
            for stretch in text.read(generator.permutation(text.stretches)):
                yield from _shuffled(stretch, size, generator)


class Sent2vecModel:
    """Both tables, and a step of them.

    Args:
        config: The settings.
        text: Whose words get rows.
        device: Where the tables are.
        seed: Of everything random.
    """

    def __init__(self, config: Sent2vecConfig, text: WordText, device: torch.device, seed: int) -> None:
        self.config, self.words = config, len(text.vocabulary)
        self.generator = torch.Generator(device).manual_seed(seed)
        rows = self.words + (config.buckets if config.ngrams > 1 else 0)
        initial = torch.empty(rows, config.dim, device=device)
        initial.uniform_(-1 / config.dim, 1 / config.dim, generator=self.generator)
        self.sources = RowTable(initial, RowOptimiser("sgd"))
        self.targets = RowTable(torch.zeros(self.words, config.dim, device=device), RowOptimiser("sgd"))
        frequent = text.vocabulary.counts >= config.min_target_count
        # In a text where no word is frequent all are targets.
        chosen = text.occurring & (frequent if (frequent & text.occurring).any() else True)
        keep = np.where(chosen, text.vocabulary.keep_probability(config.subsample), 0.0)
        noise = np.where(chosen, text.vocabulary.noise_distribution(config.noise_power), 0.0)
        self.keep = torch.from_numpy(keep).to(device)
        self.noise = torch.from_numpy(noise).to(device)

    def examples(self, words: Tensor, sentence: Tensor) -> Examples:
        """Choose targets and negatives; words [W] and the sentence of each, from 0, [W]."""
        config = self.config
        bags = make_bags(
            words,
            sentence,
            longest=config.ngrams,
            first=self.words,
            buckets=config.buckets,
            dropped=config.dropped,
            noise=self._random(config.ngrams * len(words)),
        )
        # The context of a word that is alone in its sentence would be empty.
        company = torch.bincount(sentence)[sentence] > 1
        positions = torch.nonzero(company & (self._random(len(words)) < self.keep[words])).flatten()
        targets = words[positions]
        return Examples(bags, positions, targets, self._negatives(len(targets)))

    def step(self, examples: Examples, rate: float) -> Tensor:
        """Learn from examples; gives the summed loss."""
        contexts = leave_one_out(self.sources.weights, examples)
        loss, coefficients, slots = self.losses(contexts, examples)
        gradients = self.targets.query_gradients(slots, coefficients)
        rows, source_gradients, named = source_gradients_of(gradients, examples)
        source_gradients *= (self.config.row_limit / named).clamp(max=1.0)[:, None]
        self.targets.step(contexts, slots, coefficients * row_shares(slots, self.config.row_limit), rate)
        self.sources.apply(rows, source_gradients, rate)
        return loss

    def losses(self, contexts: Tensor, examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
        """Summed loss, its derivatives by the scores [T, 1 + N], and the rows these are of [T, 1 + N]."""
        slots = torch.cat([examples.targets[:, None], examples.negatives], dim=1)
        scores = self.targets.scores(contexts, slots)
        drawn = (examples.negatives != examples.targets[:, None]).to(scores.dtype)
        found = pairwise(scores[:, :1], scores[:, 1:], torch.ones_like(scores[:, :1]), drawn)
        return found.total, torch.cat([found.positive, found.negative], dim=1), slots

    def _negatives(self, targets: int) -> Tensor:
        count = targets * self.config.negatives
        # No draws at all are refused by multinomial.
        drawn = torch.multinomial(self.noise, max(1, count), replacement=True, generator=self.generator)
        return drawn[:count].view(targets, self.config.negatives)

    def _random(self, count: int) -> Tensor:
        return torch.rand(count, dtype=torch.float64, device=self.keep.device, generator=self.generator)


def row_shares(slots: Tensor, limit: float) -> Tensor:
    """How much of each slot's gradient counts, so that no row gets more than ``limit`` of them in all."""
    _, place, counts = torch.unique(slots, return_inverse=True, return_counts=True)
    shares: Tensor = (limit / counts).clamp(max=1.0)
    return shares[place]


def _shuffled(
    stretch: Stretch, batch: int, generator: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    bounds = stretch.sentence_bounds()
    order = generator.permutation(len(bounds) - 1)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        lengths = np.diff(bounds)[chosen]
        before = np.cumsum(lengths) - lengths
        places = np.repeat(bounds[chosen] - before, lengths) + np.arange(lengths.sum())
        sentence = np.repeat(np.arange(len(chosen)), lengths)
        yield torch.from_numpy(stretch.ids[places]), torch.from_numpy(sentence)
