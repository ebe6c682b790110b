"""``syngcn`` against plain loops over nodes and edges, and autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from wordstill.baselines.syngcn import Graph, SynGcnConfig, SynGcnModel, make_graph, without_subtypes
from wordstill.baselines.tree_text import Arcs, TreeText
from wordstill.corpus.conllu import Tree
from wordstill.methods.learning.rows import RowOptimizer

ARCS = Arcs(
    ids=np.array([4, 1, 2, -1, 0, 1]),
    sentence=np.array([0, 0, 0, 0, 1, 1]),
    dependents=np.array([0, 2, 4]),
    heads=np.array([1, 1, 5]),
    relations=np.array([1, 0, 1]),
)
"""Two sentences: words 4 and 2 depend on word 1, and word 0 on word 1; one word is unknown."""
EVERY = np.ones(5)


def slow_hidden(model: SynGcnModel, rows: torch.Tensor, arcs: Arcs) -> list[torch.Tensor]:
    """The equation, node by node."""
    states = [rows[number] if number >= 0 else None for number in arcs.ids]
    for depth, layer in enumerate(model.layers):
        sums = [torch.zeros(rows.shape[1]) for _ in states]
        for dependent, head, relation in zip(arcs.dependents, arcs.heads, arcs.relations):
            for source, end, label in ((head, dependent, 2 * relation), (dependent, head, 2 * relation + 1)):
                given = states[source] if depth == 0 else states[source].relu()
                gate = torch.sigmoid(given @ layer.gates[label] + layer.gate_biases[label])
                sums[end] = sums[end] + gate * (given @ layer.weights[label] + layer.biases[label])
        states = sums
    return states


def make_model(layers: int = 1) -> SynGcnModel:
    config = SynGcnConfig(dim=3, layers=layers, negatives=2, rate=0.1)
    model = SynGcnModel(config, np.ones(5, dtype=np.int64), 2, torch.device("cpu"), 0, RowOptimizer("sgd"))
    torch.manual_seed(0)
    model.contexts.table.weights.normal_()
    with torch.no_grad():
        for layer in model.layers:
            layer.biases.normal_()
            layer.gate_biases.normal_()
    return model


@pytest.mark.parametrize("layers", [1, 2])
def test_the_convolution_is_the_equation(layers):
    model = make_model(layers)
    graph, words = make_graph(ARCS, EVERY, np.random.default_rng(0))
    found = model.hidden(model.words.weights[graph.ids], graph)
    expected = slow_hidden(model, model.words.weights, ARCS)
    assert words == 5 and graph.ids.tolist() == [4, 1, 2, 0, 1]
    torch.testing.assert_close(found, torch.stack([expected[place] for place in (0, 1, 2, 4, 5)]))


def test_a_step_is_the_gradient_of_the_objective():
    model = make_model()
    graph, _ = make_graph(ARCS, EVERY, np.random.default_rng(0))
    graph = graph._replace(targets=torch.tensor([0, 1, 3]))
    negatives = torch.tensor([[4, 0], [2, 3], [1, 1]])
    rows = model.words.weights.clone().requires_grad_()
    contexts = model.contexts.table.weights.clone().requires_grad_()
    hidden = slow_hidden(model, rows, ARCS)
    loss = torch.zeros(())
    for place, target, drawn in zip((0, 1, 4), (4, 1, 0), negatives):
        loss = loss + softplus(-hidden[place] @ contexts[target])
        for other in drawn:
            if other != target:
                loss = loss + softplus(hidden[place] @ contexts[other])
    (loss / 3).backward()
    expected = {name: weights.grad.clone() for name, weights in model.layers.named_parameters()}
    model.optimizer.zero_grad()
    assert float(model.step(graph, negatives)) == pytest.approx(loss.item(), rel=1e-5)
    torch.testing.assert_close(model.words.weights, (rows - 0.1 * rows.grad).detach())
    torch.testing.assert_close(model.contexts.table.weights, (contexts - 0.1 * contexts.grad).detach())
    for name, weights in model.layers.named_parameters():
        torch.testing.assert_close(weights.grad, expected[name])


def test_a_word_does_not_see_itself():
    model = make_model()
    graph, _ = make_graph(ARCS, EVERY, np.random.default_rng(0))
    states = model.words.weights[graph.ids]
    changed = states.clone()
    changed[2] += 1
    before, after = model.hidden(states, graph), model.hidden(changed, graph)
    moved = (before - after).abs().amax(dim=1) > 1e-6
    # Its only neighbor is the second word.
    assert moved.tolist() == [False, True, False, False, False]


def test_frequent_words_are_thinned_out_as_targets_only():
    keep = np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    graph, words = make_graph(ARCS, keep, np.random.default_rng(0))
    assert words == 5 and graph.ids[graph.targets].tolist() == [4, 2, 0]


def test_batches_have_whole_sentences(planted, tmp_path):
    trees = TreeText(planted.trees, planted.vocabulary, tmp_path)
    (arcs,) = trees.read()
    seen = []
    for batch in arcs.batches(7, np.random.default_rng(0)):
        assert len(np.unique(batch.sentence)) <= 7
        for dependent, head in zip(batch.dependents, batch.heads):
            assert batch.sentence[dependent] == batch.sentence[head]
            seen.append((batch.ids[dependent], batch.ids[head]))
    whole = list(zip(arcs.ids[arcs.dependents], arcs.ids[arcs.heads]))
    assert sorted(seen) == sorted(whole) and seen != whole
    assert math.isclose(trees.words, len(arcs.ids))


def test_subtypes_share_weights():
    tree = Tree(["a", "b"], [1, -1], ["nsubj:pass", "root"])
    assert without_subtypes(tree).relations == ["nsubj", "root"]
    assert Graph._fields[0] == "ids"
