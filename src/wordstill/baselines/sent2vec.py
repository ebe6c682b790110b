"""``sent2vec``: the mean of the words and word n-grams of a sentence predicts each of its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from wordstill.baselines.base import Baseline, Dim, Epochs, Stretch, Trained, WordText
from wordstill.baselines.negative_sampling import prediction_losses, row_shares
from wordstill.core.settings import LARGEST, Config, Range
from wordstill.methods.learning.rows import RowOptimizer, RowTable
from wordstill.teacher.device import choose_device

HASH_FACTOR = 0x9E3779B1
CPU_BATCH, GPU_BATCH = 64, 1024


@dataclass(frozen=True)
class Sent2vecConfig(Config):
    """Settings of `Sent2vec`, with the defaults of the paper's Wikipedia models."""

    dim: Dim = 700
    """Size of the vectors."""
    epochs: Epochs = 9
    ngrams: Annotated[int, Range(1, 100)] = 2
    """Words of the longest n-gram; 1 for words only."""
    dropped: Annotated[int, Range(0, 1_000_000)] = 4
    """N-grams of a sentence that are dropped at random in each epoch; one is always kept."""
    buckets: Annotated[int, Range(1, 1_000_000_000)] = 2_000_000
    """Rows that n-grams are hashed to; their memory is buckets x dim float32."""
    negatives: Annotated[int, Range(1, 10_000)] = 10
    """Negatives for each target; draws of the target itself do not count."""
    noise_power: Annotated[float, Range(0, 100)] = 0.5
    """Power of the counts by which negatives are drawn."""
    subsample: Annotated[float, Range(0, 1)] = 5e-6
    """Subsampling threshold for frequent targets; 0 keeps all."""
    min_target_count: Annotated[int, Range(0, 2**31 - 1)] = 20
    """Rarer words are context only, neither targets nor negatives."""
    rate: Annotated[float, Range(0, LARGEST, above=True)] = 0.2
    """Initial learning rate; it falls linearly to 0."""
    batch: Annotated[int | None, Range(1, 1_000_000)] = None
    """Sentences in a step; None means 64 on a CPU and 1,024 on a GPU."""
    row_limit: Annotated[float, Range(1, LARGEST)] = 8.0
    """A row that occurs more often in a batch steps by this many mean gradients instead of the sum, which would be too
    long for frequent words. The authors take one step per word, so that each step corrects the last."""
    order: Literal["batches", "targets"] = "batches"
    """With ``targets``, every target has its own step and dropped n-grams, as the authors do: many times slower."""


class Sent2vec(Baseline):
    r"""A sentence predicts each of its words from the others, with negative sampling.

    With :math:`R(S)` the words and word n-grams of a sentence, and :math:`v`, :math:`u` two tables:

    .. math::
        \min \sum_S \sum_{w \in S} \ell\big(u_w \cdot \bar v_{S \setminus w}\big)
        + \sum_{n \sim \mathrm{noise}} \ell\big(-u_n \cdot \bar v_{S \setminus w}\big), \qquad
        \bar v_S = \frac{1}{|R(S)|} \sum_{r \in R(S)} v_r, \qquad \ell(x) = \log(1 + e^{-x})

    A word's vector is its :math:`v`. Targets are subsampled, contexts are not.

    Paper: Pagliardini et al. 2018, "Unsupervised Learning of Sentence Embeddings using Compositional n-Gram
    Features"; as word vectors: Gupta et al. 2019, "Better Word Embeddings by Disentangling Contextual n-Gram
    Information".

    Inputs: running text; phrases of several words get no vector.
    Cost: (2 x vocabulary + buckets) x dim float32, 5.6 GB for the n-grams by default. A sentence is summed
    once and each target subtracted, so a target costs the same in sentences of any length.
    Relations: as `Cbow` with the whole sentence as the window, and with word n-grams; `X2Static` uses the teacher's
    states in place of the mean.
    Deviations: n-grams are dropped once for all targets of a sentence, and those that contain the target are removed
    with it (the authors draw for each target, and replace it by a placeholder); sentences are shuffled; a step sums
    the gradients of a row over a batch of sentences, but see ``row_limit`` and ``order``.

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
        with self.meter(text.words * self.config.epochs, "words", self.config.rate) as meter:
            for words, sentence in self._batches(text, size):
                loss, targets = torch.zeros((), dtype=torch.float64, device=device), 0
                for examples in model.turns(words.to(device), sentence.to(device)):
                    loss += model.step(examples, self.config.rate * (1 - meter.share))
                    targets += len(examples.targets)
                meter.advance(len(words), loss, targets)
        vectors = model.sources.weights[: len(text.vocabulary)].cpu().numpy()
        return Trained(vectors, text.occurring)

    def _batches(self, text: WordText, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches of shuffled sentences: words [W], and the sentence of each, from 0 [W]."""
        rng = np.random.default_rng(self.training.seed)
        for _ in range(self.config.epochs):
            for stretch in text.read(rng.permutation(text.stretches)):
                yield from _shuffled(stretch, size, rng)


class Sent2vecModel:
    """Both tables, the sampling of examples, and the SGD step."""

    def __init__(self, config: Sent2vecConfig, text: WordText, device: torch.device, seed: int) -> None:
        self.config, self.words = config, len(text.vocabulary)
        self.rng = torch.Generator(device).manual_seed(seed)
        rows = self.words + (config.buckets if config.ngrams > 1 else 0)
        initial = torch.empty(rows, config.dim, device=device)
        initial.uniform_(-1 / config.dim, 1 / config.dim, generator=self.rng)
        self.sources = RowTable(initial, RowOptimizer("sgd"))
        self.targets = RowTable(torch.zeros(self.words, config.dim, device=device), RowOptimizer("sgd"))
        frequent = text.vocabulary.counts >= config.min_target_count
        # If no word is frequent, all are targets.
        chosen = text.occurring & (frequent if (frequent & text.occurring).any() else True)
        keep = np.where(chosen, text.vocabulary.keep_probability(config.subsample), 0.0)
        noise = np.where(chosen, text.vocabulary.noise_distribution(config.noise_power), 0.0)
        self.keep = torch.from_numpy(keep).to(device)
        self.noise = torch.from_numpy(noise).to(device)

    def turns(self, words: Tensor, sentence: Tensor) -> Iterator[Examples]:
        """The examples of each step for words [W], given the sentence of each, from 0 [W]."""
        if self.config.order == "batches":
            examples = self.examples(words, sentence)
            if len(examples.targets):
                yield examples
            return
        for own in torch.split(words, torch.bincount(sentence).tolist()):
            alone = torch.zeros_like(own)
            examples = self.examples(own, alone)
            for one in range(len(examples.targets)):
                positions, targets, negatives = (tensor[one : one + 1] for tensor in examples[1:])
                yield Examples(self._bags(own, alone), positions, targets, negatives)

    def examples(self, words: Tensor, sentence: Tensor) -> Examples:
        """Sample targets and negatives of words [W], given the sentence of each, from 0 [W]."""
        bags = self._bags(words, sentence)
        # A word alone in its sentence has an empty context.
        has_context = torch.bincount(sentence)[sentence] > 1
        positions = torch.nonzero(has_context & (self._random(len(words)) < self.keep[words])).flatten()
        targets = words[positions]
        return Examples(bags, positions, targets, self._negatives(len(targets)))

    def step(self, examples: Examples, learning_rate: float) -> Tensor:
        """Take a step on examples, and return the summed loss."""
        contexts = leave_one_out(self.sources.weights, examples)
        loss, coefficients, slots = prediction_losses(self.targets, contexts, examples.targets, examples.negatives)
        gradients = self.targets.query_gradients(slots, coefficients)
        rows, source_gradients, named = source_gradients_of(gradients, examples)
        source_gradients *= (self.config.row_limit / named).clamp(max=1.0)[:, None]
        coefficients = coefficients * row_shares(slots, self.config.row_limit)
        self.targets.step(contexts, slots, coefficients, learning_rate)
        self.sources.apply(rows, source_gradients, learning_rate)
        return loss

    def _bags(self, words: Tensor, sentence: Tensor) -> Bags:
        return make_bags(words, sentence, self.words, self.config, self._random(self.config.ngrams * len(words)))

    def _negatives(self, targets: int) -> Tensor:
        count = targets * self.config.negatives
        # multinomial refuses to draw nothing.
        drawn = torch.multinomial(self.noise, max(1, count), replacement=True, generator=self.rng)
        return drawn[:count].view(targets, self.config.negatives)

    def _random(self, count: int) -> Tensor:
        return torch.rand(count, dtype=torch.float64, device=self.keep.device, generator=self.rng)


@dataclass(frozen=True)
class Bags:
    """Words and n-grams of some sentences, and the n-grams that contain each word. S sentences, W words."""

    rows: Tensor
    """Row of each word, then of each kept n-gram [M]."""
    sentence: Tensor
    """Sentence of each of these, from 0 [M]."""
    sizes: Tensor
    """Number of rows of each sentence [S]."""
    parts: Tensor
    """Indices in ``rows`` of each word and of the n-grams that contain it, -1 for none [W, P]."""


class Examples(NamedTuple):
    """Targets with their contexts and negatives. T targets."""

    bags: Bags
    positions: Tensor
    """Indices of the targets among the words of the bags [T]."""
    targets: Tensor
    """Their ids [T]."""
    negatives: Tensor
    """Ids of negatives [T, N]."""


def make_bags(words: Tensor, sentence: Tensor, first: int, config: Sent2vecConfig, noise: Tensor) -> Bags:
    """Words and n-grams of some sentences.

    Args:
        words: Word ids in reading order [W].
        sentence: Of each word, from 0, ascending [W].
        first: Row of the first n-gram, after the rows of words.
        config: Settings of n-grams.
        noise: Random numbers that choose the dropped n-grams [at least (ngrams - 1) W].
    """
    device, count, longest = words.device, len(words), config.ngrams
    starts, lengths, rows = _ngrams(words, sentence, longest, config.buckets)
    kept = _survivors(sentence[starts], noise[: len(starts)], config.dropped)
    starts, lengths, rows = starts[kept], lengths[kept], rows[kept]
    # Index in the bag of the n-gram of each length that begins at each word, -1 for none.
    place = torch.full((longest + 1, count), -1, dtype=torch.int64, device=device)
    place[lengths, starts] = count + torch.arange(len(starts), device=device)
    columns = [torch.arange(count, device=device)]
    for length in range(2, longest + 1):
        for offset in range(length):
            # The n-gram that began ``offset`` words ago contains this word.
            column = torch.full((count,), -1, dtype=torch.int64, device=device)
            column[offset:] = place[length, : count - offset]
            columns.append(column)
    owners = torch.cat([sentence, sentence[starts]])
    return Bags(torch.cat([words, first + rows]), owners, torch.bincount(owners), torch.stack(columns, dim=1))


def leave_one_out(table: Tensor, examples: Examples) -> Tensor:
    """For each target, the mean of its sentence without the target and its n-grams [T, dim]."""
    bags = examples.bags
    sums = torch.zeros(len(bags.sizes), table.shape[1], dtype=table.dtype, device=table.device)
    sums.index_add_(0, bags.sentence, table[bags.rows])
    contexts = sums[bags.sentence[examples.positions]]
    for places in bags.parts[examples.positions].unbind(1):
        there = (places >= 0)[:, None]
        contexts -= torch.where(there, table[bags.rows[places.clamp(min=0)]], 0.0)
    return contexts / _sizes(examples)[:, None]


def source_gradients_of(gradients: Tensor, examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    """Backpropagate the gradients of contexts [T, dim] to the rows that these are means of.

    Returns:
        The distinct rows [U], their gradients [U, dim], and the number of contexts that each sums over, where
        a context of n rows counts 1 / n [U].
    """
    bags = examples.bags
    shares = torch.cat([gradients, torch.ones_like(gradients[:, :1])], dim=1) / _sizes(examples)[:, None]
    sums = torch.zeros(len(bags.sizes), shares.shape[1], dtype=shares.dtype, device=shares.device)
    sums.index_add_(0, bags.sentence[examples.positions], shares)
    distinct, place = torch.unique(bags.rows, return_inverse=True)
    merged = torch.zeros(len(distinct), shares.shape[1], dtype=shares.dtype, device=shares.device)
    merged.index_add_(0, place, sums[bags.sentence])
    for places in bags.parts[examples.positions].unbind(1):
        there = torch.nonzero(places >= 0).flatten()
        merged.index_add_(0, place[places[there]], shares[there], alpha=-1)
    return distinct, merged[:, :-1], merged[:, -1].clamp(min=torch.finfo(merged.dtype).tiny)


def _ngrams(words: Tensor, sentence: Tensor, longest: int, buckets: int) -> tuple[Tensor, Tensor, Tensor]:
    """First word, length and bucket of every n-gram inside a sentence."""
    count, device = len(words), words.device
    empty = torch.empty(0, dtype=torch.int64, device=device)
    starts, lengths, hashes = [empty], [empty], [empty]
    code = words + 1
    for length in range(2, longest + 1):
        left = max(0, count - length + 1)
        # Products beyond 64 bits wrap around, the same on every device.
        code = code[:left] * HASH_FACTOR + words[length - 1 :] + 1
        inside = torch.nonzero(sentence[:left] == sentence[length - 1 :]).flatten()
        starts.append(inside)
        lengths.append(torch.full_like(inside, length))
        hashes.append(code[inside].remainder(buckets))
    return torch.cat(starts), torch.cat(lengths), torch.cat(hashes)


def _survivors(sentence: Tensor, noise: Tensor, dropped: int) -> Tensor:
    """Which n-grams are kept, given the sentence of each."""
    if dropped == 0 or not len(sentence):
        return torch.ones(len(sentence), dtype=torch.bool, device=sentence.device)
    order = torch.argsort(noise)
    order = order[torch.argsort(sentence[order], stable=True)]
    counts = torch.bincount(sentence)
    starts = torch.cumsum(counts, dim=0) - counts
    rank = torch.arange(len(order), device=order.device) - starts[sentence[order]]
    kept = torch.empty(len(order), dtype=torch.bool, device=order.device)
    kept[order] = rank >= torch.clamp(counts - 1, max=dropped)[sentence[order]]
    return kept


def _sizes(examples: Examples) -> Tensor:
    """Number of rows of each context [T]."""
    own = (examples.bags.parts[examples.positions] >= 0).sum(dim=1)
    return examples.bags.sizes[examples.bags.sentence[examples.positions]] - own


def _shuffled(stretch: Stretch, batch: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    bounds = stretch.sentence_bounds()
    order = rng.permutation(len(bounds) - 1)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        lengths = np.diff(bounds)[chosen]
        before = np.cumsum(lengths) - lengths
        places = np.repeat(bounds[chosen] - before, lengths) + np.arange(lengths.sum())
        sentence = np.repeat(np.arange(len(chosen)), lengths)
        yield torch.from_numpy(stretch.ids[places]), torch.from_numpy(sentence)
