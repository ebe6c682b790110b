"""``glove``: products of vectors fitted to the logarithm of how often words stand near each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from wordstill.baselines.base import Baseline, Trained
from wordstill.baselines.cooccurrence import Cooccurrences
from wordstill.baselines.progress import Meter, refuse_divergence
from wordstill.baselines.text import WordText
from wordstill.methods.ranges import LARGEST, Range, check_ranges
from wordstill.prefetch import prefetch
from wordstill.teacher.device import choose_device

CPU_BATCH, GPU_BATCH = 1 << 13, 1 << 16
LEAST_BATCH, LEAST_STEPS = 64, 100
Batch: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""First words, second words and counts of some cells [B] each."""
RANGES = {
    "dim": Range(1, 16_384),
    "epochs": Range(1, 1_000_000),
    "window": Range(1, 1_000),
    "x_max": Range(0, LARGEST, above=True),
    "alpha": Range(0, 100),
    "rate": Range(0, LARGEST, above=True),
    "batch": Range(1, 2**31 - 1),
}


@dataclass(frozen=True)
class GloveConfig:
    """Settings of `Glove`, with the paper's defaults."""

    dim: int = 300
    """Size of the vectors."""
    epochs: int = 100
    """The paper takes 50 for fewer than 300 dimensions."""
    window: int = 10
    """Words to each side; a pair counts 1 / distance."""
    x_max: float = 100.0
    """Counts from here on have the full weight."""
    alpha: float = 0.75
    """How fast the weight of smaller counts falls."""
    rate: float = 0.05
    batch: int | None = None
    """Cells in a step; None takes 8,192 on a CPU and 65,536 on a GPU, and fewer if there are few cells."""

    def __post_init__(self) -> None:
        check_ranges(self, RANGES)


class Glove(Baseline):
    r"""Weighted least squares on the logarithm of co-occurrence counts.

    .. math::
        \min \sum_{ij} f(X_{ij}) \left(w_i \cdot \tilde w_j + b_i + \tilde b_j - \log X_{ij}\right)^2, \qquad
        f(x) = \min\big(1, (x / x_{\max})^\alpha\big)

    A word's vector is :math:`w_i + \tilde w_i`.

    Paper: Pennington et al. 2014, "GloVe: Global Vectors for Word Representation".

    Cost: counting is bounded in memory and spills to the disk, 12 bytes for each pair of words; training
    keeps four tables of vocabulary x (dim + 1) float32, and goes over all pairs in each epoch.
    Deviations: windows stay inside a paragraph; two occurrences of one word near each other count once, not
    from either side. AdaGrad takes a step for a batch of cells, with the gradients of a row added up, where
    the authors' threads take one for each cell; as in its own paper it adds up squares of gradients, the
    present one among them, where the authors' code multiplies them by the rate first.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="glove:dim=100,epochs=50")  # doctest: +SKIP
    """

    name: ClassVar[str] = "glove.v1"
    config_type: ClassVar[type[GloveConfig]] = GloveConfig
    package: ClassVar[str] = "torch"
    config: GloveConfig

    def fit(self, text: WordText) -> Trained:
        """Count, then train over shuffled cells."""
        device = choose_device(self.training.device)
        model = GloveModel(self.config, len(text.vocabulary), device, self.training.seed)
        with TemporaryDirectory(prefix="wordstill-") as folder:
            cells = Cooccurrences(text, self.config.window, Path(folder), seed=self.training.seed)
            if not cells.cells:
                return Trained(model.vectors().cpu().numpy(), np.zeros(len(text.vocabulary), dtype=bool))
            with self.meter(cells.cells * self.config.epochs, "cells") as meter:
                self._train(model, cells, meter)
        return Trained(model.vectors().cpu().numpy(), text.occurring)

    def _train(self, model: GloveModel, cells: Cooccurrences, meter: Meter) -> None:
        usual = GPU_BATCH if model.device.type == "cuda" else CPU_BATCH
        size = self.config.batch or min(usual, max(LEAST_BATCH, cells.cells // LEAST_STEPS))
        loss, seen = torch.zeros((), dtype=torch.float64, device=model.device), 0
        with closing(prefetch(self._parts(cells, model.device), depth=1)) as parts:
            for first, second, counts in (batch for part in parts for batch in _batches(part, size)):
                loss += model.step(first, second, counts)
                seen += len(first)
                meter.advance(len(first))
                if meter.due() or meter.done == meter.total:
                    where = f"{meter.done:,} of {meter.total:,} cells"
                    mean = float(loss) / seen
                    refuse_divergence(mean, setting="glove:rate", value=self.config.rate, where=where)
                    meter.show(mean)
                    loss, seen = torch.zeros_like(loss), 0

    def _parts(self, cells: Cooccurrences, device: torch.device) -> Iterator[Batch]:
        """All cells in each epoch, part by part, shuffled where they are trained on."""
        order = np.random.default_rng(self.training.seed)
        chance = torch.Generator(device).manual_seed(self.training.seed)
        for _ in range(self.config.epochs):
            for keys, counts in cells.read(order):
                shuffled = torch.randperm(len(keys), device=device, generator=chance)
                names = torch.from_numpy(keys).to(device)[shuffled]
                first = names.div(cells.size, rounding_mode="floor")
                yield first, names - first * cells.size, torch.from_numpy(counts).to(device)[shuffled]


class Gradients(NamedTuple):
    """The loss of some cells, and its derivatives."""

    total: Tensor
    left: Tensor
    """By the left rows [B, dim + 1]; the last column is the bias."""
    right: Tensor
    """By the right rows [B, dim + 1]."""


class GloveModel:
    """Both tables with their biases, and a step of them.

    Args:
        config: The settings.
        words: How many rows.
        device: Where the tables are.
        seed: Of the first vectors.
    """

    def __init__(self, config: GloveConfig, words: int, device: torch.device, seed: int) -> None:
        self.config, self.device = config, device
        generator = torch.Generator(device).manual_seed(seed)
        shape = (words, config.dim + 1)

        def table() -> Tensor:
            initial = torch.rand(shape, device=device, generator=generator)
            return (initial - 0.5) / (config.dim + 1)

        self.tables = table(), table()
        # As the authors do, so that the first steps are not longer than the rate times the gradient.
        self.squares = torch.ones(shape, device=device), torch.ones(shape, device=device)

    def step(self, first: Tensor, second: Tensor, counts: Tensor) -> Tensor:
        """Learn from cells and from their mirror images; gives the summed loss.

        Args:
            first: Words [B].
            second: Words that they were seen with [B].
            counts: How often [B].
        """
        mirrored = first != second
        left = torch.cat([first, second[mirrored]])
        right = torch.cat([second, first[mirrored]])
        counts = torch.cat([counts, counts[mirrored]])
        rows = left, right
        found = gradients_of(self.tables[0][left], self.tables[1][right], counts, self.config)
        for table, squares, named, gradient in zip(self.tables, self.squares, rows, found[1:]):
            distinct, place = torch.unique(named, return_inverse=True)
            merged = torch.zeros(len(distinct), gradient.shape[1], device=self.device)
            merged.index_add_(0, place, gradient)
            spread = squares[distinct].addcmul_(merged, merged)
            squares[distinct] = spread
            table[distinct] -= self.config.rate * merged / spread.sqrt_()
        return found.total

    def vectors(self) -> Tensor:
        """[words, dim] the sum of both tables, without biases."""
        return (self.tables[0] + self.tables[1])[:, :-1]


def gradients_of(left: Tensor, right: Tensor, counts: Tensor, config: GloveConfig) -> Gradients:
    """Half the weighted squared error of some cells, summed, and its gradients.

    Args:
        left: Rows with their biases in the last column [B, dim + 1].
        right: Rows with their biases in the last column [B, dim + 1].
        counts: What they stand for [B].
        config: The weighting.
    """
    products = torch.linalg.vecdot(left[:, :-1], right[:, :-1])
    errors = products + left[:, -1] + right[:, -1] - counts.log()
    weights = (counts / config.x_max).pow(config.alpha).clamp(max=1.0)
    slopes = (weights * errors)[:, None]
    by_left, by_right = slopes * right, slopes * left
    # A bias stands by itself.
    by_left[:, -1:] = by_right[:, -1:] = slopes
    return Gradients((0.5 * weights * errors.square()).sum(), by_left, by_right)


def _batches(part: Batch, size: int) -> Iterator[Batch]:
    yield from zip(*(torch.split(tensor, size) for tensor in part))
