"""Distillers by a processor's matrix tiles, beside a teacher that runs by them."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordstill.meaning.distiller import Distiller, Distillers
from wordstill.teacher.amx import NoTiles, TileLinear
from wordstill.teacher.amx.amx_library import STEP, kernel

CLOSE_ENOUGH = 0.999
ROWS = 64
"""Words whose states are compared at once: what lies between the steps of so few stays near the processor."""


class TileDistiller(nn.Module):
    """What a distiller gives, with its layer in bfloat16 and linear layers by matrix tiles.

    Args:
        distiller: Trained, in float32 on a CPU; its sizes are multiples of 32.
    """

    def __init__(self, distiller: Distiller) -> None:
        super().__init__()
        layer, attended = distiller.transformer, distiller.transformer.self_attn
        self.heads, self.layer_embeddings = attended.num_heads, distiller.layer_embeddings
        self.projection = _tiles(attended.in_proj_weight, attended.in_proj_bias)
        self.mixed = _tiles(attended.out_proj.weight, attended.out_proj.bias)
        self.inner, self.outer = TileLinear(layer.linear1, gelu=True), TileLinear(layer.linear2)
        self.norm1, self.norm2 = (copy.deepcopy(norm).bfloat16() for norm in (layer.norm1, layer.norm2))

    def forward(self, states: Tensor) -> Tensor:
        """[n, width] vectors of states [n, layers, width], all in float32."""
        if self.layer_embeddings is not None:
            states = states + self.layer_embeddings
        states = states.bfloat16()
        parts = self.projection(states).unflatten(2, (3, self.heads, -1)).split(ROWS)
        mixed = torch.cat([attention(*part.float().unbind(2)).bfloat16() for part in parts])
        states = self.norm1(states.add_(self.mixed(mixed)))
        states = self.norm2(states.add_(self.outer(self.inner(states))))
        return states.float().mean(dim=1)


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """[n, length, width] attention within many short sequences [n, length, heads, size].

    Weights depend only on differences of scores, so the first key's are set to zero, and the first value is
    changed by its differences from the others: for few states that is a good part of the work.
    """
    keys, values = key[:, 1:] - key[:, :1], value[:, 1:] - value[:, :1]
    scores = (query[:, :, None] * keys[:, None]).sum(dim=-1) * query.shape[-1] ** -0.5
    weights = functional.pad(scores, (0, 0, 1, 0)).softmax(dim=2)  # [n, length, length, heads]
    result = value[:, :1].expand_as(query)
    for number in range(1, key.shape[1]):
        result = torch.addcmul(result, weights[:, :, number, :, None], values[:, number - 1 : number])
    return result.flatten(2)


@torch.inference_mode()
def with_tiles(distillers: Distillers, states: Tensor) -> Distillers:
    """A copy of distillers that runs by matrix tiles.

    Args:
        distillers: Trained, in float32 on a CPU.
        states: Of some words [n, layers, width], to see what changes.

    Raises:
        NoTiles: This process has no tiles, the distillers do not fit them, or their vectors would change.
    """
    kernel()
    if distillers.width % STEP:
        raise NoTiles(f"the width of states, {distillers.width}, is not a multiple of {STEP}")
    changed = copy.deepcopy(distillers)
    for name in ("meaning", "context"):
        changed.set_submodule(name, TileDistiller(getattr(distillers, name)))
        one, other = (each.representation(f"{name}-centred")(states) for each in (distillers, changed))
        cosine = float(functional.cosine_similarity(one, other, dim=-1).mean())
        if not cosine >= CLOSE_ENOUGH:
            raise NoTiles(f"{name}s have a mean cosine of only {cosine:.4f} with those in float32")
    return changed


def _tiles(weight: Tensor, bias: Tensor) -> TileLinear:
    """What torch keeps in layers of its own kinds."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    linear.weight, linear.bias = nn.Parameter(weight), nn.Parameter(bias)
    return TileLinear(linear)
