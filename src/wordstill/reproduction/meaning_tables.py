"""Reproduction of the tables on meaning in context: triples, distillers with and without negatives, and scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from wordstill.core.resume import keep_record
from wordstill.corpus import Corpus
from wordstill.distillation import DistillConfig, distill
from wordstill.errors import DataError
from wordstill.evaluation.data.locate import available
from wordstill.evaluation.report.published import PublishedRow, published_table
from wordstill.evaluation.result import Evaluation
from wordstill.evaluation.suite import IN_CONTEXT, evaluate_in_context
from wordstill.meaning import PRESETS, MeaningEncoder, Triples
from wordstill.meaning.context_encoder import StateEncoder, WithTables
from wordstill.meaning.distiller import Representation
from wordstill.meaning.liu import LiuTransform
from wordstill.meaning.make_encoder import train_encoder, usual_threshold
from wordstill.meaning.make_triples import PairConfig, make_triples
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.translation import RoundTrip, open_translator
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.reproduction.results import ELSEWHERE, ReproduceConfig, Reproduction, Row
from wordstill.teacher import Teacher
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

PAPER = "meaning"
RAW, LIU, STATIC = "raw", "Liu et al. 2020", "static vectors"
WITHOUT = ", without negatives"
ROWS = {
    RAW: "BERT-large",
    LIU: LIU,
    STATIC: "fastText",
    "meaning": "meaning vectors",
    "context": "context vectors",
    f"meaning{WITHOUT}": f"meaning vectors{WITHOUT}",
    f"context{WITHOUT}": f"context vectors{WITHOUT}",
}
"""The published row of each of our representations."""
OURS = {
    f"paws-words:{words}-{pairs.lower()}": f"cosine-{words}-{pairs}"
    for words in ("common", "different")
    for pairs in "NP"
}
"""Columns with a different name in evaluations."""
LIU_TEXTS = 20_000
TARGETS, BUILD = TargetConfig(), BuildConfig()
PROBED = 32


@dataclass(frozen=True)
class MeaningPlan:
    """One table of the paper."""

    number: int
    tasks: tuple[str, ...]
    """As in ``wordstill meaning evaluate --task``."""
    paper: str = PAPER
    protocol: str = "default"
    text: str = "none"
    """The filter of the text; sentences of 15 to 50 words are chosen later."""
    teacher: str = "bert-large-cased"
    lacks: str = "vectors of fastText, unless --vectors names them"

    @property
    def name(self) -> str:
        """As the user writes it."""
        return f"{self.paper}:table{self.number}"

    @property
    def printed(self) -> dict[str, PublishedRow]:
        """The printed rows by model."""
        return {row.model: row for row in published_table(self.paper, self.number)}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows."""
        return tuple(dict.fromkeys(name for row in self.printed.values() for name in row.scores))


MEANING_PLANS = (
    MeaningPlan(3, ("usim", "wic", "cosimlex", "scws")),
    MeaningPlan(4, ("sts12", "sts13", "sts14", "sts15", "sts16")),
    MeaningPlan(5, ("paws-wiki",)),
    MeaningPlan(6, ("paws-words",)),
)


class MeaningMaker:
    """Makes what the tables need, each step in its own location, so that an interrupted run can resume.

    All tables need the same encoders, which are made once in the same folder.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: Path,
        config: ReproduceConfig,
        *,
        progress: bool = False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.corpus, self.folder, self.config, self.progress, self.say = corpus, folder, config, progress, say
        self.masked_name = config.masked or config.teacher.name
        self.teacher = Teacher.from_config(config.teacher)
        facts = {"text": corpus.hash, "teacher": self.teacher.fingerprint, "masked": self.masked_name}
        given = {"vectors": config.vectors, "there": config.there, "back": config.back, "preset": config.preset}
        keep_record(folder / "settings.json", {**facts, **given, "triples": config.triples}, ELSEWHERE)

    @property
    def _triples_file(self) -> Path:
        return self.folder / "triples.jsonl"

    def seconds(self) -> float:
        """The estimated time for making triples, from a few of them with cheap vectors; None if they exist."""
        if self._triples_file.exists():
            return 0.0
        with TemporaryDirectory(prefix="wordstill-") as folder:
            place = self.folder / "vectors"
            vectors = self._vectors(place if place.exists() else Path(folder) / "vectors", "token-table")
            start = time.monotonic()
            probe = self._triples(vectors, Path(folder) / "probe.jsonl", PROBED)
            return (time.monotonic() - start) / max(1, int(probe.header["targets"])) * self.config.triples

    def vectors(self) -> WordVectors:
        """The static table for choosing positives and negatives."""
        return self._vectors(self.folder / "vectors", "still")

    def triples(self, vectors: WordVectors) -> Triples:
        """All triples."""
        if self._triples_file.exists():
            return Triples.read(self._triples_file)
        self.say(f"making triples of {self.config.triples:,} words in sentences")
        return self._triples(vectors, self._triples_file, self.config.triples)

    def encoder(self, triples: Triples, seed: int, *, negatives: bool) -> MeaningEncoder:
        """The distillers of one seed."""
        path = self.folder / f"encoder-{seed}{'' if negatives else '-without-negatives'}"
        if path.exists():
            return MeaningEncoder.load(path, teacher=self.teacher)
        self.say(f"training {'with' if negatives else 'without'} negatives, seed {seed}")
        config = replace(PRESETS[self.config.preset], negatives=negatives, seed=seed)
        steps = max(1, len(triples) // config.batch) * config.max_epochs
        config = replace(config, warm_up=min(config.warm_up, steps // 10))
        encoder, _ = train_encoder(
            triples,
            self.teacher,
            path,
            config,
            states=self.folder / "states",
            other_teacher=self.config.masked is not None,
            progress=self.progress,
        )
        return encoder

    def evaluate(self, tasks: Sequence[str]) -> list[Evaluation]:
        """The evaluations of all representations, one for each seed."""
        vectors = self.vectors()
        triples = self.triples(vectors)
        texts = [self.corpus.text(number) for number in range(min(len(self.corpus), LIU_TEXTS))]
        reader = StateReader(self.teacher)
        try:
            liu: dict[str, Representation] = {LIU: LiuTransform.fit_texts(reader, texts, vectors)}
        except DataError as error:
            warnings.warn(f"{LIU} is not made: {error}", stacklevel=2)
            liu = {}
        runs = []
        for seed in range(self.config.seeds):
            kinds: dict[str, Representation] = {}
            for negatives, suffix in ((True, ""), (False, WITHOUT)):
                found = self.encoder(triples, seed, negatives=negatives).representations()
                kinds |= {RAW: found[RAW]} if negatives else {}
                kinds |= {f"{kind}{suffix}": found[kind] for kind in ("meaning", "context")}
            ordered: dict[str, Representation] = {RAW: kinds.pop(RAW), **liu, **kinds}
            self.say(f"scoring seed {seed} on {', '.join(tasks)}")
            runs.append(evaluate_in_context(WithTables(StateEncoder(reader, ordered), {STATIC: vectors}), tasks, seed))
        return runs

    def _vectors(self, place: Path, method: str) -> WordVectors:
        if self.config.vectors is not None:
            return WordVectors.load(self.config.vectors)
        if place.exists():
            return WordVectors.load(place)
        self.say(f"distilling static vectors of the text ({method})")
        config = DistillConfig((method,), self.config.teacher)
        return distill([self.corpus.path], place, config=config, progress=self.progress)[method]

    def _triples(self, vectors: WordVectors, path: Path, count: int) -> Triples:
        config, masked = self.config, MaskedModel.from_pretrained(self.masked_name, device=self.config.teacher.device)
        # The paper's threshold is for fastText.
        build = BUILD if config.vectors is not None else replace(BUILD, similarity=usual_threshold(vectors))
        pairs = PairConfig(count, TARGETS, build)
        sources = Sources.of_corpus(self.corpus, count, pairs.targets)
        trip = None
        if config.there is not None and config.back is not None:
            trip = RoundTrip(
                *(open_translator(name, device=config.teacher.device) for name in (config.there, config.back))
            )
        return make_triples(sources, masked, vectors, path, pairs, paraphraser=trip, progress=self.progress)


def reproduce_meaning(plan: MeaningPlan, maker: MeaningMaker) -> Reproduction:
    """Make one of the tables."""
    there = set(available())
    tasks = [task for task in plan.tasks if IN_CONTEXT[task].partition(":")[0] in there]
    runs = maker.evaluate(tasks)
    rows = tuple(row for name in runs[0].scores for row in _rows(plan, name, runs))
    missing = tuple(task for task in plan.tasks if task not in tasks)
    return Reproduction(plan, rows, missing, maker.config.teacher.name, maker.corpus.hash)


def _rows(plan: MeaningPlan, name: str, runs: Sequence[Evaluation]) -> list[Row]:
    printed: Mapping[str, float] = plan.printed[ROWS[name]].scores if ROWS[name] in plan.printed else {}
    rows = []
    for dataset in plan.columns:
        ours = OURS.get(dataset, dataset)
        scores = [run.scores[name][ours] for run in runs if ours in run.scores[name]]
        values = [score.value for score in scores if score.value is not None]
        if not scores:
            continue
        rows.append(
            Row(
                name,
                dataset,
                ROWS[name] if printed else None,
                printed.get(dataset),
                float(np.mean(values)) if values else None,
                float(np.std(values, ddof=1)) if len(values) > 1 else None,
                scores[0].interval,
                *scores[0].coverage,
                scores[0].problem,
            )
        )
    return rows
