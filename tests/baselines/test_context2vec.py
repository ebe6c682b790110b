"""``context2vec`` against one LSTM cell after the other, and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import softplus

from wordstill.baselines.context2vec import Context2vecConfig, Context2vecModel, sentence_batches
from wordstill.methods.learning.rows import RowOptimizer

IDS = torch.tensor([[0, 3, 1, 2], [4, 1, -1, -1], [2, -1, -1, -1]])
EDGE = 5


@pytest.fixture
def model() -> Context2vecModel:
    config = Context2vecConfig(dim=6, negatives=2, rate=0.1)
    model = Context2vecModel(config, np.ones(5, dtype=np.int64), torch.device("cpu"), 0, RowOptimizer("sgd"))
    torch.manual_seed(0)
    model.targets.table.weights.normal_()
    return model


def last_state(lstm: nn.LSTM, inputs: list[torch.Tensor]) -> torch.Tensor:
    """What an LSTM knows after some words: one cell after the other."""
    hidden = cell = torch.zeros(lstm.hidden_size)
    for given in inputs:
        gates = lstm.weight_ih_l0 @ given + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
        entry, forget, new, out = gates.chunk(4)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(entry) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
    return hidden


def slow_contexts(model, left, right) -> list[torch.Tensor]:
    found = []
    for row in IDS.tolist():
        words = [word for word in row if word >= 0]
        for place in range(len(words)):
            before = last_state(model.encoder.left, [left[word] for word in (EDGE, *words[:place])])
            behind = last_state(model.encoder.right, [right[word] for word in (EDGE, *words[:place:-1])])
            both = torch.cat([before, behind])
            found.append(model.encoder.second(model.encoder.first(both).relu()))
    return found


def test_a_step_is_the_gradient_of_the_objective(model):
    left, right = (table.weights.clone().requires_grad_() for table in model.sides)
    targets = model.targets.table.weights.clone().requires_grad_()
    words = IDS[IDS >= 0]
    negatives = torch.randint(5, (len(words), 2))
    loss = torch.zeros(())
    for context, word, drawn in zip(slow_contexts(model, left, right), words, negatives):
        loss = loss + softplus(-context @ targets[word])
        for other in drawn:
            if other != word:
                loss = loss + softplus(context @ targets[other])
    (loss / len(words)).backward()
    expected = {name: weights.grad.clone() for name, weights in model.encoder.named_parameters()}
    assert float(model.step(IDS, negatives)) == pytest.approx(loss.item(), rel=1e-5)
    for table, old in zip((*model.sides, model.targets.table), (left, right, targets)):
        torch.testing.assert_close(table.weights, (old - 0.1 * old.grad).detach())
    for name, weights in model.encoder.named_parameters():
        torch.testing.assert_close(weights.grad, expected[name])


def test_batches_have_every_word_once(planted):
    (stretch,) = planted.read()
    batches = list(sentence_batches(stretch, 50, np.random.default_rng(0), most_words=6))
    assert max(len(batch) for batch in batches) <= 50 and max(batch.shape[1] for batch in batches) == 6
    found = np.concatenate([batch[batch >= 0] for batch in batches])
    assert sorted(found) == sorted(stretch.ids)
    sentences = {tuple(stretch.ids[start:end][:6]) for start, end in zip(*_bounds(stretch))}
    assert sentences <= {tuple(row[row >= 0]) for batch in batches for row in batch}


def _bounds(stretch):
    bounds = stretch.sentence_bounds()
    return bounds[:-1], bounds[1:]
