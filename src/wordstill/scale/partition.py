"""Shards: ranges of a run's windows, independent of the number of workers, and the reader of a shard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from wordstill import __version__
from wordstill.core.object_stores import local_copy
from wordstill.core.settings import Config
from wordstill.corpus import Corpus
from wordstill.distillation import DistillConfig
from wordstill.distillation.engine import Engine, Position, Stage
from wordstill.distillation.plan import Plan, make_plan
from wordstill.distillation.recipe import Recipe
from wordstill.errors import UsageError
from wordstill.scale.part_files import Part
from wordstill.scale.work import Report, refuse_other, refuse_version
from wordstill.teacher import Batch, DeviceBatch, Teacher
from wordstill.teacher.batches import BATCHES_IN_WINDOW, WINDOW_FORMS, ResumableBatches, TextBatches
from wordstill.teacher.teacher import MOST_READERS

GPU_WINDOWS = 128
"""Windows of a shard on a GPU: about 134 million words, which an H200 reads in a minute with BERT-base and in less than
half a minute with MiniLM. A core reads one window of 262,144 words in about a minute."""
WORDS_PER_ROW = 300
"""Minimum words of a GPU's shard for each word of the vocabulary, so that writing its sums keeps up with reading."""
MOST_SHARDS = 1024
"""Maximum number of shards of running text; with more, the driver could not keep up with many GPUs."""


@dataclass(frozen=True)
class Shard(Config):
    """A range of windows of one stage. Batches are formed inside windows, so no shard shares one with another."""

    number: int
    """Its index in the plan, which is the order in which sums are added."""
    stage: int
    start_window: int
    end_window: int
    start: int
    end: int
    """Start and end of its paragraphs, or of its words of the vocabulary."""
    words: int
    isolated: bool = False
    """Whether it has isolated words of the vocabulary."""

    @property
    def place(self) -> str:
        """Its location in the text, for messages."""
        what = "words of the vocabulary" if self.isolated else "paragraphs"
        return f"shard {self.number} ({what} {self.start:,} to {self.end - 1:,})"


def with_shard_words(config: DistillConfig, shard_words: int | None) -> DistillConfig:
    """Settings with windows that are not longer than a shard."""
    if shard_words is None:
        return config
    if shard_words < 1:
        raise UsageError(f"--shard-words must be at least 1; got {shard_words}.")
    return replace(config, window=min(shard_words, config.window or WINDOW_FORMS))


def make_shards(plan: Plan, shard_words: int | None = None, *, text_only: bool = False) -> list[Shard]:
    """The shards of a run, which depend only on its text and settings.

    Args:
        plan: The run.
        shard_words: Approximate number of words of each; None means about a minute's work.
        text_only: Leave out isolated words.
    """
    shards: list[Shard] = []
    for number, stage in enumerate(plan.engine.stages):
        if text_only and stage.isolated:
            continue
        if not isinstance(stage.batches, ResumableBatches) or stage.batches.order is not None:
            raise UsageError("Only a text that is read from beginning to end can be read in shards.")
        edges = [*stage.batches.starts(), len(stage.batches)]
        words = _words_before(plan, stage.batches, edges)
        step = _windows_in_shard(plan, stage, len(edges) - 1, shard_words)
        for start in range(0, len(edges) - 1, step):
            end = min(start + step, len(edges) - 1)
            size = int(words[end] - words[start])
            shards.append(Shard(len(shards), number, start, end, edges[start], edges[end], size, stage.isolated))
    return shards


def shard_records(shards: list[Shard]) -> list[dict[str, Any]]:
    """Shards as plain data."""
    return [asdict(shard) for shard in shards]


def shard_size(recipe: Recipe, words: int, shard_words: int | None = None) -> int:
    """Approximate number of words of a shard, large enough for a text of this size to have at most `MOST_SHARDS`."""
    batches, on_gpu = recipe.batches, recipe.teacher["device"] == "cuda"
    window = max(WINDOW_FORMS, BATCHES_IN_WINDOW[bool(batches["packed"])] * int(batches["budget"]))
    if shard_words is None:
        rows = int(str(recipe.vocabulary["size"]).rpartition(" ")[2].replace(",", ""))
        shard_words = max(GPU_WINDOWS * window, WORDS_PER_ROW * rows) if on_gpu else window
    return max(shard_words, -(-words // MOST_SHARDS))


def _windows_in_shard(plan: Plan, stage: Stage, windows: int, shard_words: int | None) -> int:
    if stage.isolated or not windows:
        return 1
    size = shard_size(plan.recipe, plan.corpus.n_words, shard_words)
    return max(1, size * windows // plan.corpus.n_words, -(-windows // MOST_SHARDS))


def _words_before(plan: Plan, batches: ResumableBatches, edges: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number of words before each edge; for running text, in proportion to the number of forms."""
    if not isinstance(batches, TextBatches):
        return np.array(edges, dtype=np.int64)
    corpus = plan.corpus
    forms = np.asarray(corpus.sentences[corpus.paragraphs[edges]], dtype=np.float64)
    return np.asarray(np.rint(forms * (corpus.n_words / max(1.0, forms[-1]))), dtype=np.int64)


@dataclass(eq=False)
class WindowRange:
    """The batches of a range of windows."""

    batches: ResumableBatches
    start: int
    end: int

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """Batches from a position on; (0, 0) is the start of the first window."""
        window, done = position
        if self.start == self.end:
            return
        for after, batch in self.batches.since((self.start + window, done)):
            yield (after[0] - self.start, after[1]), batch
            if after >= (self.end, 0):
                return


@dataclass(frozen=True)
class Job:
    """Everything that a worker must know of a run; can be pickled."""

    store: str
    """Path or URL of the prepared text; a text at a URL is copied into the cache of the worker's machine."""
    config: DistillConfig
    precision: str
    """The precision that was found fastest, if it was left to a trial."""
    recipe: str
    """The recipe as JSON; a worker with a different one is refused."""
    version: str = __version__

    @property
    def device(self) -> str:
        """The device as given by the user."""
        return self.config.teacher.device

    def on(self, device: str) -> Job:
        """The same job on another device."""
        return replace(self, config=replace(self.config, teacher=replace(self.config.teacher, device=device)))

    def open(self, cores: int) -> ShardReader:
        """Load everything in a worker with this number of cores."""
        return ShardReader(self, cores)


class ShardReader:
    """A worker's teacher and text.

    Args:
        job: The run.
        cores: Threads of this worker; each reader uses one, so that sums do not depend on their number.

    Raises:
        DataError: The text, the model, the vocabulary or the version differs from that of the run.
    """

    def __init__(self, job: Job, cores: int | None = None) -> None:
        refuse_version(job.version)
        if cores is not None:
            torch.set_num_threads(max(1, min(cores, MOST_READERS)))
        corpus = Corpus.open(local_copy(job.store))
        teacher = Teacher.from_config(job.config.teacher, job.precision)
        self.plan = make_plan(teacher, corpus, job.config)
        refuse_other_recipe(job.recipe, self.plan)
        layers = {layer for stage in self.plan.engine.stages for layer in stage.layers}
        teacher.compile_if_worth(corpus.n_words, tuple(sorted(layers)))

    @classmethod
    def of(cls, plan: Plan) -> ShardReader:
        """A reader in this process, with what is already loaded."""
        reader = cls.__new__(cls)
        reader.plan = plan
        return reader

    def read(self, shard: Shard, report: Report = lambda words: None) -> Part:
        """Read a shard, and return the states of the methods; ``report`` gets the words of each batch."""
        engine = self.plan.engine
        stage = engine.stages[shard.stage]
        methods = self.plan.build()
        watching = [methods[label] for label, method in engine.methods.items() if method in stage.methods]
        windows: Any = WindowRange(stage.batches, shard.start_window, shard.end_window)  # type: ignore[arg-type]
        own = replace(stage, batches=_Reported(windows, report), methods=watching, words=shard.words)
        done = Engine(engine.teacher, methods, [own]).run()
        return Part.of(methods, done.cut)


@dataclass(eq=False)
class _Reported:
    """Batches whose words are reported as they are taken."""

    batches: WindowRange
    report: Report

    def since(self, position: Position) -> Iterator[tuple[Position, Batch | DeviceBatch]]:
        """The same batches."""
        for after, batch in self.batches.since(position):
            self.report(batch.n_words)
            yield after, batch


def refuse_other_recipe(recipe: str, plan: Plan) -> None:
    """Refuse a worker with a different recipe."""
    refuse_other(json.loads(recipe), json.loads(plan.recipe.to_json()))
