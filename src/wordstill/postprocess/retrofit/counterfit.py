"""``counterfit``: words that mean the opposite are pushed apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError
from wordstill.neighbours import unit_rows
from wordstill.postprocess.retrofit.constraints import APART, TOGETHER, Bounds, Tension
from wordstill.postprocess.retrofit.graph import Case, Floats, Graph
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.moving import Moving
from wordstill.postprocess.retrofit.settings import choice, positive
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class CounterFitConfig:
    """Settings of `CounterFit`; the numbers are the paper's, but for margin and step.

    The margin was chosen on every second pair of eight similarity sets; the paper has 1.
    """

    antonyms: str | Lexicon = ""
    """Which words mean the opposite of each other, or what `open_lexicon` makes it of."""
    synonyms: str | Lexicon = ""
    """Which mean the same; nothing where another step has seen to them."""
    margin: float = 0.8
    """How far apart antonyms shall be at least, as 1 - cosine."""
    nearness: float = 0.0
    """How far apart synonyms may be, as 1 - cosine."""
    radius: float = 0.2
    """Words that were within it, as 1 - cosine, shall not drift further apart; 0 lets them."""
    repel: float = 0.1
    """Weight of the antonyms."""
    attract: float = 0.1
    """Weight of the synonyms."""
    keep: float = 0.1
    """Weight of the words within the radius."""
    step: float = 0.1
    """How far a word goes in a pass, as a part of the mean pull on it."""
    passes: int = 20
    """How often each word is moved."""
    case: Case = "fallback"
    """As in retrofitting."""

    unit: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("margin", "repel", "attract", "keep", "step"):
            positive(name, getattr(self, name))
        for name in ("nearness", "radius"):
            positive(name, getattr(self, name), kind="0 or more")
        if self.margin > 2 or self.radius >= 1 or self.nearness >= 1:
            raise UsageError(
                f"margin must be at most 2, and radius and nearness below 1; got {self.margin}, "
                f"{self.radius} and {self.nearness}."
            )
        if self.passes < 0:
            raise UsageError(f"passes must be 0 or more; got {self.passes}.")
        choice("case rule", self.case, get_args(Case))


class CounterFit(Moving):
    r"""Antonyms move apart, synonyms together, and what was near stays near.

    .. math::
        \min_Q\; k_r \sum_{ant} \big[\delta - d(q_i, q_j)\big]_+
        + k_a \sum_{syn} \big[d(q_i, q_j) - \gamma\big]_+
        + k_k \sum_{near} \big[d(q_i, q_j) - d(q'_i, q'_j)\big]_+

    with :math:`d = 1 - \cos`. In each pass all words move at once along the mean of the gradients of those
    terms that are not zero, and are brought back to length one.

    Paper: Mrkšić, Ó Séaghdha, Thomson, Gašić, Rojas-Barahona, Su, Vandyke, Wen, Young 2016, "Counter-fitting
    Word Vectors to Linguistic Constraints".
    Cost: a product of the words in the lexicons with the whole table, and a sparse product for each pass.
    Deviations from the paper: steps are taken for all words at once, not at random.
    """

    name: ClassVar[str] = "counterfit.v1"
    config_type: ClassVar[type[CounterFitConfig]] = CounterFitConfig
    config: CounterFitConfig

    def _moved(
        self, vectors: WordVectors, matrix: Floats
    ) -> tuple[NDArray[np.int64], Floats, tuple[float, ...]]:
        bounds = self._bounds(vectors)
        moving = np.unique(np.concatenate([part.pairs.ravel() for part in bounds]))
        if self.config.radius:
            near = Bounds.near(matrix, moving, 1 - self.config.radius, self.config.keep)
            bounds.append(near.without(bounds[0]))
        tension = Tension(bounds)
        places = np.searchsorted(tension.rows, moving)
        current, objective = matrix[tension.rows], []
        for number in range(self.config.passes + 1):
            value, pulled = tension.at(current)
            objective.append(value)
            if number < self.config.passes:
                current[places] = unit_rows(current[places] + self.config.step * pulled[places])
        return moving, current[places], tuple(objective)

    def _bounds(self, vectors: WordVectors) -> list[Bounds]:
        """Those of the antonyms, and of the synonyms if there are any."""
        config = self.config
        opposite = Graph.of(self.lexicon("antonyms"), vectors, config.case)
        bounds = [Bounds.of(opposite, APART, 1 - config.margin, config.repel)]
        if config.synonyms:
            alike = Graph.of(self.lexicon("synonyms"), vectors, config.case)
            bounds.append(Bounds.of(alike, TOGETHER, 1 - config.nearness, config.attract))
        return bounds
