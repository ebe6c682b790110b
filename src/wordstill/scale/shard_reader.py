"""Reading shards: a teacher and the methods of a run, which see one shard at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from wordstill import __version__
from wordstill.core.object_stores import local_copy
from wordstill.core.resume import differences
from wordstill.corpus import Corpus
from wordstill.distillation import DistillConfig
from wordstill.distillation.engine import Engine, Position, Stage
from wordstill.distillation.plan import Plan, make_plan
from wordstill.errors import DataError
from wordstill.scale.part_files import Part
from wordstill.scale.partition import Shard, WindowRange
from wordstill.teacher import Batch, DeviceBatch, Teacher
from wordstill.teacher.teacher import MOST_READERS

Report = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """All that a worker must know of a run, fit for sending."""

    store: str
    """Path or address of the prepared text; one at an address is copied into the cache of the worker's machine."""
    config: DistillConfig
    precision: str
    """What the teacher was found to run best in, where that was left to a trial."""
    recipe: str
    """As JSON; a worker that comes to another one is refused."""
    version: str = __version__

    def for_worker(self, number: int, gpus: int) -> Job:
        """The same with a GPU of its own, where there are some and none was named."""
        teacher = self.config.teacher
        if not gpus or teacher.device not in ("auto", "cuda"):
            return self
        return replace(self, config=replace(self.config, teacher=replace(teacher, device=f"cuda:{number % gpus}")))


class ShardReader:
    """A worker's teacher and text.

    Args:
        job: The run.
        cores: Threads of this worker; one for each reader, so that sums do not depend on their number.

    Raises:
        DataError: The text, the model, the vocabulary or the version is not that of the run.
    """

    def __init__(self, job: Job, cores: int | None = None) -> None:
        if job.version != __version__:
            raise other_version(job.version)
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
        """In this process, with what is loaded already."""
        reader = cls.__new__(cls)
        reader.plan = plan
        return reader

    def read(self, shard: Shard, report: Report = lambda words: None) -> Part:
        """What the methods have seen of a shard; ``report`` gets the words of each batch that is read."""
        engine = self.plan.engine
        stage = engine.stages[shard.stage]
        methods = self.plan.build()
        watching = [methods[label] for label, method in engine.methods.items() if method in stage.methods]
        windows: Any = WindowRange(stage.batches, shard.first, shard.last)  # type: ignore[arg-type]
        own = Stage(stage.title, _Reported(windows, report), watching, isolated=stage.isolated, words=shard.words)
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


def other_version(version: str) -> DataError:
    """The error of a worker for a run that was started by another version."""
    return DataError(
        f"This worker has wordstill {__version__}, but the run was started with {version}. "
        "Install the same version everywhere."
    )


def refuse_other_recipe(recipe: str, plan: Plan) -> None:
    """Refuse a worker that would read something else, or in another way.

    Raises:
        DataError: It names what is not the same.
    """
    if different := differences(json.loads(recipe), json.loads(plan.recipe.to_json())):
        raise DataError(f"This worker would do something else than the run: {different}.")
