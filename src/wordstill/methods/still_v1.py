"""``still.v1``: the first version of `Still`, from states and sentence contexts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.errors import UsageError
from wordstill.methods.base import Method, RunContext, refuse_unseen
from wordstill.methods.blocks import COMMON_WORDS, ROWS_AT_ONCE, Block, Exponent, Mixture, Prior, frequent_words
from wordstill.methods.sums import Moments, RowSums, occurrences
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class StillV1Config(Config):
    """Settings of `StillV1`, chosen on development halves of similarity sets (experiments/results.md)."""

    layer: int
    """Layer of the states."""
    dim: int | None = None
    """Size of the vectors; None takes the teacher's width. The maximum is twice that, or thrice with ``lower``."""
    context_weight: Annotated[float, Range(0, 1e6)] = 0.65
    """Weight of a frequent word's contexts relative to its states: more for relatedness, less for similarity."""
    state_exponent: Exponent = 0.15
    """How far to whiten the states: 0 not at all, 0.5 fully."""
    context_exponent: Exponent = 0.35
    """How far to whiten the contexts."""
    state_prior: Prior = 0.5
    """Weight of the states predicted from the isolated word, in occurrences."""
    context_prior: Prior = 6.0
    """The same for the contexts."""
    lower: Annotated[int | None, Range(0, 1_000)] = None
    """A lower layer whose states are concatenated: they have more of a word's form and grammar, which improves
    analogies. None uses no lower layer."""
    lower_weight: Annotated[float, Range(0, 1e6)] = 1.0
    """Weight of its states relative to those of ``layer``."""

    @property
    def parts(self) -> int:
        """Number of concatenated vectors."""
        return 2 if self.lower is None else 3


class StillV1(Method):
    r"""A word's mean state and the mean of its sentences, shrunk, whitened, concatenated and reduced.

    With :math:`\bar h_w` the mean state of a word over its :math:`n_w` occurrences, :math:`\bar c_w` the mean of the
    sentence means around it, and :math:`\hat h_w, \hat c_w` their predictions from the isolated word by a ridge
    regression that is fitted on frequent words:

    .. math::
        x_w = \frac{n_w \bar h_w + \kappa_h \hat h_w}{n_w + \kappa_h}, \qquad
        y_w = \frac{n_w \bar c_w + \kappa_c \hat c_w}{n_w + \kappa_c}

    .. math::
        v_w = P^\top \left( \mathrm{unit}\big(\Sigma_h^{-a} (x_w - \mu_h)\big) \oplus
        \lambda_w\, \mathrm{unit}\big(\Sigma_c^{-b} (y_w - \mu_c)\big) - m \right), \qquad
        \lambda_w = \lambda \frac{n_w}{n_w + \kappa_c}

    :math:`\mu_h, \Sigma_h` are over frequent words, :math:`\mu_c, \Sigma_c` over occurrences; :math:`m` and :math:`P`
    are the mean and principal directions of the concatenation over the 20,000 most frequent of these words, so that a
    long tail of names does not dominate. Frequent words occur at least five times; if there are no more of them than
    the teacher's width, all words that occur are used. With ``lower``, the states of a lower layer, shrunk and whitened
    like :math:`x_w`, are concatenated too, with a weight of their own.

    Paper: none; the second half approximates a solution of the objective of X2Static (Gupta and Jaggi 2021) without
    gradient steps: the mean context of a word, centered, times a power of the inverse covariance of contexts.

    Inputs: running text, and every word of the vocabulary in isolation. Words that never occur get their predicted
    vector. The mean is subtracted, so if all words have equal states, their vectors are zeros.
    Cost: three tables of vocabulary x width float32, or four with ``lower``, which also prevents compiling the model on
    a GPU; three or four eigenvalue problems at the end; no random numbers.
    Relations: the first half without whitening and shrinkage is `Ase`; a word that never occurs gets its
    `Decontextual` state, mapped to the same space.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", methods=["still.v1:dim=300"])  # doctest: +SKIP
        >>> for_analogies = distill("corpus.txt", methods=["still.v1:lower=1"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "still.v1"
    config_type: ClassVar[type[StillV1Config]] = StillV1Config
    config: StillV1Config

    def __init__(self, config: StillV1Config, run: RunContext) -> None:
        super().__init__(config, run)
        self.check(config, run.width)
        refuse_unseen("still.v1", run)
        rows, width, device = len(run.vocabulary), run.width, run.device
        self.dim = width if config.dim is None else config.dim
        self.states = RowSums(rows, width, device)
        self.contexts = RowSums(rows, width, device)
        self.isolated = RowSums(rows, width, device)
        self.spread = Moments(width, device)
        self.parts = {"states": self.states, "contexts": self.contexts, "alone": self.isolated, "spread": self.spread}
        self.lower: RowSums | None = None
        if config.lower is not None:
            self.lower = self.parts["lower"] = RowSums(rows, width, device)
        self.keep_cells("states", "contexts", *([] if self.lower is None else ["lower"]))

    @classmethod
    def has_folds(cls, config: StillV1Config) -> bool:
        """True."""
        return True

    @classmethod
    def check(cls, config: StillV1Config, width: int) -> None:
        """Raise a `UsageError` for an invalid size, or a lower layer that is not lower."""
        if config.lower is not None and config.lower >= config.layer:
            raise UsageError(f"still.v1:lower must be below the layer, {config.layer}; got {config.lower}.")
        most = config.parts * width
        if config.dim is not None and not 1 <= config.dim <= most:
            times = f"{config.parts} times the teacher's width"
            raise UsageError(f"still.v1:dim must be from 1 to {most}, {times}; got {config.dim}.")

    @property
    def layers(self) -> tuple[int, ...]:
        """The layer, after the lower one if there is one."""
        lower, layer = self.config.lower, self.config.layer
        return (layer,) if lower is None else (lower, layer)

    def isolated_words(self) -> NDArray[np.int64]:
        """Every word of the vocabulary."""
        return np.arange(len(self.run.vocabulary), dtype=np.int64)

    def observe(self, states: WordStates) -> None:
        """Add the states of words and of their sentences."""
        known, layer = states.known, self.config.layer
        sentence, sentences = states.word_sentence[known], states.sentences(layer)
        self.add("states", states, states.words(layer), known)
        self.add("contexts", states, sentences, sentence)
        self.spread.add(sentences, occurrences(sentence, len(sentences)))
        if self.lower is not None:
            self.add("lower", states, states.words(self.layers[0]), known)

    def observe_isolated(self, states: WordStates) -> None:
        """Add the states of isolated words."""
        known = states.known
        self.isolated.add(states.word_ids[known], states.words(self.config.layer), known)

    def finish(
        self,
        provenance: Mapping[str, Any] | None = None,
        *,
        rows_at_once: int = ROWS_AT_ONCE,
        common_words: int = COMMON_WORDS,
    ) -> WordVectors:
        """Shrink, whiten and reduce, block by block of words."""
        config, counts = self.config, self.states.counts
        frequent = frequent_words(counts, self.isolated.counts, self.run.width)

        cells: Mapping[str, RowSums] = {} if self.cells is None else self.cells.parts

        def of_states(sums: RowSums, part: str, weight: float) -> Block:
            own = config.state_prior, config.state_exponent, weight
            return Block(sums, self.isolated, *own, cells=cells.get(part))

        contexts = Block(
            self.contexts,
            self.isolated,
            config.context_prior,
            config.context_exponent,
            config.context_weight,
            by_count=True,
            spread=self.spread,
            cells=cells.get("contexts"),
        )
        blocks = [of_states(self.states, "states", 1.0), contexts]
        if self.lower is not None:
            blocks.append(of_states(self.lower, "lower", config.lower_weight))
        mixture = Mixture(blocks, frequent, counts, self.dim, rows_at_once=rows_at_once, common_words=common_words)
        seen = (counts > 0) | (self.isolated.counts > 0)
        return self.table(mixture.table(), seen, provenance, mixture.cell_rows)
