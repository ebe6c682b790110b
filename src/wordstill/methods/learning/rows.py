"""Row-sparse optimizer steps on a table, and their replay as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from wordstill.errors import UsageError
from wordstill.methods.learning.objectives import Losses
from wordstill.methods.sums import Accumulator

if TYPE_CHECKING:
    from wordstill.methods.learning.row_kernels import KernelStep


OptimizerKind = Literal["sgd", "adagrad", "adam", "lazy-adam"]
ADAMS = ("adam", "lazy-adam")
EVERY = slice(None)
"""All rows of a table."""


@dataclass(frozen=True)
class RowOptimizer:
    """Row-sparse SGD, Adagrad, or Adam in two variants."""

    kind: OptimizerKind = "adam"
    """``adagrad`` keeps one number per row, so it is invariant to rotation. The bias correction of ``adam`` counts the
    steps of each row; that of ``lazy-adam``, as in TensorFlow and torch's SparseAdam, counts those of the whole table,
    which makes a rare word's first step about three times as long."""
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


class RowTable:
    """A table of vectors with row-sparse optimizer steps.

    A batch has B queries with R slots each; a slot is a row, and rows may repeat. Memory: rows x dim float32, three
    times that with Adam, and once more on a GPU.

    Args:
        initial: The initial vectors [rows, dim], not copied.
        optimizer: The optimizer.
        rates: Factor of the learning rate for each row [rows]; None is 1.
    """

    def __init__(self, initial: Tensor, optimizer: RowOptimizer, rates: Tensor | None = None) -> None:
        self.weights, self.optimizer = initial, optimizer
        rows = len(initial)
        self.rates = torch.ones(rows, dtype=initial.dtype, device=initial.device) if rates is None else rates
        self.steps = torch.zeros(rows, dtype=torch.int64, device=initial.device)
        self.state: dict[str, Tensor] = {}
        if optimizer.kind in ADAMS:
            self.state = {"first": torch.zeros_like(initial), "second": torch.zeros_like(initial)}
            if optimizer.kind == "lazy-adam":
                self.state["table_steps"] = torch.zeros(1, dtype=torch.int64, device=initial.device)
        elif optimizer.kind == "adagrad":
            self.state = {"squares": torch.zeros(rows, dtype=initial.dtype, device=initial.device)}
        self.kernels = gpu_step(self)

    def scores(self, queries: Tensor, rows: Tensor) -> Tensor:
        """Inner products of queries [B, dim] with their rows [B, R], or with rows shared by all [R]."""
        if rows.dim() == 1:
            return queries @ self.weights[rows].T
        if self.kernels is not None:
            return self.kernels.scores(queries, rows)
        # One slot at a time, because the rows of all slots would not fit into a processor's cache.
        columns = [(queries * self.weights[slot]).sum(dim=1) for slot in rows.unbind(1)]
        return torch.stack(columns, dim=1)

    def query_gradients(self, rows: Tensor, coefficients: Tensor) -> Tensor:
        """Gradients of the queries [B, dim], given the derivatives of the loss by each score [B, R]."""
        if rows.dim() == 1:
            return coefficients @ self.weights[rows]
        if self.kernels is not None:
            return self.kernels.query_gradients(rows, coefficients)
        gradients = torch.zeros(len(rows), self.weights.shape[1], dtype=self.weights.dtype, device=rows.device)
        for slot, coefficient in zip(rows.unbind(1), coefficients.unbind(1)):
            gradients.addcmul_(self.weights[slot], coefficient[:, None])
        return gradients

    def step(self, queries: Tensor, rows: Tensor, coefficients: Tensor, learning_rate: float | Tensor) -> None:
        """Update each row once, with the sum of its gradients over all slots.

        Args:
            queries: [B, dim].
            rows: [B, R], or [R] if shared by all queries.
            coefficients: Derivative of the loss by each score [B, R]; a row with 0 still counts a step.
            learning_rate: Learning rate, before the factors of rows.
        """
        if rows.dim() == 2 and self.kernels is not None:
            self.kernels.step(queries, rows, coefficients, learning_rate)
            return
        distinct, gradients = merged_gradients(queries, rows, coefficients)
        self.apply(distinct, gradients, learning_rate)

    def apply(self, rows: Tensor | slice, gradients: Tensor, learning_rate: float | Tensor) -> None:
        """Update distinct rows [U], or all, with their gradients [U, dim]."""
        if isinstance(rows, slice) and self.kernels is not None:
            self.kernels.apply_all(gradients, learning_rate)
            return
        self.steps[rows] += 1
        if self.optimizer.kind in ADAMS:
            gradients = self._adam(rows, gradients)
        elif self.optimizer.kind == "adagrad":
            squares = self.state["squares"]
            squares[rows] += gradients.square().mean(dim=1)
            gradients = gradients / (squares[rows].sqrt() + self.optimizer.epsilon)[:, None]
        self.weights[rows] -= learning_rate * self.rates[rows, None] * gradients

    def state_dict(self) -> dict[str, Tensor]:
        """Weights, steps of each row, and the optimizer's state."""
        return {"weights": self.weights, "steps": self.steps, **self.state}

    def merge(self, other: Accumulator) -> None:
        """Raise a `UsageError`: trained tables cannot be merged."""
        raise UsageError(
            "Tables of trained methods cannot be merged. Train on all the text in one run, or "
            "use a method that keeps sums, such as still or ase."
        )

    def _adam(self, rows: Tensor | slice, gradients: Tensor) -> Tensor:
        beta1, beta2 = self.optimizer.beta1, self.optimizer.beta2
        first, second = self.state["first"], self.state["second"]
        first[rows] = first[rows].lerp(gradients, 1 - beta1)
        second[rows] = second[rows].lerp(gradients.square(), 1 - beta2)
        steps = self.steps[rows].to(gradients.dtype)[:, None]
        if self.optimizer.kind == "lazy-adam":
            self.state["table_steps"] += 1
            steps = self.state["table_steps"].to(gradients.dtype)
        mean = first[rows] / (1 - beta1**steps)
        spread = (second[rows] / (1 - beta2**steps)).sqrt()
        return mean / (spread + self.optimizer.epsilon)


def merged_gradients(queries: Tensor, rows: Tensor, coefficients: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows [U] of a batch, and the sum of each one's gradients [U, dim].

    Args:
        queries: [B, dim].
        rows: [B, R], or [R] if shared by all queries.
        coefficients: Derivative of the loss by each score [B, R].
    """
    distinct, place = torch.unique(rows, return_inverse=True)
    shape = (len(distinct), queries.shape[1])
    gradients = torch.zeros(shape, dtype=queries.dtype, device=queries.device)
    if rows.dim() == 1:
        return distinct, gradients.index_add_(0, place, coefficients.T @ queries)
    for slot, coefficient in zip(place.unbind(1), coefficients.unbind(1)):
        gradients.index_add_(0, slot, queries * coefficient[:, None])
    return distinct, gradients


def joined(queries: Tensor, positives: Tensor, negatives: Tensor, losses: Losses) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, rows and coefficients of positives [B, P] and negatives [B, N] or [N], for one step.

    The gradients of shared negatives become additional queries, each with one slot of weight 1.
    """
    if negatives.dim() == 2:
        rows = torch.cat([positives, negatives], dim=1)
        return queries, rows, torch.cat([losses.positive, losses.negative], dim=1)
    rows = torch.cat([positives, negatives[:, None].expand(-1, positives.shape[1])])
    own = torch.zeros(len(negatives), positives.shape[1], dtype=queries.dtype, device=queries.device)
    own[:, 0] = 1.0
    return torch.cat([queries, losses.negative.T @ queries]), rows, torch.cat([losses.positive, own])


def gpu_step(table: RowTable) -> KernelStep | None:
    """The steps of a table by kernels; None without a GPU or Triton."""
    if not table.weights.is_cuda or table.weights.dtype != torch.float32:
        return None
    try:
        from wordstill.methods.learning.row_kernels import KernelStep
    except ImportError:
        return None
    return KernelStep(table)


Step = Callable[[], None]


def recorded(step: Step) -> Step:
    """Capture a step as a CUDA graph, without running it; the result replays it."""
    graph = torch.cuda.CUDAGraph()
    # Other threads may allocate memory during the capture.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    replay: Step = graph.replay
    return replay


class Replayed:
    """A CUDA graph of a function that changes tensors in place, for many calls of one size.

    Launching the dozen operations of a step takes the host ten times as long as launching one graph. A graph always
    reads the same addresses, so arguments are copied there first. The first call runs normally, as a warm-up; the
    second is captured. Calls of another size, such as the last of a batch, always run normally.

    Args:
        function: Must not wait for the GPU, and must depend only on tensors with fixed addresses.
        size: Rows of the first argument in calls to capture.
        record: Captures a step.
    """

    def __init__(self, function: Callable[..., None], size: int, record: Callable[[Step], Step] = recorded) -> None:
        self.function, self.size, self.record = function, size, record
        self._held: tuple[Tensor, ...] = ()
        self._replay: Step | None = None

    def __call__(self, *arguments: Tensor) -> None:
        """Call the function, or replay its graph."""
        if len(arguments[0]) != self.size:
            self.function(*arguments)
            return
        first = not self._held
        if first:
            self._held = tuple(torch.empty(each.shape, dtype=each.dtype, device=each.device) for each in arguments)
        for held, given in zip(self._held, arguments, strict=True):
            held.copy_(given)
        if first:
            self.function(*self._held)
            return
        if self._replay is None:
            self._replay = self.record(lambda: self.function(*self._held))
        self._replay()
