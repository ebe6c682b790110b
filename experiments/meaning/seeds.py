"""Distillers with several seeds compared with the raw mean, with intervals; settings are chosen on development data.

Example: python -m experiments.meaning.seeds TRIPLES --teacher MODEL --work WORK --out FILE --seeds 3 --vectors TABLE \
    --store STORE --variant standard: --variant wide:feedforward=4 --variant middle:layers=4-9

A variant names settings of the training or of the distillers, and ``layers``. All are trained with seed 0, several at
once (``--processes``: one training leaves most of a GPU idle). The best on development data (development.py), with its
mean vector or without, alone or beside the raw mean, is trained with the other seeds and without negatives; so are
the paper's settings. The raw mean is always that of the top half of the layers. A trained seed is kept in the working
folder and not trained again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.meaning.development import choose, development
from experiments.meaning.distillers import BASE, variant
from experiments.record import TimedRecord, command_line, current_commit, device_name
from wordstill.corpus import Corpus
from wordstill.evaluation.data.catalog import YEARS
from wordstill.evaluation.result import Evaluation
from wordstill.evaluation.score import resampled_scores
from wordstill.evaluation.statistics import RESAMPLES, Floats, percentiles
from wordstill.evaluation.suite import IN_CONTEXT, evaluate_in_context
from wordstill.meaning import DistillerConfig, MeaningEncoder, TrainConfig, Triples
from wordstill.meaning.context_encoder import StateEncoder, WithTables
from wordstill.meaning.distiller import RAW_SCALED, Distillers, Representation, Scaling, layer_mean, together
from wordstill.meaning.distiller_training import Trained, train
from wordstill.meaning.liu import LiuTransform
from wordstill.meaning.state_cache import StateCache
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.layers import resolve_layers
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

MODULE = "experiments.meaning.seeds"
TOP, RAW, LIU, STATIC, PAPER = "top-half", "raw", "Liu et al. 2020", "static vectors", "paper"
ABLATION = ", without negatives"
SCALINGS: tuple[Scaling, ...] = ("standardised", "scaled", "whitened")
CANDIDATES = ("meaning", "meaning-centred")
WITH_RAW = "raw and "
"""Before a kind: both vectors, each made one long, end to end, so that a cosine is the mean of both cosines."""
FOLDERS = re.compile(r"/?(?:[\w.-]+/)+")
"""Of a path; records name files without them."""
LIU_TEXTS, SEARCHED = 20_000, 200_000


@dataclass(frozen=True)
class Job:
    """One training."""

    name: str
    layers: str
    config: TrainConfig
    states: Path
    rows: tuple[int, int]
    """Which of the kept layers."""
    out: Path
    device: str
    seconds: float | None

    def run(self) -> dict[str, Any]:
        """Train, unless it is done, and keep the weights; returns how it went."""
        facts = self.out.with_suffix(".json")
        if not facts.exists():
            start = time.monotonic()
            # Several trainings share the GPU, and float32 would fill it.
            torch.set_float32_matmul_precision("high")
            states = SomeLayers(self.states, *self.rows)
            made = train(states, self.config, device=self.device, seconds=self.seconds)
            torch.save(made.distillers.cpu().state_dict(), self.out)
            facts.write_text(json.dumps(self._facts(made, len(states), time.monotonic() - start)))
        return dict(json.loads(facts.read_bytes()))

    def _facts(self, made: Trained, triples: int, seconds: float) -> dict[str, Any]:
        training = triples - min(self.config.validation, triples // 10)
        last = self.config.max_epochs * -(-training // self.config.batch)
        facts = made.facts()
        late = self.seconds is not None and seconds >= self.seconds
        ended = "at the last epoch" if facts["steps"] == last else "by time" if late else "by early stopping"
        epochs = {"seconds": round(seconds, 1), "seconds per epoch": round(made.seconds_per_epoch, 2)}
        return {**facts, **epochs, "ended": ended, "layers": self.layers}

    def distillers(self, shape: tuple[int, int]) -> Distillers:
        """The trained ones."""
        found = Distillers(*shape, self.config.distiller)
        found.load_state_dict(torch.load(self.out, weights_only=True))
        return found.to(self.device).eval()


class SomeLayers(StateCache):
    """States of adjoining layers, of those that are kept."""

    def __init__(self, folder: Path, first: int, end: int) -> None:
        super().__init__(folder, json.loads((folder / "cache.json").read_bytes()))
        self._bits = self._bits[:, :, first:end]


@dataclass
class Study:
    """Everything about one teacher."""

    options: argparse.Namespace
    record: TimedRecord
    teacher: Teacher
    triples: Triples
    reader: StateReader = field(init=False)
    """Of the kept layers."""
    folder: Path = field(init=False)

    def jobs(self, chosen: Mapping[str, tuple[str, TrainConfig]], seeds: Iterable[int]) -> list[Job]:
        """Trainings of variants with seeds."""
        return [self._job(name, *settings, seed) for name, settings in chosen.items() for seed in seeds]

    def _job(self, name: str, layers: str, config: TrainConfig, seed: int) -> Job:
        place = self.options.work / f"{name}-{seed}".replace(", ", "-").replace(" ", "-")
        config, device, limit = replace(config, seed=seed), str(self.teacher.device), self.options.seconds
        return Job(f"{name}, seed {seed}", layers, config, self.folder, self.rows(layers), place, device, limit)

    def read_states(self, every: Iterable[str]) -> None:
        """Read the states of all layers of all triples that are needed, unless they are there."""
        wanted = sorted({layer for layers in every for layer in resolve_layers(layers, self.teacher.depth)})
        self.reader = StateReader(self.teacher, f"{wanted[0]}-{wanted[-1]}")
        self.folder = self.options.work / f"states-{wanted[0]}-{wanted[-1]}"
        if not (self.folder / "done").exists():
            with self.record.timed("reading states"):
                StateCache.build(self.folder, self.reader, self.triples, progress=True)
            (self.folder / "done").touch()

    def rows(self, layers: str) -> tuple[int, int]:
        """The same among the kept layers."""
        numbers = resolve_layers(layers, self.teacher.depth)
        return numbers[0] - self.reader.layers[0], numbers[-1] + 1 - self.reader.layers[0]

    def train(self, jobs: Sequence[Job]) -> None:
        """Train several at once."""
        with self.record.timed(f"{len(jobs)} trainings, {jobs[0].name} first"):
            count = min(self.options.processes, len(jobs))
            if count == 1:
                results = [job.run() for job in jobs]
            else:
                with ProcessPoolExecutor(count, get_context("spawn")) as pool:
                    results = list(pool.map(Job.run, jobs))
        trained = self.record.facts.setdefault("trainings", {})
        for job, facts in zip(jobs, results):
            trained[job.name] = {**facts, "settings": asdict(job.config)}
            print(job.name, json.dumps(facts), flush=True)
            self._save(job, facts)
        self.record.write()

    def _save(self, job: Job, facts: dict[str, Any]) -> None:
        path = job.out.with_name("encoders") / job.out.name
        if not path.exists():
            provenance = {"training": asdict(job.config), "result": facts}
            distillers = job.distillers(StateReader(self.teacher, job.layers).shape)
            MeaningEncoder(self.teacher, distillers, job.layers, provenance=provenance).save(path)

    def of_all_layers(self, layers: str, represent: Representation) -> Representation:
        """A map from the states of all layers."""
        rows = list(resolve_layers(layers, self.teacher.depth))
        return lambda states: represent(states[:, rows])

    def raw(self) -> dict[str, Representation]:
        """Means of the top half as they are, without their mean, standardized, and whitened."""
        cache = SomeLayers(self.folder, *self.rows(TOP))
        some = cache.rows(slice(0, 8192))[:, 0].float().to(self.teacher.device)
        mean = layer_mean(some).mean(dim=0)
        kinds: dict[str, Representation] = {RAW: layer_mean, "raw-centred": lambda states: layer_mean(states) - mean}
        for scaling in SCALINGS:
            scaled = Distillers(*cache.shape, DistillerConfig(scaling=scaling)).to(self.teacher.device)
            scaled.find_scale(some)
            kinds[f"raw-{scaling}"] = scaled.representation(RAW_SCALED)
        return {name: self.of_all_layers(TOP, kind) for name, kind in kinds.items()}

    def distilled(self, jobs: Iterable[Job], kinds: Sequence[str]) -> dict[str, Representation]:
        """Vectors of trained distillers by ``kind (job)``."""
        found: dict[str, Representation] = {}
        raw = self.of_all_layers(TOP, layer_mean)
        for job in jobs:
            distillers = job.distillers(StateReader(self.teacher, job.layers).shape)
            for kind in kinds:
                own = distillers.representation(kind.removeprefix(WITH_RAW))
                of_all = self.of_all_layers(job.layers, own)
                found[f"{kind} ({job.name})"] = together(raw, of_all) if kind.startswith(WITH_RAW) else of_all
        return found


def main() -> None:
    """Train, choose, score and write."""
    options = arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    record = TimedRecord(options.out, options.work / "seconds.json")
    command = command_line(MODULE, sys.argv[1:])
    record.facts |= {"command": command, "commit": options.commit or current_commit(), "hardware": device_name()}
    teacher = Teacher.from_config(TeacherConfig(options.teacher, options.device, options.dtype))
    triples = Triples.read(options.triples)
    header = json.loads(FOLDERS.sub("", json.dumps(triples.header)))
    record.facts |= {"teacher": Path(teacher.config.name).name, "triples": header}
    study = Study(options, record, teacher, triples)
    variants = dict(map(_variant, [*([] if options.only_chosen else [f"{PAPER}:"]), *options.variant]))
    study.read_states([TOP, *(layers for layers, _ in variants.values())])
    firsts = study.jobs(variants, [0])
    study.train(firsts)
    corpus = Corpus.open(options.store)
    kind, chosen = chosen_on_development(study, firsts, islice(sentences_of(corpus), SEARCHED))
    again = {name: variants[name] for name in dict.fromkeys((PAPER, chosen)) if name in variants}
    without = {name + ABLATION: (layers, replace(one, negatives=False)) for name, (layers, one) in again.items()}
    seeds = range(options.seeds)
    rest = seeds if options.rest_seeds is None else range(options.rest_seeds)
    jobs = study.jobs({chosen: variants[chosen]}, seeds)
    if not options.only_chosen:
        jobs += study.jobs({name: one for name, one in (again | without).items() if name != chosen}, rest)
    study.train(jobs)
    representations = study.raw()
    vectors = WordVectors.load(options.vectors)
    texts = [corpus.text(number) for number in range(min(options.liu_texts, len(corpus)))]
    liu = LiuTransform.fit_texts(StateReader(teacher, TOP), texts, vectors)
    representations[LIU] = study.of_all_layers(TOP, liu)
    representations |= study.distilled(jobs, list(dict.fromkeys((*CANDIDATES, "context", kind))))
    with record.timed("tasks"):
        encoder = WithTables(StateEncoder(StateReader(teacher, "all"), representations), {STATIC: vectors})
        evaluation = evaluate_in_context(encoder, options.task or list(IN_CONTEXT), limit=options.limit)
    record.facts["chosen"] = {"kind": kind, "variant": chosen}
    record.facts["scores"] = scores_of(evaluation, seeds)
    record.write()
    print(json.dumps(record.facts["scores"], indent=1))


def chosen_on_development(study: Study, jobs: Sequence[Job], sentences: Iterable[str]) -> tuple[str, str]:
    """Kind and variant that are best on development data."""
    kinds = [*CANDIDATES, *(WITH_RAW + kind for kind in CANDIDATES)]
    candidates = {f"{kind} ({job.name})": (kind, job.name.partition(", seed")[0]) for job in jobs for kind in kinds}
    with study.record.timed("development"):
        judged = development(
            StateReader(study.teacher, "all"), {**study.raw(), **study.distilled(jobs, kinds)}, sentences
        )
        choice = choose(judged, list(candidates))
    study.record.facts["development"] = choice.facts()
    print("development", json.dumps(choice.facts(), indent=1), flush=True)
    return candidates[choice.chosen]


def scores_of(evaluation: Evaluation, seeds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """For each representation, seeds together, the score on each set, and its gain over the raw mean with interval."""
    found: dict[str, dict[str, Any]] = {}
    for name in evaluation.scores:
        first = f", seed {seeds[0]})"
        if ", seed " in name and not name.endswith(first):
            continue
        every = [name.replace(first, f", seed {seed})") for seed in seeds] if first in name else [name]
        runs = [run for run in every if run in evaluation.scores]
        label = name.replace(first, ")")
        found[label] = {}
        for row in evaluation.scores[name]:
            found[label][row] = _score(evaluation, [row], runs)
        if all(year in evaluation.scores[name] for year in YEARS):
            found[label]["sts-mean"] = _score(evaluation, list(YEARS), runs)
    return found


def _score(evaluation: Evaluation, rows: Sequence[str], runs: Sequence[str]) -> dict[str, Any]:
    """The mean over rows; each resample of the items serves the raw mean and all seeds."""
    drawn: list[Floats] = []
    values: list[list[float]] = []
    for row in rows:
        items = [evaluation.scores[name][row].items for name in (RAW, *runs)]
        assert all(one is not None for one in items)
        values.append([one.value() for one in items if one is not None])
        drawn.append(resampled_scores([one for one in items if one is not None], evaluation.seed, RESAMPLES))
    raw, *scores = np.mean(values, axis=0)
    resampled = np.mean(drawn, axis=0)
    gains = resampled[:, 1:].mean(axis=1) - resampled[:, 0]
    points = [round(100 * float(score), 2) for score in scores]
    interval = [round(100 * end, 2) for end in percentiles(resampled[:, 1:].mean(axis=1))]
    facts: dict[str, Any] = {"score": round(float(np.mean(points)), 2), "seeds": points, "interval": interval}
    if runs != [RAW]:
        facts["gain"] = round(100 * float(np.mean(scores) - raw), 2)
        facts["gain interval"] = [round(100 * end, 2) for end in percentiles(gains)]
    return facts


def sentences_of(corpus: Corpus) -> Iterator[str]:
    """All sentences of a text."""
    for paragraph in corpus:
        yield from (sentence.text for sentence in paragraph.sentences)


def _variant(text: str) -> tuple[str, tuple[str, TrainConfig]]:
    """Name, then layers and settings."""
    name, _, settings = text.partition(":")
    parts = [part for part in settings.split(",") if part]
    layers = next((part.removeprefix("layers=") for part in parts if part.startswith("layers=")), TOP)
    rest = ",".join(part for part in parts if not part.startswith("layers="))
    _, config = variant(BASE if name == PAPER else TrainConfig(), f"{name}:{rest}")
    return name, (layers, config)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__.split("\n")[0])
    parser.add_argument("triples", type=Path, help="file of triples")
    parser.add_argument("--teacher", required=True)
    parser.add_argument("--work", required=True, type=Path, help="working folder")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to write")
    parser.add_argument("--vectors", required=True, type=Path, help="static table, for Liu et al. 2020 too")
    parser.add_argument("--store", required=True, type=Path, help="prepared text for both and for development data")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME:FIELD=VALUE,...")
    parser.add_argument("--only-chosen", action="store_true", help="neither the paper's settings nor ablations")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rest-seeds", type=int, metavar="N", help="of the paper's settings and of ablations")
    parser.add_argument("--processes", type=int, default=1, help="trainings at once")
    parser.add_argument("--seconds", type=float, help="time limit of each training")
    parser.add_argument("--task", action="append", help="run only these tasks")
    parser.add_argument("--limit", type=int, help="pairs of each sentence task")
    parser.add_argument("--liu-texts", type=int, default=LIU_TEXTS, help="texts that Liu et al. 2020 is fitted on")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--commit", help="commit to record, where git is not available")
    return parser.parse_args()


if __name__ == "__main__":
    main()
