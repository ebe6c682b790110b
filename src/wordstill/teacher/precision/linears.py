"""Linear layers of models of every kind."""

from __future__ import annotations

from torch import Tensor, nn


def linear_weight(module: nn.Module) -> Tensor | None:
    """[N, K] of a linear layer or of GPT-2's transposed one; None of anything else."""
    if type(module) is nn.Linear:
        return module.weight.detach()
    if type(module).__name__ == "Conv1D" and isinstance(module.weight, Tensor):
        return module.weight.detach().t()
    return None
