"""``wordstill meaning train``."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.failures import needs_models
from wordstill.cli.options import (
    Device,
    Dtype,
    NewFolder,
    Overwrite,
    ShowProgress,
    output_folder,
    wants_progress,
)
from wordstill.cli.printing import show_facts, show_next, time_text
from wordstill.errors import unknown_name

if TYPE_CHECKING:
    from wordstill.meaning.distiller import Scaling
    from wordstill.meaning.distiller_training import Trained

EXAMPLES = """\
Example: wordstill meaning train triples.jsonl --out meaning

Example: wordstill meaning train triples.jsonl --no-negatives --states states --out ablation

Example: wordstill meaning train triples.jsonl --preset paper --states states --out paper"""

TRAINING = "Training"


def command(
    triples: Annotated[
        Path, typer.Argument(metavar="TRIPLES", help="A file of meaning pairs.", show_default=False)
    ],
    out: NewFolder,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="By default the masked model that the triples come from.", show_default=False
        ),
    ] = None,
    other_teacher: Annotated[
        bool, typer.Option("--other-teacher", help="Allow another teacher than that masked model.")
    ] = False,
    layers: Annotated[str, typer.Option(metavar="LAYERS", help="As in top-half, all or 4-6.")] = "top-half",
    states: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the teacher's states for more trainings.", show_default=False),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="default, chosen on development data, or paper: --scaling none --learning-rate 4e-5 "
            "--feedforward 4.",
            rich_help_panel=TRAINING,
        ),
    ] = "default",
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives/--no-negatives", help="Without them: the ablation.", rich_help_panel=TRAINING
        ),
    ] = True,
    layer_embeddings: Annotated[
        bool,
        typer.Option(
            "--layer-embeddings", help="Let the distillers distinguish layers.", rich_help_panel=TRAINING
        ),
    ] = False,
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is done to each layer's states first: none, scaled or, by default, standardised.",
            rich_help_panel=TRAINING,
            show_default=False,
        ),
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=TRAINING)] = 128,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="By default 2e-4.", rich_help_panel=TRAINING, show_default=False),
    ] = None,
    warm_up: Annotated[int, typer.Option(metavar="STEPS", min=0, rich_help_panel=TRAINING)] = 1000,
    max_epochs: Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=TRAINING)] = 100,
    patience: Annotated[int, typer.Option(metavar="CHECKS", min=1, rich_help_panel=TRAINING)] = 15,
    min_delta: Annotated[float, typer.Option(metavar="X", min=0, rich_help_panel=TRAINING)] = 1e-4,
    heads: Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=TRAINING)] = 8,
    feedforward: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Inner width, in widths; by default 1.",
            rich_help_panel=TRAINING,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, rich_help_panel=TRAINING)] = 0,
) -> None:
    """Train the two distillers, of meaning and of context, over a frozen teacher.

    The same command resumes a run that was stopped.
    """
    with needs_models("wordstill meaning train"):
        from wordstill.meaning import PRESETS, Triples, train_encoder
        from wordstill.teacher import Teacher, TeacherConfig

    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    base = PRESETS[preset]
    config = replace(
        base,
        batch=batch,
        learning_rate=base.learning_rate if learning_rate is None else learning_rate,
        warm_up=warm_up,
        patience=patience,
        min_delta=min_delta,
        max_epochs=max_epochs,
        negatives=negatives,
        seed=seed,
        distiller=replace(
            base.distiller,
            heads=heads,
            feedforward=base.distiller.feedforward if feedforward is None else feedforward,
            layer_embeddings=layer_embeddings,
            scaling=base.distiller.scaling if scaling is None else cast("Scaling", scaling),
        ),
    )
    found = Triples.read(triples)
    name = teacher or str(found.header.get("masked_model", {}).get("name"))
    model = Teacher.from_config(TeacherConfig(name, device, dtype))
    start = time.monotonic()
    _, trained = train_encoder(
        found,
        model,
        output_folder(out),
        config,
        layers=layers,
        states=states,
        other_teacher=other_teacher,
        overwrite=overwrite,
        progress=wants_progress(progress),
    )
    _report(trained, out, time.monotonic() - start)


def _report(trained: Trained, out: Path, seconds: float) -> None:
    typer.echo(f"Trained in {time_text(seconds)}: {out}")
    seen, steps = trained.diagnosis, trained.history[-1][0]
    show_facts(
        {
            "steps": f"{steps:,} ({time_text(trained.seconds_per_epoch)} for an epoch)",
            "validation loss": f"{trained.best:.4f} (first {trained.history[0][1]:.4f})",
            "cosine of meanings": _cosines(seen.meaning_positive, seen.meaning_negative, seen.meaning_others),
            "cosine of contexts": _cosines(seen.context_positive, seen.context_negative, seen.context_others),
        }
    )
    place = shlex.quote(str(out))
    show_next(
        f"wordstill meaning evaluate {place}", f"wordstill meaning encode {place} sentences.txt --out uses"
    )


def _cosines(positives: float, negatives: float, others: float) -> str:
    return f"{positives:.3f} positives, {negatives:.3f} negatives, {others:.3f} other words"
