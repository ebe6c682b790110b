"""``glove``: products of vectors fitted to the logarithm of co-occurrence counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.baselines.base import Baseline, Dim, Epochs, Meter, Stretch, Trained, WordText
from wordstill.core.files import disk_errors
from wordstill.core.settings import LARGEST, Config, Range
from wordstill.core.threads import prefetch
from wordstill.corpus.disk_arrays import ArrayWriter, read_array
from wordstill.teacher.device import choose_device

CELLS_IN_MEMORY = 1 << 24
CPU_BATCH, GPU_BATCH = 1 << 13, 1 << 16
MIN_BATCH, MIN_STEPS = 64, 100
Run: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Keys of pairs in ascending order, and their sums."""
Batch: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""First words, second words and counts of some cells [B] each."""


@dataclass(frozen=True)
class GloveConfig(Config):
    """Settings of `Glove`, with the paper's defaults."""

    dim: Dim = 300
    """Size of the vectors."""
    epochs: Epochs = 100
    """The paper uses 50 for fewer than 300 dimensions."""
    window: Annotated[int, Range(1, 1_000)] = 10
    """Words to each side; a pair counts 1 / distance."""
    x_max: Annotated[float, Range(0, LARGEST, above=True)] = 100.0
    """Counts from this on have full weight."""
    alpha: Annotated[float, Range(0, 100)] = 0.75
    """Exponent of the weight of smaller counts."""
    rate: Annotated[float, Range(0, LARGEST, above=True)] = 0.05
    """Learning rate of AdaGrad."""
    batch: Annotated[int | None, Range(1, 2**31 - 1)] = None
    """Cells in a step; None means 8,192 on a CPU and 65,536 on a GPU, or fewer if there are few cells."""
    squares: Literal["batches", "cells"] = "batches"
    """What AdaGrad accumulates: squared gradients of whole batches or, as in the authors' code, squared steps of single
    cells, with which steps shrink much more slowly."""
    row_limit: Annotated[float, Range(1, LARGEST)] = 8.0
    """With ``cells``, a row that occurs more often in a batch takes this many mean steps instead of the sum."""


class Glove(Baseline):
    r"""Weighted least squares on the logarithm of co-occurrence counts.

    .. math::
        \min \sum_{ij} f(X_{ij}) \left(w_i \cdot \tilde w_j + b_i + \tilde b_j - \log X_{ij}\right)^2, \qquad
        f(x) = \min\big(1, (x / x_{\max})^\alpha\big)

    A word's vector is :math:`w_i + \tilde w_i`.

    Paper: Pennington et al. 2014, "GloVe: Global Vectors for Word Representation".

    Inputs: running text; phrases of several words get no vector.
    Cost: counting is bounded in memory and spills to the disk, 12 bytes for each pair of words; training
    keeps four tables of vocabulary x (dim + 1) float32, and reads all pairs in each epoch.
    Relations: as `Skipgram`, but pairs are counted first, and each distinct pair is used once in an epoch.
    Deviations: windows stay inside a paragraph; two occurrences of one word near each other count once, not twice.
    AdaGrad steps once per batch of cells with the summed gradients of a row, whereas the authors' threads step once
    per cell. As in AdaGrad's own paper, squared gradients are accumulated, including the current one; the authors'
    code first multiplies them by the learning rate (``squares=cells``).

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
            with self.meter(cells.cells * self.config.epochs, "cells", self.config.rate) as meter:
                self._train(model, cells, meter)
        return Trained(model.vectors().cpu().numpy(), text.occurring)

    def _train(self, model: GloveModel, cells: Cooccurrences, meter: Meter) -> None:
        usual = GPU_BATCH if model.device.type == "cuda" else CPU_BATCH
        size = self.config.batch or min(usual, max(MIN_BATCH, cells.cells // MIN_STEPS))
        with closing(prefetch(self._parts(cells, model.device), depth=1)) as parts:
            for part in parts:
                for batch in zip(*(torch.split(tensor, size) for tensor in part)):
                    meter.advance(len(batch[0]), model.step(*batch).double(), len(batch[0]))

    def _parts(self, cells: Cooccurrences, device: torch.device) -> Iterator[Batch]:
        """All cells in each epoch, part by part, shuffled on the device."""
        part_rng = np.random.default_rng(self.training.seed)
        rng = torch.Generator(device).manual_seed(self.training.seed)
        for _ in range(self.config.epochs):
            for keys, counts in cells.read(part_rng):
                shuffled = torch.randperm(len(keys), device=device, generator=rng)
                names = torch.from_numpy(keys).to(device)[shuffled]
                first = names.div(cells.size, rounding_mode="floor")
                yield first, names - first * cells.size, torch.from_numpy(counts).to(device)[shuffled]


class GloveModel:
    """Both tables with their biases, and their AdaGrad step; ``seed`` is for the initial vectors."""

    def __init__(self, config: GloveConfig, words: int, device: torch.device, seed: int) -> None:
        self.config, self.device = config, device
        rng = torch.Generator(device).manual_seed(seed)
        shape = (words, config.dim + 1)

        def table() -> Tensor:
            initial = torch.rand(shape, device=device, generator=rng)
            return (initial - 0.5) / (config.dim + 1)

        self.tables = table(), table()
        # As the authors do, so that the first steps are at most the learning rate times the gradient.
        self.squares = torch.ones(shape, device=device), torch.ones(shape, device=device)

    def step(self, first: Tensor, second: Tensor, counts: Tensor) -> Tensor:
        """Learn from cells in both directions, given as in a `Batch`, and return the summed loss."""
        mirrored = first != second
        left = torch.cat([first, second[mirrored]])
        right = torch.cat([second, first[mirrored]])
        counts = torch.cat([counts, counts[mirrored]])
        rows = left, right
        found = gradients_of(self.tables[0][left], self.tables[1][right], counts, self.config)
        for table, squares, named, gradient in zip(self.tables, self.squares, rows, found[1:]):
            distinct, place, times = torch.unique(named, return_inverse=True, return_counts=True)
            merged = _added(gradient, place, len(distinct))
            if self.config.squares == "batches":
                spread = squares[distinct].addcmul_(merged, merged)
                squares[distinct] = spread
            else:
                # In the authors' order: a step is divided by the squares before it.
                spread = squares[distinct]
                squares[distinct] += self.config.rate**2 * _added(gradient.square(), place, len(distinct))
                merged *= (self.config.row_limit / times).clamp(max=1.0)[:, None]
            table[distinct] -= self.config.rate * merged / spread.sqrt_()
        return found.total

    def vectors(self) -> Tensor:
        """[words, dim] the sum of both tables, without biases."""
        return (self.tables[0] + self.tables[1])[:, :-1]


def _added(rows: Tensor, place: Tensor, count: int) -> Tensor:
    """[count, dim] sums of the rows with the same index in ``place``."""
    return torch.zeros(count, rows.shape[1], device=rows.device).index_add_(0, place, rows)


class Gradients(NamedTuple):
    """The loss of some cells and its gradients."""

    total: Tensor
    left: Tensor
    """Of the left rows [B, dim + 1]; the last column is the bias."""
    right: Tensor
    """Of the right rows [B, dim + 1]."""


def gradients_of(left: Tensor, right: Tensor, counts: Tensor, config: GloveConfig) -> Gradients:
    """Half the weighted squared error of some cells, summed, and its gradients.

    Args:
        left: Rows with their biases in the last column [B, dim + 1].
        right: Likewise [B, dim + 1].
        counts: Their co-occurrence counts [B].
        config: The weighting.
    """
    products = torch.linalg.vecdot(left[:, :-1], right[:, :-1])
    errors = products + left[:, -1] + right[:, -1] - counts.log()
    weights = (counts / config.x_max).pow(config.alpha).clamp(max=1.0)
    slopes = (weights * errors)[:, None]
    by_left, by_right = slopes * right, slopes * left
    # The derivative by a bias is the slope itself.
    by_left[:, -1:] = by_right[:, -1:] = slopes
    return Gradients((0.5 * weights * errors.square()).sum(), by_left, by_right)


class Cells(NamedTuple):
    """Co-occurrence counts of some pairs of words; each occurrence counts 1 / distance."""

    keys: NDArray[np.int64]
    """First word times the number of words, plus the second word; ascending."""
    values: NDArray[np.float32]


class Cooccurrences:
    """The co-occurrence counts of a text, on disk in parts, each a random sample of all cells.

    A pair is one cell, whichever word comes first. Cells are counted in sorted runs, which are merged range
    by range; memory is about 60 bytes for each cell of ``limit``, whatever the length of the text.

    Args:
        text: The text to count.
        window: Words to each side, inside a paragraph.
        folder: An existing empty folder for the counts.
        seed: Of the shuffling.
        limit: Cells to hold in memory.

    Attributes:
        cells: Number of cells.
    """

    def __init__(
        self, text: WordText, window: int, folder: Path, *, seed: int = 0, limit: int = CELLS_IN_MEMORY
    ) -> None:
        self.size, self.folder = len(text.vocabulary), folder
        with disk_errors(folder):
            runs = self._count(text, window, limit)
            total = sum(len(keys) for keys, _ in runs)
            self.parts = max(1, -(-total // limit))
            self.cells = self._merge(runs, np.random.default_rng(seed), limit)

    def read(self, rng: np.random.Generator) -> Iterator[Cells]:
        """All cells, in parts; the parts in random order, each a random sample of the cells."""
        for part in rng.permutation(self.parts):
            keys, values = _load(self.folder / f"part-{part}")
            yield Cells(np.array(keys), np.array(values, dtype=np.float32))

    def _count(self, text: WordText, window: int, limit: int) -> list[Run]:
        """Sorted runs of distinct keys with their sums."""
        runs: list[Run] = []
        held: list[Run] = []
        for stretch in text.read():
            for distance in range(1, window + 1):
                held.append(_pairs(stretch, distance, self.size))
                if sum(len(keys) for keys, _ in held) >= limit:
                    held = [_summed(held)]
                    if len(held[0][0]) >= limit // 2:
                        runs.append(self._spilled(held.pop(), len(runs)))
        return [*runs, _summed(held)] if held else runs

    def _spilled(self, run: Run, number: int) -> Run:
        stem = self.folder / f"run-{number}"
        for what, numbers in zip(("keys", "values"), run):
            np.save(_file(stem, what), numbers)
        return _load(stem)

    def _merge(self, runs: list[Run], rng: np.random.Generator, limit: int) -> int:
        """Sum the runs, one range of keys at a time, and assign the cells to parts at random."""
        cells = 0
        with ExitStack() as stack:
            writers = [
                [
                    stack.enter_context(ArrayWriter(_file(self.folder / f"part-{part}", what), kind))
                    for what, kind in (("keys", np.int64), ("values", np.float32))
                ]
                for part in range(self.parts)
            ]
            for run in _ranges(runs, limit):
                cells += len(run[0])
                part_of_cell = rng.integers(0, self.parts, len(run[0]))
                for part, (keys, values) in enumerate(writers):
                    chosen = part_of_cell == part
                    keys.extend(run[0][chosen])
                    values.extend(run[1][chosen])
        for path in self.folder.glob("run-*"):
            path.unlink()
        return cells


def _pairs(stretch: Stretch, distance: int, size: int) -> Run:
    """Keys of all pairs of words at a distance inside a paragraph, and their weights; sorted, each once."""
    ids, paragraph = stretch.ids, stretch.paragraph
    together = np.flatnonzero(paragraph[distance:] == paragraph[:-distance])
    one, two = ids[together], ids[together + distance]
    keys, counts = np.unique(np.minimum(one, two) * size + np.maximum(one, two), return_counts=True)
    return keys, counts / distance


def _summed(runs: list[Run]) -> Run:
    """Several runs summed into one."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in runs]), return_inverse=True)
    weights = np.concatenate([values for _, values in runs])
    sums: NDArray[np.float64] = np.bincount(place, weights=weights, minlength=len(keys)).astype(np.float64)
    return keys, sums


def _ranges(runs: list[Run], limit: int) -> Iterator[Run]:
    """The sum of sorted runs in ranges of keys, each of about ``limit`` cells before summing."""
    positions = [0] * len(runs)
    while any(position < len(keys) for position, (keys, _) in zip(positions, runs)):
        step = max(1, limit // len(runs))
        # The range ends at the smallest of the keys at which the runs' next steps end.
        ends = [
            int(keys[min(position + step, len(keys)) - 1])
            for position, (keys, _) in zip(positions, runs)
            if position < len(keys)
        ]
        stops = [int(np.searchsorted(keys, min(ends), side="right")) for keys, _ in runs]
        yield _summed([(keys[low:high], values[low:high]) for low, high, (keys, values) in zip(positions, stops, runs)])
        positions = stops


def _file(stem: Path, what: str) -> Path:
    return stem.with_name(f"{stem.name}-{what}.npy")


def _load(stem: Path) -> Run:
    return read_array(_file(stem, "keys")), read_array(_file(stem, "values"))
