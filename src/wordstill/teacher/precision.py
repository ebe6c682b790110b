"""The precision of a model on its device: AMX kernels, bfloat16 or float32; on a CPU chosen by a speed trial.

On a CPU, the weights of linear layers are reordered once for matrix products, not in every call.
"""

from __future__ import annotations

import copy
import hashlib
import json
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wordstill import __version__
from wordstill.core.files import user_cache
from wordstill.core.ragged import Ints
from wordstill.core.resume import read_record, write_record
from wordstill.errors import DataError, in_one_line
from wordstill.teacher.amx import AmxUnavailable, with_amx
from wordstill.teacher.batch import DeviceBatch, DeviceLoader
from wordstill.teacher.device import (
    amx_announced,
    avoid_broken_amx,
    bfloat16_is_safe,
    choose_precision,
    shared_cores,
    torch_multiplies_bfloat16,
)
from wordstill.teacher.forward import Forward
from wordstill.teacher.gathering import bare_batch
from wordstill.teacher.layers import (
    CLOSE_ENOUGH,
    TOLERANCE,
    agreement,
    blocks_of,
    copy_of,
    last_states,
    relative_difference,
)

CHOICES = ("float32", "bfloat16", "tiles")
"""In float32 by torch, in bfloat16 by torch, and in bfloat16 by our kernels for matrix tiles."""
LENGTHS = (128, 96, 64, 64, 48, 48, 32, 32)
"""Subwords of the texts of a trial."""
ROUNDS, SLOW = 3, 1.0
"""Timed runs of each candidate after a warm-up; only one if a warm-up took more than this many seconds."""
LEAST_GAIN = 1.05
"""Minimum speedup over float32 of another choice."""


@dataclass(frozen=True)
class Choice:
    """The chosen precision and kernels of a model, and why."""

    name: str
    reason: str
    """For messages."""
    milliseconds: dict[str, float] = field(default_factory=dict)
    """Time of a trial batch, by choice."""

    @classmethod
    def after(cls, seconds: Mapping[str, float]) -> Choice:
        """The fastest, or float32 if the speedup is small."""
        best = min(seconds, key=lambda name: seconds[name])
        if seconds[best] * LEAST_GAIN > seconds["float32"]:
            best = "float32"
        shown = ", ".join(f"{name} {1e3 * spent:.0f} ms" for name, spent in seconds.items())
        reason = f"chosen by a trial ({shown})" if len(seconds) > 1 else "nothing faster works here"
        return cls(best, reason, {name: round(1e3 * spent, 3) for name, spent in seconds.items()})


class TrialMemory:
    """Cached choices of earlier trials, one file for each model and CPU.

    Args:
        fingerprint: The model's fingerprint.
        folder: The folder of the cache; None takes the user's.
    """

    def __init__(self, fingerprint: str, folder: Path | None = None) -> None:
        self.facts = {
            "model": fingerprint,
            "processor": processor(),
            "torch": torch.__version__,
            "wordstill": __version__,
        }
        key = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()[:24]
        self.path = (folder or user_cache("trials")) / f"{key}.json"

    def recall(self) -> Choice | None:
        """The choice of an earlier trial; None if there was none or its file is damaged."""
        try:
            choice = Choice(**read_record(self.path)["choice"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError, DataError):
            return None
        return choice if choice.name in CHOICES else None

    def keep(self, choice: Choice) -> Choice:
        """Cache a choice. If that fails, warn and choose float32, because the next trial could choose differently."""
        try:
            write_record(self.path, {**self.facts, "choice": asdict(choice)})
        except (OSError, DataError) as error:
            reason = getattr(error.__cause__ or error, "strerror", None) or in_one_line(error)
            warnings.warn(
                f"The teacher runs in float32, which may be slower: the result of a speed trial cannot be kept in "
                f"{self.path.parent} ({reason}). Set XDG_CACHE_HOME to a folder that can be written, or set dtype.",
                stacklevel=5,
            )
            return Choice("float32", f"the result of a trial cannot be kept in {self.path.parent}")
        return choice


def run_trial(candidates: Mapping[str, Any], depth: int, name: str, subwords: Ints) -> Choice:
    """Time models that give the same states, in turns, over a text [n], cut or repeated to the trial's lengths."""
    batch = DeviceLoader(torch.device("cpu"))(bare_batch([np.resize(subwords, length) for length in LENGTHS]))
    with shared_cores(torch.get_num_threads()), ExitStack() as stack:
        runs = {choice: _timed(model, depth, name, batch, stack) for choice, model in candidates.items()}
        seconds = {choice: run() for choice, run in runs.items()}
        rounds = 1 if max(seconds.values()) > SLOW else ROUNDS
        # The first run of each is a warm-up, in which kernels are created.
        turns = [{choice: run() for choice, run in runs.items()} for _ in range(rounds)]
    return Choice.after({choice: min(turn[choice] for turn in turns) for choice in runs})


def _timed(model: Any, depth: int, name: str, batch: DeviceBatch, stack: ExitStack) -> Callable[[], float]:
    forward = Forward(model, depth, name, pad_id=0)
    try:
        forward.use_packing(True)
        stack.callback(forward.use_packing, False)
        forward(batch, (depth,))
    except Exception:  # Models fail in many ways; whether one can be packed is decided later.
        forward.use_packing(False)

    def run() -> float:
        start = time.thread_time()
        forward(batch, (depth,))
        return time.thread_time() - start

    return run


@cache
def processor() -> str:
    """A hash of the CPU's name and features, as far as the system reports them."""
    facts = [platform.machine(), platform.processor(), torch.backends.cpu.get_cpu_capability()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    except OSError:
        lines = []
    wanted = ("model name", "flags", "Features", "cpu family", "model", "stepping")
    facts += [line for line in lines if line.split(":")[0].strip() in wanted]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


WITH_AMX = ("auto", "bfloat16")
"""Precisions for which our kernels for matrix tiles are tried on a CPU before torch's."""
TRIED = range(1_000_000, 1_000_000_000)
"""Numbers of weights of models with a trial. For smaller models it would not pay off, and several copies of a larger
one may not fit into memory."""
OPERATORS = ("_linear_pointwise", "_reorder_linear_weight")
"""Operators of torch that reordered weights need."""


def in_precision(model: Any, wanted: str, device: torch.device, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model on its device in the requested precision.

    On a CPU, ``auto`` and ``bfloat16`` use our kernels for matrix tiles if these support the model, else torch's.

    Args:
        model: A model on the CPU; it may be modified.
        wanted: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: The device to run on.
        probe: Subwords of a short text [n], on which states are compared.
        depth: Index of its last layer.
        teacher: The teacher's name, for messages.

    Raises:
        UsageError: The precision is unknown or not available on this device.
    """
    if device.type == "cpu" and wanted in WITH_AMX:
        with suppress(AmxUnavailable):
            return with_amx(model, probe, depth)
    dtype = choose_precision(wanted, device)
    if wanted == "auto" and device.type == "cpu" and dtype is torch.bfloat16:
        model = bfloat16_if_close(model, probe, depth, teacher)
    else:
        model = model.to(device, dtype)
    return with_sorted_weights(model, probe, depth) if device.type == "cpu" else model


def is_tried(model: Any, wanted: str, device: torch.device) -> bool:
    """Whether the precision of a model is chosen by a trial."""
    weights = sum(weight.numel() for weight in model.parameters())
    return wanted == "auto" and device.type == "cpu" and weights in TRIED


def fastest(
    model: Any,
    probe: Tensor,
    depth: int,
    teacher: str,
    memory: TrialMemory,
    recorded: str | None = None,
    make: Callable[..., Any] | None = None,
) -> tuple[Any, Choice]:
    """A model on the CPU in the fastest precision and kernels that keep its states, with the choice.

    Args:
        model: A model on the CPU; it may be modified.
        probe: Subwords of a short text [n].
        depth: Index of its last layer.
        teacher: The teacher's name, for messages.
        memory: Choices of earlier trials.
        recorded: The choice of a run that is resumed, which is used without a trial.
        make: Makes the model of each choice; None takes `candidate`.
    """
    make = make or candidate
    known = Choice(recorded, "recorded by the run that is resumed") if recorded else memory.recall()
    if known is not None:
        found = make(known.name, model, probe, depth, teacher)
        if found is not None:
            return found, known
    # All but the first are copies; they are compared with float32.
    candidates = {name: make(name, model, probe, depth, teacher) for name in CHOICES}
    usable = {name: found for name, found in candidates.items() if found is not None}
    choice = memory.keep(run_trial(usable, depth, teacher, probe.numpy()))
    return usable[choice.name], choice


def candidate(name: str, model: Any, probe: Tensor, depth: int, teacher: str) -> Any:
    """The model by one of `CHOICES`; None if that is impossible or changes its states. The original becomes float32."""
    if name == "tiles":
        with suppress(AmxUnavailable):
            return with_amx(model, probe, depth)
        return None
    exact = model.to(torch.float32)
    if name == "bfloat16":
        if not has_bfloat16():
            return None
        exact = bfloat16_if_close(exact, probe, depth, teacher)
        if exact.dtype is not torch.bfloat16:
            return None
    return with_sorted_weights(exact, probe, depth)


def has_bfloat16() -> bool:
    """Whether torch multiplies bfloat16 natively on this CPU, without crashing."""
    return torch_multiplies_bfloat16() and (not amx_announced() or bfloat16_is_safe())


def bfloat16_if_close(model: Any, subwords: Tensor, depth: int, name: str) -> Any:
    """A model on the CPU in bfloat16, or in float32 with a warning if that would change the states of a text [n]."""
    full = model.to(torch.float32)
    try:
        half = copy.deepcopy(full).to(torch.bfloat16)
        cosine = agreement(full, half, subwords, depth)
        reason = f"in bfloat16 its states have a mean cosine of only {cosine:.4f} with those in float32"
    except Exception as error:  # Some layers do not run in bfloat16 and raise all kinds of errors.
        cosine, reason = 0.0, in_one_line(error)
    if cosine >= CLOSE_ENOUGH:
        return half
    warnings.warn(
        f"{name} stays in float32, which is slower: {reason}. Set dtype bfloat16 to use it anyway.", stacklevel=4
    )
    return full


@torch.inference_mode()
def with_sorted_weights(model: Any, subwords: Tensor, depth: int) -> Any:
    """A copy of a model on a CPU with reordered weights in its blocks; the model if states of a text [n] differ."""
    avoid_broken_amx()
    if not all(hasattr(torch.ops.mkldnn, name) for name in OPERATORS):
        return model
    changed = copy_of(model)
    try:
        for name, layer in _linear_layers(changed, depth).items():
            changed.set_submodule(name, SortedLinear(layer))
        one, other = (last_states(each, subwords, depth) for each in (model, changed))
        same = relative_difference(other, one) <= TOLERANCE[one.dtype]
    except Exception:  # Some models access the weights of layers directly.
        same = False
    return changed if same else model


class SortedLinear(nn.Module):
    """A linear layer with reordered weights, about a fifth faster in bfloat16; `state_dict` has the original order."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        """[..., N] from [..., K]."""
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._weight, self.bias, "none", [], "")
        return product

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}weight"] = self._weight.to_dense()


def _linear_layers(model: Any, depth: int) -> dict[str, nn.Linear]:
    inside = {id(module) for block in blocks_of(model, depth) or [] for module in block.modules()}
    return {
        name: module
        for name, module in model.named_modules()
        if type(module) is nn.Linear and id(module) in inside and module.weight.dtype in TOLERANCE
    }
