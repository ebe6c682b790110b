"""From a file of triples to a saved encoder: states, training, artifact, all of it resumable."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordstill.core.resume import CHECKPOINT, working_folder
from wordstill.errors import DataError
from wordstill.meaning.distiller_training import TrainConfig, Trained, train
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.meaning.state_cache import StateCache, state_settings
from wordstill.meaning.triples import Triples
from wordstill.teacher import Teacher
from wordstill.teacher.spans import StateReader

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
