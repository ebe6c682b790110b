"""What a distillation will take in time, memory and disk, from a short probe of the real thing."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from wordstill.development import Development
from wordstill.engine import Stage
from wordstill.recipe import Recipe
from wordstill.run import DistillConfig, Run
from wordstill.stopwatch import Unwatched
from wordstill.teacher import Batch, LoadedBatch
from wordstill.text_sample import open_sample

PROBE_SECONDS = 5.0


@dataclass(frozen=True)
class Step:
    """A part of the run; ``words`` are those it reads."""

    title: str
    seconds: float
    words: int = 0


@dataclass(frozen=True)
class Estimate:
    """What a run will take. Sizes are in bytes."""

    rows: int
    """Words that get a vector."""
    steps: tuple[Step, ...]
    memory: int | None
    """Peak of the process; None where the system does not tell."""
    device_memory: int | None
    """Peak on the GPU; None without one."""
    artefact: int
    checkpoint: int
    store: int = 0
    """Prepared text beside the result; 0 where the input is a store already."""
    share: float = 1.0
    """Part of the text that was looked at."""

    @property
    def seconds(self) -> float:
        """Time of the whole run."""
        return sum(step.seconds for step in self.steps)

    @property
    def working(self) -> int:
        """Disk needed only while the run goes on; a new checkpoint is complete before the old one goes."""
        return self.store + 2 * self.checkpoint


def dry_run(
    inputs: Sequence[str | Path], config: DistillConfig, development: Development | None = None
) -> tuple[Recipe, Estimate]:
    """Resolve the recipe and estimate the run; only temporary files are written.

    Of a large text that is not prepared yet a sample is looked at.
    """
    config.check_development(development)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        text = open_sample(inputs, config.prepare, Path(folder))
        start = time.monotonic()
        min_count = config.vocabulary.min_count
        # Words rarer than five are too much a matter of chance to stand for those of a larger text.
        scaled = min(min_count, max(5, round(min_count * text.share)))
        sampled = replace(config, vocabulary=replace(config.vocabulary, min_count=scaled))
        run = Run.load(
            text.corpus.path,
            sampled,
            Path(folder),
            progress=False,
            checkpoints=False,
            development=development,
        )
        steps = [Step("load the teacher", time.monotonic() - start)]
        if text.seconds:
            steps.insert(0, Step("prepare the text", text.seconds))
        probed = estimate(run, share=text.share, min_count=min_count, limit=PROBE_SECONDS)
        whole = replace(probed, steps=(*steps, *probed.steps), store=text.store)
        return (run.recipe if text.share == 1 else _whole_recipe(run, whole, min_count)), whole


def estimate(
    run: Run, *, share: float = 1.0, min_count: int | None = None, limit: float = PROBE_SECONDS
) -> Estimate:
    """Send some batches of every stage through the teacher and the methods, and extrapolate.

    Args:
        run: The run. Its methods have observed some batches afterwards, so it must not be started.
        share: Part of the whole text that the run's corpus is.
        min_count: Of the whole text's vocabulary, where the run's own is scaled down to its share.
        limit: Seconds for the probe; a teacher so slow that one batch takes longer is given that batch.
    """
    probes = [_Probe(run, stage, limit / len(run.engine.stages)) for stage in run.engine.stages]
    reading_memory, start = _peak_memory(), time.monotonic()
    tables = [method.finish() for method in run.methods.values()]
    finishing = time.monotonic() - start
    rows = _rows(run, share, min_count or run.vocabulary.config.min_count)
    growth = rows / len(run.vocabulary)
    finished_memory = _peak_memory()
    state = [tensor for method in run.methods.values() for tensor in method.state_dict().values()]
    checkpoint = sum(
        round(tensor.nbytes * (growth if tensor.shape[:1] == (len(run.vocabulary),) else 1))
        for tensor in state
    )
    on_gpu = run.teacher.device.type == "cuda"
    other_on_gpu = torch.cuda.max_memory_allocated() - sum(tensor.nbytes for tensor in state) if on_gpu else 0
    word_bytes = sum(len(word.encode()) + 1 for word in run.vocabulary.keys) / len(run.vocabulary)
    reading = [probe.step(growth if probe.stage.alone else 1 / share) for probe in probes]
    return Estimate(
        rows=rows,
        steps=(*reading, Step("finish", finishing * growth)),
        memory=_whole_memory(reading_memory, finished_memory, growth, checkpoint, on_gpu=on_gpu),
        device_memory=other_on_gpu + checkpoint if on_gpu else None,
        artefact=round(sum(rows * (4 * table.dim + 8 + word_bytes) for table in tables)),
        checkpoint=checkpoint,
        share=share,
    )


def _whole_memory(
    reading: int | None, finished: int | None, growth: float, checkpoint: int, *, on_gpu: bool
) -> int | None:
    """The peak of the whole run from those of the probe, after reading and after finishing."""
    if reading is None or finished is None:
        return None
    finish = round((finished - reading) * growth)
    # Of what is on a GPU, a checkpoint makes a copy that is gone before the finish.
    return reading + (max(checkpoint, finish) if on_gpu else checkpoint + finish)


class _Probe:
    """Batches of one stage, timed."""

    def __init__(self, run: Run, stage: Stage, limit: float) -> None:
        self.stage = stage
        self.words, self.seconds = 0, 0.0
        window = _first_window(stage)
        for turn, number in enumerate(np.random.default_rng(0).permutation(len(window))):
            if turn == 1 and self.seconds < limit / 2:
                # The first batch pays for allocations and kernels; it counts only if it took the time of all.
                self.words, self.seconds = 0, 0.0
            self._time(run, window[number])
            if self.seconds > limit:
                break

    def step(self, growth: float) -> Step:
        """The stage with all its words."""
        words = round(self.stage.words * growth)
        return Step(self.stage.title, words * self.seconds / max(self.words, 1), words)

    def _time(self, run: Run, batch: Batch | LoadedBatch) -> None:
        start = time.monotonic()
        self.stage.observe(run.teacher.encode(batch, self.stage.layers), Unwatched())
        if run.teacher.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds += time.monotonic() - start
        self.words += batch.running


def _first_window(stage: Stage) -> list[Batch | LoadedBatch]:
    """The batches of the first window, which go from long texts to short ones."""
    found = []
    for position, batch in stage.batches.since((0, 0)):
        found.append(batch)
        if position[1] == 0:
            break
    return found


def _rows(run: Run, share: float, min_count: int) -> int:
    """Size of the whole vocabulary: Heaps' law, with the growth from half of the sample to all of it."""
    size, config = len(run.vocabulary), run.vocabulary.config
    if share == 1:
        return size
    corpus, least = run.corpus, config.min_count
    slots, _ = corpus.word_slots(0, int(corpus.paragraphs[(len(corpus) + 1) // 2]))
    ids = run.vocabulary.word_ids(corpus)[slots]
    counts = np.bincount(ids[(ids >= 0) & (ids < size)], minlength=size)
    half, whole = (max(1, int((each >= least).sum())) for each in (counts, run.vocabulary.counts))
    exponent = float(np.log(whole / half) / np.log(corpus.n_words / len(slots))) if len(slots) else 0.0
    # A word that is in the share ``least`` times occurs ``min_count`` times in a multiple of it.
    longer = max(1.0, least / (share * min_count))
    grown = round(whole * float(longer**exponent))
    return size - whole + (grown if config.max_size is None else min(grown, config.max_size))


def _whole_recipe(run: Run, whole: Estimate, min_count: int) -> Recipe:
    """The recipe of a run on a sample, with what only the whole text can tell left open."""
    words = round(run.corpus.n_words / whole.share)
    return replace(
        run.recipe,
        corpus=run.recipe.corpus | {"hash": "known when the text is prepared", "words": f"about {words:,}"},
        vocabulary=run.recipe.vocabulary | {"size": f"about {whole.rows:,}", "min_count": min_count},
    )


def _peak_memory() -> int | None:
    """The most memory that this process has had so far, in bytes; None on Windows, which does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
