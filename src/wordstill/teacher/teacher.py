"""A frozen language model that reads text and gives a state for every subword."""

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
"""Read to try what a model can do."""
ATTENTIONS = ("auto", "packed", "padded")
MOST_READERS = 8
"""Each needs memory for a batch."""
WORTH_COMPILING = 1e16
"""Words times weights of a pass of about a minute on a large GPU."""


@dataclass(frozen=True)
class TeacherConfig:
    """Which model, and how it is run."""

    name: str = "all-MiniLM-L6-v2"
    """A folder, a name on the Hugging Face Hub, or ``all-MiniLM-L6-v2``, which is embedded. A folder with ELMo's
    ``options.json`` and ``weights.hdf5`` is one too."""
    device: str = "auto"
    dtype: str = "auto"
    """``auto``, ``float32``, ``bfloat16`` or ``float16``."""
    max_length: int | None = None
    """Longest text in subwords; None means the model's limit, but at most 512."""
    attention: str = "auto"
    """``packed`` reads texts end to end without padding, ``padded`` side by side; ``auto`` packs where that
    changes nothing in the model's states."""
    compiled: bool | None = None
    """On a GPU, join small operations of the model's blocks into few, which takes some seconds at the start;
    None does so where the text is long enough to repay them."""


class Teacher:
    """Any Hugging Face encoder or decoder with a fast tokenizer.

    Its model gives hidden states, and is taken over, not copied.

    Attributes:
        limit: Longest text in subwords, special tokens counted.
        depth: Number of its last layer; layer 0 is the embedding.
        width: Size of a state.
        fingerprint: Hash of its weights and its tokenizer.
        device: Where it runs.
        dtype: What its states are in.
        precision: The name of its `dtype`.
        choice: What it runs in, and why.
        loading: How long each step of loading it took.
        parameters: Number of its weights.

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
            # Kernels of our own start on the current GPU, wherever their tensors are.
            torch.cuda.set_device(self.device)
        settings = model.config.get_text_config()
        self.depth = int(settings.num_hidden_layers)
        self.width = int(settings.hidden_size)
        self.fingerprint = fingerprint(model, self.tokenizer.definition)
        # A decoder would keep keys and values of every layer for the next word, which never comes.
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
        # Some tokenizers have a padding token that their model lacks. Padding is masked, so any id will do.
        pad_id = self.tokenizer.pad_id if self.tokenizer.pad_id < self._n_embeddings else 0
        self.forward = Forward(ready, self.depth, config.name, pad_id)
        self.to_device = DeviceLoader(self.device)
        self._monitor = NonFiniteMonitor[DeviceBatch]()
        with self.loading.part("first batches"):
            check_hooks(self.forward, self._probe(), self.device)
            self._choose_attention()

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str = "auto", dtype: str = "auto") -> Teacher:
        """Load a teacher by folder or name with the other settings at their defaults."""
        return cls.from_config(TeacherConfig(str(name), device, dtype))

    @classmethod
    def from_config(cls, config: TeacherConfig, recorded: str | None = None) -> Teacher:
        """Load a teacher; with dtype ``auto`` in the choice that a run which is resumed recorded, if there is one."""
        loading = Profiler()
        with waking(config.device):
            with loading.part("importing transformers"):
                import_transformers()
            with loading.part("reading the model"):
                model, tokenizer = load_model_and_tokenizer(config.name)
        return cls(model, tokenizer, config, recorded, loading)

    @property
    def model(self) -> Any:
        """The model, as it is run."""
        return self.forward.model

    @cached_property
    def identity(self) -> str:
        """Hash of its weights and its tokenizer that is the same in every precision."""
        return fingerprint(self.model, self.tokenizer.definition, exact=False)

    @cached_property
    def pooling(self) -> Pooled:
        """What of its states it was trained to use as the vector of a sentence.

        Raises:
            TeacherError: It does not say.
        """
        return declared_pooling(self.config.name)

    @property
    def packs(self) -> bool:
        """Whether texts are read end to end, so that padding costs nothing."""
        return self.forward.packs

    def encode(self, batch: Batch | DeviceBatch, layers: tuple[int, ...]) -> WordStates:
        """States of the wanted layers for one batch; on a GPU they are still to come when this returns.

        Raises:
            TeacherError: The model gives no hidden states, or some of this or, on a GPU, of an earlier batch
                are not finite.
        """
        loaded = self.to_device(batch)
        self._refuse_unknown_subwords(loaded.max_subword)
        loaded.await_arrival()
        hidden = self.forward(loaded, layers)
        self._refuse_non_finite(self._monitor.check(hidden.values(), loaded), layers)
        return WordStates(loaded, hidden)

    def readers(self) -> int:
        """How many threads may `encode` at the same time, each with its share of the cores."""
        return min(torch.get_num_threads(), MOST_READERS) if self.device.type == "cpu" else 1

    def compile_if_worth(self, words: int, layers: tuple[int, ...]) -> None:
        """Compile the model, if the settings say so or so many words are worth it; the trial reads ``layers``."""
        wanted = self.config.compiled
        if wanted is None:
            wanted = words * self.parameters > WORTH_COMPILING
        if not wanted or self.device.type != "cuda" or not self.packs:
            return
        try:
            self.forward.compile()
            self.encode(trial_batch(self._probe(), self.limit), layers)
        except Exception as error:  # A compiler may be missing, or fail in ways of its own.
            self.forward.compile(False)
            reason = in_one_line(error)
            warnings.warn(
                f"{self.config.name} runs uncompiled, about a tenth slower, because it cannot be compiled ({reason}).",
                stacklevel=2,
            )

    def verify(self, layers: tuple[int, ...]) -> None:
        """Wait until all batches have been read.

        Raises:
            TeacherError: The states of one of them are not finite.
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
        # The tokenizer of another model is refused when a text is read.
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
