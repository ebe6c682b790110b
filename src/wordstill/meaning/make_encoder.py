"""Training an encoder of meanings: from triples, or from plain text in one call."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from wordstill.core.files import remove
from wordstill.core.resume import CHECKPOINT, SETTINGS, keep_record, working_folder
from wordstill.core.settings import Config, Range
from wordstill.corpus import Corpus
from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig, distill_from_teacher
from wordstill.errors import DataError
from wordstill.meaning.distiller_training import TrainConfig, Trained, train
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.meaning.make_triples import PairConfig, TripleWorkers, make_triples
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.state_cache import StateCache, state_settings
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.meaning.triples import Triples
from wordstill.meaning.work_blocks import Workers
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

STATES = "states"


def train_encoder(
    triples: Triples,
    teacher: Teacher,
    out: str | Path,
    config: TrainConfig | None = None,
    *,
    layers: str = "top-half",
    states: Path | None = None,
    other_teacher: bool = False,
    overwrite: bool = False,
    seconds: float | None = None,
    progress: bool = False,
) -> tuple[MeaningEncoder, Trained]:
    """Train distillers over a teacher and save them; the same call resumes one that was stopped.

    Args:
        triples: What to learn from.
        teacher: The frozen language model.
        out: Folder to make; ``OUT.partial`` holds the work until then.
        config: How to train; None takes the preset ``default``.
        layers: Which layers to distil.
        states: Folder for the teacher's states, kept for further trainings; None throws them away.
        other_teacher: Whether the teacher may be another than the masked model that the triples come from.
        overwrite: Whether to replace a folder, and to throw away what a stopped call has done.
        seconds: Train no longer than this.
        progress: Show progress bars.

    Raises:
        DataError: The triples are those of another teacher, or a stopped call had other settings.
        UsageError: The folder exists, another run is writing it, or there are too few triples.
        Interrupted: Ctrl-C or SIGTERM came; states and training are kept.
    """
    config, path = config or TrainConfig(), Path(out)
    reader = StateReader(teacher, layers)
    if not other_teacher:
        refuse_other_teacher(triples, reader)
    with working_folder(path, "meaning train", state_settings(reader, triples), overwrite=overwrite) as work:
        cache = StateCache.build(states or work.path / STATES, reader, triples, progress=progress)
        trained = train(
            cache, config, device=teacher.device, checkpoint=work.path / CHECKPOINT, seconds=seconds, progress=progress
        )
        provenance = _provenance(triples, cache, config, trained)
        encoder = MeaningEncoder(teacher, trained.distillers, layers, provenance=provenance)
        encoder.save(path, overwrite=work.overwrite)
        # The rows of the cache are mapped; the folder goes only when nothing needs them any more.
        del cache
    _warn_of_a_short_training(trained.facts()["steps"], config)
    trained.diagnosis.warn()
    return encoder, trained


def refuse_other_teacher(triples: Triples, reader: StateReader) -> None:
    """Raise if triples were made with another masked language model than a teacher."""
    made_with: Mapping[str, Any] = triples.header.get("masked_model", {})
    if made_with.get("fingerprint") != reader.teacher.identity:
        raise DataError(
            f"The triples were made with the masked model {made_with.get('name')!r} (fingerprint "
            f"{str(made_with.get('fingerprint'))[:12]}), but the teacher is {reader.teacher.config.name!r} "
            f"({reader.teacher.identity[:12]}). Use that model as the teacher, or --other-teacher "
            "(other_teacher=True) to train on this one anyway."
        )


def _warn_of_a_short_training(steps: int, config: TrainConfig) -> None:
    if steps < config.warm_up:
        warnings.warn(
            f"The training ended after {steps} steps, before the warm-up of {config.warm_up} steps was over: "
            "little was learnt. Use more triples, more --max-epochs, or a shorter --warm-up.",
            stacklevel=3,
        )


def _provenance(triples: Triples, cache: StateCache, config: TrainConfig, trained: Trained) -> dict[str, Any]:
    header = triples.header
    return {
        "triples": {
            "count": len(triples),
            "sha256": triples.hash,
            "dropped by the tokenizer": cache.dropped,
            **{name: header[name] for name in ("mode", "text", "masked_model", "paraphraser") if name in header},
        },
        "training": asdict(config),
        "result": trained.facts(),
    }


SAMPLE_WORDS = 2_000
SMALLEST_BATCH = 16
SAME_MEANING = 5
"""The neighbor whose cosine is the threshold: nearer words have about the same meaning."""


@dataclass(frozen=True)
class ReadyConfig(Config):
    """The few settings that matter; everything else is as in the single steps."""

    triples: Annotated[int, Range(20)] = 20_000
    """How many targets to make triples of."""
    min_words: Annotated[int, Range(1)] = 8
    """Words of the shortest sentence that is used."""
    epochs: Annotated[int, Range(1)] = 50
    seed: int = 0


def make_encoder(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    masked: str,
    config: ReadyConfig | None = None,
    *,
    workers: Workers | None = None,
    device: str = "auto",
    dtype: str = "auto",
    overwrite: bool = False,
    progress: bool = False,
) -> tuple[MeaningEncoder, Trained]:
    """Make an encoder from text and a masked language model; the same call resumes one that was stopped.

    The text is prepared; static vectors are distilled from the same model; triples are made by substitution; and
    the distillers are trained with a warm-up of a tenth of the steps. Each step is kept in ``OUT.partial`` until
    the encoder is complete.

    Args:
        inputs: A prepared store, or files, folders and glob patterns of text.
        out: Folder to make.
        masked: Name or folder of a masked language model, which is also the teacher.
        config: Settings; None takes the defaults.
        workers: Who distils and makes triples; None, or one that names nobody, is this process, which also trains.
        device: Where the model runs.
        dtype: In which precision.
        overwrite: Replace ``out`` if it exists, and throw away what a stopped call has done.
        progress: Show progress bars.

    Raises:
        DataError: The text cannot be read, or a stopped call had another text, model or other settings.
        UsageError: ``out`` exists, or another run is writing it.
        TeacherError: The model cannot be loaded, or is no masked language model.
        Interrupted: Ctrl-C or SIGTERM came; finished steps are kept.
    """
    config, path = config or ReadyConfig(), Path(out)
    # The training can have other epochs than when it was stopped.
    settings = {"masked": masked, **asdict(replace(config, epochs=1))}
    engaged = (workers or Workers()).engaged()
    with engaged, working_folder(path, "meaning make", settings, overwrite=overwrite) as work:
        model = MaskedModel.from_pretrained(masked, device=device, dtype=dtype)
        teacher = Teacher.from_config(TeacherConfig(masked, device, dtype))
        corpus = open_or_prepare(inputs, PrepareConfig(), work.path, progress=progress)
        keep_record(work.path / SETTINGS, {"model": teacher.identity, "corpus": corpus.hash})
        table = work.path / "vectors"
        vectors = _vectors(teacher, corpus, table, workers, progress=progress)
        by = TripleWorkers(workers, str(table.resolve())) if workers else None
        triples = _triples(corpus, model, vectors, work.path / "triples.jsonl", config, by, progress=progress)
        training = TrainConfig(batch=batch_for(len(triples)), max_epochs=config.epochs, seed=config.seed)
        steps = max(1, len(triples) // training.batch) * config.epochs
        training = replace(training, warm_up=min(training.warm_up, steps // 10))
        made = work.path / "encoder"
        # A run may have been killed between the two.
        remove(made)
        encoder, trained = train_encoder(triples, teacher, made, training, progress=progress)
        encoder.save(path, overwrite=work.overwrite)
    return encoder, trained


def batch_for(triples: int) -> int:
    """Triples in a batch: few where there are few, since a step or two an epoch would teach nothing."""
    return min(TrainConfig.batch, max(SMALLEST_BATCH, triples // 64))


def usual_threshold(vectors: WordVectors, seed: int = 0) -> float:
    """A cosine from which on words have about the same meaning: the median of the fifth neighbors of a sample."""
    rows = np.random.default_rng(seed).permutation(len(vectors))[:SAMPLE_WORDS]
    near = vectors.neighbors([vectors.words[row] for row in rows.tolist()], topn=SAME_MEANING)
    cosines = [scored[-1][1] for scored in near if scored]
    return float(np.clip(np.median(cosines), 0.05, 0.95))


def _vectors(teacher: Teacher, corpus: Corpus, place: Path, workers: Workers | None, *, progress: bool) -> WordVectors:
    if place.exists():
        return WordVectors.load(place)
    if workers:
        config = DistillConfig(("still",), teacher.config)
        distill_in_shards(corpus.path, place, config, ScaleConfig(workers.workers, workers.ray), progress=progress)
        return WordVectors.load(place)
    vectors = distill_from_teacher(teacher, corpus, "still", progress=progress)["still"]
    vectors.save(place)
    return vectors


def _triples(
    corpus: Corpus,
    model: MaskedModel,
    vectors: WordVectors,
    place: Path,
    config: ReadyConfig,
    by: TripleWorkers | None,
    *,
    progress: bool,
) -> Triples:
    if place.exists():
        return Triples.read(place)
    targets = TargetConfig(min_words=config.min_words, seed=config.seed)
    pairs = PairConfig(config.triples, targets, BuildConfig(similarity=usual_threshold(vectors, config.seed)))
    sources = Sources.of_corpus(corpus, pairs.count, pairs.targets)
    return make_triples(sources, model, vectors, place, pairs, by=by, progress=progress)
