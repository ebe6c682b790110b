"""A frozen language model that reads text and gives a state for every sub-word."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.errors import TeacherError
from wordstill.teacher.batch import Batch
from wordstill.teacher.device import choose_device, choose_precision
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.teacher.states import WordStates
from wordstill.teacher.tokenisation import Subwords

USUAL_LIMIT = 512


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
        model: A transformers model that gives hidden states.
        tokenizer: Its fast tokenizer.
        config: How to run it.
    """

    def __init__(self, model: Any, tokenizer: Any, config: TeacherConfig) -> None:
        self.config = config
        self.subwords = Subwords(tokenizer, config.name)
        self.fingerprint = _fingerprint(model, self.subwords)
        self.device = choose_device(config.device)
        self.dtype = choose_precision(config.dtype, self.device)
        self.model = model.eval().to(self.device, self.dtype)
        settings = model.config.get_text_config()
        self.depth = int(settings.num_hidden_layers)
        self.width = int(settings.hidden_size)
        self.limit = config.max_length or min(_model_limit(model, tokenizer), USUAL_LIMIT)

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
        """States of the wanted layers for one batch; padding is added and taken away here."""
        lengths = batch.lengths
        rows, width = len(lengths), int(lengths.max())
        filled = np.arange(width) < lengths[:, None]
        ids = np.full((rows, width), self.subwords.pad_id, dtype=np.int64)
        ids[filled] = batch.pieces
        mask = torch.from_numpy(filled).to(self.device)
        output = self.model(
            input_ids=torch.from_numpy(ids).to(self.device),
            attention_mask=None if filled.all() else mask.long(),
            output_hidden_states=layers != (self.depth,),
        )
        hidden = (
            {self.depth: output.last_hidden_state}
            if output.hidden_states is None
            else {layer: output.hidden_states[layer] for layer in layers}
        )
        packed = {layer: _pack(states, mask) for layer, states in hidden.items()}
        self._refuse_non_finite(packed, batch)
        return WordStates(batch, packed)

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
                f"The teacher {self.config.name} gave states that are not finite (layer {layer}, {self.dtype}) for text "
                f"number {int(batch.places[text])}, which begins: {words[:120]!r}. "
                "Try --dtype float32; if it stays, the model's weights are broken."
            )


def _pack(states: Tensor, mask: Tensor) -> Tensor:
    return states.flatten(0, 1) if bool(mask.all()) else states[mask]


def _fingerprint(model: Any, subwords: Subwords) -> str:
    """A hash of every weight as stored and of the tokenizer."""
    digest = hashlib.sha256(subwords.definition.encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _model_limit(model: Any, tokenizer: Any) -> int:
    limit = int(min(tokenizer.model_max_length, 1 << 20))
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions:
        # RoBERTa and its kin number positions from the padding id on, so they have fewer than they declare.
        embeddings = getattr(model, "embeddings", None)
        padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        limit = min(limit, int(positions) - (0 if padding is None else int(padding) + 1))
    return limit
