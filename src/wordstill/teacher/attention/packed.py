"""Attention over texts that lie end to end in one row: each sees only itself, and nothing is padded.

It is registered with transformers' attention interface, so any model that uses the interface can take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from wordstill.teacher.attention.cpu import attend_texts

NAME, NAME_IN_COMPILED = "wordstill_packed", "wordstill_packed_in_compiled"
FOREIGN = ("softcap", "s_aux", "position_bias", "alibi")
"""What some models add to attention and the packed kernel does not know."""
SHORT = 512
"""Texts of fewer sub-words on average take the kernel for short texts."""
WIDTHS = (16, 32, 64, 128)
"""Sizes of a head that it has."""
HALVES = (torch.bfloat16, torch.float16)
"""What the kernel for long texts calculates in."""


@dataclass(frozen=True)
class Packing:
    """Where texts lie in a row of sub-words."""

    lengths: list[int]
    """Sub-words of each of the B texts."""
    bounds: Tensor
    """[B + 1] int32, where each text begins, on the model's device."""


class CannotPack(Exception):
    """The model asks for a kind of attention that the packed kernel does not have."""


_current: ContextVar[Packing] = ContextVar("packing")


@contextmanager
def packed(packing: Packing) -> Iterator[None]:
    """Inside, attention keeps to these texts."""
    token = _current.set(packing)
    try:
        yield
    finally:
        _current.reset(token)


def register(*, compiled: bool = False) -> str:
    """Make the kind of attention known to transformers; returns its name there.

    Args:
        compiled: For a model that is compiled: attention is left out of it.
    """
    from transformers import AttentionInterface

    if not compiled:
        AttentionInterface.register(NAME, attend)
        return NAME
    # Not a decorator: it loads the compiler, which takes seconds that only a compiled model repays.
    AttentionInterface.register(NAME_IN_COMPILED, torch.compiler.disable(attend))  # type: ignore[no-untyped-call]
    return NAME_IN_COMPILED


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls it: [1, heads, P, d] each; gives [1, P, heads, d].

    Raises:
        CannotPack: The model wants more than this.
    """
    packing = _current.get(None)
    if packing is None:
        packing = _one_text(query)
    longest = max(packing.lengths)
    if any(others.get(name) is not None for name in FOREIGN) or (sliding_window or longest) < longest:
        raise CannotPack(f"{type(module).__name__} has a kind of attention of its own")
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    rows = [each[0].transpose(0, 1) for each in (query, key, value)]
    if (short := _short_kernel(query, packing)) is not None:
        return short(*rows, packing.bounds, scale, causal)[None], None
    if query.is_cuda and query.dtype in HALVES:
        return _flash(rows, packing.bounds, longest, scale, causal)[None], None
    return attend_texts(query[0], key[0], value[0], packing.lengths, scale, causal=causal)[None], None


def _one_text(query: Tensor) -> Packing:
    """For a model that is run by hand over a text."""
    if len(query) > 1:
        raise CannotPack("it is run by hand over several texts. Run it text by text, or use attention=padded")
    length = query.shape[2]
    return Packing([length], torch.tensor([0, length], dtype=torch.int32, device=query.device))


def _short_kernel(query: Tensor, packing: Packing) -> Callable[..., Tensor] | None:
    """The kernel for short texts, where it can run and there is none that is faster."""
    long = query.shape[2] > SHORT * len(packing.lengths) and query.dtype in HALVES
    known = query.dtype in (torch.float32, *HALVES) and query.shape[-1] in WIDTHS
    if not query.is_cuda or long or not known:
        return None
    try:
        from wordstill.teacher.attention.packed_kernels import attend_short_texts
    except ImportError:
        return None
    return attend_short_texts


def _flash(rows: list[Tensor], bounds: Tensor, longest: int, scale: float, causal: bool) -> Tensor:
    """[P, heads, d] by the operator below torch.nn.attention.varlen, whose own arguments often change."""
    attended: Tensor = torch.ops.aten._flash_attention_forward(
        *rows, bounds, bounds, longest, longest, 0.0, causal, False, scale=scale
    )[0]
    return attended
