"""The hidden states in what a model gives back."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from wordstill.errors import TeacherError


def wanted_states(output: Any, layers: tuple[int, ...], depth: int, name: str) -> dict[int, Tensor]:
    """The states of the wanted layers [texts, sub-words, d] each; layer 0 is the embedding.

    Args:
        output: What the model gave.
        layers: Numbers of layers, 0 to ``depth``.
        depth: Number of the model's last layer.
        name: The teacher's name, for messages.

    Raises:
        TeacherError: The model gave no hidden states, or not one for each layer.
    """
    last = getattr(output, "last_hidden_state", None)
    if layers == (depth,) and last is not None:
        return {depth: last}
    hidden = getattr(output, "hidden_states", None)
    if hidden is None or len(hidden) != depth + 1:
        given = "none" if hidden is None else f"{len(hidden)} layers of them"
        raise TeacherError(
            f"The teacher {name} gives no hidden states to distil: expected {depth + 1} layers, got {given} "
            f"in its {type(output).__name__}. Use the bare model (AutoModel), not one for a task."
        )
    return {layer: hidden[layer] for layer in layers}
