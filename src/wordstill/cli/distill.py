"""``wordstill distill``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli import options
from wordstill.cli import options as teacher_options
from wordstill.cli.development import read_development
from wordstill.cli.early_exit import refuse_unreadable_resume, resumable
from wordstill.cli.failures import warn
from wordstill.cli.formatting import count_text, show_facts, size_text, time_text
from wordstill.cli.run_report import show_profile, show_result
from wordstill.errors import MissingExtra

if TYPE_CHECKING:
    from wordstill.corpus import PrepareConfig
    from wordstill.distillation.early_stopping import Development
    from wordstill.distillation.estimate import Estimate, Step
    from wordstill.distillation.recipe import Recipe
    from wordstill.distillation.run import DistillConfig


EXAMPLES = """\
Example: wordstill distill corpus.txt --out vectors

Example: wordstill distill store --method still --method ase:layer=all --words my-words.txt --out vectors

Example: wordstill distill store --method x2static:preset=paper --epochs 2 --out vectors

Example: wordstill distill store --teacher ./my-model --out vectors --dry-run"""


def command(
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="still (the default), ase, decontextual, principal, x2static, bert-skipgram or "
            "context-to-vec, with settings as in ase:layer=all or x2static:preset=paper. May be repeated: "
            "one pass makes all.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    overwrite: options.Overwrite = False,
    checkpoint_minutes: Annotated[
        float, typer.Option(metavar="N", min=0, help="Save the state so often; 0 saves it after every batch.")
    ] = 2.0,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show the settings, and the time, memory and disk they need."),
    ] = False,
    progress: options.ShowProgress = None,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile", help="At the end show where the time went; a GPU then runs a little slower."
        ),
    ] = False,
    teacher: teacher_options.Name = "all-MiniLM-L6-v2",
    device: teacher_options.Device = "auto",
    dtype: teacher_options.Precision = "auto",
    max_length: teacher_options.MaxLength = None,
    budget: teacher_options.Budget = None,
    read: teacher_options.Read = "sentence",
    batches: teacher_options.BatchesPlace = "auto",
    epochs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="How often methods that learn step by step read the text; the others read it once.",
        ),
    ] = 1,
    development: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Word pairs with judgements: after each epoch methods that learn are scored on them, and "
            "the best table is kept. Test sets are refused.",
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With --development: stop after so many epochs without gain; by default 1.",
            show_default=False,
        ),
    ] = None,
    min_count: options.MinCount = 5,
    max_vocab: options.MaxVocab = None,
    key: options.Key = "lower",
    words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Words or phrases, one on each line, that must get a vector, however rare.",
            rich_help_panel=options.VOCABULARY,
        ),
    ] = None,
    format: options.Format = "auto",
    field: options.Field = "text",
    sentences_per_line: options.SentencesPerLine = False,
    filter: options.Filter = "none",
    language: options.Language = None,
    splitter_language: options.SplitterLanguage = "en",
    errors: options.Errors = "strict",
    encoding: options.Encoding = "utf-8",
) -> None:
    """Distil a language model over text into word vectors.

    INPUT is a prepared text, or any other text, which is prepared first.

    With one method DIR is the table of vectors; with several it holds a folder for each.
    """
    text = options.prepare_config(
        format=format,
        field=field,
        sentences_per_line=sentences_per_line,
        filter=filter,
        language=language,
        splitter_language=splitter_language,
        errors=errors,
        encoding=encoding,
    )
    config = _config(
        methods=tuple(method or ["still"]),
        teacher={"name": teacher, "device": device, "dtype": dtype, "max_length": max_length},
        vocabulary={"min_count": min_count, "max_size": max_vocab, "key": key},
        words=words,
        prepare=text,
        budget=budget,
        read=read,
        batches=batches,
        epochs=epochs,
        seed=seed,
        checkpoint_seconds=60 * checkpoint_minutes,
    )
    options.output_folder(out)
    judge = read_development(development, patience)
    if dry_run:
        show_dry_run(inputs, out, config, judge)
    else:
        _run(
            inputs,
            out,
            config,
            judge,
            resume=resume,
            overwrite=overwrite,
            progress=options.wants_progress(progress),
            profile=profile,
        )


def _config(
    *,
    teacher: dict[str, Any],
    vocabulary: dict[str, Any],
    words: Path | None,
    prepare: PrepareConfig,
    **settings: Any,
) -> DistillConfig:
    try:
        from wordstill.corpus import Vocabulary, VocabularyConfig
        from wordstill.distillation.run import DistillConfig
        from wordstill.teacher import TeacherConfig
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", "wordstill distill") from error
    wanted = Vocabulary.read_word_list(words) if words is not None else ()
    return DistillConfig(
        teacher=TeacherConfig(**teacher),
        vocabulary=VocabularyConfig(**vocabulary, words=wanted),
        prepare=prepare,
        **settings,
    )


def _run(
    inputs: list[str],
    out: Path,
    config: DistillConfig,
    development: Development | None,
    *,
    resume: bool,
    overwrite: bool,
    progress: bool,
    profile: bool,
) -> None:
    from wordstill.core.progress import Stopwatch
    from wordstill.distillation.distilling import distill

    if resume:
        refuse_unreadable_resume(inputs, out)
    start, watch = time.monotonic(), Stopwatch() if profile else None
    with resumable(out, inputs, resume=resume):
        tables = distill(
            cast("list[str | Path]", inputs),
            out,
            config=config,
            resume=resume,
            overwrite=overwrite,
            progress=progress,
            development=development,
            watch=watch,
        )
    seconds = time.monotonic() - start
    if watch is not None:
        show_profile(watch, seconds)
    show_result(tables, out, seconds)


def show_dry_run(
    inputs: Sequence[str], out: Path, config: DistillConfig, development: Development | None = None
) -> None:
    """Show the resolved recipe and what it will take; nothing is written beside temporary files."""
    from wordstill.distillation.estimate import dry_run

    recipe, estimate = dry_run(inputs, config, development)
    _show_recipe(recipe)
    _show_estimate(estimate)
    if out.exists():
        warn(f"{out} exists; the run will need --overwrite.")
    typer.echo("\nNothing was written. Leave --dry-run out to start.")


def _show_recipe(recipe: Recipe) -> None:
    from dataclasses import asdict

    typer.echo("Recipe")
    for part, value in asdict(recipe).items():
        if isinstance(value, dict):
            typer.echo(f" {part}")
            show_facts({name: _value(inner) for name, inner in value.items()})
        elif value is not None:
            typer.echo(f" {part}  {value}")


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={_value(inner)}" for key, inner in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _show_estimate(estimate: Estimate) -> None:
    prefix = estimate.prefix
    typer.echo("\nExpected")
    facts = {"words": f"{estimate.rows:,} words get a vector"}
    if prefix is not None:
        facts["words"] = f"at least {estimate.rows:,} words (from the first {size_text(prefix.bytes)})"
    facts |= {step.title: f"{time_text(step.seconds)}  ({_origin(step)})" for step in estimate.steps}
    facts["in all"] = time_text(estimate.seconds)
    least = "at least " if prefix is not None else ""
    if estimate.memory is not None:
        facts["memory"] = f"{least}{size_text(estimate.memory)} at the peak"
    if estimate.device_memory is not None:
        facts["GPU memory"] = f"{least}{size_text(estimate.device_memory)} at the peak"
    facts["result"] = f"{least}{size_text(estimate.artefact)} on disk"
    kept = "for the prepared text and two checkpoints" if estimate.store else "for two checkpoints"
    facts["during the run"] = f"{least}{size_text(estimate.working)} more on disk, {kept}"
    show_facts(facts)
    if prefix is not None:
        first, total = size_text(prefix.bytes), size_text(prefix.total)
        typer.echo(
            f"\nThe first {first} of {total} were prepared; time and disk for the text are scaled by bytes."
            "\nThe rest grows with the number of words and is that of the words so far."
            "\nPrepare the text first to know it exactly."
        )


def _origin(step: Step) -> str:
    """What of a step's time was measured, and what was scaled from it."""
    words = f"{count_text(step.words, 'word')}, " if step.words else ""
    if step.seconds == step.measured:
        return f"{words}measured"
    return f"{words}scaled from {step.measured:.1f} s"
