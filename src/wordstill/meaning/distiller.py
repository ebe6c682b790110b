"""The two distillers, one for a word's meaning and one for its context, and their loss.

They are trained by reconstruction and cross-reconstruction (Arase & Kajiwara 2021, Eq. 1 to 3). For a word
in a sentence (h), a positive (p: the same meaning in another context) and a negative (n: another word in the
same context), the vector to reconstruct is the mean of the word's layers, and the reconstruction is the mean of
a meaning and a context:

    L = |h - (h_m + h_c)/2|² + |p - (p_m + p_c)/2|² + |n - (n_m + n_c)/2|²
      + |p - (h_m + p_c)/2|² + |h - (p_m + h_c)/2|² + |n - (n_m + h_c)/2|² + |h - (h_m + n_c)/2|²

each divided by the width and averaged over the batch. Without negatives, the three terms with n are left out, and the
loss has a degenerate solution: a meaning that is the same for all words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError

Representation: TypeAlias = Callable[[Tensor], Tensor]
"""Maps states [n, layers, width] to vectors [n, width]."""
KINDS = ("meaning", "context", "raw")
CENTERED = "-centred"
BESIDE_RAW = "raw-and-"
"""Prefix of a kind that concatenates the unit vectors of the raw mean and of that kind, so that a cosine is the mean of
both cosines."""
RAW_SCALED = "raw-scaled"
"""The mean of the layers after ``DistillerConfig.scaling``, which is the target of reconstruction."""
Scaling = Literal["none", "scaled", "standardised", "whitened"]
SMALLEST = 1e-6
WHITENING = 0.5
"""Strength of whitening; 1 would give all directions the same variance, and amplify noise."""
CPU_ROWS = 256
"""Words distilled at a time: few enough for intermediate results to stay in the cache."""
GPU_PAIRS = 1 << 17
"""Pairs of a word's states that are compared at a time; each takes as much memory as a state."""


@dataclass(frozen=True)
class DistillerConfig(Config):
    """Shape of a distiller; the defaults were chosen on development data (``distiller_training.PRESETS``)."""

    heads: Annotated[int, Range(1)] = 8
    feedforward: Annotated[int, Range(1)] = 1
    """Width of the inner layer, relative to the width of a state; 4 in the paper."""
    dropout: Annotated[float, Range(0, 1, below=True)] = 0.1
    layer_embeddings: bool = False
    """Whether a trained vector is added to the states of each layer. Without it, as in the paper, the distiller can
    tell layers apart only by their states."""
    scaling: Scaling = "standardised"
    """How states are scaled first. ``scaled`` divides each layer by its typical size; ``standardised`` standardizes
    each component of a layer, so that a few large ones do not dominate the cosine; ``whitened`` then makes the
    variances of directions more similar, in the same way for all layers; ``none`` is the paper's."""
    variational: Annotated[float, Range(0)] = 0.0
    """Above 0, the distillers are a variational autoencoder, which the paper tried: in training, vectors are drawn from
    a normal distribution, and its divergence from the standard one, per component, is added to the loss with this
    weight. In use, vectors are the means."""


class Distillers(nn.Module):
    """The distillers of meaning and context, which have the same shape and are trained together.

    A vector added to all meanings and subtracted from all contexts changes no reconstruction, so training leaves it
    arbitrary, although cosines depend on it. ``centres`` has the mean vector of each kind over the training words,
    which the centered kinds subtract.

    The output of a transformer layer has variance one. Much smaller states can be reconstructed only if meaning and
    context point away from each other, and a layer with much smaller states than the others contributes nothing to
    the reconstruction; ``DistillerConfig.scaling`` prevents both.
    """

    centres: Tensor
    """[kinds, width], in the order of ``KINDS``; zeros before training."""
    shift: Tensor
    """[layers, width], subtracted from states."""
    scale: Tensor
    """[layers, width], by which the shifted states are multiplied."""
    mixing: Tensor | None
    """[width, width], from the right, with ``scaling="whitened"``."""

    def __init__(self, layers: int, width: int, config: DistillerConfig | None = None) -> None:
        super().__init__()
        self.layers, self.width, self.config = layers, width, config or DistillerConfig()
        self.meaning = Distiller(layers, width, self.config)
        self.context = Distiller(layers, width, self.config)
        self.register_buffer("centres", torch.zeros(len(KINDS), width))
        self.register_buffer("shift", torch.zeros(layers, width))
        self.register_buffer("scale", torch.ones(layers, width))
        self.register_buffer("mixing", torch.eye(width) if self.config.scaling == "whitened" else None)

    def scaled(self, states: Tensor) -> Tensor:
        """States after scaling, which are the inputs and targets of the distillers."""
        if self.config.scaling == "none":
            return states
        scaled: Tensor = (states - self.shift).mul_(self.scale)
        return scaled if self.mixing is None else scaled @ self.mixing

    def representation(self, kind: str) -> Representation:
        """A map from states to vectors of one kind, for inference.

        Kinds are ``meaning``, ``context`` and ``raw``, each also with the suffix ``-centred``, and ``raw-scaled``. The
        prefix ``raw-and-`` puts the raw mean beside a kind, which doubles the width.
        """
        if kind.startswith(BESIDE_RAW):
            return together(self.representation("raw"), self.representation(kind.removeprefix(BESIDE_RAW)))
        plain = kind.removesuffix(CENTERED)
        maps: dict[str, Representation] = {
            "meaning": lambda states: self.meaning(self.scaled(states)),
            "context": lambda states: self.context(self.scaled(states)),
            "raw": layer_mean,
            RAW_SCALED: lambda states: layer_mean(self.scaled(states)),
        }
        distill = maps[plain]
        center = self.centres[KINDS.index(plain)] if kind.endswith(CENTERED) else None

        @torch.inference_mode()
        def apply(states: Tensor) -> Tensor:
            self.eval()
            rows = CPU_ROWS if states.device.type == "cpu" else max(1, GPU_PAIRS // self.layers**2)
            parts = [distill(part.to(self.centres.dtype)).float() for part in torch.split(states, rows)]
            vectors = torch.cat(parts) if parts else states.new_zeros(0, self.width)
            return vectors if center is None else vectors - center.float()

        return apply

    def divergence(self) -> Tensor:
        """The weighted divergence of both distillers for the last batch."""
        return self.config.variational * (self.meaning.divergence + self.context.divergence)

    def find_scale(self, states: Tensor) -> None:
        """Estimate the statistics for scaling from states of words [n, layers, width]."""
        if self.config.scaling in ("standardised", "whitened"):
            self.shift = states.mean(dim=0)
            size = (states - self.shift).square().mean(dim=0).sqrt()
        else:
            size = states.square().mean(dim=(0, 2)).sqrt()[:, None].expand(-1, self.width)
        self.scale = 1.0 / size.clamp(min=SMALLEST)
        if self.mixing is not None:
            self.mixing = whitening(layer_mean((states - self.shift) * self.scale))

    def find_centers(self, states: Tensor) -> None:
        """Estimate the mean vector of each kind from states of words [n, layers, width]."""
        means = [self.representation(kind)(states).mean(dim=0) for kind in KINDS]
        self.centres = torch.stack(means).to(self.centres.dtype).clone()


def together(*parts: Representation) -> Representation:
    """Concatenate the vectors of several kinds, each scaled to length one."""
    return lambda states: torch.cat([functional.normalize(part(states).float(), dim=1) for part in parts], dim=1)


def whitening(vectors: Tensor) -> Tensor:
    """[width, width] a symmetric map that makes the variances of centered vectors [n, width] more similar."""
    count, width = vectors.shape
    variances, directions = torch.linalg.eigh((vectors.double().T @ vectors.double()).cpu() / count)
    usual = variances.mean().clamp(min=SMALLEST)
    # With fewer vectors, more of the differences is due to chance.
    factors = ((count * variances + width * usual) / (count + width)) ** (-WHITENING / 2)
    # The total variance stays the same.
    factors *= (usual / (variances * factors.square()).mean().clamp(min=SMALLEST)).sqrt()
    mixing: Tensor = (directions * factors) @ directions.T
    return mixing.to(vectors)


class Distiller(nn.Module):
    """One transformer layer over a word's states, with layers as the sequence, and the mean of its outputs.

    Raises:
        UsageError: The width cannot be divided among the heads.
    """

    def __init__(self, layers: int, width: int, config: DistillerConfig) -> None:
        super().__init__()
        if width % config.heads:
            raise UsageError(
                f"States of width {width} cannot be divided among {config.heads} heads. Use a number of "
                f"heads that divides {width}."
            )
        self.transformer = nn.TransformerEncoderLayer(
            width, config.heads, config.feedforward * width, config.dropout, activation="gelu", batch_first=True
        )
        self.layer_embeddings = nn.Parameter(torch.zeros(layers, width)) if config.layer_embeddings else None
        self.log_variance = nn.Linear(width, width) if config.variational else None
        self.divergence = torch.zeros(())

    def forward(self, states: Tensor) -> Tensor:
        """[n, width] vectors of states [n, layers, width]."""
        if self.layer_embeddings is not None:
            states = states + self.layer_embeddings
        if states.is_cuda and not self.training:
            return attended(self.transformer, states).mean(dim=1)
        result: Tensor = self.transformer(states).mean(dim=1)
        return result if self.log_variance is None else self._drawn(result)

    def _drawn(self, mean: Tensor) -> Tensor:
        """[n, width] vectors drawn around their means in training, otherwise the means; stores the divergence."""
        assert self.log_variance is not None
        log_variance: Tensor = self.log_variance(mean)
        self.divergence = divergence(mean, log_variance)
        if not self.training:
            return mean
        return mean + torch.exp(log_variance / 2) * torch.randn_like(mean)


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Mean Kullback-Leibler divergence of normal distributions [n, width] from the standard one."""
    return (mean.square() + log_variance.exp() - 1 - log_variance).mean() / 2


def attended(layer: nn.TransformerEncoderLayer, states: Tensor) -> Tensor:
    """The output of a transformer layer for many short sequences [n, length, width], without dropout.

    GPU kernels for attention start a thread block for every head of every sequence, which would be most of the work
    for such short sequences; here all are computed at once.
    """
    attention = layer.self_attn
    projected = functional.linear(states, attention.in_proj_weight, attention.in_proj_bias)
    # [n, length, heads, size] each
    query, key, value = projected.view(*states.shape[:2], 3, attention.num_heads, -1).unbind(2)
    scores = (query[:, :, None] * key[:, None]).sum(dim=-1) * attention.head_dim**-0.5
    mixed = (scores.softmax(dim=2)[..., None] * value[:, None]).sum(dim=2).flatten(2)
    states = layer.norm1(states + attention.out_proj(mixed))
    result: Tensor = layer.norm2(states + layer.linear2(functional.gelu(layer.linear1(states))))
    return result


def layer_mean(states: Tensor) -> Tensor:
    """The mean of the layers: the raw baseline, and the target of reconstruction (Eq. 1)."""
    return states.mean(dim=1)


class Parts(NamedTuple):
    """The distilled vectors of words [n, width], and the targets of reconstruction."""

    meaning: Tensor
    context: Tensor
    target: Tensor


def distill_triples(distillers: Distillers, triples: Tensor) -> list[Parts]:
    """Distill triples [n, roles, layers, width] at once; returns an entry for each role."""
    states = distillers.scaled(triples.transpose(0, 1).flatten(0, 1))
    count = len(triples)
    whole = (distillers.meaning(states), distillers.context(states), layer_mean(states))
    return [Parts(*parts) for parts in zip(*(torch.split(vectors, count) for vectors in whole))]


def loss(original: Parts, positive: Parts, negative: Parts | None = None) -> Tensor:
    """The sum of all terms of the loss; without negatives, those of the ablation."""
    total = (
        _error(original, original, original)
        + _error(positive, positive, positive)
        + _error(positive, original, positive)
        + _error(original, positive, original)
    )
    if negative is None:
        return total
    return (
        total
        + _error(negative, negative, negative)
        + _error(negative, negative, original)
        + _error(original, original, negative)
    )


def _error(target: Parts, meaning: Parts, context: Parts) -> Tensor:
    """Mean squared error of reconstructing one word from the meaning of one and the context of another."""
    reconstruction = (meaning.meaning + context.context) / 2
    return (target.target - reconstruction).square().mean()


DEGENERATE = 0.95
"""Mean cosine between vectors of different words above which they are considered degenerate."""
SEPARATED = 0.05


@dataclass(frozen=True)
class Diagnosis:
    """Mean cosines over triples. Meanings should be similar for positives and different for negatives."""

    meaning_positive: float
    meaning_negative: float
    meaning_others: float
    """Between words of different triples; near 1, the distiller gives the same vector for everything."""
    context_positive: float
    context_negative: float
    context_others: float
    told_apart: float
    """Share of triples whose positive is nearer in meaning than the negative."""

    @property
    def separation(self) -> float:
        """How much better the meaning separates negatives from positives than the context does."""
        meaning = self.meaning_positive - self.meaning_negative
        return meaning - (self.context_positive - self.context_negative)

    @property
    def degenerate(self) -> bool:
        """Whether the meanings of all words are nearly the same, or no better than the contexts.

        Both happen without negatives: a constant meaning costs nothing then, and if positives are close to their
        originals, exchanging the two distillers does not change the loss.
        """
        return self.meaning_others >= DEGENERATE or self.separation < SEPARATED

    def as_dict(self) -> dict[str, float | bool]:
        """The figures, for provenance."""
        return {**{name: round(value, 4) for name, value in asdict(self).items()}, "degenerate": self.degenerate}

    def warn(self) -> None:
        """Warn of a degenerate solution."""
        if self.degenerate:
            warnings.warn(
                f"The distillers found a degenerate solution: the mean cosine of the meanings of different "
                f"words is {self.meaning_others:.3f}, and meanings tell negatives from positives by "
                f"{self.separation:.3f} more than contexts do. Use more triples, or negatives if there were none.",
                stacklevel=3,
            )


@torch.no_grad()
def diagnose(distillers: Distillers, triples: Tensor) -> Diagnosis:
    """Look at triples [n, 3, layers, width] of at least two different words."""
    distillers.eval()
    original, positive, negative = distill_triples(distillers, triples)
    cosine = torch.nn.functional.cosine_similarity
    figures = {
        f"{kind}_{other}": float(cosine(mine, theirs, dim=-1).mean())
        for kind, mine, *rest in (
            ("meaning", original.meaning, positive.meaning, negative.meaning),
            ("context", original.context, positive.context, negative.context),
        )
        for other, theirs in zip(("positive", "negative", "others"), (*rest, mine.roll(1, dims=0)))
    }
    near, far = (cosine(original.meaning, other.meaning, dim=-1) for other in (positive, negative))
    return Diagnosis(**figures, told_apart=float((near > far).float().mean()))
