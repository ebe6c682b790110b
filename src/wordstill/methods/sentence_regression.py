"""Ridge regression of sentence vectors on bags of words, by conjugate gradients in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor

from wordstill.methods.linear_algebra import ridge
from wordstill.methods.sums import occurrences, row_blocks
from wordstill.vectors.sentences import sif

if TYPE_CHECKING:
    from wordstill.methods.sentence import Bags

COLUMNS_AT_ONCE = 32
"""Columns are solved side by side, a block at a time, so that memory grows with sentences x 32, not x width."""
TOLERANCE = 1e-6
"""With steps left to go, conjugate gradients amplify the rounding of sums ten thousandfold; the solution does not."""
MOST_STEPS = 200
TOGETHER = 512
"""So many of the most frequent words stand beside each other in nearly every sentence."""
JITTER = 1e-10
FREQUENCY = 1e-2
"""Frequency at which a word counts half in a fitted prior."""
RIDGE = 1e-3
ROWS_AT_ONCE = 1 << 13

PriorTable = Literal["states", "fitted"]
"""The prior table of a sentence regression. ``states``: mean states; ``fitted``: see `Features`."""


@dataclass(frozen=True, eq=False)
class Features:
    r"""Several vectors of each word, from which a prior table is fitted.

    With unit vectors :math:`u^k_w`, and :math:`p_w` the share of the word among all known words of the text:

    .. math:: f_w = \frac{a}{a + p_w} \bigoplus_k u^k_w, \qquad V_0 = F B, \qquad
        (F^\top X^\top X F + r\, d\, I)\, B = F^\top X^\top T

    where d is the mean of the diagonal of :math:`F^\top X^\top X F`. One map for all words learns from all sentences
    what the few sentences of a rare word cannot say.
    """

    tables: Sequence[Tensor]
    """[V, width] each, with rows of any length; zeros where there is nothing."""
    counts: Tensor
    """Occurrences of each word [V]."""
    rows_at_once: int = ROWS_AT_ONCE
    """Rows to hold in float64 at a time."""

    def rows(self, rows: slice) -> Tensor:
        """[n, K width] float64 rows of F."""
        return torch.cat([scale[rows] * table[rows].double() for table, scale in zip(self.tables, self.scales)], dim=1)

    def transposed_times(self, values: Tensor) -> Tensor:
        """[K width, c] float64 the transpose of F times a table [V, c]."""
        total = values.new_zeros(sum(table.shape[1] for table in self.tables), values.shape[1], dtype=torch.float64)
        for rows in self.blocks():
            total += self.rows(rows).T @ values[rows].double()
        return total

    def columns(self, at_once: int) -> Iterator[Tensor]:
        """[V, c] float64 columns of F, a block at a time."""
        for table, scale in zip(self.tables, self.scales):
            for columns in row_blocks(table.shape[1], at_once):
                yield scale * table[:, columns].double()

    def blocks(self) -> Iterator[slice]:
        """All words, block by block."""
        return row_blocks(len(self.counts), self.rows_at_once)

    @cached_property
    def scales(self) -> list[Tensor]:
        """[V, 1] what the rows of each table are multiplied with."""
        weight = sif(self.counts.double() / self.counts.sum().clamp(min=1), FREQUENCY)
        return [weight[:, None] / self._norms(table)[:, None] for table in self.tables]

    def _norms(self, table: Tensor) -> Tensor:
        norms = [torch.linalg.vector_norm(table[rows].double(), dim=1) for rows in self.blocks()]
        return torch.cat(norms).clamp(min=torch.finfo(torch.float32).tiny)


@dataclass(frozen=True)
class Solution:
    """Rows of a regression, and how well they do."""

    table: Tensor
    """[V, width]."""
    steps: int
    residual: float
    """Norm of the last residual over that of the first."""


def regress(
    bags: Bags,
    start: Tensor | Features,
    strength: float,
    *,
    columns_at_once: int = COLUMNS_AT_ONCE,
    together: int = TOGETHER,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> Solution:
    r"""Rows V that minimize :math:`\sum_s |t_s - V^\top x_s|^2 + \lambda |V - a V_0|^2`.

    Conjugate gradients on the normal equations, preconditioned by the diagonal and the Gram matrix of the most frequent
    words; every column is a system of its own. In float64 and nearly to the end, or the same text read in another order
    would give another table.
    :math:`a` scales the prior table so that its means fit best.

    Args:
        bags: What was observed.
        start: The prior table :math:`V_0` [V, width], or what it is fitted from.
        strength: :math:`\lambda`. A word of few occurrences stays near its prior row.
        columns_at_once: Columns that are solved side by side.
        together: How many of the most frequent words are solved for together before every step.
        tolerance: Stop when the residual is so small a part of the first.
        most_steps: Stop after so many steps anyway.
    """
    design = _design(bags, len(bags.targets.counts))
    if isinstance(start, Features):
        start = _fitted(design, bags, start, columns_at_once)
    blocks = [slice(at, at + columns_at_once) for at in range(0, start.shape[1], columns_at_once)]
    scale = _best_scale(design, bags, start, blocks)
    condition = _Condition(design, strength, together, columns_at_once)
    table, steps, worst = torch.empty_like(start, dtype=torch.float32), 0, 0.0
    for columns in blocks:
        targets, prior = bags.targets.sums[:, columns].double(), scale * start[:, columns].double()
        rows, taken, residual = _solve(design, condition, targets, prior, strength, tolerance, most_steps)
        table[:, columns] = rows.float()
        steps, worst = max(steps, taken), max(worst, residual)
    return Solution(table, steps, worst)


class _Design(NamedTuple):
    """X, its transpose, and the diagonal of its Gram matrix."""

    words_of: Tensor
    sentences_of: Tensor
    diagonal: Tensor

    def gram(self, rows: Tensor) -> Tensor:
        """[V, c] the rows times X'X."""
        return self.sentences_of @ (self.words_of @ rows)


def _design(bags: Bags, rows: int) -> _Design:
    words, sentences = bags.words[: bags.size].long(), bags.sentences[: bags.size].long()
    lengths = occurrences(sentences, bags.n_sentences).double()
    # A word that is repeated in a sentence is one entry.
    pairs, times = torch.unique(sentences * rows + words, return_counts=True)
    sentences, words = pairs // rows, pairs % rows
    share = times / lengths[sentences]
    del pairs, times
    diagonal = torch.zeros(rows, dtype=torch.float64, device=words.device).index_add_(0, words, share**2)
    words_of = _sparse(sentences, words, share, bags.n_sentences, rows)
    by_word = torch.argsort(words, stable=True)
    sentences_of = _sparse(words[by_word], sentences[by_word], share[by_word], rows, bags.n_sentences)
    return _Design(words_of, sentences_of, diagonal)


def _sparse(rows: Tensor, columns: Tensor, values: Tensor, height: int, width: int) -> Tensor:
    """A matrix of numbers whose rows are sorted."""
    starts = torch.zeros(height + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(occurrences(rows, height), dim=0, out=starts[1:])
    with warnings.catch_warnings():
        # torch says of every such matrix that they are new.
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(starts, columns, values, (height, width))


def _fitted(design: _Design, bags: Bags, features: Features, columns_at_once: int) -> Tensor:
    """[V, width] float32 the table of `Features`."""
    gram = [features.transposed_times(design.gram(columns)) for columns in features.columns(columns_at_once)]
    weights = ridge(torch.cat(gram, dim=1), features.transposed_times(bags.targets.sums), RIDGE)
    table = torch.empty_like(bags.targets.sums, dtype=torch.float32)
    for rows in features.blocks():
        table[rows] = (features.rows(rows) @ weights).float()
    return table


def _best_scale(design: _Design, bags: Bags, start: Tensor, blocks: list[slice]) -> float:
    fitted = squared = 0.0
    for columns in blocks:
        rows = start[:, columns].double()
        means = design.words_of @ rows
        fitted += float((rows * bags.targets.sums[:, columns].double()).sum())
        squared += float((means * means).sum())
    return fitted / squared if squared > 0 else 1.0


class _Condition:
    r"""Solves :math:`X'X + \lambda` as if only the most frequent words stood beside each other."""

    def __init__(self, design: _Design, strength: float, together: int, columns_at_once: int) -> None:
        self.inverse = 1 / (design.diagonal + strength)[:, None]
        self.words = torch.topk(design.diagonal, min(together, len(design.diagonal))).indices
        count, device = len(self.words), design.diagonal.device
        gram = strength * torch.eye(count, dtype=torch.float64, device=device)
        for start in range(0, count, columns_at_once):
            words = self.words[start : start + columns_at_once]
            alone = torch.zeros(len(design.diagonal), len(words), dtype=torch.float64, device=device)
            alone[words, torch.arange(len(words), device=device)] = 1
            gram[:, start : start + len(words)] += design.gram(alone)[self.words]
        # With little strength, words that only stand together would make it singular to rounding.
        gram.diagonal().mul_(1 + JITTER)
        self.factor = torch.linalg.cholesky(gram)

    def __call__(self, rows: Tensor) -> Tensor:
        """[V, c] of the same."""
        solved = self.inverse * rows
        solved[self.words] = torch.cholesky_solve(rows[self.words], self.factor)
        return solved


def _solve(
    design: _Design,
    condition: Callable[[Tensor], Tensor],
    targets: Tensor,
    prior: Tensor,
    strength: float,
    tolerance: float,
    most_steps: int,
) -> tuple[Tensor, int, float]:
    table = prior.clone()
    residual = targets - design.gram(table)
    towards = condition(residual)
    direction, product = towards.clone(), (residual * towards).sum(dim=0)
    first = left = float(product.sum())
    steps = 0
    while steps < most_steps and left > first * tolerance**2:
        image = design.gram(direction) + strength * direction
        length = product / (direction * image).sum(dim=0).clamp(min=1e-30)
        table += length * direction
        residual -= length * image
        towards = condition(residual)
        after = (residual * towards).sum(dim=0)
        direction = towards + after / product.clamp(min=1e-30) * direction
        product, left, steps = after, float(after.sum()), steps + 1
    return table, steps, (left / first) ** 0.5 if first > 0 else 0.0
