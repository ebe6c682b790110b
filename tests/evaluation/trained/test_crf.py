from __future__ import annotations

from itertools import pairwise, product

import pytest

torch = pytest.importorskip("torch")

from wordstill.evaluation.trained.crf import Crf  # noqa: E402

LENGTHS = [5, 1, 3, 2]


def scored_field(tags: int, scale: float, seed: int = 0):
    """A field and scores of words in double precision, far from zero."""
    generator = torch.Generator().manual_seed(seed)
    field = Crf(tags).double()
    with torch.no_grad():
        for weight in field.parameters():
            weight.copy_(scale * torch.randn(weight.shape, generator=generator, dtype=torch.double))
    shape = (len(LENGTHS), max(LENGTHS), tags)
    return field, scale * torch.randn(shape, generator=generator, dtype=torch.double)


def every_row(field, emissions, length):
    """All rows of tags of one sentence with their scores, added up one by one."""
    rows = list(product(range(emissions.shape[-1]), repeat=length))
    scores = []
    for row in rows:
        score = field.start[row[0]] + field.end[row[-1]]
        score = score + sum(emissions[place, tag] for place, tag in enumerate(row))
        scores.append(score + sum((field.transitions[pair] for pair in pairwise(row)), torch.tensor(0.0)))
    return rows, torch.stack(scores)


@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("tags", [2, 4])
def test_the_loss_is_that_of_enumeration(tags, scale):
    field, emissions = scored_field(tags, scale)
    gold = torch.randint(0, tags, emissions.shape[:2], generator=torch.Generator().manual_seed(1))
    losses = field.loss(emissions, gold, torch.tensor(LENGTHS))
    for sentence, length in enumerate(LENGTHS):
        rows, scores = every_row(field, emissions[sentence], length)
        true = scores[rows.index(tuple(gold[sentence, :length].tolist()))]
        assert losses[sentence].item() == pytest.approx((scores.logsumexp(0) - true).item(), abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_decoding_finds_the_best_row(scale):
    field, emissions = scored_field(4, scale)
    decoded = field.decode(emissions, torch.tensor(LENGTHS))
    for sentence, length in enumerate(LENGTHS):
        rows, scores = every_row(field, emissions[sentence], length)
        assert tuple(decoded[sentence, :length].tolist()) == rows[int(scores.argmax())]
        assert not decoded[sentence, length:].any()


def test_gradients_are_those_of_enumeration():
    field, emissions = scored_field(3, 2.0)
    emissions.requires_grad_()
    gold = torch.ones(emissions.shape[:2], dtype=torch.long)
    weights = torch.tensor([0.5, 2.0, 1.0, 3.0], dtype=torch.double)
    wanted = [emissions, *field.parameters()]
    fast = torch.autograd.grad((weights * field.loss(emissions, gold, torch.tensor(LENGTHS))).sum(), wanted)
    slow_loss = torch.tensor(0.0, dtype=torch.double)
    for sentence, length in enumerate(LENGTHS):
        rows, scores = every_row(field, emissions[sentence], length)
        slow_loss = slow_loss + weights[sentence] * (scores.logsumexp(0) - scores[rows.index((1,) * length)])
    slow = torch.autograd.grad(slow_loss, wanted)
    for first, second in zip(fast, slow):
        torch.testing.assert_close(first, second, atol=1e-10, rtol=1e-8)


def test_sentences_of_one_word_have_no_transitions():
    field, emissions = scored_field(3, 1.0)
    one = emissions[:, :1]
    loss = field.loss(one, torch.zeros(len(LENGTHS), 1, dtype=torch.long), torch.ones(len(LENGTHS), dtype=torch.long))
    scores = one[:, 0] + field.start + field.end
    torch.testing.assert_close(loss, scores.logsumexp(1) - scores[:, 0])
    loss.sum().backward()
    assert not field.transitions.grad.any()


def test_padding_has_no_influence():
    field, emissions = scored_field(4, 1.0)
    gold = torch.zeros(emissions.shape[:2], dtype=torch.long)
    changed = emissions.clone()
    for sentence, length in enumerate(LENGTHS):
        changed[sentence, length:] = 1e6
    lengths = torch.tensor(LENGTHS)
    torch.testing.assert_close(field.loss(changed, gold, lengths), field.loss(emissions, gold, lengths))
    assert torch.equal(field.decode(changed, lengths), field.decode(emissions, lengths))
