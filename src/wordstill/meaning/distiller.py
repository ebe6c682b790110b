"""The two distillers: what a word means here, and everything else its states hold."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wordstill.errors import UsageError
from wordstill.meaning.representation import Representation, layer_mean

KINDS = ("meaning", "context", "raw")
CENTRED = "-centred"
ROWS_AT_ONCE = 16384
"""Attention kernels of GPUs do not start for more rows than 65,535."""


@dataclass(frozen=True)
class DistillerConfig:
    """Shape of a distiller."""

    heads: int = 8
    feedforward: int = 4
    """Width of the inner layer, in widths of a state."""
    dropout: float = 0.1
    layer_embeddings: bool = False
    """Whether a learned vector is added to the states of each layer. Without it, as in the paper, the
    distiller cannot tell the layers apart but by their states."""

    def __post_init__(self) -> None:
        if min(self.heads, self.feedforward) < 1 or not 0 <= self.dropout < 1:
            raise UsageError(
                f"A distiller needs at least 1 head, a feedforward of at least 1 and a dropout below 1; got "
                f"{self.heads}, {self.feedforward} and {self.dropout}."
            )


class Distiller(nn.Module):
    """One transformer layer over a word's states, as a sequence of layers, and the mean of what it gives.

    Args:
        layers: How many states a word has.
        width: Size of a state.
        config: Its shape.

    Raises:
        UsageError: The width cannot be divided among the heads.
    """

    def __init__(self, layers: int, width: int, config: DistillerConfig) -> None:
        super().__init__()
        if width % config.heads:
            raise UsageError(
                f"States of width {width} cannot be divided among {config.heads} heads. "
                f"Give a number of heads that divides {width}."
            )
        self.transformer = nn.TransformerEncoderLayer(
            width,
            config.heads,
            config.feedforward * width,
            config.dropout,
            activation="gelu",
            batch_first=True,
        )
        self.layer_embeddings = nn.Parameter(torch.zeros(layers, width)) if config.layer_embeddings else None

    def forward(self, states: Tensor) -> Tensor:
        """[n, width] vectors of states [n, layers, width]."""
        if self.layer_embeddings is not None:
            states = states + self.layer_embeddings
        result: Tensor = self.transformer(states).mean(dim=1)
        return result


class Distillers(nn.Module):
    """The distiller of meaning and that of context, trained together and of one shape.

    A vector that is added to all meanings and taken from all contexts changes no reconstruction, so training
    leaves it to chance, and cosines depend on it. ``centres`` holds the mean vector of each kind over the
    words of the training; the centred kinds are without it.

    Args:
        layers: How many states a word has.
        width: Size of a state.
        config: Shape of each.
    """

    centres: Tensor
    """[kinds, width], in the order of ``KINDS``; zeros before training."""

    def __init__(self, layers: int, width: int, config: DistillerConfig | None = None) -> None:
        super().__init__()
        self.layers, self.width, self.config = layers, width, config or DistillerConfig()
        self.meaning = Distiller(layers, width, self.config)
        self.context = Distiller(layers, width, self.config)
        self.register_buffer("centres", torch.zeros(len(KINDS), width))

    def representation(self, kind: str = "meaning") -> Representation:
        """A map from states to vectors of one kind, for use and not for training.

        Args:
            kind: ``meaning``, ``context`` or ``raw``, each also with ``-centred`` behind it.
        """
        plain = kind.removesuffix(CENTRED)
        maps: dict[str, Representation] = {
            "meaning": self.meaning,
            "context": self.context,
            "raw": layer_mean,
        }
        distil = maps[plain]
        centre = self.centres[KINDS.index(plain)] if kind.endswith(CENTRED) else None

        @torch.inference_mode()
        def apply(states: Tensor) -> Tensor:
            self.eval()
            parts = [
                distil(part.to(self.centres.dtype)).float() for part in torch.split(states, ROWS_AT_ONCE)
            ]
            vectors = torch.cat(parts) if parts else states.new_zeros(0, self.width)
            return vectors if centre is None else vectors - centre.float()

        return apply

    def find_centres(self, states: Tensor) -> None:
        """Take the mean vectors of each kind over some words' states [n, layers, width]."""
        means = [self.representation(kind)(states).mean(dim=0) for kind in KINDS]
        self.centres = torch.stack(means).to(self.centres.dtype).clone()
