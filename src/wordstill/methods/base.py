"""The interfaces of observers, which see the teacher's states, and of methods, which make a table from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wordstill.core.settings import Configurable
from wordstill.corpus import Vocabulary
from wordstill.corpus.dealing import Cells
from wordstill.errors import DataError, UsageError
from wordstill.methods.linear_algebra import unit_rows
from wordstill.methods.sums import Accumulator, Additive, CellSums, Growing, RowOrder, TableMaker, row_blocks
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds
from wordstill.vectors.sentences import sif

Length = Literal["sentence", "unit", "raw"]
"""Lengths of rows. ``sentence``: the weight of each word in a sentence, so that a plain mean of rows is a good sentence
vector; ``unit``: one; ``raw``: as the method computes them. Cosines between words are the same."""
PLAIN_FREQUENCY, NORMED_FREQUENCY = 3e-4, 1e-3
"""Frequencies at which a word has half the weight of a rare one; chosen on development halves of sentence sets."""
CELLS_AT_ONCE = 1 << 12
CellRows = Callable[[slice, Tensor], Tensor]
"""Rows [n, dim] of a range of cells, given the word of each [n]."""


@dataclass(frozen=True)
class RunContext:
    """Facts about a run that its methods know before the first batch."""

    vocabulary: Vocabulary
    width: int
    """Size of the teacher's states."""
    depth: int
    """Number of the teacher's last layer."""
    device: torch.device
    seed: int = 0
    words: int = 1
    """Words of the running text."""
    epochs: int = 1
    """Passes over the text."""
    keeps_best: bool = False
    """Early stopping: methods that learn are scored after each epoch, and the best table is kept."""
    scored: int = 0
    """Total number of scores, after and during epochs."""
    length: Length = "raw"
    """The lengths of rows."""
    texts: int = 1
    """Number of texts that the teacher reads in an epoch: sentences or paragraphs."""
    cells: Cells | None = None
    """The words in folds that get rows too."""
    make_cells: TableMaker | None = None
    """Makes tables for cells; None allocates them on the device."""

    whole: RunContext | None = None
    """For a snapshot: the whole run."""

    @cached_property
    def unseen(self) -> NDArray[np.int64]:
        """Ids of the vocabulary's words that never occur in the whole text."""
        return np.flatnonzero(self.vocabulary.counts == 0) if self.whole is None else self.whole.unseen

    def so_far(self, counts: NDArray[np.int64], words: int) -> RunContext:
        """The same run after so many words, with the counts of the vocabulary's words so far [V]."""
        return replace(self, vocabulary=self.vocabulary.counted(counts), words=words, whole=self)


class Observer(Configurable, ABC):
    """Observes the teacher's states in a run; can be saved, restored and merged.

    Args:
        config: Its settings.
        run: Vocabulary, sizes, device and seed.

    Attributes:
        reads_text: Whether it observes running text.
        parts: What it has learned so far, by name.
    """

    reads_text: ClassVar[bool] = True

    def __init__(self, config: Any, run: RunContext) -> None:
        self.config = config
        self.run = run
        self.parts: dict[str, Accumulator] = {}

    @property
    def layers(self) -> tuple[int, ...]:
        """The teacher's layers that it observes; by default the one in its settings."""
        return (self.config.layer,)

    def isolated_words(self) -> NDArray[np.int64]:
        """Ids of the words that the teacher should read in isolation; by default none."""
        return np.empty(0, dtype=np.int64)

    @property
    def prompt(self) -> str | None:
        """A prompt in which the teacher also reads the isolated words, with ``{}`` in place of the word."""
        return None

    def observe(self, states: WordStates) -> None:
        """Observe a batch of running text; called only if it reads text."""
        raise NotImplementedError(f"{type(self).__name__} reads text, but has no observe")

    def observe_isolated(self, states: WordStates) -> None:
        """Observe a batch of isolated words, each a text of its own; called only if it asked for some.

        The batch may have words that only other observers asked for.
        """
        raise NotImplementedError(f"{type(self).__name__} has isolated words, but no observe_isolated")

    def observe_prompted(self, states: WordStates) -> None:
        """Observe a batch of isolated words in the prompt; each text has only that word."""
        raise NotImplementedError(f"{type(self).__name__} has a prompt, but no observe_prompted")

    def status(self) -> str:
        """A short status for the progress bar, such as the loss; empty by default."""
        return ""

    def verify(self) -> None:
        """Raise a `TrainingError` if its numbers have diverged."""

    def memory(self) -> int:
        """Bytes of its state now."""
        return sum(tensor.nbytes for tensor in self.state_dict().values())

    def memory_after(self, words: int) -> int:
        """Bytes of its state after so many words."""
        growing = [part for part in self.parts.values() if isinstance(part, Growing)]
        return self.memory() + sum(part.memory_after(words) - part.memory() for part in growing)

    def memory_to_finish(self, words: int) -> int:
        """Additional bytes that growing parts need at the end, after so many words."""
        return sum(part.memory_to_finish(words) for part in self.parts.values() if isinstance(part, Growing))

    def state_dict(self) -> dict[str, Tensor]:
        """Everything learned so far, by name."""
        return {
            f"{part}.{key}": tensor
            for part, accumulator in self.parts.items()
            for key, tensor in accumulator.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state from `state_dict`.

        Raises:
            DataError: The state is from another method or vocabulary.
        """
        for part, accumulator in self.parts.items():
            if isinstance(accumulator, Growing):
                accumulator.resize_for(_of_part(state, part))
        own = self.state_dict()
        expected, got = _shapes(own), _shapes(state)
        if expected != got:
            raise DataError(
                f"The saved state does not fit {self.name}: got {got}, expected {expected}. "
                "Start again with --overwrite."
            )
        for key, tensor in own.items():
            tensor.copy_(state[key])

    def merge(self, other: Observer) -> None:
        """Add the observations of the same observer in another run.

        Raises:
            UsageError: The other one has another method, settings or vocabulary.
        """
        self._refuse_other(other)
        for part, accumulator in self.parts.items():
            accumulator.merge(other.parts[part])

    def widen(self) -> None:
        """Keep sums in float64 from now on, so that merging is exact in any order; costs twice the memory."""
        for part in self.parts.values():
            if isinstance(part, Additive):
                part.widen()

    def narrow(self) -> None:
        """Round the sums to float32, for `finish`."""
        for part in self.parts.values():
            if isinstance(part, Additive):
                part.narrow()

    def _refuse_other(self, other: Observer) -> None:
        same_words = self.run.vocabulary.keys == other.run.vocabulary.keys
        mine, theirs = self.run.cells, other.run.cells
        if (mine is None) != (theirs is None) or (mine is not None and not mine.same_as(theirs)):
            raise UsageError(f"Cannot merge {other.name}: the two runs divide the text into other folds or groups.")
        if (self.name, self.config) != (other.name, other.config) or not same_words:
            raise UsageError(
                f"Cannot merge {other.name} ({other.config}, {len(other.run.vocabulary)} words) into "
                f"{self.name} ({self.config}, {len(self.run.vocabulary)} words): they must be the same."
            )


class Method(Observer):
    """A distillation method. Its name has a version, so that recipes keep their meaning.

    Args:
        config: The method's settings, with a single ``layer`` if it has that setting.
        run: Vocabulary, sizes, device and seed.

    Attributes:
        masked_readings: If not 0, it reads each text so many times with a word masked, and never without.
        masked_keep: Probability that an occurrence of each word can be masked [V].
        learns: Whether it takes gradient steps, so that further epochs help.
        purpose: What its table is good for, in a few words; empty for methods of the literature.
        least_sentences: Minimum number of sentences for its fits to make sense.
        normed: Whether the lengths of its rows are meaningful, and so a factor of sentence weights.
        unseen_parts: Names of parts whose rows are the words of `RunContext.unseen` rather than the vocabulary.
    """

    masked_readings: int = 0
    masked_keep: NDArray[np.float32]
    learns: ClassVar[bool] = False
    normed: ClassVar[bool] = False
    purpose: ClassVar[str] = ""
    least_sentences: ClassVar[int] = 1
    unseen_parts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: Any, run: RunContext) -> None:
        super().__init__(config, run)
        self.cells: CellSums | None = None

    @classmethod
    def has_folds(cls, config: Any) -> bool:
        """Whether it can make rows by fold, which needs a method that is linear in means over occurrences."""
        return False

    @classmethod
    def check(cls, config: Any, width: int) -> None:
        """Check settings against the teacher's width, before any text is read.

        Raises:
            UsageError: A setting is out of range.
        """

    def keep_cells(self, *names: str) -> None:
        """Also keep some of the parts for every cell, if the run has cells."""
        run = self.run
        if run.cells is not None:
            self.cells = CellSums(run.cells, list(names), run.width, run.device, run.make_cells)
            self.parts |= {f"cell_{name}": sums for name, sums in self.cells.parts.items()}

    def add(self, part: str, states: WordStates, values: Tensor, places: Tensor | None = None) -> None:
        """Add a vector for each known word of a batch to one of the parts, and to its cells; see `RowSums.add`."""
        words = states.once("known words", lambda: RowOrder.of(states.word_ids[states.known]))
        self.parts[part].add(words, values, places)  # type: ignore[attr-defined]
        if self.cells is not None:
            self.cells.add(part, states, values, places)

    @abstractmethod
    def finish(self, provenance: Mapping[str, Any] | None = None) -> WordVectors:
        """The table of vectors, with its provenance, without words that were never observed."""

    def attention(self) -> dict[str, Tensor]:
        """Arrays to save with the table, to show attention in a sentence; by default none."""
        return {}

    def score_epoch(self, epoch: int, score: Callable[[WordVectors], float], patience: int) -> bool:
        """Early stopping: score the table after an epoch, counted from 1, and keep it if it is the best.

        Called only if the method learns; returns whether the best table is ``patience`` epochs old.
        """
        raise NotImplementedError(f"{type(self).__name__} learns, but has no score_epoch")

    def score_now(self, score: Callable[[WordVectors], float]) -> float:
        """Score the current table for the training curve; called only if the method learns."""
        raise NotImplementedError(f"{type(self).__name__} learns, but has no score_now")

    def report(self) -> dict[str, Any]:
        """The epoch chosen by early stopping, for provenance; empty without early stopping."""
        return {}

    def why_empty(self) -> str | None:
        """Why no word got a vector, as the end of a sentence; None for the usual reason."""
        return None

    def subtract(self, other: Method) -> None:
        """Subtract the observations of another run of the same method, which must be part of this one's.

        Raises:
            UsageError: As for `merge`, or the method keeps more than sums.
            DataError: They cannot be part of this one's.
        """
        self._refuse_other(other)
        for part, accumulator in self.additive().items():
            accumulator.subtract(other.parts[part])

    def additive(self) -> dict[str, Additive]:
        """The parts, if all are plain sums.

        Raises:
            UsageError: One is not.
        """
        found: dict[str, Additive] = {part: sums for part, sums in self.parts.items() if isinstance(sums, Additive)}
        if rest := sorted(set(self.parts) - set(found)):
            raise UsageError(f"{self.name} keeps more than sums ({', '.join(rest)}), so no text can be removed.")
        return found

    def sentence_weights(self, vectors: Tensor) -> Tensor:
        """[V] weight of each word in a sentence: :math:`a / (a + p_w)`, times the length of its row if ``normed``."""
        counts = torch.from_numpy(self.run.vocabulary.counts)
        frequency = counts / counts.sum().clamp(min=1)
        weights: Tensor = sif(frequency, NORMED_FREQUENCY if self.normed else PLAIN_FREQUENCY)
        return weights * torch.linalg.vector_norm(vectors, dim=1).cpu() if self.normed else weights

    def table(
        self,
        vectors: Tensor,
        seen: Tensor,
        provenance: Mapping[str, Any] | None = None,
        cell_rows: CellRows | None = None,
    ) -> WordVectors:
        """A table of the words that were observed.

        Args:
            vectors: Rows for all words of the vocabulary [V, dim].
            seen: Which words to keep [V].
            provenance: Provenance of the table.
            cell_rows: Computes rows of cells in the same space.
        """
        scale = torch.ones(len(vectors), device=vectors.device)
        if self.run.length != "raw":
            lengths = self.sentence_weights(vectors) if self.run.length == "sentence" else torch.ones(len(vectors))
            scale = lengths.to(vectors.device, torch.float32)
            norms = torch.linalg.vector_norm(vectors.float(), dim=1)
            vectors = unit_rows(vectors.float()) * scale[:, None]
            scale = torch.where(norms > 0, scale / norms, 0.0)
        kept = seen.cpu().numpy().astype(bool)
        vocabulary = self.run.vocabulary
        words = [word for word, keep in zip(vocabulary.keys, kept) if keep]
        matrix, counts = vectors.cpu().numpy()[kept], vocabulary.counts[kept]
        table = WordVectors(words, matrix, counts=counts, provenance=provenance)
        if cell_rows is not None and self.cells is not None:
            table.folds = self._folds(self.cells, cell_rows, scale, kept)
        return table

    def _folds(self, cells: CellSums, cell_rows: CellRows, scale: Tensor, kept: NDArray[np.bool_]) -> Folds:
        """Rows of the observed cells, scaled like the row of their word."""
        (first, *_) = cells.parts.values()
        counts, words = first.counts.cpu().numpy(), cells.cells.words
        parts = []
        for block in row_blocks(len(words), CELLS_AT_ONCE):
            ids = torch.from_numpy(words[block]).to(scale.device)
            rows = cell_rows(block, ids).to(scale.device).float() * scale[ids][:, None]
            parts.append(rows.cpu().numpy()[counts[block] > 0])
        read, plan = counts > 0, cells.cells.plan
        return Folds(
            np.concatenate(parts),
            (np.cumsum(kept) - 1)[words[read]].astype(np.int32),
            cells.cells.folds[read],
            counts[read],
            plan.group_of_fold,
            plan.words,
            plan.names,
            plan.dealt,
        )


def refuse_unseen(name: str, run: RunContext) -> None:
    """Raise if no word of the vocabulary occurs in the text."""
    if not run.vocabulary.counts.any():
        raise UsageError(
            f"{name} learns from words in the text, and none of the {len(run.vocabulary)} words of the "
            "vocabulary occurs in it. Lower min_count, or use decontextual, which reads the words alone."
        )


def _of_part(state: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{part}."): tensor for key, tensor in state.items() if key.startswith(f"{part}.")}


def _shapes(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {key: tuple(state[key].shape) for key in sorted(state)}
