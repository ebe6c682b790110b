from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from wordstill.evaluation.trained.cnn import ConvolutionalClassifier, ConvolutionTrainer  # noqa: E402
from wordstill.evaluation.trained.config import CnnConfig  # noqa: E402
from wordstill.evaluation.trained.word_table import Sentences  # noqa: E402


def made(width: int = 3, *, tuned: bool = False, once: bool = True):
    """A classifier and sentences of several lengths, one of them empty."""
    torch.manual_seed(0)
    matrix = torch.randn(30, 8)
    matrix[0] = 0
    config = CnnConfig(filters=7, width=width, tuned=tuned)
    random = np.random.default_rng(0)
    sentences = Sentences.of([random.integers(1, 30, size=size).tolist() for size in (6, 1, 0, 4)])
    return ConvolutionalClassifier(matrix, 3, config, once=once).eval(), sentences


def plain_scores(model, sentences):
    """One sentence after another through torch's own convolution."""
    weight = model.filters.permute(2, 1, 0)
    rows = []
    for start, end in zip(sentences.starts, sentences.starts[1:]):
        vectors = model.vectors[torch.from_numpy(sentences.rows[start:end])]
        if not len(vectors):
            rows.append(model.output(torch.zeros(weight.shape[0])))
            continue
        windows = torch.conv1d(vectors.T[None], weight, model.bias, padding=model.margin)
        rows.append(model.output(torch.relu(windows).amax(dim=2)[0]))
    return torch.stack(rows)


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("width", [1, 3, 5])
def test_scores_and_gradients_are_those_of_a_convolution(width, once):
    model, sentences = made(width, tuned=True, once=once)
    rows = torch.from_numpy(sentences.padded(np.arange(4), model.margin))
    fast, slow = model(rows), plain_scores(model, sentences)
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
    weights = list(model.parameters())
    fast_gradients = torch.autograd.grad(fast.square().sum(), weights)
    slow_gradients = torch.autograd.grad(slow.square().sum(), weights)
    for first, second in zip(fast_gradients, slow_gradients):
        torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-4)


def test_batch_mates_have_no_influence():
    model, sentences = made()
    together = model(torch.from_numpy(sentences.padded(np.arange(4), 1)))
    for place in range(4):
        alone = model(torch.from_numpy(sentences.padded(np.array([place]), 1)))
        torch.testing.assert_close(together[place], alone[0])


@pytest.mark.parametrize("tuned", [False, True])
def test_the_vectors_change_only_where_they_are_trained(tuned):
    model, sentences = made(tuned=tuned)
    trainer = ConvolutionTrainer(model.vectors.detach().numpy(), 3, CnnConfig(tuned=tuned), torch.device("cpu"))
    optimizer = trainer.optimizer(model, 0.1)
    before = model.vectors.detach().clone()
    model(torch.from_numpy(sentences.padded(np.arange(4), 1))).square().sum().backward()
    optimizer.step()
    assert torch.equal(model.vectors, before) is not tuned
    assert not model.vectors[0].any()
