"""A frozen language model that reads text and gives a state for every sub-word."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordstill.corpus import Corpus
from wordstill.errors import TeacherError, UsageError, unknown_name
from wordstill.teacher.batch import Batch
from wordstill.teacher.device import choose_device, choose_precision
from wordstill.teacher.fingerprint import fingerprint
from wordstill.teacher.finite import FiniteWatch
from wordstill.teacher.forward import Forward
from wordstill.teacher.half_precision import PROBE_TEXT, bfloat16_if_close
from wordstill.teacher.int8 import int8_if_close, refuse_without_int8
from wordstill.teacher.int8_sample import sample_of
from wordstill.teacher.limits import text_limit
from wordstill.teacher.loaded import LoadedBatch, Loader
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.teacher.packing import pack_if_same, trial_batch
from wordstill.teacher.ragged import Ints
from wordstill.teacher.states import WordStates
from wordstill.teacher.tokenisation import Subwords

ATTENTIONS = ("auto", "packed", "padded")
INT8 = "int8"
WORTH_COMPILING = 1e16
"""Words times weights of a pass of about a minute on a large GPU."""


@dataclass(frozen=True)
class TeacherConfig:
    """Which model, and how it is run."""

    name: str = "all-MiniLM-L6-v2"
    """A folder, a name on the Hugging Face Hub, or ``all-MiniLM-L6-v2``, which is embedded."""
    device: str = "auto"
    dtype: str = "auto"
    """``auto``, ``float32``, ``bfloat16`` or ``float16``; or ``int8``, for distilling on a CPU: linear layers
    in 8 bits, with ranges that are learnt from the text."""
    max_length: int | None = None
    """Longest text in sub-words; None means the model's limit, but at most 512."""
    attention: str = "auto"
    """``packed`` reads texts end to end without padding, ``padded`` side by side; ``auto`` packs on a GPU
    and in int8 where that changes nothing in the model's states."""
    compiled: bool | None = None
    """On a GPU, join small operations of the model's blocks into few, which takes some seconds at the start;
    None does so where the text is long enough to repay them."""


class Teacher:
    """Any Hugging Face encoder or decoder with a fast tokenizer.

    Args:
        model: A transformers model that gives hidden states; it is taken over, not copied.
        tokenizer: Its fast tokenizer.
        config: How to run it.

    Attributes:
        subwords: Its tokenizer.
        limit: Longest text in sub-words, special tokens counted.
        depth: Number of its last layer; layer 0 is the embedding.
        width: Size of a state.
        fingerprint: Hash of its weights and its tokenizer.
        device: Where it runs.
        dtype: What its states are in.
        precision: What it calculates in: the same by name, or ``int8``.
        ranges: What the ranges of int8 were learnt from; None where there are none.
        parameters: Number of its weights.

    Raises:
        TeacherError: The tokenizer cannot be used, or the processor not in int8.
        UsageError: A setting is wrong.
    """

    def __init__(self, model: Any, tokenizer: Any, config: TeacherConfig) -> None:
        self.config = config
        self.subwords = Subwords(tokenizer, config.name)
        self.limit = text_limit(model, tokenizer, self.subwords, config.max_length)
        self.device = choose_device(config.device)
        settings = model.config.get_text_config()
        self.depth = int(settings.num_hidden_layers)
        self.width = int(settings.hidden_size)
        self.fingerprint = fingerprint(model, self.subwords.definition)
        # A decoder would keep keys and values of every layer for the next word, which never comes.
        model.config.use_cache = settings.use_cache = False
        self.model = self._in_precision(model.eval())
        self.dtype: torch.dtype = self.model.dtype
        self.precision = str(self.dtype).removeprefix("torch.")
        self.ranges: dict[str, Any] | None = None
        self.parameters = sum(weight.numel() for weight in self.model.parameters())
        self._known_pieces = int(self.model.get_input_embeddings().num_embeddings)
        # Some tokenizers have a padding token that their model lacks. Padding is masked, so any id will do.
        pad_id = self.subwords.pad_id if self.subwords.pad_id < self._known_pieces else 0
        self.forward = Forward(self.model, self.depth, config.name, pad_id)
        self.load = Loader(self.device)
        self._watch = FiniteWatch()
        self._exact_model = self.model
        # Only int8 needs ranges.
        self._ranges_known = config.dtype != INT8
        self._choose_attention()

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str = "auto", dtype: str = "auto") -> Teacher:
        """Load a teacher by folder or name with the other settings at their defaults."""
        return cls.from_config(TeacherConfig(str(name), device, dtype))

    @classmethod
    def from_config(cls, config: TeacherConfig) -> Teacher:
        """Load a teacher."""
        model, tokenizer = load_model_and_tokenizer(config.name)
        return cls(model, tokenizer, config)

    @property
    def packs(self) -> bool:
        """Whether texts are read end to end, so that padding costs nothing."""
        return self.forward.packs

    def encode(self, batch: Batch | LoadedBatch, layers: tuple[int, ...]) -> WordStates:
        """States of the wanted layers for one batch; on a GPU they are still to come when this returns.

        Raises:
            TeacherError: The model gives no hidden states, or some of this or, on a GPU, of an earlier batch
                are not finite.
            UsageError: It is to run in int8, but `learn_ranges` was not called.
        """
        if not self._ranges_known:
            raise UsageError(f"{self.config.name} can only be distilled in int8. Take another dtype.")
        loaded = self.load(batch) if isinstance(batch, Batch) else batch
        self._refuse_unknown_pieces(loaded.batch)
        loaded.await_arrival()
        hidden = self.forward(loaded, layers)
        self._refuse_non_finite(self._watch.look(hidden, loaded.batch), layers)
        return WordStates(loaded, hidden)

    def learn_ranges(self, corpus: Corpus) -> None:
        """With dtype ``int8``, learn from a sample of what will be read; run in it if states stay close."""
        if self.config.dtype != INT8:
            return
        # Whether the model packs was found out in float32: int8 makes much of differences in rounding.
        packs = self.packs
        if packs:
            self.forward.pack(False)
        sample = sample_of(corpus, self.subwords, self.limit)
        self.model = int8_if_close(self._exact_model, sample, self.depth, self.config.name)
        changed = self.model is not self._exact_model
        self.precision, self.ranges = (INT8, sample.facts()) if changed else ("float32", None)
        self.forward = Forward(self.model, self.depth, self.config.name, self.forward.pad_id)
        if packs:
            self.forward.pack(True)
        self._ranges_known = True

    def compile_if_worth(self, words: int, layers: tuple[int, ...]) -> None:
        """Compile the model, if the settings say so or so many words are worth it.

        Args:
            words: How many will be read.
            layers: Which layers will be wanted; states between blocks cannot be had from compiled ones.
        """
        wanted = self.config.compiled
        if wanted is None:
            wanted = words * self.parameters > WORTH_COMPILING
        if not wanted or self.device.type != "cuda" or not self.packs or layers != (self.depth,):
            return
        try:
            self.forward.compile()
            self.encode(trial_batch(self._probe(), self.limit), layers)
        except Exception as error:  # A compiler may be missing, or fail in ways of its own.
            self.forward.compile(False)
            reason = f"{type(error).__name__}: {error}".split("\n")[0]
            warnings.warn(
                f"{self.config.name} runs as it is, about a tenth slower: it cannot be compiled ({reason}).",
                stacklevel=2,
            )

    def verify(self, layers: tuple[int, ...]) -> None:
        """Wait until all batches have been read.

        Raises:
            TeacherError: The states of one of them are not finite.
        """
        self._refuse_non_finite(self._watch.settle(), layers)

    def _choose_attention(self) -> None:
        wanted = self.config.attention
        if wanted not in ATTENTIONS:
            raise unknown_name("attention", wanted, ATTENTIONS)
        gains = self.device.type == "cuda" or self.config.dtype == INT8
        if wanted == "padded" or (wanted == "auto" and not gains):
            return
        reason = pack_if_same(self.forward, self._probe(), self.limit, self.device)
        if reason is None:
            return
        if wanted == "packed":
            raise TeacherError(
                f"{self.config.name} cannot read packed texts: {reason}. Use attention=padded."
            )
        warnings.warn(
            f"{self.config.name} reads padded texts, which takes longer: it cannot read packed ones "
            f"({reason}).",
            stacklevel=4,
        )

    def _probe(self) -> Ints:
        """A short text with its special tokens."""
        subwords = self.subwords
        text = subwords.encode([PROBE_TEXT]).ids[: self.limit - len(subwords.prefix + subwords.suffix)]
        return np.array([*subwords.prefix, *text.tolist(), *subwords.suffix], dtype=np.int64)

    def _in_precision(self, model: Any) -> Any:
        if self.config.dtype == INT8:
            refuse_without_int8(self.device, self.config.name)
            return model.to(self.device, torch.float32)
        dtype = choose_precision(self.config.dtype, self.device)
        if self.config.dtype == "auto" and self.device.type == "cpu" and dtype is torch.bfloat16:
            return bfloat16_if_close(model, torch.from_numpy(self._probe()), self.depth, self.config.name)
        return model.to(self.device, dtype)

    def _refuse_unknown_pieces(self, batch: Batch) -> None:
        highest = int(batch.pieces.max())
        if highest >= self._known_pieces:
            raise TeacherError(
                f"The tokenizer of {self.config.name} gave the sub-word {highest}, but the model knows only "
                f"{self._known_pieces}. The tokenizer belongs to another model."
            )

    def _refuse_non_finite(self, batch: Batch | None, layers: tuple[int, ...]) -> None:
        if batch is None:
            return
        loaded = self.load(batch)
        loaded.await_arrival()
        for layer, states in self.forward(loaded, layers).items():
            bad = torch.nonzero(~torch.isfinite(states).all(dim=1)).flatten()
            if len(bad) == 0:
                continue
            text = int(np.searchsorted(batch.texts, int(bad[0]), side="right")) - 1
            pieces = batch.pieces[batch.texts[text] : batch.texts[text + 1]]
            words = self.subwords.backend.decode(pieces.tolist())
            raise TeacherError(
                f"The teacher {self.config.name} gave states that are not finite (layer {layer}, "
                f"{self.precision}) for text number {int(batch.places[text])}, which begins: "
                f"{words[:120]!r}. Try dtype float32; if it stays, the model's weights are broken."
            )
