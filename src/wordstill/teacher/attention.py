"""Attention over texts that lie end to end in one row: each text sees only itself, and nothing is padded.

`attend` is registered with transformers' attention interface, so any model that uses the interface can take
it. On a CPU `attend_texts` is faster than torch's kernel for the usual lengths.
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
"""Neighbouring texts are read in one call while they have at most so many subwords together."""
ALIGNED, ALIGNED_TYPES = 16, (torch.bfloat16,)
"""A processor's tiles take so many keys at a time, and a rest makes all of them slower."""
SHORT = 48
"""Texts of at most so many subwords are left to torch."""
MOST_SCORES = {torch.float32: 1 << 20, torch.bfloat16: 1 << 22}
"""More scores of one text do not stay in the cache, and it is left to torch too."""
LEAST_SUM, LARGEST_SUM = 1e-30, 1e30
NAME, NAME_IN_COMPILED = "wordstill_packed", "wordstill_packed_in_compiled"
FOREIGN = ("softcap", "s_aux", "alibi")
"""What some models add to attention and the packed kernel does not know."""
SHORT_ON_GPU = 512
"""Texts of fewer subwords on average take the kernel for short texts."""
WIDTHS = (16, 32, 64, 128)
"""Sizes of a head that it has."""
HALVES = (torch.bfloat16, torch.float16)
"""What the kernel for long texts calculates in."""


@dataclass(frozen=True)
class Packing:
    """Where texts lie in a row of subwords."""

    lengths: list[int]
    """Subwords of each of the B texts."""
    bounds: Tensor
    """[B + 1] int32, where each text begins, on the model's device."""
    memory: dict[Any, Any] = field(default_factory=dict)
    """What one layer computed and the next ones need again."""


class CannotPack(Exception):
    """The model asks for a kind of attention that the packed kernel does not have."""


_current: ContextVar[Packing] = ContextVar("packing")
_calls: ContextVar[list[str]] = ContextVar("calls")


@contextmanager
def packed(packing: Packing) -> Iterator[None]:
    """Inside, attention keeps to these texts."""
    token = _current.set(packing)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Packing | None:
    """Where texts lie, inside `packed`."""
    return _current.get(None)


@contextmanager
def noted_calls() -> Iterator[list[str]]:
    """Which modules have asked for this kind of attention inside: some models take the name, and never ask."""
    token = _calls.set([])
    try:
        yield _calls.get()
    finally:
        _calls.reset(token)


def register(*, compiled: bool = False) -> str:
    """Make the kind of attention known to transformers; returns its name there. A compiled model leaves it out."""
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
    position_bias: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls it: [1, heads, P, d] each; gives [1, P, heads, d].

    ``position_bias`` is the table [heads, 2 n - 1] of `relative_positions`, by distance.

    Raises:
        CannotPack: The model wants more than this.
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
    """For a model that is run by hand over a text."""
    if len(query) > 1:
        raise CannotPack("it is run by hand over several texts. Run it text by text, or use attention=padded")
    length = query.shape[2]
    return Packing([length], torch.tensor([0, length], dtype=torch.int32, device=query.device))


def _short_kernel(query: Tensor, packing: Packing, *, biased: bool) -> Callable[..., Tensor] | None:
    """The kernel for short texts, where it can run and there is none that is faster."""
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
    """[P, heads, d] by the operator below torch.nn.attention.varlen, whose own arguments often change."""
    sides = {} if reach is None else {"window_size_left": reach - 1, "window_size_right": 0 if causal else reach - 1}
    attended: Tensor = torch.ops.aten._flash_attention_forward(
        *rows, bounds, bounds, longest, longest, 0.0, causal, False, scale=scale, **sides
    )[0]
    return attended


@dataclass(frozen=True)
class DistanceBias:
    """What is added to the score of two subwords of a text, by their distance."""

    table: Tensor | None
    """[heads, 2 n - 1], from distance 1 - n (a key before its query) to n - 1."""
    reach: int | None
    """Keys so far away, or farther, are not seen."""
    memory: dict[Any, Any]
    """Layers of a model often have the same table."""

    def between(self, window: _Window, like: Tensor) -> Tensor:
        """[heads or 1, n, keys] of a window, in the type of a tensor."""
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
            # Larger distances are those between different texts, which do not see each other.
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
    """[P, heads, d] attention in which each text sees itself and nothing else; causal, what comes before it only.

    Queries are [heads, P, d]; keys and values may have a fraction of the heads, each of which serves several.
    The lengths of the texts are P together.
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
    """Texts that are read in one call, and the keys that they are compared with."""

    texts: slice
    keys: slice
    mask: Tensor | None
    """[n or 1, keys] what is added to the scores; None where every key is the text's own."""

    def is_plain(self, heads: int, most_scores: int, *, half: bool) -> bool:
        """Whether it is one text of a usual length; in bfloat16 also several short ones."""
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
    """All windows of a batch; they are the same in every layer. Several batches may be under way."""
    total = sum(lengths)
    step = ALIGNED if dtype in aligned and device.type == "cpu" else 1
    found, start = [], 0
    for texts in _together(lengths):
        stop = start + sum(texts)
        single = len(texts) == 1
        wanted = stop - start if single and causal else -(-(stop - start) // step) * step
        # Keys of the neighbours fill the last step, and are masked; at the end there are none to the right.
        first = min(start, max(0, total - wanted))
        last = min(first + wanted, total)
        mask = None
        if not single or last - first != stop - start:
            mask = _mask(texts, start - first, last - first, causal).to(device, dtype)
        found.append(_Window(slice(start, stop), slice(first, last), mask))
        start = stop
    return found


def _together(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Lengths of the texts of each window."""
    texts: list[int] = []
    for length in lengths:
        if texts and sum(texts) + length > TOGETHER:
            yield texts
            texts = []
        texts.append(length)
    yield texts


def _mask(texts: Sequence[int], before: int, keys: int, causal: bool) -> Tensor:
    """[n, keys], or one row for all where there is one text, whose keys begin after some others."""
    owner = torch.repeat_interleave(torch.arange(len(texts)), torch.tensor(texts))
    of_key = torch.full((keys,), -1)
    of_key[before : before + len(owner)] = owner
    seen = owner[:1, None] == of_key if len(texts) == 1 else owner[:, None] == of_key
    if causal:
        seen = seen & (torch.arange(keys) <= torch.arange(len(owner))[:, None] + before)
    return torch.zeros(seen.shape).masked_fill_(~seen, -torch.inf)


def _plain(query: Tensor, key: Tensor, value: Tensor, added: Tensor | None, scale: float, out: Tensor) -> bool:
    """Exponentials of the scores as they are; False where one is too large, or all of a row too small."""
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
