"""``deps``: skip-gram whose contexts are the neighbors of a word in its dependency tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.baselines.base import Baseline, Dim, Epochs, Trained, WordText
from wordstill.baselines.negative_sampling import PredictedTable, row_shares
from wordstill.baselines.tree_text import Arcs, TreeText
from wordstill.core.ragged import find_sorted
from wordstill.core.settings import LARGEST, Config, Range
from wordstill.corpus.conllu import collapse
from wordstill.methods.learning.rows import RowOptimizer, RowTable, merged_gradients
from wordstill.teacher.device import choose_device

CPU_BATCH, GPU_BATCH = 256, 8192


@dataclass(frozen=True)
class DepsConfig(Config):
    """Settings of `Deps`; size and negatives are the paper's."""

    dim: Dim = 300
    """Size of the vectors."""
    epochs: Epochs = 5
    prepositions: Literal["collapsed", "kept"] = "collapsed"
    """Whether a preposition becomes part of the relation between the words that it joins."""
    min_context_count: Annotated[int, Range(1, 2**31 - 1)] = 5
    """Rarer contexts are dropped; the paper uses 100 for a larger text."""
    negatives: Annotated[int, Range(1, 10_000)] = 15
    """Negatives for each pair; draws of the context itself do not count."""
    noise_power: Annotated[float, Range(0, 100)] = 0.75
    """Power of the counts by which negatives are drawn."""
    subsample: Annotated[float, Range(0, 1)] = 0.0
    """Subsampling threshold for frequent words; 0 keeps all."""
    rate: Annotated[float, Range(0, LARGEST, above=True)] = 0.025
    """Initial learning rate; it falls linearly to 0."""
    batch: Annotated[int | None, Range(1, 10_000_000)] = None
    """Pairs in a step; None means 256 on a CPU and 8,192 on a GPU."""
    row_limit: Annotated[float, Range(1, LARGEST)] = 8.0
    """A row that occurs more often in a batch steps by this many mean gradients instead of the sum."""


class Deps(Baseline):
    r"""A word predicts its head and its dependents, together with the relation, with negative sampling.

    A context is a word and a relation: in ``scientist --nsubj-> discovers``, the context of *discovers* is
    ``scientist/nsubj``, and that of *scientist* is ``discovers/nsubj`` inverted.

    .. math:: \max \sum_{(w, c)} \log \sigma(v_w \cdot u_c)
              + \sum_{n \sim \mathrm{noise}} \log \sigma(-v_w \cdot u_n)

    Paper: Levy and Goldberg 2014, "Dependency-Based Word Embeddings".

    Inputs: CoNLL-U files with Universal or Stanford Dependencies. A word outside the vocabulary is neither target nor
    context.
    Cost: (vocabulary + contexts) x dim float32; 12 bytes of disk for each word of the text, and 16 bytes of memory
    for each distinct context, rare ones too, while they are counted.
    Relations: as `Skipgram`, but neighbors are words that can replace each other, rather than words on the same topic.
    Deviations: a step sums the gradients of a row over a batch of pairs, but see ``row_limit``; the authors take one
    step per pair. The number of epochs is not printed.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("parsed.conllu", methods="deps")  # doctest: +SKIP
    """

    name: ClassVar[str] = "deps.v1"
    config_type: ClassVar[type[DepsConfig]] = DepsConfig
    package: ClassVar[str] = "torch"
    needs_trees: ClassVar[bool] = True
    config: DepsConfig

    def fit(self, text: WordText) -> Trained:
        """Read the trees, count the contexts, and train over shuffled pairs."""
        config, size = self.config, len(text.vocabulary)
        device = choose_device(self.training.device)
        with TemporaryDirectory(prefix="wordstill-") as folder:
            change = (collapse,) if config.prepositions == "collapsed" else ()
            trees = TreeText(text.trees, text.vocabulary, Path(folder), *change)
            contexts = Contexts.count(trees, size, config.min_context_count)
            model = DepsModel(config, size, contexts, device, self.training.seed)
            if len(contexts.codes):
                keep = text.vocabulary.keep_probability(config.subsample)
                with self.meter(int(contexts.counts.sum()) * config.epochs, "pairs", config.rate) as meter:
                    for read, words, around in self._batches(trees, contexts, keep, device):
                        loss: Tensor | float = 0.0
                        if len(words):
                            negatives = model.contexts.draw(len(words))
                            loss = model.step(words, around, negatives, config.rate * (1 - meter.share)).double()
                        meter.advance(read, loss, len(words))
        return Trained(model.words.weights.cpu().numpy(), contexts.having)

    def _batches(
        self, trees: TreeText, contexts: Contexts, keep: NDArray[np.float64], device: torch.device
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """The number of pairs read, and the words [B] and contexts [B] of those that subsampling keeps."""
        rng = np.random.default_rng(self.training.seed)
        size = self.config.batch or (GPU_BATCH if device.type == "cuda" else CPU_BATCH)
        for _ in range(self.config.epochs):
            for arcs in trees.read(rng.permutation(trees.stretches)):
                words, around = contexts.pairs(arcs)
                order = rng.permutation(len(words))
                words, around = words[order], around[order]
                kept = rng.random(len(words)) < keep[words]
                for start in range(0, len(words), size):
                    chosen = np.flatnonzero(kept[start : start + size]) + start
                    one, two = (torch.from_numpy(values[chosen]).to(device) for values in (words, around))
                    yield min(size, len(words) - start), one, two


@dataclass(frozen=True)
class Contexts:
    """Contexts that are frequent enough. C contexts."""

    codes: NDArray[np.int64]
    """Relation, direction and word of each in one number, ascending [C]."""
    counts: NDArray[np.int64]
    """How often each occurs [C]."""
    having: NDArray[np.bool_]
    """Which words of the vocabulary have a context [V]."""

    @classmethod
    def count(cls, trees: TreeText, size: int, least: int) -> Contexts:
        """Count the contexts of a text with a vocabulary of ``size`` words."""
        codes, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for arcs in trees.read():
            codes, counts = _merged(codes, counts, *np.unique(dependency_pairs(arcs, size)[1], return_counts=True))
        frequent = counts >= least
        found = cls(codes[frequent], counts[frequent], np.zeros(size, dtype=bool))
        for arcs in trees.read():
            found.having[found.pairs(arcs)[0]] = True
        return found

    def pairs(self, arcs: Arcs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Word ids [P] and rows of their contexts [P], without those of rare contexts."""
        words, codes = dependency_pairs(arcs, len(self.having))
        rows, known = find_sorted(self.codes, codes)
        return words[known], rows[known]


class DepsModel:
    """Both tables and the SGD step."""

    def __init__(self, config: DepsConfig, words: int, contexts: Contexts, device: torch.device, seed: int) -> None:
        self.config = config
        rng, sgd = torch.Generator(device).manual_seed(seed), RowOptimizer("sgd")
        initial = torch.empty(words, config.dim, device=device)
        initial.uniform_(-0.5 / config.dim, 0.5 / config.dim, generator=rng)
        self.words = RowTable(initial, sgd)
        self.contexts = PredictedTable(contexts.counts, config.dim, config.noise_power, config.negatives, sgd, rng)

    def step(self, words: Tensor, contexts: Tensor, negatives: Tensor, rate: float) -> Tensor:
        """Take a step on pairs of words [B] and contexts [B] with negatives [B, N], and return the summed loss."""
        limit = self.config.row_limit
        loss, gradients = self.contexts.learn(self.words.weights[words], contexts, negatives, rate, row_limit=limit)
        rows, merged = merged_gradients(gradients, words[:, None], row_shares(words, limit)[:, None])
        self.words.apply(rows, merged, rate)
        return loss


def dependency_pairs(arcs: Arcs, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Word ids [2 A] and codes of their contexts [2 A]: heads with their dependents, then dependents with heads."""
    dependents, heads = arcs.ids[arcs.dependents], arcs.ids[arcs.heads]
    down, up = 2 * arcs.relations * size + dependents, (2 * arcs.relations + 1) * size + heads
    return np.concatenate([heads, dependents]), np.concatenate([down, up])


def _merged(
    codes: NDArray[np.int64], counts: NDArray[np.int64], more: NDArray[np.int64], more_counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    together, place = np.unique(np.concatenate([codes, more]), return_inverse=True)
    sums = np.zeros(len(together), dtype=np.int64)
    np.add.at(sums, place, np.concatenate([counts, more_counts]))
    return together, sums
