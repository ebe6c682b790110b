"""Compile every kernel for GPUs that need not be there, and print what was compiled for which.

Triton compiles a kernel when it is called, and asks a driver for which GPU; this one names the GPU that it is
given, and starts nothing. Run in a process of its own, since a process interprets kernels or compiles them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from wordstill.methods.learning.objectives import PairwiseRule, WindowRule
from wordstill.methods.learning.pair_kernels import PairStep
from wordstill.methods.learning.row_kernels import KINDS, KernelStep, add_rows
from wordstill.methods.learning.rows import RowOptimizer, RowTable
from wordstill.methods.learning.window_kernels import KINDS as OBJECTIVES
from wordstill.methods.learning.window_kernels import WindowStep
from wordstill.teacher.attention import WIDTHS
from wordstill.teacher.teacher_kernels import attend_short_texts, range_sums

DIM, ROWS = 384, torch.tensor([[0, 1], [1, 2]])
WARP, USUAL_WIDTH = 32, 64
SHARED_MEMORY = {89: 101_376, 90: 232_448}
"""Bytes that a program may have, by the GPU's capability."""


class AbsentGpu:
    """What triton asks of a driver."""

    def __init__(self, capability: int) -> None:
        self.capability, self.utils, self.launcher_cls = capability, self, self._launcher

    def get_current_device(self) -> int:
        # Triton keeps what it has compiled by this number.
        return self.capability

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, WARP)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": SHARED_MEMORY[self.capability]}

    def load_binary(self, *_: Any) -> tuple[int, ...]:
        return 1, 1, 0, 0, 1024

    def unload_module(self, module: int) -> None:
        return None

    def _launcher(self, source: Any, metadata: Any) -> Callable[..., None]:
        sys.stdout.write(f"{metadata.name} {self.capability}\n")
        return lambda *_: None


def main() -> None:
    """Call everything that starts a kernel, in each of its forms, once for each GPU."""
    for capability in SHARED_MEMORY:
        driver.set_active(AbsentGpu(capability))
        for call in calls(capability):
            call()


def calls(capability: int) -> Iterator[Callable[[], Any]]:
    """Each form of each kernel."""
    table = torch.zeros(4, DIM)
    least = capability == min(SHARED_MEMORY)
    for kind in KINDS:
        yield from row_calls(KernelStep(RowTable(table.clone(), RowOptimizer(kind))))  # type: ignore[arg-type]
    for dtype in (torch.float32, torch.bfloat16):
        yield lambda dtype=dtype: range_sums(table.to(dtype), torch.tensor([0]), torch.tensor([2]), True)
        yield lambda dtype=dtype: range_sums(table.to(dtype), torch.tensor([0]), torch.tensor([2]), False)
        # Wide ones in float32 take long to compile, for all GPUs alike: they are for the one with the least memory.
        for width in WIDTHS if least or dtype == torch.bfloat16 else (USUAL_WIDTH,):
            texts = torch.zeros(8, 2, width, dtype=dtype)
            bounds = torch.tensor([0, 8], dtype=torch.int32)
            for causal in (False, True) if width == USUAL_WIDTH else (False,):
                yield lambda texts=texts, bounds=bounds, causal=causal: attend_short_texts(
                    texts, texts, texts, bounds, 0.1, causal
                )
        usual, texts = (
            torch.zeros(8, 2, width, dtype=dtype) for width in (USUAL_WIDTH, WIDTHS[-1] if least else USUAL_WIDTH)
        )
        yield lambda texts=texts, bounds=bounds: attend_short_texts(
            texts, texts, texts, bounds, 0.1, False, torch.zeros(2, 15), None
        )
        yield lambda texts=usual, bounds=bounds: attend_short_texts(texts, texts, texts, bounds, 0.1, False, None, 3)
    yield lambda: add_rows(
        table, torch.zeros(4, dtype=torch.int64), torch.tensor([-1, 2]), table[:2], torch.tensor([1, 0])
    )


def row_calls(kernels: KernelStep) -> Iterator[Callable[[], Any]]:
    """Those of a table with one optimiser."""
    queries, coefficients = torch.zeros(2, DIM), torch.zeros(2, 2)
    yield lambda: kernels.scores(queries, ROWS)
    yield lambda: kernels.query_gradients(ROWS, coefficients)
    yield lambda: kernels.step(queries, ROWS, coefficients, 0.1)
    yield lambda: kernels.apply_all(kernels.weights, 0.1)
    counts, loss = torch.zeros(4, dtype=torch.int64), torch.zeros((), dtype=torch.float64)
    for offsets, weights, gradient in ((None, None, None), (torch.zeros(4), coefficients, queries.clone())):
        rule = PairwiseRule(0.1, True, per_window=weights is not None)
        for negatives in (torch.tensor([3, 0]), ROWS):
            step = PairStep(kernels, counts, offsets, rule, torch.zeros(()), loss)
            yield lambda step=step, negatives=negatives, weights=weights, gradient=gradient: step(
                queries, ROWS, negatives, weights, gradient
            )
    projection = RowTable(torch.zeros(DIM, 2), RowOptimizer("sgd"))
    for objective in OBJECTIVES:
        rule = WindowRule(objective, 5.0)
        window_step = WindowStep(kernels, projection, counts, None, rule, torch.zeros(()), loss)
        yield lambda step=window_step: step(torch.zeros(2, 2), ROWS, coefficients, ROWS)


if __name__ == "__main__":
    main()
