"""What identifies a language model to its distillers: the weights that its states depend on."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from wordstill.teacher.fingerprint import UNUSED


def identity(model: Any, tokenizer_definition: str) -> str:
    """A hash of the weights below the head and of the tokenizer, the same in float32 as in bfloat16."""
    digest = hashlib.sha256(tokenizer_definition.encode())
    for name, weight in sorted(model.state_dict().items()):
        if name.startswith(UNUSED):
            continue
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        values = weight.detach().to(torch.bfloat16).cpu().contiguous().reshape(-1)
        digest.update(values.view(torch.uint8).numpy())
    return digest.hexdigest()
