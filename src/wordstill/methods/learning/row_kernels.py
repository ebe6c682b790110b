"""Triton kernels on rows of a table without host synchronization: sparse optimizer steps and scatter-add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from wordstill.methods.learning.rows import RowTable


NOBODY = 2**31 - 1
KINDS = {"sgd": 0, "adagrad": 1, "adam": 2, "lazy-adam": 3}


class KernelStep:
    """Gathers, scatters and updates rows of a table in place; see `RowTable` for the arguments.

    Gradients are summed in a table of their own. The first slot that has a row owns it, and only the owner updates it,
    so rows need not be sorted and the host need not know their number. Gradients of repeated rows are summed in any
    order, so rounding differs from run to run.
    """

    def __init__(self, table: RowTable) -> None:
        self.weights, self.rates, self.steps = table.weights, table.rates, table.steps
        weights, state, self.optimizer = table.weights, table.state, table.optimizer
        self.gradients = torch.zeros_like(weights)
        self.owners = torch.full((len(weights),), NOBODY, dtype=torch.int32, device=weights.device)
        # Kernels need an address even for state that the optimizer does not have.
        self.first = state.get("first", state.get("squares", weights))
        self.second = state.get("second", weights)
        self.table_steps = state.get("table_steps")
        self.dim = weights.shape[1]
        self.block = triton.next_power_of_2(self.dim)

    def scores(self, queries: Tensor, rows: Tensor) -> Tensor:
        """[B, R] inner products."""
        result = torch.empty(rows.shape, dtype=torch.float32, device=rows.device)
        queries, rows = queries.contiguous(), rows.contiguous()
        _scores[(len(rows),)](queries, self.weights, rows, result, SLOTS=rows.shape[1], DIM=self.dim, BLOCK=self.block)
        return result

    def query_gradients(self, rows: Tensor, coefficients: Tensor) -> Tensor:
        """[B, dim] sums of rows weighted by their coefficients."""
        result = torch.empty(len(rows), self.dim, dtype=torch.float32, device=rows.device)
        rows, coefficients = rows.contiguous(), coefficients.contiguous()
        _weighted_rows[(len(rows),)](
            self.weights, rows, coefficients, result, SLOTS=rows.shape[1], DIM=self.dim, BLOCK=self.block
        )
        return result

    def step(self, queries: Tensor, rows: Tensor, coefficients: Tensor, learning_rate: float | Tensor) -> None:
        """Sum the gradients of each row, then update the rows."""
        rows = rows.contiguous()
        self.scatter(queries.contiguous(), rows, 0, coefficients.contiguous())
        self.update(rows, rows[:0], learning_rate)

    def scatter(self, queries: Tensor, rows: Tensor, first: int, coefficients: Tensor | None = None) -> None:
        """Add queries [B, dim] to the gradients of rows [B] or [B, R], whose slots are numbered from ``first`` on.

        With coefficients of the same shape as the rows, each query is multiplied by that of the slot.
        """
        _scatter[(len(rows),)](
            queries,
            rows,
            queries if coefficients is None else coefficients,
            self.gradients,
            self.owners,
            first,
            SLOTS=rows.shape[1] if rows.dim() == 2 else 1,
            PLAIN=coefficients is None,
            DIM=self.dim,
            BLOCK=self.block,
        )

    def squared_norm(self, rows: Tensor, others: Tensor) -> Tensor:
        """[] squared norm of the gradients of all distinct rows in ``rows`` and ``others``."""
        norm = torch.zeros((), dtype=torch.float32, device=rows.device)
        slots = (rows.numel() + others.numel(),)
        _add_squares[slots](
            rows, others, rows.numel(), self.owners, self.gradients, norm, DIM=self.dim, BLOCK=self.block
        )
        return norm

    def apply_all(self, gradients: Tensor, learning_rate: float | Tensor) -> None:
        """Update all rows with their gradients [rows, dim]."""
        # Slots are not used, so any addresses will do.
        self.update(self.steps, self.steps[:0], learning_rate, gradients.contiguous())

    def update(self, rows: Tensor, others: Tensor, learning_rate: float | Tensor, every: Tensor | None = None) -> None:
        """Update every row in ``rows`` or ``others``, whose slots follow those of ``rows``.

        With ``every``, the gradients of all rows, all rows are updated.
        """
        optimizer = self.optimizer
        if not isinstance(learning_rate, Tensor):
            learning_rate = torch.full((), learning_rate, device=self.weights.device)
        if self.table_steps is not None:
            self.table_steps += 1
        _update[(rows.numel() + others.numel(),)](
            rows,
            others,
            rows.numel(),
            self.owners,
            self.gradients if every is None else every,
            self.weights,
            self.rates,
            self.steps,
            self.steps if self.table_steps is None else self.table_steps,
            self.first,
            self.second,
            learning_rate,
            optimizer.beta1,
            optimizer.beta2,
            optimizer.epsilon,
            KIND=KINDS[optimizer.kind],
            EVERY=every is not None,
            DIM=self.dim,
            BLOCK=self.block,
        )


@triton.jit
def _scores(queries, weights, rows, result, SLOTS: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    values = tl.load(queries + query * DIM + column, mask=inside, other=0.0)
    for slot in range(SLOTS):
        row = tl.load(rows + query * SLOTS + slot)
        vector = tl.load(weights + row * DIM + column, mask=inside, other=0.0)
        tl.store(result + query * SLOTS + slot, tl.sum(values * vector, axis=0))


@triton.jit
def _weighted_rows(weights, rows, coefficients, result, SLOTS: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    query = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for slot in range(SLOTS):
        row = tl.load(rows + query * SLOTS + slot)
        coefficient = tl.load(coefficients + query * SLOTS + slot)
        total += coefficient * tl.load(weights + row * DIM + column, mask=inside, other=0.0)
    tl.store(result + query * DIM + column, total, mask=inside)


@triton.jit
def _scatter(
    queries,
    rows,
    coefficients,
    gradients,
    owners,
    first,
    SLOTS: tl.constexpr,
    PLAIN: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < DIM
    values = tl.load(queries + query * DIM + column, mask=inside, other=0.0)
    for slot in range(SLOTS):
        place = query * SLOTS + slot
        row = tl.load(rows + place)
        coefficient = 1.0
        if not PLAIN:
            coefficient = tl.load(coefficients + place)
        tl.atomic_min(owners + row, (first + place).to(tl.int32))
        if coefficient != 0.0:
            tl.atomic_add(gradients + row * DIM + column, coefficient * values, mask=inside)


@triton.jit
def _update(
    rows,
    others,
    count,
    owners,
    gradients,
    weights,
    rates,
    steps,
    table_steps,
    first,
    second,
    learning_rate,
    beta1,
    beta2,
    epsilon,
    KIND: tl.constexpr,
    EVERY: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    place = tl.program_id(0)
    row = place.to(tl.int64)
    mine = True
    if not EVERY:
        row = tl.load(rows + place) if place < count else tl.load(others + place - count)
        mine = tl.load(owners + row) == place
    if mine:
        column = tl.arange(0, BLOCK)
        inside = column < DIM
        here = row * DIM + column
        gradient = tl.load(gradients + here, mask=inside, other=0.0)
        taken = tl.load(steps + row) + 1
        tl.store(steps + row, taken)
        if KIND >= 2:
            mean = beta1 * tl.load(first + here, mask=inside, other=0.0) + (1 - beta1) * gradient
            spread = beta2 * tl.load(second + here, mask=inside, other=0.0) + (1 - beta2) * gradient * gradient
            tl.store(first + here, mean, mask=inside)
            tl.store(second + here, spread, mask=inside)
            if KIND == 3:
                taken = tl.load(table_steps)
            number = taken.to(tl.float32)
            mean = mean / (1 - tl.exp2(number * tl.log2(beta1)))
            spread = spread / (1 - tl.exp2(number * tl.log2(beta2)))
            gradient = mean / (tl.sqrt(spread) + epsilon)
        elif KIND == 1:
            squares = tl.load(first + row) + tl.sum(gradient * gradient, axis=0) / DIM
            tl.store(first + row, squares)
            gradient = gradient / (tl.sqrt(squares) + epsilon)
        vector = tl.load(weights + here, mask=inside, other=0.0)
        row_rate = tl.load(learning_rate) * tl.load(rates + row)
        tl.store(weights + here, vector - row_rate * gradient, mask=inside)
        if not EVERY:
            tl.store(gradients + here, tl.zeros((BLOCK,), dtype=tl.float32), mask=inside)
            tl.store(owners + row, 2147483647)


@triton.jit
def _add_squares(rows, others, count, owners, gradients, norm, DIM: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0)
    row = tl.load(rows + place) if place < count else tl.load(others + place - count)
    if tl.load(owners + row) == place:
        column = tl.arange(0, BLOCK)
        gradient = tl.load(gradients + row * DIM + column, mask=column < DIM, other=0.0)
        tl.atomic_add(norm, tl.sum(gradient * gradient, axis=0))


RUN = 32


def add_rows(sums: Tensor, counts: Tensor, rows: Tensor, values: Tensor, places: Tensor) -> None:
    """Add ``values[places]`` to rows of sums [V, d], and count them in counts [V].

    Rows are sorted, so that up to `RUN` vectors of a row are summed before they are added to the table; rows below 0
    are skipped. Partial sums of a frequent row are added in any order, so rounding differs from run to run.
    """
    if not len(rows):
        return
    width = values.shape[1]
    block = min(1024, triton.next_power_of_2(width))
    grid = (triton.cdiv(len(rows), RUN), triton.cdiv(width, block))
    _add_runs[grid](sums, counts, rows, places, values.contiguous(), len(rows), LENGTH=RUN, DIM=width, BLOCK=block)


@triton.jit
def _add_runs(sums, counts, rows, places, values, count, LENGTH: tl.constexpr, DIM: tl.constexpr, BLOCK: tl.constexpr):
    begin = tl.program_id(0) * LENGTH
    end = tl.minimum(begin + LENGTH, count)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < DIM
    counting = tl.program_id(1) == 0
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    current = tl.load(rows + begin)
    first = begin
    for number in range(begin, end):
        row = tl.load(rows + number)
        if row != current:
            if current >= 0:
                tl.atomic_add(sums + current * DIM + column, total, mask=inside)
                if counting:
                    tl.atomic_add(counts + current, (number - first).to(tl.int64))
            total = tl.zeros((BLOCK,), dtype=tl.float32)
            current = row
            first = number
        place = tl.load(places + number)
        total += tl.load(values + place * DIM + column, mask=inside, other=0.0).to(tl.float32)
    if current >= 0:
        tl.atomic_add(sums + current * DIM + column, total, mask=inside)
        if counting:
            tl.atomic_add(counts + current, (end - first).to(tl.int64))
