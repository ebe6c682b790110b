"""The model's forward pass over a batch, with texts packed end to end if the model supports that, else padded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from wordstill.core.ragged import Ints
from wordstill.errors import TeacherError, in_one_line
from wordstill.teacher.attention import CannotPack, Packing, current, noted_calls, packed, register
from wordstill.teacher.batch import DeviceBatch, DeviceLoader
from wordstill.teacher.gathering import bare_batch, trial_batch
from wordstill.teacher.layers import (
    INPUT_EMBEDDINGS,
    TOLERANCE,
    LayerHooks,
    Watched,
    blocks_of,
    relative_difference,
    wanted_states,
)
from wordstill.teacher.tokenizer import first_position

ROWS_STEP = 64
"""On a CPU, the number of subwords is padded to a multiple of this: kernels are compiled anew for every number of
rows, which takes longer than computing a few more rows."""
LEAST_LENGTH = 512
"""Minimum length of texts for which tables of position biases are made."""
METHODS: dict[str, Callable[[Any, int, Any], Tensor]] = {
    "compute_bias": lambda method, length, device: method(length, length, device=device),
    "compute_position_bias": lambda method, length, device: method(torch.empty(1, length, 0, device=device)),
}
"""How to call the methods of T5 and MPNet that compute the bias [1, heads, n, n] of one text."""
WITHOUT_INTERFACE = ("MPNetSelfAttention",)
"""Attention that does not use transformers' interface for kinds of attention."""


class Forward:
    """Computes the packed states of some layers, running no block above them.

    Args:
        model: A transformers model in evaluation mode.
        depth: Index of the last layer.
        name: The teacher's name, for messages.
        pad_id: Id of the padding token.

    Attributes:
        packs: Whether texts are packed; set by `use_packing`.
        max_tokens: Maximum number of subwords in one pass, set when the GPU runs out of memory.
    """

    def __init__(self, model: Any, depth: int, name: str, pad_id: int) -> None:
        self.depth, self.name, self.pad_id = depth, name, pad_id
        self.packs = False
        self.max_tokens: int | None = None
        self.model, self.blocks = model, blocks_of(model, depth)
        self.hooks = None if self.blocks is None else LayerHooks(self.blocks)
        self.first_position = first_position(model)
        self._usual_attention = getattr(model.config, "_attn_implementation", None)

    @torch.inference_mode()
    def __call__(self, batch: DeviceBatch, layers: tuple[int, ...]) -> dict[int, Tensor]:
        """[P, d] states of each requested layer.

        Raises:
            TeacherError: The model returns no hidden states, or a single text does not fit into the GPU's memory.
        """
        if INPUT_EMBEDDINGS not in layers:
            return self._in_parts(batch.subwords, batch.text_offsets, batch.lengths, layers)
        if getattr(self.model, "embeds_alone", False):
            wanted = {layer: max(layer, 0) for layer in layers}
            states = self(batch, tuple(sorted(set(wanted.values()))))
            return {layer: states[number] for layer, number in wanted.items()}
        rest = tuple(layer for layer in layers if layer != INPUT_EMBEDDINGS)
        found = self._in_parts(batch.subwords, batch.text_offsets, batch.lengths, rest) if rest else {}
        return {INPUT_EMBEDDINGS: self._input_embeddings(batch.subwords), **found}

    def _input_embeddings(self, subwords: Tensor) -> Tensor:
        """[P, d] input embeddings of subwords."""
        table: Tensor = self.model.get_input_embeddings().weight
        width = int(self.model.config.get_text_config().hidden_size)
        if table.shape[1] != width:
            raise TeacherError(
                f"The input embeddings of {self.name} have {table.shape[1]} dimensions, its states {width}: the "
                "model projects them. Use decontextual:layer=0."
            )
        return table[subwords]

    def compile(self, wanted: bool = True) -> None:
        """Compile the model's blocks, or undo that; the first batch afterwards takes seconds longer.

        Blocks have the same code, so they are compiled once for all.
        """
        if self.packs:
            adapt(self.model, register(compiled=wanted), compiled=wanted)
        if self.blocks is None or self.hooks is None:
            return
        self.hooks.remove()
        for number, block in enumerate(self.blocks):
            plain = block.block if isinstance(block, Watched) else block
            if wanted:
                use_plain_gelu(plain)
                plain.compile(dynamic=True)
            else:
                plain._compiled_call_impl = None
            # Hooks on a compiled block would be compiled too.
            self.blocks[number] = Watched(plain) if wanted else plain
        self.hooks = LayerHooks(self.blocks)

    def use_packing(self, wanted: bool) -> None:
        """Switch between packed and padded texts.

        Raises:
            ValueError: The model's attention cannot be replaced.
        """
        if wanted:
            adapt(self.model, register())
        else:
            restore(self.model, self._usual_attention)
        self.packs = wanted

    def _in_parts(self, subwords: Tensor, texts: Tensor, lengths: Ints, layers: tuple[int, ...]) -> dict[int, Tensor]:
        """Run the texts [P] with bounds ``texts`` [B + 1] at once or, if memory is short, in halves."""
        count = len(lengths) // 2
        if self.max_tokens is None or len(subwords) <= self.max_tokens or not count:
            with suppress(torch.cuda.OutOfMemoryError):
                return (self._packed if self.packs else self._padded)(subwords, texts, lengths, layers)
            torch.cuda.empty_cache()
            self._take_less(len(subwords), lengths)
        cut = int(lengths[:count].sum())
        first = self._in_parts(subwords[:cut], texts[: count + 1], lengths[:count], layers)
        second = self._in_parts(subwords[cut:], texts[count:] - cut, lengths[count:], layers)
        return {layer: torch.cat([states, second[layer]]) for layer, states in first.items()}

    def _take_less(self, subwords: int, lengths: Ints) -> None:
        """Halve the size of a pass from now on, with a warning the first time."""
        if len(lengths) == 1:
            raise TeacherError(
                f"The memory of the GPU is too small for {self.name} with one text of {lengths[0]} "
                "subwords. Free some, set a smaller max_length, or use device cpu."
            )
        if self.max_tokens is None:
            warnings.warn(
                f"The memory of the GPU is too small for a batch of {subwords} subwords; from now on batches "
                "are read in parts, which is slower. Set a smaller budget.",
                stacklevel=4,
            )
        self.max_tokens = subwords // 2

    def _packed(self, subwords: Tensor, texts: Tensor, lengths: Ints, layers: tuple[int, ...]) -> dict[int, Tensor]:
        starts = texts[:-1].repeat_interleave(texts.diff(), output_size=len(subwords))
        positions = torch.arange(len(subwords), device=subwords.device) - starts + self.first_position
        count, sizes = len(subwords), lengths.tolist()
        rest = -count % ROWS_STEP if subwords.device.type == "cpu" else 0
        if rest:
            subwords = pad(subwords, (0, rest), value=self.pad_id)
            positions = pad(positions, (0, rest), value=self.first_position)
            sizes, texts = [*sizes, rest], torch.cat([texts, texts[-1:] + rest])
        with packed(Packing(sizes, texts.int())):
            hidden = self._run(layers, input_ids=subwords[None], position_ids=positions[None])
        return {layer: states[0, :count] for layer, states in hidden.items()}

    def _padded(self, subwords: Tensor, texts: Tensor, lengths: Ints, layers: tuple[int, ...]) -> dict[int, Tensor]:
        filled = np.arange(lengths.max()) < lengths[:, None]
        padded = not filled.all()
        mask = torch.from_numpy(filled).to(subwords.device)
        ids = torch.full(mask.shape, self.pad_id, dtype=torch.int64, device=subwords.device)
        ids[mask] = subwords
        hidden = self._run(layers, input_ids=ids, attention_mask=mask.long() if padded else None)
        return {layer: states[mask] if padded else states.flatten(0, 1) for layer, states in hidden.items()}

    def _run(self, layers: tuple[int, ...], **inputs: Any) -> dict[int, Tensor]:
        """[texts, subwords, d] states of each requested layer."""
        if layers == (self.depth,) or self.hooks is None:
            output = self.model(**inputs, output_hidden_states=layers != (self.depth,))
            return wanted_states(output, layers, self.depth, self.name)
        below = [layer for layer in layers if layer < self.depth]
        with self.hooks.before(below, stop=self.depth not in layers) as seen:
            seen[self.depth] = wanted_states(self.model(**inputs), (self.depth,), self.depth, self.name)[self.depth]
        return seen


def pack_if_same(forward: Forward, subwords: Ints, limit: int, device: torch.device) -> str | None:
    """Switch to packing if it leaves the states unchanged; otherwise return the reason why not.

    The trial repeats a short text [n] beyond the limit, so that errors in position embeddings show.
    """
    batch = DeviceLoader(device)(trial_batch(subwords, limit))
    batch.await_arrival()
    layers = (forward.depth,)
    padded = forward(batch, layers)[forward.depth]
    try:
        forward.use_packing(True)
        with noted_calls() as calls:
            packed = forward(batch, layers)[forward.depth]
        difference = relative_difference(packed, padded)
        if not calls:
            raise CannotPack(f"{type(forward.model).__name__} does not let its attention be replaced")
    except Exception as error:  # Models fail in every way: by type, by shape, by a missing argument.
        forward.use_packing(False)
        return in_one_line(error)
    if not difference <= TOLERANCE.get(padded.dtype, 1e-3):
        forward.use_packing(False)
        return f"its states differ by {difference:.1%} from those of padded texts"
    return None


def check_hooks(forward: Forward, subwords: Ints, device: torch.device) -> None:
    """Disable hooks if the inputs of blocks are not the model's hidden states.

    For example, XLNet's blocks have inputs [subwords, texts, d], and Longformer's have additional padding. The trial
    has padded texts [n] of different lengths. A model that returns no hidden states cannot be checked.
    """
    if forward.hooks is None:
        return
    batch = DeviceLoader(device)(bare_batch([subwords, subwords[: len(subwords) // 2 + 1], subwords]))
    batch.await_arrival()
    layers, hooks = tuple(range(forward.depth)), forward.hooks
    try:
        forward.hooks = None
        expected = forward(batch, layers)
    except TeacherError:
        forward.hooks = hooks
        return
    with suppress(IndexError, RuntimeError):  # States of another shape.
        forward.hooks = hooks
        found = forward(batch, layers)
        worst = max(relative_difference(found[layer], expected[layer]) for layer in layers)
        if worst <= TOLERANCE.get(expected[0].dtype, 1e-3):
            return
    forward.hooks = None


class PlainGelu(nn.Module):
    """The exact GELU by torch's own kernel, even inside a compiled block.

    For a batch of 131,072 subwords in a block of BERT-base on an H200, the compiled GELU took 0.82 ms, torch's own
    kernel 0.51 ms, and copying the values 0.38 ms.
    """

    def __init__(self) -> None:
        super().__init__()
        # Not a decorator, because it loads the compiler, which takes seconds.
        self._gelu = torch.compiler.disable(nn.functional.gelu)  # type: ignore[no-untyped-call]

    def forward(self, values: Tensor) -> Tensor:
        """GELU of the values, with the same shape and precision."""
        result: Tensor = self._gelu(values)
        return result


def use_plain_gelu(module: nn.Module) -> None:
    """Replace every exact GELU in a module, but not approximations."""
    for name, child in module.named_children():
        if _is_gelu(child):
            setattr(module, name, PlainGelu())
        else:
            use_plain_gelu(child)


def _is_gelu(module: nn.Module) -> bool:
    if isinstance(module, nn.GELU):
        return module.approximate == "none"
    # transformers wraps the function in a class of its own.
    return type(module).__name__ == "GELUActivation" and getattr(module, "act", None) is nn.functional.gelu


def adapt(model: Any, attention: str, *, compiled: bool = False) -> None:
    """Switch a model, including one with relative position biases, to an attention registered with transformers.

    Raises:
        ValueError: The model's attention cannot be replaced.
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
    """Undo `adapt`, and switch the model to one of its own kinds of attention."""
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
        # The model would refuse this setting, which only decides which masks it makes.
        model.config._attn_implementation = attention


class BiasByDistance:
    """Replaces a method that computes the bias of every pair of subwords by a table of distances [heads, 2 n - 1].

    Args:
        method: The model's method.
        ask: How to call it, see `METHODS`.
    """

    def __init__(self, method: Any, ask: Callable[[Any, int, Any], Tensor]) -> None:
        self.method, self.ask = method, ask
        self._tables: dict[tuple[int, str], Tensor] = {}

    def __call__(self, states_or_length: Tensor | int, *_: Any, device: Any = None, **__: Any) -> Tensor:
        """The table for the longest text of the current batch."""
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
    """MPNet's attention with transformers' attention interface, and the weights of the module that it replaces.

    Args:
        own: The replaced module.
        config: The model's settings, which name the kind of attention.
    """

    is_causal = False

    def __init__(self, own: Any, config: Any) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = own.q, own.k, own.v, own.o
        self.config, self.width = config, own.attention_head_size
        self._own = (own,)

    @property
    def own(self) -> nn.Module:
        """The replaced module, which is not a submodule of this one."""
        module: nn.Module = self._own[0]
        return module

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, position_bias: Tensor | None = None, **_: Any
    ) -> tuple[Tensor]:
        """[..., P, d] states after attention."""
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        shape = (*hidden_states.shape[:-1], -1, self.width)
        given = [each(hidden_states).view(shape).transpose(1, 2) for each in (self.q, self.k, self.v)]
        attend = ALL_ATTENTION_FUNCTIONS[self.config._attn_implementation]
        attended, _ = attend(self, *given, attention_mask, position_bias=position_bias)
        result: Tensor = self.o(attended.flatten(2))
        return (result,)
