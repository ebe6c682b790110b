"""From plain text to an encoder of meanings in one call: text, static vectors, triples, distillers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from wordstill.core.files import refuse_existing, remove
from wordstill.core.settings import Config, Range
from wordstill.corpus import Corpus, is_store, prepare
from wordstill.distillation import distill_from_teacher
from wordstill.meaning.distiller_training import TrainConfig, Trained
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.meaning.encoder_training import train_encoder
from wordstill.meaning.make_triples import PairConfig, make_triples
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

WORK = ".work"
SAMPLE_WORDS = 2_000
SAME_MEANING = 5
"""The neighbor whose cosine is the threshold: nearer words have about the same meaning."""


@dataclass(frozen=True)
class ReadyConfig(Config):
    """The few settings that matter; everything else is as in the single steps."""

    triples: Annotated[int, Range(20)] = 20_000
    """How many targets to make triples of."""
    min_words: Annotated[int, Range(1)] = 8
    """Words of the shortest sentence that is used."""
    epochs: Annotated[int, Range(1)] = 20
    seed: int = 0


def make_encoder(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    masked: str,
    config: ReadyConfig | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    overwrite: bool = False,
    progress: bool = False,
) -> tuple[MeaningEncoder, Trained]:
    """Make an encoder from text and a masked language model; the same call resumes one that was stopped.

    The text is prepared; static vectors are distilled from the same model; triples are made by substitution; and
    the distillers are trained with a warm-up of a tenth of the steps. Each step is kept in ``OUT.work`` until the
    encoder is complete.

    Args:
        inputs: A prepared store, or files, folders and glob patterns of text.
        out: Folder to make.
        masked: Name or folder of a masked language model, which is also the teacher.
        config: Settings; None takes the defaults.
        device: Where the model runs.
        dtype: In which precision.
        overwrite: Replace ``out`` if it exists.
        progress: Show progress bars.
    """
    config, out = config or ReadyConfig(), Path(out)
    refuse_existing(out, overwrite=overwrite)
    work = out.with_name(out.name + WORK)
    work.mkdir(parents=True, exist_ok=True)
    model = MaskedModel.from_pretrained(masked, device=device, dtype=dtype)
    corpus = _text(inputs, work / "store", progress=progress)
    teacher = Teacher.from_config(TeacherConfig(masked, device, dtype))
    vectors = _vectors(teacher, corpus, work / "vectors", progress=progress)
    targets = TargetConfig(min_words=config.min_words, seed=config.seed)
    pairs = PairConfig(config.triples, targets, BuildConfig(similarity=usual_threshold(vectors, config.seed)))
    sources = Sources.of_corpus(corpus, pairs.count, pairs.targets)
    triples = make_triples(sources, model, vectors, work / "triples.jsonl", pairs, overwrite=True, progress=progress)
    training = TrainConfig(max_epochs=config.epochs, seed=config.seed)
    steps = max(1, len(triples) // training.batch) * config.epochs
    training = replace(training, warm_up=min(training.warm_up, steps // 10))
    made = train_encoder(triples, teacher, out, training, overwrite=overwrite, progress=progress)
    remove(work)
    return made


def usual_threshold(vectors: WordVectors, seed: int = 0) -> float:
    """A cosine from which on words have about the same meaning: the median of the fifth neighbors of a sample."""
    rows = np.random.default_rng(seed).permutation(len(vectors))[:SAMPLE_WORDS]
    near = vectors.neighbors([vectors.words[row] for row in rows.tolist()], topn=SAME_MEANING)
    cosines = [scored[-1][1] for scored in near if scored]
    return float(np.clip(np.median(cosines), 0.05, 0.95))


def _text(inputs: str | Path | Sequence[str | Path], place: Path, *, progress: bool) -> Corpus:
    if isinstance(inputs, str | Path) and is_store(inputs):
        return Corpus.open(inputs)
    if not isinstance(inputs, str | Path) and len(inputs) == 1 and is_store(inputs[0]):
        return Corpus.open(inputs[0])
    return Corpus.open(place) if is_store(place) else prepare(inputs, place, progress=progress)


def _vectors(teacher: Teacher, corpus: Corpus, place: Path, *, progress: bool) -> WordVectors:
    if place.exists():
        return WordVectors.load(place)
    vectors = distill_from_teacher(teacher, corpus, "still", progress=progress)["still"]
    vectors.save(place)
    return vectors
