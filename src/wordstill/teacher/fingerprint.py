"""What identifies a teacher, wherever it was loaded from."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

UNUSED = "pooler."
"""Weights behind the last states; where a model was saved without them, each loading draws them anew."""


def fingerprint(model: Any, tokenizer_definition: str) -> str:
    """A hash of every weight that states depend on, as stored, and of the tokenizer."""
    digest = hashlib.sha256(tokenizer_definition.encode())
    for name, weight in sorted(model.state_dict().items()):
        if name.startswith(UNUSED):
            continue
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        values = weight.detach().cpu().contiguous().reshape(-1)
        digest.update(values.view(torch.uint8).numpy())
    return digest.hexdigest()
