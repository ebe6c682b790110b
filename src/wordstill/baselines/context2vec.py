"""``context2vec``: two LSTMs read the words on the left and right of a word and predict it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordstill.baselines.base import Baseline, Dim, Epochs, Stretch, Trained, WordText
from wordstill.baselines.negative_sampling import PredictedTable
from wordstill.core.settings import Config, Range
from wordstill.methods.learning.rows import RowOptimizer, RowTable
from wordstill.teacher.device import choose_device

ADAM = RowOptimizer("lazy-adam")
MAX_SENTENCE_WORDS = 64
"""Longer sentences are read in pieces; the authors drop them."""


@dataclass(frozen=True)
class Context2vecConfig(Config):
    """Settings of `Context2vec`, with the paper's sizes and the defaults of the authors' program."""

    dim: Dim = 600
    """Size of the vectors and of the LSTMs, whose inputs have half as many dimensions."""
    epochs: Epochs = 10
    negatives: Annotated[int, Range(1, 10_000)] = 10
    """Negatives for each word; draws of the word itself do not count."""
    noise_power: Annotated[float, Range(0, 100)] = 0.75
    """Power of the counts by which negatives are drawn."""
    rate: Annotated[float, Range(0, 1e30, above=True)] = 1e-3
    """Learning rate of Adam."""
    batch: Annotated[int, Range(1, 1_000_000)] = 100
    """Sentences in a step, of about one length."""


class Context2vec(Baseline):
    r"""Two LSTMs, over the words on the left and on the right of a word, predict it, with negative sampling.

    .. math::
        c_i = L_2 \, \mathrm{ReLU}\big(L_1 [\mathrm{lLS}(w_{1:i-1}) \oplus \mathrm{rLS}(w_{n:i+1})]\big), \qquad
        \max \sum_i \log \sigma(t_{w_i} \cdot c_i) + \sum_{n \sim \mathrm{noise}} \log \sigma(-t_n \cdot c_i)

    A word's vector is its target embedding :math:`t`. The word itself is never read for its own context.

    Paper: Melamud et al. 2016, "context2vec: Learning Generic Context Embedding with Bidirectional LSTM"; the row
    ContextLSTM of Context-to-Vec.

    Inputs: running text; phrases of several words get no vector.
    Cost: six tables of vocabulary x dim float32, including Adam's, and two LSTMs: about 30 million products per word
    at 600 dimensions, so a GPU is needed for more than a few million words.
    Relations: as `Cbow`, but the context is the whole sentence, read in order.
    Deviations: words outside the vocabulary are dropped before reading, whereas the authors replace them all by one
    token; a sentence of more than 64 words is split, not dropped; the loss is a mean over the batch, not a sum, which
    changes little under Adam.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="context2vec:dim=300")  # doctest: +SKIP
    """

    name: ClassVar[str] = "context2vec.v1"
    config_type: ClassVar[type[Context2vecConfig]] = Context2vecConfig
    package: ClassVar[str] = "torch"
    config: Context2vecConfig

    def fit(self, text: WordText) -> Trained:
        """Train over shuffled batches of sentences of similar length."""
        config, device = self.config, choose_device(self.training.device)
        counts = np.where(text.occurring, text.vocabulary.counts, 0)
        model = Context2vecModel(config, counts, device, self.training.seed)
        with self.meter(text.words * config.epochs, "words", config.rate) as meter:
            for ids in self._batches(text):
                words = torch.from_numpy(ids).to(device)
                targets = int((ids >= 0).sum())
                meter.advance(targets, model.step(words, model.targets.draw(targets)).double(), targets)
        return Trained(model.targets.table.weights.cpu().numpy(), text.occurring)

    def _batches(self, text: WordText) -> Iterator[NDArray[np.int64]]:
        rng = np.random.default_rng(self.training.seed)
        for _ in range(self.config.epochs):
            for stretch in text.read(rng.permutation(text.stretches)):
                yield from sentence_batches(stretch, self.config.batch, rng)


class Context2vecModel:
    """All tables, the encoder of contexts, and the Adam step."""

    def __init__(
        self,
        config: Context2vecConfig,
        counts: NDArray[np.int64],
        device: torch.device,
        seed: int,
        optimizer: RowOptimizer = ADAM,
    ) -> None:
        self.rate, words = config.rate, len(counts)
        generator = torch.Generator(device).manual_seed(seed)
        narrow = max(1, config.dim // 2)
        # The last row marks the start and the end of a sentence.
        self.sides = [
            RowTable(torch.randn(words + 1, narrow, device=device, generator=generator) / narrow**0.5, optimizer)
            for _ in range(2)
        ]
        self.targets = PredictedTable(counts, config.dim, config.noise_power, config.negatives, optimizer, generator)
        self.encoder = BidirectionalEncoder(narrow, config.dim, generator)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), config.rate)
        self.edge = words

    def step(self, ids: Tensor, negatives: Tensor) -> Tensor:
        """Take a step on sentences [S, L], padded with -1, with negatives of all words [W, N]; return the loss."""
        read, rows = [], []
        for table, inputs in zip(self.sides, both_sides(ids, self.edge)):
            distinct, place = torch.unique(inputs, return_inverse=True)
            rows.append((distinct, table.weights[distinct].requires_grad_()))
            read.append(rows[-1][1][place])
        queries = self.encoder(*read, ids)
        targets = ids[ids >= 0]
        loss, gradients = self.targets.learn(queries.detach(), targets, negatives, self.rate, scale=1 / len(targets))
        self.optimizer.zero_grad()
        queries.backward(gradients)
        for table, (distinct, used) in zip(self.sides, rows):
            assert used.grad is not None
            table.apply(distinct, used.grad, self.rate)
        self.optimizer.step()
        return loss


class BidirectionalEncoder(nn.Module):
    """Encodes the context of every word of a sentence."""

    def __init__(self, narrow: int, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        device = generator.device
        self.left = nn.LSTM(narrow, dim, batch_first=True, device=device)
        self.right = nn.LSTM(narrow, dim, batch_first=True, device=device)
        self.first = nn.Linear(2 * dim, 2 * dim, device=device)
        self.second = nn.Linear(2 * dim, dim, device=device)
        with torch.no_grad():
            for weights in self.parameters():
                # As in torch, but drawn by our generator.
                bound = dim**-0.5 if weights.dim() == 1 else weights.shape[1] ** -0.5
                weights.uniform_(-bound, bound, generator=generator)

    def forward(self, left: Tensor, right: Tensor, ids: Tensor) -> Tensor:
        """[W, dim] contexts of the W words of sentences [S, L], given the inputs of both LSTMs [S, L, narrow]."""
        forward, _ = self.left(left)
        backward, _ = self.right(right)
        backward = backward.gather(1, mirrored(ids)[:, :, None].expand_as(backward))
        both = torch.cat([forward, backward], dim=2)[ids >= 0]
        contexts: Tensor = self.second(self.first(both).relu())
        return contexts


def both_sides(ids: Tensor, edge: int) -> tuple[Tensor, Tensor]:
    """The inputs of each LSTM for sentences [S, L], padded with -1: the edge, then all words but the last."""
    backwards = ids.gather(1, mirrored(ids))
    edges = torch.full_like(ids[:, :1], edge)
    left, right = (torch.cat([edges, words[:, :-1]], dim=1) for words in (ids, backwards))
    # Inputs after the end of a sentence have no effect.
    return left.where(left >= 0, edge), right.where(right >= 0, edge)


def mirrored(ids: Tensor) -> Tensor:
    """For each position, the index of the word at the same distance from the end of the sentence [S, L]."""
    places = torch.arange(ids.shape[1], device=ids.device)
    lengths = (ids >= 0).sum(dim=1, keepdim=True)
    return torch.where(places < lengths, lengths - 1 - places, places)


def sentence_batches(
    stretch: Stretch, size: int, rng: np.random.Generator, most_words: int = MAX_SENTENCE_WORDS
) -> Iterator[NDArray[np.int64]]:
    """Shuffled batches of sentences of similar length, as ids [S, L] padded with -1."""
    pieces = [
        (start, min(start + most_words, end))
        for first, end in pairwise(stretch.sentence_bounds().tolist())
        for start in range(first, end, most_words)
    ]
    bounds = np.array(pieces, dtype=np.int64).reshape(-1, 2)
    bounds = bounds[rng.permutation(len(bounds))]
    lengths = bounds[:, 1] - bounds[:, 0]
    order = np.argsort(lengths, kind="stable")
    starts = np.arange(0, len(order), size)
    for start in rng.permutation(starts):
        chosen = order[start : start + size]
        places = bounds[chosen, :1] + np.arange(lengths[chosen].max())
        inside = places < bounds[chosen, 1:]
        yield np.where(inside, stretch.ids[np.where(inside, places, 0)], -1)
