"""The teacher: a frozen language model that computes a state for every subword of a text."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordstill.core.progress import Profiler
from wordstill.core.ragged import Ints, offsets_of
from wordstill.errors import TeacherError, in_one_line, unknown_name
from wordstill.teacher.batch import Batch, DeviceBatch, DeviceLoader
from wordstill.teacher.device import choose_device, waking
from wordstill.teacher.forward import Forward, check_hooks, pack_if_same
from wordstill.teacher.gathering import trial_batch
from wordstill.teacher.loading import (
    Pooled,
    declared_pooling,
    fingerprint,
    import_transformers,
    load_model_and_tokenizer,
)
from wordstill.teacher.precision import Choice, TrialMemory, fastest, in_precision, is_tried
from wordstill.teacher.states import NonFiniteMonitor, WordStates
from wordstill.teacher.tokenizer import SubwordTokenizer, text_limit

PROBE_TEXT = "The old still stands in the small house by the river, and nobody has moved it since 1923."
"""Text for testing what a model supports."""
ATTENTIONS = ("auto", "packed", "padded")
MOST_READERS = 8
"""Largest number of threads; each needs memory for a batch."""
WORTH_COMPILING = 1e16
"""Number of words times parameters above which compiling pays off: about a minute on a large GPU."""


@dataclass(frozen=True)
class TeacherConfig:
    """Which model to use, and how to run it."""

    name: str = "all-MiniLM-L6-v2"
    """A folder, a name on the Hugging Face Hub, or the bundled ``all-MiniLM-L6-v2``. The folder may contain ELMo's
    ``options.json`` and ``weights.hdf5``."""
    device: str = "auto"
    dtype: str = "auto"
    """``auto``, ``float32``, ``bfloat16`` or ``float16``."""
    max_length: int | None = None
    """Maximum length of a text in subwords; None means the model's limit, but at most 512."""
    attention: str = "auto"
    """``packed`` concatenates the texts of a batch without padding, ``padded`` pads them; ``auto`` packs if that
    leaves the model's states unchanged."""
    compiled: bool | None = None
    """On a GPU, compile the model's blocks, which takes some seconds; None compiles if the text is long enough."""


class Teacher:
    """Any Hugging Face encoder or decoder with a fast tokenizer.

    The model must return hidden states. It is not copied, and may be changed.

    Attributes:
        limit: Maximum length of a text in subwords, including special tokens.
        depth: Index of the last layer; layer 0 is the embedding.
        width: Size of a state.
        fingerprint: Hash of the weights and the tokenizer.
        device: Where the model runs.
        dtype: Type of the states.
        precision: Name of `dtype`.
        choice: The chosen precision, and why.
        loading: How long each step of loading took.
        parameters: Number of weights.

    Raises:
        TeacherError: The tokenizer cannot be used.
        UsageError: A setting is wrong.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        config: TeacherConfig,
        recorded: str | None = None,
        loading: Profiler | None = None,
    ) -> None:
        self.config, self.loading = config, loading or Profiler()
        self.tokenizer = SubwordTokenizer(tokenizer, config.name)
        self.limit = text_limit(model, self.tokenizer, config.max_length)
        self.device = choose_device(config.device)
        if self.device.type == "cuda" and self.device.index is not None:
            # Our own kernels run on the current GPU, wherever their tensors are.
            torch.cuda.set_device(self.device)
        settings = model.config.get_text_config()
        self.depth = int(settings.num_hidden_layers)
        self.width = int(settings.hidden_size)
        self.fingerprint = fingerprint(model, self.tokenizer.definition)
        # A decoder would cache the keys and values of every layer for generating text.
        model.config.use_cache = settings.use_cache = False
        self.parameters = sum(weight.numel() for weight in model.parameters())
        self._n_embeddings = int(model.get_input_embeddings().num_embeddings)
        probe = torch.from_numpy(self._probe())
        tried = is_tried(model, config.dtype, self.device)
        with self.loading.part("precision"):
            if tried:
                memory = TrialMemory(self.fingerprint)
                ready, self.choice = fastest(model.eval(), probe, self.depth, config.name, memory, recorded)
            else:
                ready = in_precision(model.eval(), config.dtype, self.device, probe, self.depth, config.name)
        self.dtype: torch.dtype = ready.dtype
        self.precision = str(self.dtype).removeprefix("torch.")
        if not tried:
            asked = "as it was asked for" if config.dtype != "auto" else f"usual on a {self.device.type}"
            self.choice = Choice(self.precision, asked)
        # Some tokenizers have a padding token unknown to the model. Padding is masked, so any id will do.
        pad_id = self.tokenizer.pad_id if self.tokenizer.pad_id < self._n_embeddings else 0
        self.forward = Forward(ready, self.depth, config.name, pad_id)
        self.to_device = DeviceLoader(self.device)
        self._monitor = NonFiniteMonitor[DeviceBatch]()
        with self.loading.part("first batches"):
            check_hooks(self.forward, self._probe(), self.device)
            self._choose_attention()

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str = "auto", dtype: str = "auto") -> Teacher:
        """Load a teacher from a folder or by name, with default settings."""
        return cls.from_config(TeacherConfig(str(name), device, dtype))

    @classmethod
    def from_config(cls, config: TeacherConfig, recorded: str | None = None) -> Teacher:
        """Load a teacher; if dtype is ``auto``, in the ``recorded`` precision of a resumed run, if there is one."""
        loading = Profiler()
        with waking(config.device):
            with loading.part("importing transformers"):
                import_transformers()
            with loading.part("reading the model"):
                model, tokenizer = load_model_and_tokenizer(config.name)
        return cls(model, tokenizer, config, recorded, loading)

    @property
    def model(self) -> Any:
        """The model that is run."""
        return self.forward.model

    @cached_property
    def identity(self) -> str:
        """Hash of the weights and the tokenizer that does not depend on the precision."""
        return fingerprint(self.model, self.tokenizer.definition, exact=False)

    @cached_property
    def pooling(self) -> Pooled:
        """The pooling that the model was trained with to compute sentence vectors.

        Raises:
            TeacherError: The model does not declare it.
        """
        return declared_pooling(self.config.name)

    @property
    def packs(self) -> bool:
        """Whether texts are packed without padding."""
        return self.forward.packs

    def encode(self, batch: Batch | DeviceBatch, layers: tuple[int, ...]) -> WordStates:
        """States of the requested layers for one batch, computed asynchronously on a GPU.

        Raises:
            TeacherError: The model returns no hidden states, or some of this batch (on a GPU, of an earlier one) are
                not finite.
        """
        loaded = self.to_device(batch)
        self._refuse_unknown_subwords(loaded.max_subword)
        loaded.await_arrival()
        hidden = self.forward(loaded, layers)
        self._refuse_non_finite(self._monitor.check(hidden.values(), loaded), layers)
        return WordStates(loaded, hidden)

    def readers(self) -> int:
        """How many threads can `encode` at the same time, each on its share of the cores."""
        return min(torch.get_num_threads(), MOST_READERS) if self.device.type == "cpu" else 1

    def compile_if_worth(self, words: int, layers: tuple[int, ...]) -> None:
        """Compile the model if the settings or the number of words call for it, and try it on ``layers``."""
        wanted = self.config.compiled
        if wanted is None:
            wanted = words * self.parameters > WORTH_COMPILING
        if not wanted or self.device.type != "cuda" or not self.packs:
            return
        try:
            self.forward.compile()
            self.encode(trial_batch(self._probe(), self.limit), layers)
        except Exception as error:  # A compiler can be missing or fail in many ways.
            self.forward.compile(False)
            reason = in_one_line(error)
            warnings.warn(
                f"{self.config.name} runs uncompiled, about a tenth slower, because it cannot be compiled ({reason}).",
                stacklevel=2,
            )

    def verify(self, layers: tuple[int, ...]) -> None:
        """Wait for all batches, and check their states.

        Raises:
            TeacherError: Some states of a batch are not finite.
        """
        self._refuse_non_finite(self._monitor.flush(), layers)

    def _choose_attention(self) -> None:
        wanted = self.config.attention
        if wanted not in ATTENTIONS:
            raise unknown_name("attention", wanted, ATTENTIONS)
        if wanted == "padded" or (wanted == "auto" and not getattr(self.model, "attends", True)):
            return
        reason = pack_if_same(self.forward, self._probe(), self.limit, self.device)
        if reason is None:
            return
        if wanted == "packed":
            raise TeacherError(f"{self.config.name} cannot read packed texts: {reason}. Use attention=padded.")
        warnings.warn(
            f"{self.config.name} reads padded texts, which is slower: it cannot read packed ones ({reason}).",
            stacklevel=4,
        )

    def _probe(self) -> Ints:
        """A short text with its special tokens [n]."""
        tokenizer = self.tokenizer
        text = tokenizer.encode([PROBE_TEXT]).ids[: self.limit - len(tokenizer.prefix + tokenizer.suffix)]
        subwords = np.array([*tokenizer.prefix, *text.tolist(), *tokenizer.suffix], dtype=np.int64)
        # A tokenizer of another model is refused when the first text is read.
        return np.minimum(subwords, self._n_embeddings - 1)

    def _refuse_unknown_subwords(self, highest: int) -> None:
        if highest >= self._n_embeddings:
            raise TeacherError(
                f"The tokenizer of {self.config.name} produced the subword {highest}, but the model knows only "
                f"{self._n_embeddings}. The tokenizer belongs to another model."
            )

    def _refuse_non_finite(self, batch: DeviceBatch | None, layers: tuple[int, ...]) -> None:
        if batch is None:
            return
        for layer, states in self.forward(batch, layers).items():
            bad = torch.nonzero(~torch.isfinite(states).all(dim=1)).flatten()
            if len(bad) == 0:
                continue
            offsets = offsets_of(batch.lengths)
            text = int(np.searchsorted(offsets, int(bad[0]), side="right")) - 1
            subwords = batch.subwords[offsets[text] : offsets[text + 1]]
            words = self.tokenizer.backend.decode(subwords.tolist())
            raise TeacherError(
                f"The teacher {self.config.name} produced states that are not finite (layer {layer}, "
                f"{self.precision}) for text number {int(batch.source_ids[text])}, which begins: "
                f"{words[:120]!r}. Try dtype float32; if the error stays, the model's weights are broken."
            )
