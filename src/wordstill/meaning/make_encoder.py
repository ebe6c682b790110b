"""Training a meaning encoder, from triples or from plain text in one call."""

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
    """Train distillers on a teacher's states and save them; an interrupted run resumes with the same call.

    Args:
        triples: The training triples.
        teacher: The frozen language model.
        out: Output folder; ``OUT.partial`` has unfinished work.
        config: Training settings; None uses the preset ``default``.
        layers: The layers to distill.
        states: Folder for the teacher's states, kept for later training runs; None discards them.
        other_teacher: Whether the teacher may differ from the masked model that made the triples.
        overwrite: Whether to replace a folder, and to discard the progress of an interrupted run.
        seconds: Maximum training time.
        progress: Show progress bars.

    Raises:
        DataError: The triples were made with another teacher, or the interrupted run had other settings.
        UsageError: The folder exists, another run is writing it, or there are too few triples.
        Interrupted: Ctrl-C or SIGTERM; states and training are kept.
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
        # The cache is memory-mapped, so the folder is removed only when it is no longer needed.
        del cache
    _warn_of_a_short_training(trained.facts()["steps"], config)
    trained.diagnosis.warn()
    return encoder, trained


def refuse_other_teacher(triples: Triples, reader: StateReader) -> None:
    """Refuse triples that were made with another masked language model than the teacher."""
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
            "little was learned. Use more triples, more --max-epochs, or a shorter --warm-up.",
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
"""Rank of the neighbor whose cosine is the threshold; nearer words have about the same meaning."""


@dataclass(frozen=True)
class ReadyConfig(Config):
    """The main settings; all others have the defaults of the single steps."""

    triples: Annotated[int, Range(20)] = 20_000
    """How many targets to make triples of."""
    min_words: Annotated[int, Range(1)] = 8
    """Minimum length of a sentence in words."""
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
    """Make an encoder from text and a masked language model; an interrupted run resumes with the same call.

    The text is prepared, static vectors are distilled from the same model, triples are made by substitution, and the
    distillers are trained with a warm-up of a tenth of the steps. The results of all steps are in ``OUT.partial``
    until the encoder is complete.

    Args:
        inputs: A prepared store, or files, folders and glob patterns of text.
        out: Output folder.
        masked: Name or folder of a masked language model, which is also the teacher.
        config: Settings; None uses the defaults.
        workers: Workers that distill and make triples; by default this process, which also trains.
        device: Where the model runs.
        dtype: Precision of the model.
        overwrite: Replace ``out`` if it exists, and discard the progress of an interrupted run.
        progress: Show progress bars.

    Raises:
        DataError: The text cannot be read, or the interrupted run had another text, model or settings.
        UsageError: ``out`` exists, or another run is writing it.
        TeacherError: The model cannot be loaded, or is not a masked language model.
        Interrupted: Ctrl-C or SIGTERM; finished steps are kept.
    """
    config, path = config or ReadyConfig(), Path(out)
    # A resumed training may have another number of epochs.
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
        # A run may have been killed in between.
        remove(made)
        encoder, trained = train_encoder(triples, teacher, made, training, progress=progress)
        encoder.save(path, overwrite=work.overwrite)
    return encoder, trained


def batch_for(triples: int) -> int:
    """Size of a batch: smaller if there are few triples, because one or two steps per epoch are not enough."""
    return min(TrainConfig.batch, max(SMALLEST_BATCH, triples // 64))


def usual_threshold(vectors: WordVectors, seed: int = 0) -> float:
    """A threshold for about the same meaning: the median cosine of fifth neighbors over a sample of words."""
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
