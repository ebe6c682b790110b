"""Models that add a bias by distance to the scores of attention (T5, MPNet), adapted to packed texts.

Such a model computes its bias for every pair of subwords of a row, [heads, P, P], which is far too much where many
texts lie in one row. Adapted, it hands on a table by distance instead, [heads, 2 n - 1] for texts of at most n
subwords, and packed attention looks distances up. Whether that gives the same is tried before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from wordstill.teacher.attention import current

LEAST_LENGTH = 512
"""Tables are made for texts of at least so many subwords."""
METHODS: dict[str, Callable[[Any, int, Any], Tensor]] = {
    "compute_bias": lambda method, length, device: method(length, length, device=device),
    "compute_position_bias": lambda method, length, device: method(torch.empty(1, length, 0, device=device)),
}
"""How T5's and MPNet's method is asked for the bias [1, heads, n, n] of one text."""
WITHOUT_INTERFACE = ("MPNetSelfAttention",)
"""Attention that does not use transformers' interface for kinds of attention."""


def adapt(model: Any, attention: str, *, compiled: bool = False) -> None:
    """Let a model use a kind of attention that is registered with transformers, also one that adds a bias.

    Raises:
        ValueError: The model does not let its attention be replaced.
    """
    restore(model, attention)
    for name, module in list(model.named_modules()):
        if type(module).__name__ in WITHOUT_INTERFACE:
            model.set_submodule(name, InterfaceAttention(module, model.config))
        for method in METHODS:
            if hasattr(module, method) and hasattr(module, "relative_attention_bias"):
                by_distance: Any = BiasByDistance(getattr(module, method), METHODS[method])
                if compiled:
                    by_distance = torch.compiler.disable(by_distance)  # type: ignore[no-untyped-call]
                setattr(module, method, by_distance)


def restore(model: Any, attention: str | None) -> None:
    """Take back what `adapt` did, and let the model use a kind of attention that it knows itself."""
    has_interface = True
    for name, module in list(model.named_modules()):
        for method in METHODS:
            vars(module).pop(method, None)
        if isinstance(module, InterfaceAttention):
            model.set_submodule(name, module.own)
        has_interface &= not isinstance(module, InterfaceAttention) and type(module).__name__ not in WITHOUT_INTERFACE
    if has_interface:
        model.set_attn_implementation(attention)
    else:
        # What it would refuse; here it says which masks are made.
        model.config._attn_implementation = attention


class BiasByDistance:
    """Stands in for a method that computes the bias of every pair of subwords; gives the table [heads, 2 n - 1].

    Args:
        method: The model's method.
        ask: How to ask it, see `METHODS`.
    """

    def __init__(self, method: Any, ask: Callable[[Any, int, Any], Tensor]) -> None:
        self.method, self.ask = method, ask
        self._tables: dict[tuple[int, str], Tensor] = {}

    def __call__(self, states_or_length: Tensor | int, *_: Any, device: Any = None, **__: Any) -> Tensor:
        """The table for the longest text that is read just now."""
        length = states_or_length
        if isinstance(states_or_length, Tensor):
            length, device = states_or_length.shape[1], states_or_length.device
        packing = current()
        longest = max(packing.lengths) if packing else int(length)
        # A power of two, so that few tables are made.
        size = max(LEAST_LENGTH, 1 << (longest - 1).bit_length())
        if (size, str(device)) not in self._tables:
            bias = self.ask(self.method, size, device)[0]
            self._tables[size, str(device)] = torch.cat([bias[:, 1:, 0].flip(-1), bias[:, 0]], dim=-1)
        return self._tables[size, str(device)]


class InterfaceAttention(nn.Module):
    """MPNet's attention by transformers' interface, with the weights of the module that it stands in for.

    Args:
        own: The module.
        config: The model's, which names the kind of attention.
    """

    is_causal = False

    def __init__(self, own: Any, config: Any) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = own.q, own.k, own.v, own.o
        self.config, self.width = config, own.attention_head_size
        self._own = (own,)

    @property
    def own(self) -> nn.Module:
        """The module that it stands in for, which is no part of this one."""
        module: nn.Module = self._own[0]
        return module

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, position_bias: Tensor | None = None, **_: Any
    ) -> tuple[Tensor]:
        """[..., P, d] of the same."""
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        shape = (*hidden_states.shape[:-1], -1, self.width)
        given = [each(hidden_states).view(shape).transpose(1, 2) for each in (self.q, self.k, self.v)]
        attend = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
        attended, _ = attend(self, *given, attention_mask, position_bias=position_bias)
        result: Tensor = self.o(attended.flatten(2))
        return (result,)
