"""The contracts of observers, which see the teacher's states, and of methods, which make a table of them."""

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
"""``sentence``: how much a word counts in a sentence, so that a plain mean of rows is a good sentence vector;
``unit``: nothing, all are 1; ``raw``: whatever the method gives. No cosine between words depends on it."""
PLAIN_FREQUENCY, NORMED_FREQUENCY = 3e-4, 1e-3
"""Frequencies of words that count half; chosen on development halves of sentence sets."""
CELLS_AT_ONCE = 1 << 12
CellRows = Callable[[slice, Tensor], Tensor]
"""Rows [n, dim] of some cells, given which they are and the words [n] that they belong to."""


@dataclass(frozen=True)
class RunContext:
    """The run that a method is part of, known before the first batch."""

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
    """How often it will be read."""
    keeps_best: bool = False
    """Early stopping: methods that learn are scored after each epoch, and the best table is kept."""
    scored: int = 0
    """How often they are scored in all, after epochs and between."""
    length: Length = "raw"
    """What the lengths of rows say."""
    texts: int = 1
    """How many texts the teacher reads each time: sentences or paragraphs."""
    cells: Cells | None = None
    """Parts of the text whose rows are kept as well."""
    make_cells: TableMaker | None = None
    """Makes tables of cells; None takes memory of the device."""

    whole: RunContext | None = None
    """The run that a snapshot is taken of; None for a run itself."""

    @cached_property
    def unseen(self) -> NDArray[np.int64]:
        """Ids of the words of the vocabulary that never occur in the text, also not after a snapshot."""
        return np.flatnonzero(self.vocabulary.counts == 0) if self.whole is None else self.whole.unseen

    def so_far(self, counts: NDArray[np.int64], words: int) -> RunContext:
        """The run when so many words are read, and words of the vocabulary have occurred so often [V]."""
        return replace(self, vocabulary=self.vocabulary.counted(counts), words=words, whole=self)


class Observer(Configurable, ABC):
    """What looks at the teacher's states in a run, and can be saved, restored and merged part by part.

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
        """The layers of the teacher that it looks at: the one of its settings by default."""
        return (self.config.layer,)

    def isolated_words(self) -> NDArray[np.int64]:
        """Ids of the words that the teacher is to read in isolation, outside any text. None by default."""
        return np.empty(0, dtype=np.int64)

    @property
    def prompt(self) -> str | None:
        """A text in which the teacher reads its isolated words once more, with ``{}`` in the word's place."""
        return None

    def observe(self, states: WordStates) -> None:
        """Learn from a batch of running text; called only if it reads text."""
        raise NotImplementedError(f"{type(self).__name__} reads text, but has no observe")

    def observe_isolated(self, states: WordStates) -> None:
        """Learn from a batch of isolated words, each a text of its own; called only if there are some.

        There can be words that only others asked for.
        """
        raise NotImplementedError(f"{type(self).__name__} has isolated words, but no observe_isolated")

    def observe_prompted(self, states: WordStates) -> None:
        """Learn from a batch of isolated words, each the only word of a sentence that is the prompt."""
        raise NotImplementedError(f"{type(self).__name__} has a prompt, but no observe_prompted")

    def status(self) -> str:
        """A few words for the progress bar, such as the loss; empty by default."""
        return ""

    def verify(self) -> None:
        """Refuse numbers that have diverged.

        Raises:
            TrainingError: They have.
        """

    def memory(self) -> int:
        """Bytes that it keeps so far."""
        return sum(tensor.nbytes for tensor in self.state_dict().values())

    def memory_after(self, words: int) -> int:
        """Bytes that it keeps once it has read so many words."""
        growing = [part for part in self.parts.values() if isinstance(part, Growing)]
        return self.memory() + sum(part.memory_after(words) - part.memory() for part in growing)

    def memory_to_finish(self, words: int) -> int:
        """Bytes that what has grown with so many words needs beside it in the end, but does not need for a few."""
        return sum(part.memory_to_finish(words) for part in self.parts.values() if isinstance(part, Growing))

    def state_dict(self) -> dict[str, Tensor]:
        """Everything learned so far, by name."""
        return {
            f"{part}.{key}": tensor
            for part, accumulator in self.parts.items()
            for key, tensor in accumulator.state_dict().items()
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            DataError: The state is that of another method or vocabulary.
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
        """Add what the same one has seen in another run.

        Raises:
            UsageError: The other one is another method, or has other settings or another vocabulary.
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
        """Round the sums to float32, as `finish` takes them."""
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
    """One way to distil. Subclasses name themselves with a version, so that a recipe keeps its meaning.

    Args:
        config: The method's settings, with one layer already chosen where it has a ``layer``.
        run: Vocabulary, sizes, device and seed.

    Attributes:
        masked_readings: If not 0, it observes text with a masked word in each, so many times, and no other text.
        masked_keep: Which words can be masked then: the probability for an occurrence of each [V].
        learns: Whether it takes steps, so that reading the text again teaches it more.
        purpose: What its table is good for, in a few words; empty for methods of the literature.
        least_sentences: With fewer, what it fits to sentences says little.
        normed: Whether the lengths of its rows say something about words, and so count in sentence weights.
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
        """Whether rows of parts of a text can be made: those of a method that is linear in means over occurrences."""
        return False

    @classmethod
    def check(cls, config: Any, width: int) -> None:
        """Refuse settings that do not suit a teacher's width, before any text is read.

        Raises:
            UsageError: A setting is out of range.
        """

    def keep_cells(self, *names: str) -> None:
        """Sum some of the parts for every cell, too, if the run has cells."""
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
        """The table of vectors, with its provenance. Words without any evidence are left out."""

    def attention(self) -> dict[str, Tensor]:
        """What is written beside the table so that the attention of a sentence can be shown; nothing by default."""
        return {}

    def score_epoch(self, epoch: int, score: Callable[[WordVectors], float], patience: int) -> bool:
        """Early stopping: score the table after an epoch, counted from 1, and keep it if it is the best.

        Called only if the method learns; True if the best table is ``patience`` epochs old.
        """
        raise NotImplementedError(f"{type(self).__name__} learns, but has no score_epoch")

    def score_now(self, score: Callable[[WordVectors], float]) -> float:
        """Score the table as it is in the middle of an epoch, for the curve of the training, and note it there.

        Called only if the method learns.
        """
        raise NotImplementedError(f"{type(self).__name__} learns, but has no score_now")

    def report(self) -> dict[str, Any]:
        """Which epoch's table early stopping has chosen, for provenance; empty without a choice."""
        return {}

    def why_empty(self) -> str | None:
        """Why no word got a vector, as the end of a sentence; None if the method has no reason of its own."""
        return None

    def subtract(self, other: Method) -> None:
        """Take away what another run of the same method has seen and this one has, too.

        Raises:
            UsageError: As for `merge`, or the method keeps more than sums.
            DataError: This one cannot have seen it.
        """
        self._refuse_other(other)
        for part, accumulator in self.additive().items():
            accumulator.subtract(other.parts[part])

    def additive(self) -> dict[str, Additive]:
        """The parts, where all of them are plain sums.

        Raises:
            UsageError: One of them is not.
        """
        found: dict[str, Additive] = {part: sums for part, sums in self.parts.items() if isinstance(sums, Additive)}
        if rest := sorted(set(self.parts) - set(found)):
            raise UsageError(f"{self.name} keeps more than sums ({', '.join(rest)}), and nothing can be taken away.")
        return found

    def sentence_weights(self, vectors: Tensor) -> Tensor:
        """[V] how much each word counts in a sentence: :math:`a / (a + p_w)`, rare words more than common ones.

        With rows [V, dim] whose lengths say something (``normed``), times those.
        """
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
        """A table of the rows that have been seen.

        Args:
            vectors: One for each word of the vocabulary [V, dim].
            seen: Which of them to keep [V].
            provenance: What determined them.
            cell_rows: Rows of cells in the space of the vectors.
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
        """Rows of the cells that were read, with the length that makes them add up to the word's row."""
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
    """Refuse a text that shows no word of the vocabulary."""
    if not run.vocabulary.counts.any():
        raise UsageError(
            f"{name} learns from words in the text, and none of the {len(run.vocabulary)} words of the "
            "vocabulary occurs in it. Lower min_count, or use decontextual, which reads the words alone."
        )


def _of_part(state: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{part}."): tensor for key, tensor in state.items() if key.startswith(f"{part}.")}


def _shapes(state: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {key: tuple(state[key].shape) for key in sorted(state)}
