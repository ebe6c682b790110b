"""The row-sparse step against loops over plain Python numbers."""

from __future__ import annotations

import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods.learning.rows import RowOptimizer, RowTable, merged_gradients

KINDS = ("sgd", "adagrad", "adam", "lazy-adam")
ROWS, DIM, QUERIES, SLOTS = 7, 5, 6, 4


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, rows with many repetitions (inside and between queries), and coefficients."""
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(QUERIES, DIM, dtype=torch.float64, generator=generator)
    rows = torch.randint(0, ROWS - 2, (QUERIES, SLOTS), generator=generator)
    rows[0] = rows[0, 0]
    return queries, rows, torch.randn(QUERIES, SLOTS, dtype=torch.float64, generator=generator)


def start() -> torch.Tensor:
    return torch.randn(ROWS, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(9))


class Slow:
    """One row after another, number by number."""

    def __init__(self, weights: torch.Tensor, optimiser: RowOptimizer) -> None:
        self.weights, self.optimiser = weights.tolist(), optimiser
        self.first = [[0.0] * DIM for _ in range(ROWS)]
        self.second = [[0.0] * DIM for _ in range(ROWS)]
        self.squares, self.steps, self.table_steps = [0.0] * ROWS, [0] * ROWS, 0

    def step(self, queries: list, rows: list, coefficients: list, rate: float) -> None:
        sums: dict[int, list[float]] = {}
        for query, own_rows, own in zip(queries, rows, coefficients):
            for row, coefficient in zip(own_rows, own):
                total = sums.setdefault(row, [0.0] * DIM)
                for axis in range(DIM):
                    total[axis] += coefficient * query[axis]
        self.table_steps += 1
        for row, gradient in sums.items():
            self.update(row, gradient, rate)

    def update(self, row: int, gradient: list[float], rate: float) -> None:
        optimiser = self.optimiser
        self.steps[row] += 1
        if optimiser.kind == "adagrad":
            self.squares[row] += sum(value**2 for value in gradient) / DIM
        for axis, value in enumerate(gradient):
            move = value
            if optimiser.kind == "adagrad":
                move = value / (self.squares[row] ** 0.5 + optimiser.epsilon)
            if "adam" in optimiser.kind:
                number = self.table_steps if optimiser.kind == "lazy-adam" else self.steps[row]
                self.first[row][axis] += (1 - optimiser.beta1) * (value - self.first[row][axis])
                self.second[row][axis] += (1 - optimiser.beta2) * (value**2 - self.second[row][axis])
                mean = self.first[row][axis] / (1 - optimiser.beta1**number)
                spread = self.second[row][axis] / (1 - optimiser.beta2**number)
                move = mean / (spread**0.5 + optimiser.epsilon)
            self.weights[row][axis] -= rate * move


@pytest.mark.parametrize("kind", KINDS)
def test_steps_agree_with_loops(kind):
    optimiser = RowOptimizer(kind)
    fast, slow = RowTable(start(), optimiser), Slow(start(), optimiser)
    for seed in range(4):
        queries, rows, coefficients = batch(seed)
        fast.step(queries, rows, coefficients, 0.1)
        slow.step(queries.tolist(), rows.tolist(), coefficients.tolist(), 0.1)
    assert torch.allclose(fast.weights, torch.tensor(slow.weights, dtype=torch.float64), atol=1e-12)
    assert fast.steps.tolist() == slow.steps


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_not_named_stay(kind):
    table = RowTable(start(), RowOptimizer(kind))
    table.step(*batch(0), 0.1)
    assert torch.equal(table.weights[-2:], start()[-2:])
    assert not torch.equal(table.weights[:-2], start()[:-2])


def test_scores_and_gradients_of_queries_agree_with_autograd():
    queries, rows, coefficients = batch(3)
    table = RowTable(start(), RowOptimizer("sgd"))
    leaf = queries.clone().requires_grad_()
    scores = (leaf[:, None, :] * table.weights[rows]).sum(dim=2)
    (scores * coefficients).sum().backward()
    assert torch.allclose(table.scores(queries, rows), scores.detach(), atol=1e-12)
    assert torch.allclose(table.query_gradients(rows, coefficients), leaf.grad, atol=1e-12)


def test_shared_rows_are_rows_of_every_query():
    queries, _, coefficients = batch(1)
    shared = torch.tensor([2, 0, 2, 5])
    table = RowTable(start(), RowOptimizer("sgd"))
    each = shared.expand(QUERIES, SLOTS)
    assert torch.allclose(table.scores(queries, shared), table.scores(queries, each))
    assert torch.allclose(table.query_gradients(shared, coefficients), table.query_gradients(each, coefficients))
    for found, expected in zip(
        merged_gradients(queries, shared, coefficients), merged_gradients(queries, each, coefficients)
    ):
        assert torch.allclose(found, expected)


def test_the_first_step_of_a_rare_row_is_as_long_as_that_of_any_other():
    """Adam's first step is the rate; counted with 999 steps of another row it would be 3.2 times as long."""
    table = RowTable(torch.zeros(2, 1, dtype=torch.float64), RowOptimizer("adam"))
    one = torch.ones(1, 1, dtype=torch.float64)
    for _ in range(999):
        table.step(one, torch.tensor([[0]]), one, 0.001)
    table.step(one, torch.tensor([[1]]), one, 0.001)
    assert -float(table.weights[1, 0]) == pytest.approx(0.001, rel=1e-4)


def test_lazy_adam_is_that_of_torch():
    table = RowTable(start(), RowOptimizer("lazy-adam"))
    leaf = start().requires_grad_()
    optimizer = torch.optim.SparseAdam([leaf], lr=0.01)
    for seed in range(5):
        queries, rows, coefficients = batch(seed)
        table.step(queries, rows, coefficients, 0.01)
        optimizer.zero_grad()
        found = torch.nn.functional.embedding(rows, leaf, sparse=True)
        ((found * queries[:, None]).sum(dim=2) * coefficients).sum().backward()
        optimizer.step()
    assert torch.allclose(table.weights, leaf.detach(), atol=1e-12)


def test_trained_tables_cannot_be_merged():
    table = RowTable(start(), RowOptimizer("sgd"))
    with pytest.raises(UsageError, match=r"cannot be merged.*still or ase"):
        table.merge(RowTable(start(), RowOptimizer("sgd")))
