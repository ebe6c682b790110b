"""``syngcn``: a graph convolution over the dependency tree of a sentence predicts each of its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordstill.baselines.base import Baseline, Dim, Epochs, Trained, WordText
from wordstill.baselines.negative_sampling import PredictedTable
from wordstill.baselines.tree_text import Arcs, TreeText
from wordstill.core.settings import Config, Range
from wordstill.corpus.conllu import Tree
from wordstill.methods.learning.rows import RowOptimizer, RowTable
from wordstill.teacher.device import choose_device

ADAM = RowOptimizer("lazy-adam")


@dataclass(frozen=True)
class SynGcnConfig(Config):
    """Settings of `SynGcn`, with the defaults of the authors' program."""

    dim: Dim = 300
    """Size of the vectors."""
    epochs: Epochs = 5
    layers: Annotated[int, Range(1, 10)] = 1
    """Number of stacked graph convolutions. With two or more, a word can see itself through its neighbors."""
    negatives: Annotated[int, Range(1, 10_000)] = 25
    """Negatives for each word; draws of the word itself do not count."""
    noise_power: Annotated[float, Range(0, 100)] = 0.75
    """Power of the counts by which negatives are drawn."""
    subsample: Annotated[float, Range(0, 1)] = 1e-4
    """Subsampling threshold for frequent targets, which stay in the graph; 0 keeps all."""
    rate: Annotated[float, Range(0, 1e30, above=True)] = 1e-3
    """Learning rate of Adam."""
    batch: Annotated[int, Range(1, 1_000_000)] = 128
    """Sentences in a step."""


class SynGcn(Baseline):
    r"""The neighbors of a word in the dependency tree predict it, through a gated graph convolution.

    With :math:`h^0` the vectors of the words of a sentence, and :math:`\ell_{ij}` the relation between words i and j
    together with its direction:

    .. math::
        h_i^{k+1} = f\Big(\sum_{j \in N(i)} g_{ij} \big(W_{\ell_{ij}} h_j^k + b_{\ell_{ij}}\big)\Big), \qquad
        g_{ij} = \sigma\big(\hat w_{\ell_{ij}} \cdot h_j^k + \hat b_{\ell_{ij}}\big), \qquad
        \max \sum_i \log P(w_i \mid h_i)

    A word is not its own neighbor. A word's vector is its :math:`h^0`.

    Paper: Vashishth et al. 2019, "Incorporating Syntactic and Semantic Information in Word Embeddings using Graph
    Convolutional Networks"; SynGCN only, not SemGCN, which retrofits vectors to lexicons.

    Inputs: CoNLL-U files with trees. A word outside the vocabulary sends no messages and is not predicted.
    Cost: six tables of vocabulary x dim float32, including Adam's, and 6 x relations x dim² float32 for the weights; a
    step has two products of dim x dim for each arc.
    Relations: as `Deps`, but all neighbors predict a word together, and a relation is a matrix.
    Deviations: P uses negative sampling with a logistic loss, whereas the authors' program has a softmax over a word
    and its negatives; negatives are drawn for each word, not for each sentence. The last convolution has no ReLU, as in
    the program. Subtypes of relations (``nsubj:pass``) share the weights of their type. The program keeps the table
    with the best scores on test sets; here the result is the last one.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("parsed.conllu", methods="syngcn:dim=100")  # doctest: +SKIP
    """

    name: ClassVar[str] = "syngcn.v1"
    config_type: ClassVar[type[SynGcnConfig]] = SynGcnConfig
    package: ClassVar[str] = "torch"
    needs_trees: ClassVar[bool] = True
    config: SynGcnConfig

    def fit(self, text: WordText) -> Trained:
        """Read the trees, then train over shuffled sentences."""
        config, device = self.config, choose_device(self.training.device)
        with TemporaryDirectory(prefix="wordstill-") as folder:
            trees = TreeText(text.trees, text.vocabulary, Path(folder), without_subtypes)
            counts = np.where(trees.occurring, np.maximum(text.vocabulary.counts, 1), 0)
            model = SynGcnModel(config, counts, len(trees.relations), device, self.training.seed)
            if trees.words:
                keep = text.vocabulary.keep_probability(config.subsample)
                with self.meter(trees.words * config.epochs, "words", config.rate) as meter:
                    for read, graph in self._graphs(trees, keep, device):
                        targets = len(graph.targets)
                        loss = model.step(graph, model.contexts.draw(targets)).double() if targets else 0.0
                        meter.advance(read, loss, targets)
        return Trained(model.words.weights.cpu().numpy(), trees.occurring)

    def _graphs(self, trees: TreeText, keep: NDArray[np.float64], device: torch.device) -> Iterator[tuple[int, Graph]]:
        """The number of words read, and their graph."""
        rng = np.random.default_rng(self.training.seed)
        for _ in range(self.config.epochs):
            for arcs in trees.read(rng.permutation(trees.stretches)):
                for batch in arcs.batches(self.config.batch, rng):
                    graph, read = make_graph(batch, keep, rng)
                    yield read, Graph(*(tensor.to(device) for tensor in graph))


class Graph(NamedTuple):
    """The trees of some sentences. W words that have a neighbor, E edges (two for each arc), T targets."""

    ids: Tensor
    """Vocabulary ids [W]."""
    sources: Tensor
    """Index of the source word of each edge [E]."""
    ends: Tensor
    """Index of the target word of each edge [E]."""
    labels: Tensor
    """Relation and direction of each edge [E], ascending."""
    targets: Tensor
    """Indices of the predicted words [T]."""


class SynGcnModel:
    """Both tables, the convolutions, and the Adam step."""

    def __init__(
        self,
        config: SynGcnConfig,
        counts: NDArray[np.int64],
        relations: int,
        device: torch.device,
        seed: int,
        optimizer: RowOptimizer = ADAM,
    ) -> None:
        self.rate = config.rate
        generator = torch.Generator(device).manual_seed(seed)
        initial = torch.empty(len(counts), config.dim, device=device)
        # Xavier's bound would shrink with the vocabulary, until nothing passes the first convolution.
        initial.uniform_(-0.5, 0.5, generator=generator).mul_(2 / config.dim**0.5)
        self.words = RowTable(initial, optimizer)
        self.contexts = PredictedTable(counts, config.dim, config.noise_power, config.negatives, optimizer, generator)
        self.layers = nn.ModuleList(
            GraphConvolution(2 * relations, config.dim, generator) for _ in range(config.layers)
        )
        self.optimizer = torch.optim.Adam(self.layers.parameters(), config.rate)

    def step(self, graph: Graph, negatives: Tensor) -> Tensor:
        """Take a step on a graph with negatives of its targets [T, N], and return the summed loss."""
        distinct, place = torch.unique(graph.ids, return_inverse=True)
        rows = self.words.weights[distinct].requires_grad_()
        queries = self.hidden(rows[place], graph)[graph.targets]
        # The mean over targets, as in the authors' code, so that the batch size does not interact with Adam's epsilon.
        loss, gradients = self.contexts.learn(
            queries.detach(), graph.ids[graph.targets], negatives, self.rate, scale=1 / len(graph.targets)
        )
        self.optimizer.zero_grad()
        queries.backward(gradients)  # type: ignore[no-untyped-call]
        assert rows.grad is not None
        self.words.apply(distinct, rows.grad, self.rate)
        self.optimizer.step()
        return loss

    def hidden(self, states: Tensor, graph: Graph) -> Tensor:
        """The states of words [W, dim] after all convolutions."""
        for number, layer in enumerate(self.layers):
            states = layer(states.relu() if number else states, graph)
        return states


class GraphConvolution(nn.Module):
    """A gated convolution with separate weights for each label."""

    def __init__(self, labels: int, dim: int, generator: torch.Generator) -> None:
        super().__init__()
        device, bound = generator.device, (3 / dim) ** 0.5
        self.weights = nn.Parameter(
            torch.empty(labels, dim, dim, device=device).uniform_(-bound, bound, generator=generator)
        )
        self.biases = nn.Parameter(torch.zeros(labels, dim, device=device))
        self.gates = nn.Parameter(torch.empty(labels, dim, device=device).uniform_(-bound, bound, generator=generator))
        self.gate_biases = nn.Parameter(torch.zeros(labels, device=device))

    def forward(self, states: Tensor, graph: Graph) -> Tensor:
        """The sum of the gated messages to each word [W, dim]."""
        labels, counts = torch.unique_consecutive(graph.labels, return_counts=True)
        given = states[graph.sources]
        parts = torch.split(given, counts.tolist())
        # Edges are sorted by label, so that each label is one product.
        messages = torch.cat([part @ self.weights[label] for label, part in zip(labels.tolist(), parts)])
        gates = ((given * self.gates[graph.labels]).sum(dim=1) + self.gate_biases[graph.labels]).sigmoid()
        messages = gates[:, None] * (messages + self.biases[graph.labels])
        return torch.zeros_like(states).index_add(0, graph.ends, messages)


def make_graph(arcs: Arcs, keep: NDArray[np.float64], rng: np.random.Generator) -> tuple[Graph, int]:
    """The graph of some arcs, with both directions of every arc, and its number of words."""
    linked, place = np.unique(np.concatenate([arcs.dependents, arcs.heads]), return_inverse=True)
    dependents, heads = np.split(place, 2)
    sources, ends = np.concatenate([heads, dependents]), np.concatenate([dependents, heads])
    labels = np.concatenate([2 * arcs.relations, 2 * arcs.relations + 1])
    order = np.argsort(labels, kind="stable")
    ids = arcs.ids[linked]
    targets = np.flatnonzero(rng.random(len(ids)) < keep[ids])
    found = (ids, sources[order], ends[order], labels[order], targets)
    return Graph(*(torch.from_numpy(array) for array in found)), len(ids)


def without_subtypes(tree: Tree) -> Tree:
    """The tree with ``nsubj`` for ``nsubj:pass``."""
    return replace(tree, relations=[relation.partition(":")[0] for relation in tree.relations])
