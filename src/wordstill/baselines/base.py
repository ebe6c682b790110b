"""Base of all baselines: the text they read, their interface, and progress."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.progress import count_bar
from wordstill.core.settings import SEEDS, Config, Configurable, Range
from wordstill.corpus import Corpus, Vocabulary
from wordstill.errors import TrainingError

STRETCH_FORMS = 1 << 20


@dataclass(frozen=True)
class Stretch:
    """Whole paragraphs of text, without the words outside the vocabulary."""

    ids: NDArray[np.int64]
    """Vocabulary ids of the words [W]."""
    sentence: NDArray[np.int64]
    """Sentence of each word in the corpus [W], ascending."""
    paragraph: NDArray[np.int64]
    """Paragraph of each word in the corpus [W]."""

    def __len__(self) -> int:
        return len(self.ids)

    def sentence_bounds(self) -> NDArray[np.int64]:
        """Offsets of the sentences that have words [S + 1]."""
        starts = np.flatnonzero(np.diff(self.sentence, prepend=-1))
        return np.append(starts, len(self.ids))


class WordText:
    """A corpus as baselines read it: running words of the vocabulary, without phrases.

    Attributes:
        words: Number of running words.
        occurring: Which words of the vocabulary occur [V].
        trees: CoNLL-U files with the dependency trees of the text, if there are any.
    """

    def __init__(
        self, corpus: Corpus, vocabulary: Vocabulary, stretch_forms: int = STRETCH_FORMS, trees: Sequence[Path] = ()
    ) -> None:
        self.corpus, self.vocabulary, self.trees = corpus, vocabulary, trees
        ids = vocabulary.word_ids(corpus)
        # Larger ids are of words that are only in phrases.
        self._ids = np.where(ids < len(vocabulary), ids, -1)
        self._bounds = _paragraph_groups(corpus, stretch_forms)
        self.occurring = np.zeros(len(vocabulary), dtype=bool)
        self.occurring[self._ids[self._ids >= 0]] = True
        self.words = int(vocabulary.counts[self.occurring].sum())

    @property
    def stretches(self) -> int:
        """Number of stretches."""
        return len(self._bounds) - 1

    def read(self, order: Sequence[int] | NDArray[np.int64] | None = None) -> Iterator[Stretch]:
        """The stretches, in the order of the text or in the given one."""
        for number in range(self.stretches) if order is None else order:
            yield self.stretch(int(number))

    def stretch(self, number: int) -> Stretch:
        """One stretch."""
        corpus = self.corpus
        paragraphs = np.arange(self._bounds[number], self._bounds[number + 1] + 1)
        bounds = corpus.paragraphs[paragraphs]
        slots, sentence = corpus.word_slots(int(bounds[0]), int(bounds[-1]))
        ids = self._ids[slots]
        known = ids >= 0
        sentence = sentence[known]
        paragraph = paragraphs[0] + np.searchsorted(bounds, sentence, side="right") - 1
        return Stretch(ids[known].astype(np.int64), sentence, paragraph)


def _paragraph_groups(corpus: Corpus, forms: int) -> NDArray[np.int64]:
    """Bounds [G + 1] of groups of paragraphs with about this many forms."""
    ends = corpus.sentences[corpus.paragraphs]
    bounds = [0]
    while bounds[-1] < len(corpus):
        last = int(np.searchsorted(ends, ends[bounds[-1]] + forms, side="right")) - 1
        bounds.append(min(max(last, bounds[-1] + 1), len(corpus)))
    return np.array(bounds)


SECONDS_BETWEEN_REPORTS = 0.5
Dim: TypeAlias = Annotated[int, Range(1, 16_384)]
Epochs: TypeAlias = Annotated[int, Range(1, 1_000_000)]


@dataclass(frozen=True)
class Training(Config):
    """Training settings that do not depend on the method."""

    seed: Annotated[int, SEEDS] = 0
    """Random seed; the same seed gives the same vectors with one worker on a CPU."""
    workers: Annotated[int, Range(1, 1_024)] = 1
    """Threads for methods trained by gensim; with several, results differ from run to run."""
    device: str = "auto"
    """Device of the other methods: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``."""
    progress: bool = False
    """Show a bar with the loss and the time left."""


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    vectors: NDArray[np.float32]
    """Vectors of the vocabulary [V, dim]."""
    seen: NDArray[np.bool_]
    """Which words have a vector [V]."""


class Baseline(Configurable, ABC):
    """A method that trains word vectors from scratch.

    Attributes:
        config_type: Every one has ``dim`` and ``epochs``.
        package: The package that trains it; its version is recorded in the provenance.
        needs_trees: Whether it reads the dependency trees of the text.
    """

    package: ClassVar[str]
    needs_trees: ClassVar[bool] = False

    def __init__(self, config: Any, training: Training) -> None:
        self.config = config
        self.training = training

    @abstractmethod
    def fit(self, text: WordText) -> Trained:
        """Train on a text.

        Raises:
            TrainingError: The loss is no longer finite.
        """

    def meter(self, total: int, unit: str, rate: float | None = None) -> Meter:
        """The progress meter of this training."""
        return Meter(self.name.partition(".")[0], total, unit, rate, show=self.training.progress)


class Meter:
    """The progress of a training over all epochs, with a bar that shows the mean loss.

    If a learning rate is given, a non-finite loss is an error.
    """

    def __init__(self, title: str, total: int, unit: str, rate: float | None, *, show: bool) -> None:
        self._bar = count_bar(title, total, unit, show=show)
        self._reported = time.monotonic()
        self.title, self.unit, self.rate = title, unit, rate
        self.done, self.total = 0, total
        self._loss: Any = 0.0
        self._examples = 0

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.close()

    @property
    def share(self) -> float:
        """Fraction of the training that is done, from 0 to 1."""
        return min(1.0, self.done / max(1, self.total))

    def advance(self, amount: int, loss: Any = 0.0, examples: int = 0) -> None:
        """Advance the count; from time to time, show the mean loss of recent examples, which waits for a GPU.

        Raises:
            TrainingError: The loss is no longer finite.
        """
        self.done += amount
        self._bar.update(amount)
        self._loss, self._examples = self._loss + loss, self._examples + examples
        due = time.monotonic() - self._reported >= SECONDS_BETWEEN_REPORTS or self.done == self.total
        if not due or not self._examples:
            return
        mean = float(self._loss) / self._examples
        if self.rate is not None and not math.isfinite(mean):
            raise TrainingError(
                f"The loss is no longer finite at {self.done:,} of {self.total:,} {self.unit}: training has diverged. "
                f"Start again with a smaller {self.title}:rate (it is {self.rate:g}), for example "
                f"{self.rate / 10:g}."
            )
        if mean:
            # gensim gives no loss for some models.
            self._bar.set_postfix_str(f"loss {mean:.4f}", refresh=False)
        self._loss, self._examples, self._reported = 0.0, 0, time.monotonic()
