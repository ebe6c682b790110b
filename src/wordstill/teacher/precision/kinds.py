"""What a model calculates in: numbers of one kind, or 8 bits for its linear layers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from wordstill.corpus import Corpus
from wordstill.errors import UsageError
from wordstill.teacher.device import FP8, INT8, choose_precision
from wordstill.teacher.precision.cpu_linear import with_sorted_weights
from wordstill.teacher.precision.fp8 import fp8_if_close, refuse_without_fp8
from wordstill.teacher.precision.half import bfloat16_if_close
from wordstill.teacher.precision.int8 import int8_if_close, refuse_without_int8, sample_of
from wordstill.teacher.precision.tiles import NoTiles, with_tiles
from wordstill.teacher.subwords.tokenisation import Subwords

BY_TILES = ("auto", "bfloat16")
"""Precisions for which matrix tiles are tried on a CPU, before what torch has."""


class Precision:
    """A model in numbers of one kind, which has nothing to learn.

    Args:
        model: The model, ready to run.

    Attributes:
        model: The same; in fp8 another one after `settle`, in int8 after each `learn`.
        name: What it calculates in.
        ranges: What the ranges of int8 were learnt from; None where there are none.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = str(model.dtype).removeprefix("torch.")
        self.ranges: dict[str, Any] | None = None

    @property
    def learns(self) -> bool:
        """Whether it must see some of the text before the model can read."""
        return False

    def refuse_unready(self) -> None:
        """Refuse to read before it has learnt."""

    def settle(self) -> None:
        """Do what must wait until the model's attention is chosen; `model` can be another one afterwards."""

    def learn(self, corpus: Corpus, subwords: Subwords, limit: int, *, packed: bool) -> None:
        """Look at a sample of what will be read; `model` can be another one afterwards.

        Args:
            corpus: The text.
            subwords: The teacher's tokenizer.
            limit: Longest text in sub-words, special tokens counted.
            packed: Whether the model reads packed texts.
        """


class Int8Precision(Precision):
    """Linear layers in 8 bits where the states stay close; the model stays in float32 where they do not.

    Args:
        model: A model in float32 on the CPU.
        depth: Number of its last layer.
        teacher: The teacher's name, for messages.
    """

    def __init__(self, model: Any, depth: int, teacher: str) -> None:
        super().__init__(model)
        self._exact, self._depth, self._teacher = model, depth, teacher
        self._ready = False

    @property
    def learns(self) -> bool:
        """Always: every text has ranges of its own."""
        return True

    def refuse_unready(self) -> None:
        """Refuse to read without ranges.

        Raises:
            UsageError: `learn` was not called.
        """
        if not self._ready:
            raise UsageError(f"{self._teacher} can only be distilled in int8. Take another dtype.")

    def learn(self, corpus: Corpus, subwords: Subwords, limit: int, *, packed: bool) -> None:
        """Learn the ranges of the numbers from a sample; warns where the states would change too much."""
        sample = sample_of(corpus, subwords, limit)
        self.model = int8_if_close(self._exact, sample, self._depth, self._teacher, packed=packed)
        changed = self.model is not self._exact
        self.name, self.ranges = (INT8, sample.facts()) if changed else ("float32", None)
        self._ready = True


class Fp8Precision(Precision):
    """Linear layers in fp8 where the states stay close; the model stays in bfloat16 where they do not.

    Args:
        model: A model in bfloat16 on a GPU.
        probe: Sub-words of a short text [n], to see what changes.
        depth: Number of its last layer.
        teacher: The teacher's name, for messages.
    """

    def __init__(self, model: Any, probe: Tensor, depth: int, teacher: str) -> None:
        super().__init__(model)
        self._probe, self._depth, self._teacher = probe, depth, teacher

    def settle(self) -> None:
        """Change the layers; before, their rounding would hide whether packed texts give the same."""
        exact = self.model
        self.model = fp8_if_close(exact, self._probe, self._depth, self._teacher)
        if self.model is not exact:
            self.name = FP8


def in_precision(
    model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str
) -> Precision:
    """Bring a model to its device, in the precision that is wanted.

    On a CPU ``auto`` and ``bfloat16`` use matrix tiles where the model fits them; else what torch has.

    Args:
        model: A model on the CPU; it is taken over.
        wanted: ``auto``, a kind of numbers, ``int8`` or ``fp8``.
        device: Where it shall run.
        probe: Sub-words of a short text [n], to try what is faster.
        depth: Number of its last layer.
        teacher: The teacher's name, for messages.

    Raises:
        UsageError: The precision is unknown, or cannot be had on this device.
        TeacherError: The processor cannot run in int8.
    """
    if wanted == INT8:
        refuse_without_int8(device, teacher)
        return Int8Precision(model.to(device, torch.float32), depth, teacher)
    if wanted == FP8:
        refuse_without_fp8(device, teacher)
        return Fp8Precision(model.to(device, torch.bfloat16), probe, depth, teacher)
    if device.type == "cpu" and wanted in BY_TILES:
        with suppress(NoTiles):
            return Precision(with_tiles(model, probe, depth))
    return Precision(_by_torch(model, wanted, device, probe, depth, teacher))


def _by_torch(model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model in numbers of one kind, with the products that torch has."""
    dtype = choose_precision(wanted, device)
    if wanted == "auto" and device.type == "cpu" and dtype is torch.bfloat16:
        model = bfloat16_if_close(model, probe, depth, teacher)
    else:
        model = model.to(device, dtype)
    return with_sorted_weights(model, probe, depth) if device.type == "cpu" else model
