"""Steps that are recorded: what is copied, what is recorded and what goes the usual way."""

from __future__ import annotations

import pytest
import torch

from wordstill.methods.learning.rows import Replayed, recorded

SIZES = (3, 3, 2, 3, 1, 3)


def arguments(sizes, device="cpu"):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(size, 4, generator=generator).to(device) for size in sizes]


def test_every_call_counts_once():
    total = torch.zeros(4, dtype=torch.float64)
    records, replays = [], []

    def record(step):
        records.append(step)
        return lambda: (replays.append(1), step())

    add = Replayed(lambda values: total.add_(values.sum(dim=0)), 3, record)
    given = arguments(SIZES)
    for values in given:
        add(values)
    assert torch.allclose(total, torch.cat(given).double().sum(dim=0))
    assert (len(records), len(replays)) == (1, 3)


def test_arguments_are_left_alone_and_may_lie_anyhow():
    seen = []
    look = Replayed(lambda one, other: seen.append((one.clone(), other.clone())), 3, lambda step: step)
    for number in range(3):
        one, other = torch.full((3, 2), float(number)).T.contiguous().T, torch.arange(6)[::2] + number
        look(one, other)
        assert torch.equal(seen[-1][0], one)
        assert torch.equal(seen[-1][1], other)
        one.zero_()


def test_as_many_arguments_as_before():
    add = Replayed(lambda *_: None, 3, lambda step: step)
    add(torch.zeros(3, 2), torch.zeros(3))
    with pytest.raises(ValueError, match="argument"):
        add(torch.zeros(3, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, which is what records")
def test_a_gpu_does_what_it_did():
    total, pace = torch.zeros(4, device="cuda"), torch.ones((), device="cuda")
    add = Replayed(lambda values: total.add_(pace * (values @ values.T).sum() + values.sum(dim=0)), 3, recorded)
    expected, given = torch.zeros(4), arguments(SIZES, "cuda")
    for number, values in enumerate(given):
        pace.fill_(number)
        add(values)
        own = values.cpu()
        expected += number * (own @ own.T).sum() + own.sum(dim=0)
    assert torch.allclose(total.cpu(), expected, atol=1e-4)
