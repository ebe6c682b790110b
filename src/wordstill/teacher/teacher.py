"""A frozen language model that reads text and gives a state for every sub-word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.errors import TeacherError
from wordstill.teacher.batch import Batch
from wordstill.teacher.device import choose_device, choose_precision
from wordstill.teacher.fingerprint import fingerprint
from wordstill.teacher.half_precision import PROBE_TEXT, bfloat16_if_close
from wordstill.teacher.limits import text_limit
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.teacher.outputs import wanted_states
from wordstill.teacher.states import WordStates
from wordstill.teacher.tokenisation import Subwords


@dataclass(frozen=True)
class TeacherConfig:
    """Which model, and how it is run."""

    name: str = "all-MiniLM-L6-v2"
    """A folder, a name on the Hugging Face Hub, or ``all-MiniLM-L6-v2``, which is embedded."""
    device: str = "auto"
    dtype: str = "auto"
    """``auto``, ``float32``, ``bfloat16`` or ``float16``."""
    max_length: int | None = None
    """Longest text in sub-words; None means the model's limit, but at most 512."""


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
        dtype: What it calculates in.

    Raises:
        TeacherError: The tokenizer cannot be used.
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
        self._known_pieces = int(self.model.get_input_embeddings().num_embeddings)
        # Some tokenizers have a padding token that their model lacks. Padding is masked, so any id will do.
        self._pad_id = self.subwords.pad_id if self.subwords.pad_id < self._known_pieces else 0

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
    def parameters(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.model.parameters())

    @torch.inference_mode()
    def encode(self, batch: Batch, layers: tuple[int, ...]) -> WordStates:
        """States of the wanted layers for one batch; padding is added and taken away here.

        Raises:
            TeacherError: The model gives no hidden states, or some that are not finite.
        """
        self._refuse_unknown_pieces(batch)
        lengths = batch.lengths
        filled = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(filled.shape, self._pad_id, dtype=np.int64)
        ids[filled] = batch.pieces
        padded = not filled.all()
        mask = torch.from_numpy(filled).to(self.device)
        output = self.model(
            input_ids=torch.from_numpy(ids).to(self.device),
            attention_mask=mask.long() if padded else None,
            output_hidden_states=layers != (self.depth,),
        )
        hidden = wanted_states(output, layers, self.depth, self.config.name)
        packed = {layer: states[mask] if padded else states.flatten(0, 1) for layer, states in hidden.items()}
        self._refuse_non_finite(packed, batch)
        return WordStates(batch, packed)

    def _in_precision(self, model: Any) -> Any:
        dtype = choose_precision(self.config.dtype, self.device)
        if self.config.dtype == "auto" and self.device.type == "cpu" and dtype is torch.bfloat16:
            subwords = self.subwords
            text = subwords.encode([PROBE_TEXT]).ids[: self.limit - len(subwords.prefix + subwords.suffix)]
            pieces = torch.tensor([*subwords.prefix, *text.tolist(), *subwords.suffix])
            return bfloat16_if_close(model, pieces, self.depth, self.config.name)
        return model.to(self.device, dtype)

    def _refuse_unknown_pieces(self, batch: Batch) -> None:
        highest = int(batch.pieces.max())
        if highest >= self._known_pieces:
            raise TeacherError(
                f"The tokenizer of {self.config.name} gave the sub-word {highest}, but the model knows only "
                f"{self._known_pieces}. The tokenizer belongs to another model."
            )

    def _refuse_non_finite(self, hidden: dict[int, Tensor], batch: Batch) -> None:
        for layer, states in hidden.items():
            if bool(torch.isfinite(states.sum())):
                continue
            bad = torch.nonzero(~torch.isfinite(states).all(dim=1)).flatten()
            if len(bad) == 0:
                continue
            text = int(np.searchsorted(batch.texts, int(bad[0]), side="right")) - 1
            pieces = batch.pieces[batch.texts[text] : batch.texts[text + 1]]
            words = self.subwords.backend.decode(pieces.tolist())
            raise TeacherError(
                f"The teacher {self.config.name} gave states that are not finite (layer {layer}, "
                f"{str(self.dtype).removeprefix('torch.')}) for text number {int(batch.places[text])}, which "
                f"begins: {words[:120]!r}. Try dtype float32; if it stays, the model's weights are broken."
            )
