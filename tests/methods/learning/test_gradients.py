"""Whole steps of learners against autograd in float64, their weights and offsets worked out apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from wordstill.methods import METHODS, read_specs
from wordstill.methods.learning.window_learner import Examples

COUNTS = [1, 2, 4, 8, 16, 32, 64, 128]
WIDTH, DIM, CENTERS, SLOTS = 4, 6, 5, 4
WEIGHTS = (0.0, 0.25, 1.0, 2.5)
"""Of slots: empty ones, fractions, and more than one."""


@pytest.fixture
def build(hand_made_run):
    """Makes a learner whose offsets, once they have been compared, are in float64."""

    def make(spec: str):
        (found,) = read_specs([spec], METHODS, 0)
        method = found.build(hand_made_run(COUNTS, WIDTH))
        if method.config.corrected:
            offsets = plain_offsets(method.config)
            assert torch.allclose(method.score_offsets, offsets.float(), atol=1e-6)
            method.score_offsets = offsets
        return method

    return make


def plain_offsets(config) -> Tensor:
    """How likely each word is a positive rather than one of the negatives, as a logarithm of odds."""
    if not config.corrected:
        return torch.zeros(len(COUNTS), dtype=torch.float64)
    noise = [count**config.noise_power for count in COUNTS]
    positive = [math.log(count / sum(COUNTS)) for count in COUNTS]
    negative = [math.log(config.negatives * own / sum(noise)) for own in noise]
    return torch.tensor(positive, dtype=torch.float64) - torch.tensor(negative, dtype=torch.float64)


def plain_drawn(config, rows: Sequence[int], slots: Sequence[float], negatives: Sequence[int]) -> Tensor:
    """Weights of the negatives of one centre, negative by negative."""
    weights = []
    for negative in negatives:
        weight = config.negatives / config.shared if config.shared else 1.0
        if config.mask_hits and negative in rows:
            weight = 0.0
        if getattr(config, "drawn_for", "") == "window":
            weight *= sum(slots)
        weights.append(weight)
    return torch.tensor(weights, dtype=torch.float64)


@pytest.mark.parametrize(
    ("settings", "negatives", "expected"),
    [
        ("shared=0,drawn_for=centre", [[5, 7]], [0, 1]),
        ("shared=0,drawn_for=centre,mask_hits=false", [[5, 7]], [1, 1]),
        ("shared=0,drawn_for=window", [[5, 7]], [0, 1.5]),
        ("shared=4,drawn_for=centre", [5, 7, 1, 7], [0, 0.5, 0.5, 0.5]),
        ("shared=4,drawn_for=window", [5, 7, 1, 7], [0, 0.75, 0.75, 0.75]),
    ],
)
def test_weights_of_negatives(build, settings, negatives, expected):
    """Two negatives for a centre with word 3, word 5 by half, and an empty slot."""
    method = build(f"bert-skipgram:negatives=2,{settings}")
    examples = Examples(torch.tensor([0]), torch.tensor([[3, 5, 3]]), torch.tensor([[1, 0.5, 0]]), torch.tensor([2]))
    assert method.drawn_weights(examples, torch.tensor(negatives)).tolist() == [expected]
    own = negatives[0] if isinstance(negatives[0], list) else negatives
    assert plain_drawn(method.config, [3, 5, 3], [1, 0.5, 0], own).tolist() == expected


def plain_pairwise(scores: Tensor, slots: Tensor) -> Tensor:
    return -(slots * logsigmoid(scores)).sum()


def plain_summed(scores: Tensor, slots: Tensor) -> Tensor:
    return -logsigmoid((slots * scores).sum())


def plain_attended(scores: Tensor, slots: Tensor) -> Tensor:
    attention = slots * scores.exp() / (slots * scores.exp()).sum()
    return -logsigmoid((attention * scores).sum())


def plain_held(scores: Tensor, slots: Tensor) -> Tensor:
    attention = (slots * scores.exp() / (slots * scores.exp()).sum()).detach()
    return -logsigmoid((attention * scores).sum())


PLAIN = {"pairwise": plain_pairwise, "summed": plain_summed, "attended": plain_attended, "attended-held": plain_held}


def plain_loss(method, inputs, examples, negatives, table, projection) -> Tensor:
    """The whole loss of a step, centre by centre, for autograd."""
    config = method.config
    total, offsets = torch.zeros((), dtype=torch.float64), plain_offsets(config)
    reading = getattr(config, "contextualised_by", "query")
    if getattr(config, "normalized", False):
        table = torch.stack([row / row.norm() for row in table])
    for number, given in enumerate(inputs):
        query = context = projection @ given
        if reading == "projection":
            query, context = projection[:, :WIDTH] @ given[:WIDTH], projection[:, WIDTH:] @ given[WIDTH:]
        if getattr(config, "normalized", False):
            query, context = query / query.norm(), context / context.norm()
        rows, slots = examples.rows[number], examples.weights[number]
        scores = table[rows] @ query + offsets[rows]
        total = total + getattr(config, "semantic", 1.0) * PLAIN[config.objective](scores, slots)
        chosen = negatives if negatives.dim() == 1 else negatives[number]
        drawn = plain_drawn(config, rows.tolist(), slots.tolist(), chosen.tolist())
        against = table[chosen] @ query + offsets[chosen]
        printed = getattr(config, "printed_sign", False)
        repulsion = (drawn * (logsigmoid(against) if printed else -logsigmoid(-against))).sum()
        total = total + getattr(config, "contrastive", 1.0) * repulsion
        if getattr(config, "contextualised", 0.0):
            partner = table[examples.words[number]] if reading == "static" else query
            total = total - config.contextualised * logsigmoid(context @ partner)
    return total


def random_examples(generator: torch.Generator) -> Examples:
    """The first slot of every centre is filled; empty ones name its row."""
    rows = torch.randint(0, len(COUNTS), (CENTERS, SLOTS), generator=generator)
    chosen = torch.randint(0, len(WEIGHTS), (CENTERS, SLOTS), generator=generator)
    chosen[:, 0] = 1 + torch.arange(CENTERS) % (len(WEIGHTS) - 1)
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)[chosen]
    words = torch.randint(0, len(COUNTS), (CENTERS,), generator=generator)
    return Examples(torch.arange(CENTERS), torch.where(weights != 0, rows, rows[:, :1]), weights, words)


@pytest.mark.parametrize(
    "spec",
    [
        "bert-skipgram:shared=4",
        "bert-skipgram:shared=0,noise_power=0.5",
        "bert-skipgram:preset=paper",
        "bert-skipgram:preset=paper-held",
        "bert-skipgram:preset=paper,shared=4,mask_hits=true",
        "context-to-vec:shared=4,semantic=0.7,contrastive=1.3",
        "context-to-vec:preset=paper,semantic=0.7,contrastive=1.3",
        "context-to-vec:preset=paper,printed_sign=true",
        "context-to-vec:preset=paper,contextualised_by=projection,contextualised=0.6",
        "context-to-vec:preset=paper,contextualised_by=static,printed_sign=true",
        "context-to-vec:preset=paper,normalized=true,semantic=0.7",
        "context-to-vec:shared=4,normalized=true,contextualised_by=static,contextualised=0.6",
        "context-to-vec:shared=4,contextualised_by=projection,contextualised=0.6",
    ],
)
def test_steps_of_windows_equal_autograd(build, spec):
    method = build(f"{spec},dim={DIM}")
    generator = torch.Generator().manual_seed(3)
    method.rows.weights = torch.randn(len(COUNTS), DIM, dtype=torch.float64, generator=generator)
    width = method.projection.weights.shape[1]
    method.projection.weights = 0.3 * torch.randn(DIM, width, dtype=torch.float64, generator=generator)
    inputs = torch.randn(CENTERS, width, dtype=torch.float64, generator=generator)
    examples = random_examples(generator)
    negatives = next(method.draws([CENTERS], method.config.negatives, generator))
    step = method.gradients(inputs, examples, negatives)
    table = method.rows.weights.clone().requires_grad_()
    projection = method.projection.weights.clone().requires_grad_()
    expected = plain_loss(method, inputs, examples, negatives, table, projection)
    expected.backward()
    found = torch.zeros_like(table)
    for query, rows, coefficients in zip(step.queries, step.rows, step.coefficients):
        for row, coefficient in zip(rows, coefficients):
            found[row] += (coefficient * query).detach()
    assert torch.allclose(step.loss, expected.detach(), rtol=0, atol=1e-10)
    assert torch.allclose(found, table.grad, rtol=0, atol=1e-8)
    assert torch.allclose(step.projection, projection.grad, rtol=0, atol=1e-8)


def plain_x2static(config, queries: Tensor, words: Tensor, negatives: Tensor, table: Tensor) -> Tensor:
    """The whole loss of a step of X2Static, target by target, for autograd."""
    total, offsets = torch.zeros((), dtype=torch.float64), plain_offsets(config)
    for number, (query, word) in enumerate(zip(queries, words.tolist())):
        chosen = negatives if negatives.dim() == 1 else negatives[number]
        drawn = plain_drawn(config, [word], [1.0], chosen.tolist())
        positive = table[word] @ query + offsets[word]
        negative = table[chosen] @ query + offsets[chosen]
        total = total + softplus(-positive) + (drawn * softplus(negative)).sum()
    return total


class TestX2Static:
    @pytest.mark.parametrize(
        "spec",
        [
            "x2static:shared=4",
            "x2static:shared=4,mask_hits=false,noise_power=0.5",
            "x2static:shared=0",
            "x2static:shared=0,balance=2,noise_power=0.5",
            "x2static:preset=paper,optimiser=sgd",
        ],
    )
    def test_a_step_equals_autograd(self, build, spec):
        # A quarter is exact in float32 too, in which rates are kept.
        method = build(f"{spec},rate=0.25")
        config, generator = method.config, torch.Generator().manual_seed(5)
        method.rows.weights = torch.randn(len(COUNTS), WIDTH, dtype=torch.float64, generator=generator)
        queries = torch.randn(CENTERS, WIDTH, dtype=torch.float64, generator=generator)
        words = torch.tensor([7, 6, 7, 2, 0])
        negatives = next(method.draws([CENTERS], config.negatives, generator))
        table = method.rows.weights.clone().requires_grad_()
        expected = plain_x2static(config, queries, words, negatives, table)
        expected.backward()
        method.learn(queries, words[:, None], negatives)
        # Of a word that is expected often, each gradient counts less.
        rates = [config.rate * count**-config.balance for count in COUNTS]
        moved = (table.detach() - method.rows.weights) / torch.tensor(rates, dtype=torch.float64)[:, None]
        assert torch.allclose(method.loss, expected.detach(), rtol=0, atol=1e-10)
        assert torch.allclose(moved, table.grad, rtol=0, atol=1e-8)
        assert method.positives.counts.tolist() == [1, 0, 1, 0, 0, 0, 1, 2]

    def test_a_batch_as_printed_equals_autograd(self, build, hand_made):
        """From states to the table: means over the words of a sentence, all words known, one step."""
        method = build("x2static:preset=paper,optimiser=sgd,rate=1,subsample=0")
        method.sampler.draw = lambda shape, generator: torch.arange(10).expand(shape) % len(COUNTS)
        sentences = [[0, 3, 3], [5, 1, 2, 4]]
        vectors = np.random.default_rng(4).normal(size=(7, WIDTH)).astype(np.float32)
        queries, words = [], []
        for sentence, states in zip(sentences, (vectors[:3], vectors[3:])):
            queries += [states.astype(np.float64).mean(axis=0)] * len(sentence)
            words += sentence
        table = method.rows.weights.double().requires_grad_()
        negatives = (torch.arange(10) % len(COUNTS)).expand(len(words), 10)
        expected = plain_x2static(method.config, torch.tensor(np.array(queries)), torch.tensor(words), negatives, table)
        expected.backward()
        method.observe(hand_made(sentences, vectors))
        assert int(method.clock.counts[2]) == 1
        assert float(method.loss) == pytest.approx(float(expected.detach()), rel=1e-6)
        assert torch.allclose(method.rows.weights.double(), table.detach() - table.grad, atol=1e-5)
