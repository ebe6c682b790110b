"""Linear layers, norms and attention in bfloat16 on matrix tiles (AMX), and models that use them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.errors import in_one_line
from wordstill.teacher.amx.amx_library import MOST_NUMBERS, STEP, AmxUnavailable, kernel, share
from wordstill.teacher.layers import CLOSE_ENOUGH, agreement, blocks_of

HALF = STEP // 2
MOST_OF_IT = 0.9
"""Minimum share of the blocks' weights in linear layers, because everything else is slow in bfloat16."""


@torch.no_grad()
def with_amx(model: Any, subwords: Tensor, depth: int) -> Any:
    """A copy of a model in bfloat16 with the linear layers of its blocks on matrix tiles, checked on a short text [n].

    The model itself becomes float32.

    Raises:
        AmxUnavailable: There are no tiles, they do not support the model's layers, or its states would change.
    """
    _refuse_unfit(list(blocks_of(model, depth) or []))
    kernel()
    exact = model.to(torch.float32)
    changed = copy.deepcopy(exact).to(torch.bfloat16)
    try:
        _replace(changed, list(blocks_of(changed, depth) or []), subwords)
        cosine = agreement(exact, changed, subwords, depth)
    except Exception as error:  # Some models access the weights of layers directly.
        raise AmxUnavailable(in_one_line(error)) from error
    if not cosine >= CLOSE_ENOUGH:
        raise AmxUnavailable(f"its states have a mean cosine of only {cosine:.3f} with those in float32")
    return changed


class AmxLinear(nn.Module):
    """A linear layer in bfloat16 with float32 sums; `state_dict` has the weights in their original order.

    The result of a row does not depend on the other rows.

    Args:
        linear: The linear layer on a CPU, or GPT-2's transposed one; its sizes are multiples of 32.
        gelu: Whether to apply the exact ``gelu`` to the result.

    Raises:
        TypeError: It is not a linear layer.
    """

    def __init__(self, linear: nn.Module, *, gelu: bool = False) -> None:
        super().__init__()
        weight = linear_weight(linear)
        if weight is None:
            raise TypeError(f"{type(linear).__name__} is not a linear layer.")
        self.out_features, self.in_features = weight.shape
        self.gelu, self.bias = gelu, linear.bias
        self._transposed = type(linear) is not nn.Linear
        self._weight = _sorted(weight.to(torch.bfloat16))
        bias = self.bias.detach() if isinstance(self.bias, Tensor) else torch.zeros(self.out_features)
        # A copy even if it is in float32 already.
        self._full_bias = bias.to(torch.float32, copy=True)

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] from [..., K].

        Raises:
            TypeError: The input is not in bfloat16.
            ValueError: It has the wrong size.
            AmxUnavailable: This process cannot use matrix tiles.
        """
        if x.dtype is not torch.bfloat16:
            raise TypeError(f"A layer on matrix tiles needs bfloat16, got {x.dtype}.")
        if x.shape[-1] != self.in_features:
            raise ValueError(f"The layer needs {self.in_features} numbers per row, got {x.shape[-1]}.")
        given = x.detach().reshape(-1, self.in_features).contiguous()
        y = torch.empty(len(given), self.out_features, dtype=torch.bfloat16)
        share(len(given), STEP, lambda part: self._multiply(given[part], y[part]))
        return y.view(*x.shape[:-1], self.out_features)

    def _multiply(self, x: Tensor, y: Tensor) -> None:
        kernel().linear(x, self._weight, self._full_bias, y, gelu=self.gelu)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight = self._weight.permute(0, 2, 4, 1, 3, 5).reshape(self.out_features, self.in_features)
        destination[f"{prefix}weight"] = weight.t().contiguous() if self._transposed else weight


class AmxNorm(nn.Module):
    """The norm of ``linear(hidden_states) + input_tensor``, without rounding the sum before the norm.

    Args:
        ending: The module to replace, see `ends_in_norm`; children keep their names.
    """

    def __init__(self, ending: nn.Module) -> None:
        super().__init__()
        for name, child in ending.named_children():
            self.add_module(name, child)
        (norm,) = (child for child in ending.children() if isinstance(child, nn.LayerNorm))
        self._epsilon = norm.eps
        # Copies even if they are in float32 already.
        self._weight, self._bias = (each.detach().to(torch.float32, copy=True) for each in norm.parameters())

    def forward(self, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        """[..., N] from [..., K] and [..., N]."""
        (linear,) = (child for child in self.children() if isinstance(child, AmxLinear))
        values: Tensor = linear(hidden_states).view(-1, linear.out_features)
        added = input_tensor.detach().reshape(values.shape).contiguous()
        share(len(values), STEP, lambda part: self._norm(values[part], added[part]))
        return values.view(input_tensor.shape)

    def _norm(self, values: Tensor, added: Tensor) -> None:
        kernel().norm(values, added, self._weight, self._bias, self._epsilon)


PARTS = (AmxLinear, nn.LayerNorm, nn.Dropout)
ARGUMENTS = ["hidden_states", "input_tensor"]
TRIED_ROWS = 4
SAME = 0.05
"""Maximum difference from rounding to bfloat16 in a norm, whose values are near 1."""


def ends_in_norm(module: nn.Module) -> bool:
    """Whether `AmxNorm` can replace a module, judging by its parts and by a trial."""
    children = list(module.children())
    linears = [child for child in children if isinstance(child, AmxLinear)]
    norms = [child for child in children if isinstance(child, nn.LayerNorm)]
    if len(linears) != 1 or len(norms) != 1 or not all(isinstance(child, PARTS) for child in children):
        return False
    (linear,), (norm,) = linears, norms
    fits = norm.normalized_shape == (linear.out_features,) and linear.out_features <= MOST_NUMBERS
    whole = norm.weight is not None and norm.bias is not None
    if not fits or not whole or [*inspect.signature(module.forward).parameters] != ARGUMENTS:
        return False
    generator = torch.Generator().manual_seed(0)
    sizes = (linear.in_features, linear.out_features)
    given = [torch.randn(TRIED_ROWS, size, generator=generator).bfloat16() for size in sizes]
    return torch.allclose(module(*given), AmxNorm(module)(*given), rtol=SAME, atol=SAME)


def linear_weight(module: nn.Module) -> Tensor | None:
    """[N, K] weights of a linear layer or of GPT-2's transposed one; None for any other module."""
    if type(module) is nn.Linear:
        return module.weight.detach()
    if type(module).__name__ == "Conv1D" and isinstance(module.weight, Tensor):
        return module.weight.detach().t()
    return None


def _sorted(weight: Tensor) -> Tensor:
    """[N/32, K/32, 2, 16, 16, 2] from [N, K]: 32 outputs, 32 inputs, halves of outputs, pairs of inputs."""
    outputs, inputs = weight.shape
    parts = weight.reshape(outputs // STEP, 2, HALF, inputs // STEP, HALF, 2)
    return parts.permute(0, 3, 1, 4, 2, 5).contiguous()


def _refuse_unfit(blocks: Sequence[nn.Module]) -> None:
    weights = [weight for block in blocks for weight in map(linear_weight, block.modules()) if weight is not None]
    if any(size % STEP for weight in weights for size in weight.shape):
        raise AmxUnavailable(f"sizes of its linear layers are not multiples of {STEP}")
    total = sum(parameter.numel() for block in blocks for parameter in block.parameters())
    if not weights or sum(weight.numel() for weight in weights) < MOST_OF_IT * total:
        raise AmxUnavailable("most of it is not in the linear layers of a list of equal blocks")


def _replace(model: Any, blocks: Sequence[nn.Module], subwords: Tensor) -> None:
    """Replace linear layers, activations that they can apply themselves, and norms after them."""
    inside = {id(module) for block in blocks for module in block.modules()}
    modules = {name: module for name, module in model.named_modules() if id(module) in inside}
    layers = {name: AmxLinear(module) for name, module in modules.items() if linear_weight(module) is not None}
    gelus = {name: module for name, module in modules.items() if type(module).__name__ == "GELUActivation"}
    for name, layer in layers.items():
        model.set_submodule(name, layer)
    for name, before in _layers_before(gelus, list(layers.values()), model, subwords).items():
        model.set_submodule(name, nn.Identity())
        for layer in before:
            layer.gelu = True
    for name, module in modules.items():
        if ends_in_norm(module):
            model.set_submodule(name, AmxNorm(module))


def _layers_before(
    gelus: dict[str, nn.Module], layers: Sequence[AmxLinear], model: Any, subwords: Tensor
) -> dict[str, list[AmxLinear]]:
    """For each activation whose inputs are always unchanged results of linear layers, these layers."""
    results: list[tuple[Tensor, AmxLinear]] = []
    before: dict[str, list[AmxLinear]] = {name: [] for name in gelus}

    def note(name: str, given: Tensor) -> None:
        found = [layer for result, layer in results if result is given]
        if found and name in before:
            before[name] += found
        else:
            before.pop(name, None)

    with ExitStack() as stack:
        for layer in layers:
            hook = layer.register_forward_hook(lambda layer, _, result: results.append((result, layer)))
            stack.callback(hook.remove)
        for name, gelu in gelus.items():
            before_hook = gelu.register_forward_pre_hook(lambda _, given, name=name: note(name, given[0]))
            stack.callback(before_hook.remove)
        model(input_ids=subwords[None])
    return {name: layers for name, layers in before.items() if layers}


def amx_can_attend(query: Tensor, key: Tensor, value: Tensor, scale: float) -> bool:
    """Whether `attend_with_amx` supports this non-causal attention over [heads, P, width]."""
    given = (query, key, value)
    if any(tensor.dtype is not torch.bfloat16 or tensor.device.type != "cpu" for tensor in given):
        return False
    # The kernel finds the largest score before it multiplies by the scale.
    fits = query.shape == key.shape == value.shape and query.shape[2] % STEP == 0 and scale > 0
    if not fits or any(tensor.stride(2) != 1 for tensor in given):
        return False
    try:
        kernel()
    except AmxUnavailable:
        return False
    return True


def attend_with_amx(query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int], scale: float) -> Tensor:
    """[P, heads, width] attention in which each text attends only to itself.

    Query, key and value are [heads, P, width], where the width is contiguous and a multiple of 32.

    Raises:
        ValueError: The lengths do not sum to P.
    """
    heads, rows, width = query.shape
    if sum(lengths) != rows:
        raise ValueError(f"The texts have {sum(lengths)} subwords, but {rows} were passed.")
    result = torch.empty(rows, heads, width, dtype=query.dtype)
    out, sizes = result.transpose(0, 1), _as_tensor(tuple(lengths))

    def attend(part: slice) -> None:
        kernel().attend(query[part], key[part], value[part], out[part], sizes, scale)

    share(heads, 1, attend)
    return result


@lru_cache(maxsize=16)
def _as_tensor(lengths: tuple[int, ...]) -> Tensor:
    """Cached, because all layers of a model share it; several batches may be in flight."""
    return torch.tensor(lengths, dtype=torch.int64)
