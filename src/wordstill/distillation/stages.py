"""Stages of a run: which batches are read, in which order, and which methods observe them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from wordstill.core.progress import Profiler
from wordstill.corpus import Corpus, Vocabulary
from wordstill.distillation.config import DistillConfig
from wordstill.distillation.early_stopping import EarlyStopping
from wordstill.methods import Method
from wordstill.teacher import (
    Batch,
    BatchConfig,
    DeviceBatch,
    Teacher,
    TextBatches,
    WordListBatches,
    WordStates,
    subword_source,
)
from wordstill.teacher.batches import Masking, batch_arrays

Position = tuple[int, int]
EPOCH_STRIDE = 1_000_003


class Batches(Protocol):
    """A source of batches that can start in the middle."""

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """Batches from a position on, each with the position after it."""
        ...


@dataclass(eq=False)
class Stage:
    """Batches of one kind, and the methods that observe them."""

    title: str
    """What the progress bar says."""
    batches: Batches
    methods: Sequence[Method]
    isolated: bool = field(kw_only=True)
    """Whether the batches are isolated words rather than running text."""
    words: int = field(kw_only=True)
    """How many words they hold, for the time left."""
    should_stop: Callable[[], bool] = lambda: False
    """Early stopping: asked when the stage is done, and True skips the stages after it."""
    on_words: Callable[[int, int], None] = lambda before, after: None
    """Called after every batch, with the words of the stage that were read before and after it."""
    on_end: Callable[[int], None] = lambda cut: None
    """Called when the stage is done, with the number of sentences cut so far."""
    pause: int | None = None
    """Number of the pause that follows this stage; None where reading goes on."""

    def __post_init__(self) -> None:
        self.layers = tuple(sorted({layer for method in self.methods for layer in method.layers}))

    def observe(self, states: WordStates, profiler: Profiler) -> None:
        """Show a batch's states to every method."""
        for method in self.methods:
            with profiler.part(method.name):
                if self.isolated:
                    method.observe_isolated(states)
                else:
                    method.observe(states)


def make_stages(
    teacher: Teacher,
    corpus: Corpus,
    vocabulary: Vocabulary,
    methods: Sequence[Method],
    batches: BatchConfig,
    config: DistillConfig,
    early_stopping: EarlyStopping | None = None,
    pauses: Sequence[tuple[int, int]] = (),
) -> list[Stage]:
    """Isolated words, the text once for every method that reads it, and again for those that learn.

    With ``pauses``, after so many paragraphs and words, the text has a stage up to each, and one for the rest.
    """
    stages = []
    isolating = [method for method in methods if len(method.isolated_words())]
    if isolating:
        ids = np.unique(np.concatenate([method.isolated_words() for method in isolating]))
        words = [vocabulary.surfaces[number] for number in ids]
        listed = WordListBatches(words, ids, teacher.tokenizer, batches, config.window)
        stages.append(Stage("isolated words", listed, isolating, isolated=True, words=len(words)))
    readers = [method for method in methods if method.reads_text]
    if not readers:
        return stages
    learners = [method for method in readers if method.learns]
    source = subword_source(corpus, teacher.tokenizer)
    arrays = batch_arrays(config.batches, source, vocabulary, teacher.device)
    read_text = partial(TextBatches, corpus, vocabulary, source, teacher.tokenizer, batches)
    for epoch in range(1, (config.epochs if learners else 1) + 1):
        order = (config.seed + 1) * EPOCH_STRIDE + epoch - 1 if learners else None
        title = f"text, epoch {epoch}" if config.epochs > 1 else "text"
        observing = readers if epoch == 1 else learners
        plain = [method for method in observing if not method.masked_readings]
        start, read = 0, 0
        for pause, (end, until) in enumerate((*pauses, (len(corpus), corpus.n_words))):
            part = start, end
            if plain:
                text = read_text(order, arrays, config.window, part)
                stages.append(Stage(title, text, plain, isolated=False, words=until - read))
                if early_stopping is not None and learners:
                    stages[-1].on_words = _counted_on(early_stopping, learners, (epoch - 1) * corpus.n_words + read)
            for method, number in ((each, number) for each in learners for number in range(each.masked_readings)):
                masking = _masking(teacher, method, number, (config.seed, epoch))
                text = read_text(order and order + number, paragraphs=part, masking=masking)
                shown = f"{title}, masked for {method.name.partition('.')[0]}, {number + 1} of {method.masked_readings}"
                stages.append(Stage(shown, text, [method], isolated=False, words=until - read))
            stages[-1].pause = pause if pause < len(pauses) else None
            start, read = end, until
        if early_stopping is not None and learners:
            stages[-1].should_stop = partial(early_stopping.should_stop, learners, epoch)
    return stages


def _masking(teacher: Teacher, method: Method, number: int, seed: tuple[int, ...]) -> Masking:
    mask_id = teacher.tokenizer.mask_id
    assert mask_id is not None, "such methods are refused for a teacher without a mask"
    return Masking(mask_id, method.masked_keep, number, seed)


def _counted_on(early_stopping: EarlyStopping, learners: Sequence[Method], start: int) -> Callable[[int, int], None]:
    """Scoring during a stage, with words counted from the beginning of the run."""
    return lambda before, after: early_stopping.score_during(learners, start + before, start + after)
