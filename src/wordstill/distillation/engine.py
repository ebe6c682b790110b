"""The engine runs stages: batches go through the teacher once, and every method observes the states."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from wordstill.core.progress import NullProfiler, Profiler, count_bar, trim_heap
from wordstill.core.resume import CheckpointFile, stop_requested
from wordstill.core.threads import OrderedPool, prefetch
from wordstill.corpus import Corpus, Vocabulary
from wordstill.distillation.config import DistillConfig, EarlyStopping
from wordstill.errors import Interrupted, WordstillError
from wordstill.methods.base import Method, Observer
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
from wordstill.teacher.device import shared_cores, to_arrays, to_tensors

Position = tuple[int, int]
EPOCH_STRIDE = 1_000_003
_Loaded = tuple[Position, DeviceBatch]
_Read = tuple[Position, DeviceBatch, WordStates]
BATCHES_BETWEEN_TRIMS = 64
MOST_SAVING = 0.1
"""Maximum share of the run's time for checkpoints."""


class Batches(Protocol):
    """A source of batches that can start in the middle."""

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """The batches from a position on, each with the position after it."""
        ...


@dataclass(eq=False)
class Stage:
    """Batches of one kind, and the methods that observe them."""

    title: str
    """Title of the progress bar."""
    batches: Batches
    methods: Sequence[Observer]
    isolated: bool = field(kw_only=True)
    """Whether the batches are isolated words rather than running text."""
    prompted: bool = field(default=False, kw_only=True)
    """Whether each of these words is in the methods' prompt."""
    words: int = field(kw_only=True)
    """Number of words, for the progress bar."""
    should_stop: Callable[[], bool] = lambda: False
    """Early stopping: called after the stage; True skips all later stages."""
    on_words: Callable[[int, int], None] = lambda before, after: None
    """Called after every batch, with the words of the stage read before and after it."""
    on_end: Callable[[int], None] = lambda cut: None
    """Called after the stage, with the number of sentences truncated so far."""
    pause: int | None = None
    """Number of the snapshot taken after this stage; None if there is none."""

    def __post_init__(self) -> None:
        self.layers = tuple(sorted({layer for method in self.methods for layer in method.layers}))

    def observe(self, states: WordStates, profiler: Profiler) -> None:
        """Pass a batch's states to every method."""
        for method in self.methods:
            with profiler.part(method.name):
                if self.prompted:
                    method.observe_prompted(states)
                elif self.isolated:
                    method.observe_isolated(states)
                else:
                    method.observe(states)


def make_stages(
    teacher: Teacher,
    corpus: Corpus,
    vocabulary: Vocabulary,
    methods: Sequence[Observer],
    batches: BatchConfig,
    config: DistillConfig,
    early_stopping: EarlyStopping | None = None,
    pauses: Sequence[tuple[int, int]] = (),
) -> list[Stage]:
    """The stages of a run: isolated words, the text for every method that reads it, and further epochs for learners.

    ``pauses`` are the paragraphs and words after which snapshots are taken: each ends a stage of the text.
    """
    stages = list(_word_stages(teacher, vocabulary, methods, batches, config))
    readers = [method for method in methods if method.reads_text]
    if not readers:
        return stages
    learners = [method for method in readers if isinstance(method, Method) and method.learns]
    masked = [method for method in learners if method.masked_readings]
    source = subword_source(corpus, teacher.tokenizer)
    arrays = batch_arrays(source, vocabulary, teacher.device)
    read_text = partial(TextBatches, corpus, vocabulary, source, teacher.tokenizer, batches)
    for epoch in range(1, (config.epochs if learners else 1) + 1):
        order = (config.seed + 1) * EPOCH_STRIDE + epoch - 1 if learners else None
        title = f"text, epoch {epoch}" if config.epochs > 1 else "text"
        observing = readers if epoch == 1 else learners
        plain = [method for method in observing if method not in masked]
        start, read = 0, 0
        for pause, (end, until) in enumerate((*pauses, (len(corpus), corpus.n_words))):
            part = start, end
            if plain:
                text = read_text(order, arrays, config.window, part)
                stages.append(Stage(title, text, plain, isolated=False, words=until - read))
                if early_stopping is not None and learners:
                    stages[-1].on_words = _counted_on(early_stopping, learners, (epoch - 1) * corpus.n_words + read)
            for method, number in ((each, number) for each in masked for number in range(each.masked_readings)):
                masking = _masking(teacher, method, number, (config.seed, epoch))
                text = read_text(order and order + number, paragraphs=part, masking=masking)
                shown = f"{title}, masked for {method.name.partition('.')[0]}, {number + 1} of {method.masked_readings}"
                stages.append(Stage(shown, text, [method], isolated=False, words=until - read))
            stages[-1].pause = pause if pause < len(pauses) else None
            start, read = end, until
        if early_stopping is not None and learners:
            stages[-1].should_stop = partial(early_stopping.should_stop, learners, epoch)
    return stages


def _word_stages(
    teacher: Teacher, vocabulary: Vocabulary, methods: Sequence[Observer], batches: BatchConfig, config: DistillConfig
) -> Iterator[Stage]:
    """Stages for isolated words: alone, and then in each prompt."""
    isolating = [method for method in methods if len(method.isolated_words())]
    prompts = dict.fromkeys(method.prompt for method in isolating if method.prompt is not None)
    for prompt in (None, *prompts):
        readers = [method for method in isolating if prompt in (None, method.prompt)]
        if not readers:
            continue
        ids = np.unique(np.concatenate([method.isolated_words() for method in readers]))
        words = [vocabulary.surfaces[number] for number in ids]
        listed = WordListBatches(words, ids, teacher.tokenizer, batches, config.window, prompt or "{}")
        title = "isolated words" if prompt is None else f"words in '{prompt}'"
        yield Stage(title, listed, readers, isolated=True, prompted=prompt is not None, words=len(words))


def _masking(teacher: Teacher, method: Method, number: int, seed: tuple[int, ...]) -> Masking:
    mask_id = teacher.tokenizer.mask_id
    assert mask_id is not None, "DistillConfig.specs refuses these methods for a teacher without a mask token"
    return Masking(mask_id, method.masked_keep, number, seed)


def _counted_on(early_stopping: EarlyStopping, learners: Sequence[Method], start: int) -> Callable[[int, int], None]:
    """A stage's ``on_words`` that scores learners, with words counted from the beginning of the run."""
    return lambda before, after: early_stopping.score_during(learners, start + before, start + after)


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    stage: int = 0
    """Index of the current stage; the number of stages at the end."""
    position: Position = (0, 0)
    words: int = 0
    """Words read in this stage."""
    cut: int = 0
    """Truncated sentences, in all stages."""

    @classmethod
    def saved(cls, position: Sequence[int], **counts: int) -> Progress:
        """Progress from a checkpoint, where tuples are lists."""
        window, done = position
        return cls(position=(window, done), **counts)


@dataclass(eq=False)
class Engine:
    """Runs stages one after another, with checkpoints."""

    teacher: Teacher
    methods: Mapping[str, Observer]
    """All methods by label; checkpoints have their states."""
    stages: list[Stage]
    checkpoint: CheckpointFile | None = None
    """Where to save checkpoints; None saves none."""
    every: float = 120.0
    """Seconds between checkpoints; more if one takes long."""
    profiler: Profiler = field(default_factory=NullProfiler)
    status_every: float = 2.0
    """Seconds between updates of the methods' status, which wait for a GPU."""
    _unsaved: Progress | None = field(default=None, init=False)
    """The final progress, until it is saved."""
    _saved: float = field(default_factory=time.monotonic, init=False)
    """Time of the last checkpoint, or of the start."""
    _saving: float = field(default=0.0, init=False)
    """How long the last checkpoint took."""

    def run(self, *, resume: bool = False, show_progress: bool = False) -> Progress:
        """Run all stages that are not done yet; returns the final progress. See `save_on_failure`.

        Raises:
            Interrupted: Ctrl-C or SIGTERM; the state is saved.
            DataError: The checkpoint to resume from is damaged or of another run, or the disk is full.
            TrainingError: A method diverged; the last good checkpoint is kept.
        """
        progress = self._restore() if resume else Progress()
        if progress.stage == len(self.stages):
            return progress
        self._saved = time.monotonic()
        with stop_requested() as stop:
            for number in range(progress.stage, len(self.stages)):
                progress = self._run_stage(self.stages[number], progress, stop, show_progress)
                self.stages[number].on_end(progress.cut)
                last = self.stages[number].should_stop()
                after = len(self.stages) if last else number + 1
                progress = replace(progress, stage=after, position=(0, 0), words=0)
                if last:
                    break
            self._unsaved = progress
            if self._is_due():
                self._save(progress)
                self._unsaved = None
            if stop.is_set():
                with self.save_on_failure():
                    raise self._interrupted(self.stages[-1], self.stages[-1].words)
        for method in self.methods.values():
            method.verify()
        return progress

    @contextmanager
    def save_on_failure(self) -> Iterator[None]:
        """Save the final state if the block fails or is stopped, so that the text need not be read again.

        Saving it in any case would take much of the time of a short run.
        """
        try:
            yield
        except BaseException:
            if self._unsaved is not None:
                # The first error is raised, even if saving fails too.
                with suppress(WordstillError, OSError):
                    self._save(self._unsaved)
                self._unsaved = None
            raise

    def _run_stage(self, stage: Stage, progress: Progress, stop: threading.Event, show: bool) -> Progress:
        shown = time.monotonic()
        coming = stage.batches.since(progress.position)
        loaded = ((after, self.teacher.to_device(batch)) for after, batch in coming)
        with (
            count_bar(stage.title, stage.words, "words", show=show, done=progress.words) as bar,
            closing(prefetch(loaded)) as batches,
            closing(self._read(batches, stage.layers)) as read,
        ):
            for number, (position, batch, states) in enumerate(read, 1):
                stage.observe(states, self.profiler)
                if number % BATCHES_BETWEEN_TRIMS == 0 and self.teacher.device.type == "cpu":
                    trim_heap()
                progress = replace(
                    progress,
                    position=position,
                    words=progress.words + batch.n_words,
                    cut=progress.cut + batch.n_truncated,
                )
                stage.on_words(progress.words - batch.n_words, progress.words)
                bar.update(batch.n_words)
                shown = self._show_status(stage, bar, shown) if show else shown
                if stop.is_set() or self._is_due():
                    self.teacher.verify(stage.layers)
                    with self.profiler.part("checkpoints"):
                        self._save(progress)
                if stop.is_set():
                    raise self._interrupted(stage, progress.words)
        self.teacher.verify(stage.layers)
        return progress

    def _read(self, batches: Iterable[_Loaded], layers: tuple[int, ...]) -> Generator[_Read, None, None]:
        """Encode batches, in order."""
        size = self.teacher.readers()

        def read(item: _Loaded) -> _Read:
            return (*item, self.teacher.encode(item[1], layers))

        with shared_cores(size) as take_share, OrderedPool(read, size, take_share) as pool:
            for item in self.profiler.each("waiting for batches", batches):
                with self.profiler.part("teacher"):
                    ready = pool.submit(item)
                yield from ready
            yield from self.profiler.each("teacher", pool.drain())

    def _show_status(self, stage: Stage, bar: Any, shown: float) -> float:
        """Update the methods' status in the progress bar from time to time; returns when it was updated."""
        if time.monotonic() - shown < self.status_every:
            return shown
        status = {method.name: method.status() for method in stage.methods}
        several = sum(map(bool, status.values())) > 1
        parts = [f"{name} {text}" if several else text for name, text in status.items() if text]
        bar.set_postfix_str(", ".join(parts), refresh=False)
        return time.monotonic()

    def _interrupted(self, stage: Stage, words: int) -> Interrupted:
        title = f"reading {stage.title}"
        return Interrupted(title, words, stage.words, "words", saved=self.checkpoint is not None)

    def _save(self, progress: Progress) -> None:
        begun = self._saved = time.monotonic()
        if self.checkpoint is None:
            return
        for method in self.methods.values():
            # If a method diverged, the last good checkpoint is kept.
            method.verify()
        states = {
            f"{label}/{key}": tensor
            for label, method in self.methods.items()
            for key, tensor in method.state_dict().items()
        }
        self.checkpoint.save(asdict(progress), to_arrays(states))
        self._saved = time.monotonic()
        self._saving = self._saved - begun

    def _is_due(self) -> bool:
        """Whether it is time for a checkpoint; large states are saved less often."""
        wait = max(self.every, self._saving / MOST_SAVING) if self.every else 0.0
        return time.monotonic() - self._saved >= wait

    def _restore(self) -> Progress:
        saved = self.checkpoint.load(Progress.saved) if self.checkpoint is not None else None
        if saved is None:
            return Progress()
        progress, arrays = saved
        for label, method in self.methods.items():
            method.load_state_dict(to_tensors(arrays, f"{label}/"))
        return progress
