"""``x2static``: word vectors trained to predict the sentences that contain the word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Range
from wordstill.errors import UsageError
from wordstill.methods.base import RunContext
from wordstill.methods.learning.learner import Learner, LearnerConfig
from wordstill.methods.learning.objectives import pairwise
from wordstill.methods.learning.rows import joined
from wordstill.methods.sums import occurrences
from wordstill.teacher.states import WordStates

Averaged = Literal["subwords", "words"]
Start = Literal["zeros", "uniform"]
BatchOf = Literal["targets", "texts"]


@dataclass(frozen=True, kw_only=True)
class X2StaticConfig(LearnerConfig):
    """Settings of `X2Static`; ``preset=paper`` has those of Table 1."""

    negatives: int = 10
    subsample: float = 1e-4
    batch: int = 2048
    batch_of: BatchOf = "targets"
    """What ``batch`` counts; with ``texts``, a step has as many targets as that many texts have on average. A step
    never exceeds a teacher batch: 2,048 subwords on a CPU, unless the budget is larger."""
    averaged: Averaged = "subwords"
    """Whether a context is the mean of a sentence's subwords or of its words."""
    leave_out: bool = False
    """Leave the target's own states out of its context."""
    masked: Annotated[int, Range(0, 1_000)] = 0
    """How many times the teacher reads each text with one word masked, a different target each time. 0 reads the text
    once, unmasked, for all targets."""
    whiten: Annotated[float | None, Range(0, 1)] = 0.5
    """Center contexts and multiply them by this power of their inverse covariance; none leaves them unchanged."""
    start: Start = "zeros"
    """Initial table: zeros, or uniform within 1 / width of zero."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.whiten is not None and self.start != "zeros":
            raise UsageError("x2static: with whiten the table starts from zeros. Set start=zeros or whiten=none.")


PAPER: Mapping[str, Any] = {
    "subsample": 5e-6,
    "noise_power": 0.5,
    "noise_source": "counts",
    "optimiser": "lazy-adam",
    "rate": 1e-3,
    "final_rate": 1.0,
    "batch": 128,
    "batch_of": "texts",
    "averaged": "words",
    "whiten": None,
    "start": "uniform",
    "mask_hits": False,
    "shared": 0,
    "balance": 0.0,
    "corrected": False,
}


class X2Static(Learner):
    r"""Word vectors trained to score high with the sentences that contain the word, and low with others.

    .. math:: \sum_{S} \sum_{t \in S} \log(1 + e^{-u_t \cdot c}) + \sum_{n \in N} \log(1 + e^{u_n \cdot c}),
              \quad c = \frac{1}{|S|} \sum_{i \in S} h_i

    Paper: Gupta and Jaggi 2021, "Obtaining Better Static Word Embeddings Using Contextual Embedding Models",
    Eq. 1, 3 and 4. Whether the teacher reads sentences (Eq. 3) or paragraphs (Eq. 4) is a setting of the run
    (``--read``).

    Inputs: running text. Words that were never a target are left out.
    Cost: for each target, 1 + negatives rows are read and written; memory vocabulary x width float32, three times
    that with Adam.
    Relations: `Still` has the mean context in closed form, beside the word's own states. `BertSkipgram` and
    `ContextToVec` predict neighbors from a word's state instead of a word from its sentence.

    ``masked=n`` uses contexts in which the target is masked, which section 3.1 calls better but too expensive. Targets
    are sampled: n extra passes over the text give n targets in each sentence (or paragraph), whereas all k words of a
    sentence would take k passes. Every subword of the target is masked.

    Presets: ``paper`` has the equations and Table 1; what the paper leaves open (the noise) is as in the authors'
    code. ``docs/papers.md`` lists the code's other deviations from the paper.
    ``fixed``, the default, draws negatives in proportion to how often a word is a target, masks negatives that equal
    the target, starts from zeros, and takes steps in centered, whitened contexts. There a few steps approach the
    closed form, whereas with raw contexts they mostly learn the direction that all contexts share.

    Example:
        >>> from wordstill import distill
        >>> tables = distill("corpus.txt", methods=["x2static:preset=paper"])  # doctest: +SKIP
    """

    name: ClassVar[str] = "x2static.v1"
    config_type: ClassVar[type[X2StaticConfig]] = X2StaticConfig
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"fixed": {}, "paper": PAPER}
    config: X2StaticConfig

    def __init__(self, config: X2StaticConfig, run: RunContext) -> None:
        super().__init__(config, run)
        if config.masked:
            self.masked_readings, self.masked_keep = config.masked, self.sampler.keep
            # Of the targets that subsampling keeps, at most so many of each text are used.
            left = float(self.sampler.expected_positives.sum())
            self.sampler.expected_positives *= min(1.0, config.masked * run.texts / max(left, 1.0))
        initial = torch.zeros(len(run.vocabulary), run.width, device=run.device)
        if config.start == "uniform":
            initial.uniform_(-1 / run.width, 1 / run.width, generator=self._generator())
        self.rows = self.parts["rows"] = self.row_table(initial)
        self.add_whitener(config.whiten)
        step = self.pair_step()
        self.step_size = config.batch
        if config.batch_of == "texts":
            in_a_text = float(self.sampler.expected_positives.sum()) / run.texts
            self.step_size = max(1, round(config.batch * in_a_text))
        self.kernel_step = None if step is None else self.replayed(step, self.step_size)

    def steps(self, states: WordStates, generator: torch.Generator) -> Iterator[int]:
        """Train on the targets of a batch that subsampling keeps, in random order."""
        masked = states.batch.masked
        chosen = self._targets(states.batch.host_word_ids) if masked is None else self.host_rng().permutation(masked)
        targets = states.to_device(chosen)
        config = self.config
        self._whiten(states)
        contexts = sentence_contexts(states, targets, config.layer, config.averaged, leave_out=config.leave_out)
        queries, words = self.whitened(contexts), states.word_ids[targets]
        parts = list(zip(*(torch.split(each, self.step_size) for each in (queries, words))))
        sizes = [len(chosen) for _, chosen in parts]
        for (asking, chosen), negatives in zip(parts, self.draws(sizes, config.negatives, generator)):
            self.learn(asking, chosen[:, None], negatives)
            yield len(chosen)

    def vectors(self) -> Tensor:
        """The table, in the whitened space if contexts are whitened."""
        return self.rows.weights

    def _targets(self, ids: NDArray[np.integer]) -> NDArray[np.int64]:
        """Indices of the words of a batch [W] that are kept as targets, in random order; on the host."""
        rng, known = self.host_rng(), np.flatnonzero(ids >= 0)
        kept = known[self.sampler.kept(ids[known], rng)]
        return rng.permutation(kept)

    def learn(self, queries: Tensor, words: Tensor, negatives: Tensor) -> None:
        """Take a step on queries, their words and negatives."""
        if self.kernel_step is not None:
            self.kernel_step(queries, words, negatives)
            return
        positive = self.scores(self.rows, queries, words)
        negative = self.scores(self.rows, queries, negatives)
        drawn = self.negative_weights(negatives, words)
        losses = pairwise(positive, negative, torch.ones_like(positive), drawn)
        self.positives.add(words)
        self.rows.step(*joined(queries, words, negatives, losses), self.learning_rate)
        self.loss += losses.total

    def _whiten(self, states: WordStates) -> None:
        if self.whitener is None:
            return
        sentences = states.sentences(self.config.layer)
        # A sentence is the context of each of its words.
        uses = occurrences(states.word_sentence[states.known], len(sentences))
        change = self.whitener.observe(sentences, uses)
        if change is not None:
            self.rows.weights.copy_(self.rows.weights @ change)


def sentence_contexts(states: WordStates, words: Tensor, layer: int, averaged: Averaged, *, leave_out: bool) -> Tensor:
    """[n, d] contexts of words, given by their indices in the batch [n].

    With ``leave_out``, the context of a word alone in its sentence is zeros.
    """
    if averaged == "words":
        everything = len(states.word_ids)
        return states.windows(layer, everything, everything, include_self=not leave_out)[words]
    sentence = states.word_sentence[words]
    means = states.sentences(layer)[sentence]
    if not leave_out:
        return means
    batch = states.batch
    size = (batch.sentence_end - batch.sentence_start)[sentence, None]
    part = (batch.word_end - batch.word_start)[words, None]
    rest = means * size - states.words(layer)[words] * part
    return torch.where(size > part, rest / (size - part).clamp(min=1), 0.0)
