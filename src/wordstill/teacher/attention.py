"""Attention over packed texts: they are concatenated without padding, and each attends only to itself.

`attend` is registered with transformers' attention interface, for any model that uses it. On a CPU, `attend_texts` is
faster than torch's kernel for common lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from wordstill.teacher.amx.amx_layers import amx_can_attend, attend_with_amx
from wordstill.teacher.device import torch_multiplies_bfloat16

TOGETHER = 64
"""Adjacent texts are computed in one call while they have at most this many subwords in total."""
ALIGNED, ALIGNED_TYPES = 16, (torch.bfloat16,)
"""Keys per tile of a CPU; a remainder slows all of them down."""
SHORT = 48
"""Texts of at most this many subwords are left to torch."""
MOST_SCORES = {torch.float32: 1 << 20, torch.bfloat16: 1 << 22}
"""Maximum scores of a text that stay in the cache; longer texts are left to torch too."""
LEAST_SUM, LARGEST_SUM = 1e-30, 1e30
NAME, NAME_IN_COMPILED = "wordstill_packed", "wordstill_packed_in_compiled"
FOREIGN = ("softcap", "s_aux", "alibi")
"""Arguments of some models that packed attention does not support."""
SHORT_ON_GPU = 512
"""Texts of at most this many subwords on average use the kernel for short texts."""
WIDTHS = (16, 32, 64, 128)
"""Head sizes that it supports."""
HALVES = (torch.bfloat16, torch.float16)
"""Types of the kernel for long texts."""


@dataclass(frozen=True)
class Packing:
    """The texts in a packed row of subwords."""

    lengths: list[int]
    """Subwords of each of the B texts."""
    bounds: Tensor
    """[B + 1] int32 start of each text, and the end, on the model's device."""
    memory: dict[Any, Any] = field(default_factory=dict)
    """Values that one layer computes and the next ones reuse."""


class CannotPack(Exception):
    """The model needs attention that packing does not support."""


_current: ContextVar[Packing] = ContextVar("packing")
_calls: ContextVar[list[str]] = ContextVar("calls")


@contextmanager
def packed(packing: Packing) -> Iterator[None]:
    """Restrict attention to these texts within the block."""
    token = _current.set(packing)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Packing | None:
    """The packing, inside `packed`."""
    return _current.get(None)


@contextmanager
def noted_calls() -> Iterator[list[str]]:
    """Record the modules that call `attend` within the block: some models accept its name and never call it."""
    token = _calls.set([])
    try:
        yield _calls.get()
    finally:
        _calls.reset(token)


def register(*, compiled: bool = False) -> str:
    """Register `attend` with transformers; returns its name there. In a compiled model, it is not compiled."""
    from transformers import AttentionInterface

    if not compiled:
        AttentionInterface.register(NAME, attend)
        return NAME
    # Not a decorator: this imports the compiler, which takes seconds and is needed for compiled models only.
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
    position_bias: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention with the signature of transformers: from [1, heads, P, d] each to [1, P, heads, d].

    ``position_bias`` is the table [heads, 2 n - 1] of `relative_positions`, by distance.

    Raises:
        CannotPack: The model needs attention that packing does not support.
    """
    _calls.get([]).append(type(module).__name__)
    packing = current() or _one_text(query)
    longest = max(packing.lengths)
    foreign = any(others.get(name) is not None for name in FOREIGN)
    if foreign or (position_bias is not None and position_bias.dim() != 2):
        raise CannotPack(f"{type(module).__name__} has a kind of attention of its own")
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    reach = sliding_window if sliding_window is not None and sliding_window < longest else None
    rows = [each[0].transpose(0, 1) for each in (query, key, value)]
    if (short := _short_kernel(query, packing, biased=position_bias is not None)) is not None:
        return short(*rows, packing.bounds, scale, causal, position_bias, reach)[None], None
    if query.is_cuda and query.dtype in HALVES and position_bias is None:
        return _flash(rows, packing.bounds, longest, scale, causal, reach)[None], None
    bias = None
    if position_bias is not None or reach is not None:
        bias = DistanceBias(position_bias, reach, packing.memory)
    return attend_texts(query[0], key[0], value[0], packing.lengths, scale, causal=causal, bias=bias)[None], None


def _one_text(query: Tensor) -> Packing:
    """The packing of a single text, for a model that is called directly."""
    if len(query) > 1:
        raise CannotPack("it is run by hand over several texts. Run it text by text, or use attention=padded")
    length = query.shape[2]
    return Packing([length], torch.tensor([0, length], dtype=torch.int32, device=query.device))


def _short_kernel(query: Tensor, packing: Packing, *, biased: bool) -> Callable[..., Tensor] | None:
    """The kernel for short texts, if it can run and is the fastest."""
    long = query.shape[2] > SHORT_ON_GPU * len(packing.lengths) and query.dtype in HALVES and not biased
    known = query.dtype in (torch.float32, *HALVES) and query.shape[-1] in WIDTHS
    if not query.is_cuda or long or not known:
        return None
    try:
        from wordstill.teacher.teacher_kernels import attend_short_texts
    except ImportError:
        return None
    return attend_short_texts


def _flash(rows: list[Tensor], bounds: Tensor, longest: int, scale: float, causal: bool, reach: int | None) -> Tensor:
    """[P, heads, d] by the operator below torch.nn.attention.varlen, whose signature often changes."""
    sides = {} if reach is None else {"window_size_left": reach - 1, "window_size_right": 0 if causal else reach - 1}
    attended: Tensor = torch.ops.aten._flash_attention_forward(
        *rows, bounds, bounds, longest, longest, 0.0, causal, False, scale=scale, **sides
    )[0]
    return attended


@dataclass(frozen=True)
class DistanceBias:
    """A bias on the scores of two subwords of a text, by their distance."""

    table: Tensor | None
    """[heads, 2 n - 1], from distance 1 - n (a key before its query) to n - 1."""
    reach: int | None
    """Keys at this distance or farther are masked."""
    memory: dict[Any, Any]
    """Cache, because layers of a model often share the table."""

    def between(self, window: _Window, like: Tensor) -> Tensor:
        """[heads or 1, n, keys] bias of a window, in the type of ``like``."""
        texts, seen = window.texts, window.keys
        queries, keys, before = texts.stop - texts.start, seen.stop - seen.start, texts.start - seen.start
        place = (None if self.table is None else self.table.data_ptr(), self.reach, queries, keys, before)
        if place not in self.memory:
            self.memory[place] = self._between(queries, keys, before, like)
        found: Tensor = self.memory[place]
        return found

    def _between(self, queries: int, keys: int, before: int, like: Tensor) -> Tensor:
        numbers = torch.arange(max(queries, keys), device=like.device)
        distance = numbers[None, :keys] - numbers[:queries, None] - before
        bias = torch.zeros(1, queries, keys, dtype=like.dtype, device=like.device)
        if self.table is not None:
            middle = self.table.shape[1] // 2
            # Larger distances are between different texts, which are masked.
            bias = self.table.to(like.dtype)[:, (distance + middle).clamp_(0, 2 * middle)]
        return bias if self.reach is None else bias.masked_fill(distance.abs() >= self.reach, -torch.inf)


def attend_texts(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Sequence[int],
    scale: float,
    *,
    causal: bool = False,
    bias: DistanceBias | None = None,
    aligned: tuple[torch.dtype, ...] = ALIGNED_TYPES,
    most_scores: int | None = None,
) -> Tensor:
    """[P, heads, d] attention in which each text attends only to itself, causally if so set.

    Queries are [heads, P, d]; keys and values may have fewer heads, each shared by several query heads. The lengths of
    the texts sum to P.
    """
    if not causal and bias is None and amx_can_attend(query, key, value, scale):
        return attend_with_amx(query, key, value, lengths, scale)
    heads, rows, _ = query.shape
    result = torch.empty(rows, heads, value.shape[2], dtype=query.dtype, device=query.device)
    out = result.transpose(0, 1)
    usual = not query.is_cuda and not causal and len(key) == heads
    half = usual and bias is None and query.dtype == torch.bfloat16 and torch_multiplies_bfloat16()
    usual &= half or query.dtype == torch.float32
    most_scores = MOST_SCORES.get(query.dtype, 0) if most_scores is None else most_scores
    for window in windows_of(tuple(lengths), causal, query.dtype, query.device, () if half else aligned):
        texts, keys = window.texts, window.keys
        parts = (query[:, texts], key[:, keys], value[:, keys])
        added = window.mask if bias is None else bias.between(window, query)
        plain = usual and window.is_plain(heads, most_scores, half=half)
        if not (plain and _plain(*parts, added, scale, out[:, texts])):
            out[:, texts] = _left_to_torch(*parts, window.mask, None if bias is None else added, scale, causal)
    return result


@dataclass(frozen=True)
class _Window:
    """Texts that are computed in one call, and their keys."""

    texts: slice
    keys: slice
    mask: Tensor | None
    """[n or 1, keys] added to the scores; None if all keys are the text's own."""

    def is_plain(self, heads: int, most_scores: int, *, half: bool) -> bool:
        """Whether it is one text of a common length, or in bfloat16 also several short ones."""
        n = self.texts.stop - self.texts.start
        return heads * n * n <= most_scores and (half or (self.mask is None and n > SHORT))


@lru_cache(maxsize=16)
def windows_of(
    lengths: tuple[int, ...],
    causal: bool,
    dtype: torch.dtype,
    device: torch.device,
    aligned: tuple[torch.dtype, ...] = ALIGNED_TYPES,
) -> list[_Window]:
    """The windows of a batch. They are cached, because all layers share them; several batches may be in flight."""
    total = sum(lengths)
    step = ALIGNED if dtype in aligned and device.type == "cpu" else 1
    found, start = [], 0
    for texts in _together(lengths):
        stop = start + sum(texts)
        single = len(texts) == 1
        wanted = stop - start if single and causal else -(-(stop - start) // step) * step
        # Masked keys of the next texts fill up the last tile; at the end, those of the texts before.
        first = min(start, max(0, total - wanted))
        last = min(first + wanted, total)
        mask = None
        if not single or last - first != stop - start:
            mask = _mask(texts, start - first, last - first, causal).to(device, dtype)
        found.append(_Window(slice(start, stop), slice(first, last), mask))
        start = stop
    return found


def _together(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The lengths of the texts of each window."""
    texts: list[int] = []
    for length in lengths:
        if texts and sum(texts) + length > TOGETHER:
            yield texts
            texts = []
        texts.append(length)
    yield texts


def _mask(texts: Sequence[int], before: int, keys: int, causal: bool) -> Tensor:
    """[n, keys] mask, where ``before`` keys of other texts come first; one row for all if there is a single text."""
    owner = torch.repeat_interleave(torch.arange(len(texts)), torch.tensor(texts))
    of_key = torch.full((keys,), -1)
    of_key[before : before + len(owner)] = owner
    seen = owner[:1, None] == of_key if len(texts) == 1 else owner[:, None] == of_key
    if causal:
        seen = seen & (torch.arange(keys) <= torch.arange(len(owner))[:, None] + before)
    return torch.zeros(seen.shape).masked_fill_(~seen, -torch.inf)


def _plain(query: Tensor, key: Tensor, value: Tensor, added: Tensor | None, scale: float, out: Tensor) -> bool:
    """Softmax without subtracting the maximum; returns False if the sum of a row is too large or too small."""
    if added is None:
        scores = torch.bmm(query * scale, key.transpose(1, 2)).exp_()
    else:
        scores = torch.baddbmm(added, query * scale, key.transpose(1, 2)).exp_()
    sums = scores.sum(-1, keepdim=True, dtype=torch.float32)
    least, largest = torch.aminmax(sums)
    if not (float(least) > LEAST_SUM and float(largest) < LARGEST_SUM):
        return False
    torch.div(torch.bmm(scores, value), sums, out=out)
    return True


def _left_to_torch(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, added: Tensor | None, scale: float, causal: bool
) -> Tensor:
    if added is not None:
        if mask is None and causal:
            mask = torch.full(added.shape[1:], -torch.inf, dtype=added.dtype, device=added.device).triu_(1)
        mask = added if mask is None else added + mask
    attended = scaled_dot_product_attention(
        query[None],
        key[None],
        value[None],
        attn_mask=mask,
        is_causal=causal and mask is None,
        scale=scale,
        enable_gqa=len(query) != len(key),
    )
    return attended[0]
