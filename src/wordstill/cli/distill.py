"""``wordstill distill``."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli import options
from wordstill.cli.development import read_development
from wordstill.cli.failures import needs_models, warn
from wordstill.cli.options import flag, option
from wordstill.cli.printing import count_text, show_facts, show_profile, show_result, size_text, time_text
from wordstill.cli.sums.scale_options import ScaleOptions, show_shards
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.distillation.config import DistillConfig
    from wordstill.distillation.early_stopping import EarlyStopping
    from wordstill.distillation.estimate import Estimate, Step
    from wordstill.distillation.recipe import Recipe
    from wordstill.methods.occurrence_states import OccurrenceConfig
    from wordstill.scale import ScaleConfig
    from wordstill.vectors import WordVectors


EXAMPLES = """\
wordstill distill corpus.txt --out vectors
wordstill distill store --method still --method ase:layer=all --words my-words.txt --out vectors
wordstill distill store --method x2static:preset=paper --epochs 2 --out vectors
wordstill distill speeches.csv --group date --bins decade --out vectors
wordstill distill store --method ase --snapshots 1M,3M,10M --out sizes
wordstill distill store --occurrences 50 --out vectors
wordstill distill store --teacher ./my-model --out vectors --dry-run"""

LEARNING, RUN, OCCURRENCES = "Learning", "Run", "Occurrences"


@dataclass(frozen=True)
class OccurrenceOptions:
    """Which occurrences are kept with the vectors."""

    occurrences: Annotated[
        int | None,
        option(
            "N",
            "Also keep N occurrences of each word that occurs 20 times, chosen at random, for wordstill senses.",
            panel=OCCURRENCES,
            min=1,
        ),
    ] = None
    occurrences_of: Annotated[
        Path | None, option("FILE", "Keep those of these words only, however rare, one per line.", panel=OCCURRENCES)
    ] = None
    occurrences_layer: Annotated[
        int | None, option("N", "Layer whose states are kept; by default the last.", panel=OCCURRENCES, min=0)
    ] = None

    def config(self) -> OccurrenceConfig | None:
        """The settings, checked by their room, with the words of the list; None if none are kept."""
        from wordstill.corpus import Vocabulary
        from wordstill.methods.occurrence_states import OccurrenceConfig

        if self.occurrences is None:
            if self.occurrences_of is not None or self.occurrences_layer is not None:
                raise UsageError("How many occurrences are kept? Add --occurrences N.")
            return None
        words = () if self.occurrences_of is None else Vocabulary.read_word_list(self.occurrences_of)
        return OccurrenceConfig(self.occurrences, words=words, layer=self.occurrences_layer)


def command(
    *,
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        option(
            "METHOD",
            "still (the default), sentence, ase, decontextual, token-table, principal, x2static, bert-skipgram or "
            "context-to-vec, with settings as in ase:layer=all, x2static:preset=paper or bert-skipgram:window=2|5. "
            "May be repeated: one pass makes all.",
            "--method",
            "-m",
        ),
    ] = None,
    teacher: options.TeacherOptions,
    vocabulary: options.VocabularyOptions,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    dry_run: Annotated[
        bool, flag("Only show the settings, and the time, memory and disk they need.", "--dry-run")
    ] = False,
    progress: options.ShowProgress = None,
    budget: Annotated[
        int | None,
        option(
            "N",
            "Subwords in a batch; by default 2,048, on a GPU 131,072.",
            "--batch-tokens",
            "--budget",
            panel=options.TEACHER,
            min=1,
        ),
    ] = None,
    read: Annotated[
        str,
        option(
            "UNIT",
            "What the model reads as one text: sentence or paragraph.",
            "--context",
            "--read",
            panel=options.TEACHER,
        ),
    ] = "sentence",
    length: Annotated[
        str,
        option(
            "KIND",
            "What the lengths of vectors say: how much a word counts in a sentence (sentence), nothing (unit), or "
            "whatever the method gives (raw). Cosines between words stay the same.",
            panel=RUN,
        ),
    ] = "sentence",
    batches: Annotated[str, option("PLACE", "", hidden=True)] = "auto",
    epochs: Annotated[
        int,
        option(
            "N",
            "How often methods that learn step by step read the text; the others read it once.",
            panel=LEARNING,
            min=1,
        ),
    ] = 1,
    development: Annotated[
        Path | None,
        option(
            "FILE",
            "Word pairs with human scores: after each epoch methods that learn are scored on them, and "
            "the best table is kept. Test sets are refused.",
            panel=LEARNING,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        option(
            "N", "With --development: stop after N epochs without improvement; by default 1.", panel=LEARNING, min=1
        ),
    ] = None,
    seeds: Annotated[
        int,
        option(
            "N",
            "Tables of each method that learns, with N seeds from --seed on, from one pass; wordstill evaluate then "
            "shows their mean and spread.",
            panel=LEARNING,
            min=1,
        ),
    ] = 1,
    score_every: Annotated[
        str | None,
        option(
            "WORDS",
            "With --development: also score so often during an epoch, as in 500k; the scores are kept with the table, "
            "and wordstill plot training draws them.",
            panel=LEARNING,
        ),
    ] = None,
    snapshots: Annotated[
        str | None,
        option(
            "SIZES", "Also keep the tables after so many words of the text, from the same pass: 1M,3M,10M.", panel=RUN
        ),
    ] = None,
    resume: Annotated[bool, flag("The default.", "--resume", hidden=True)] = False,
    checkpoint_minutes: Annotated[
        float, option("N", "Minutes between checkpoints; 0 saves one after every batch.", panel=RUN, min=0)
    ] = 2.0,
    profile: Annotated[
        bool, flag("At the end show where the time went; a GPU then runs a little slower.", "--profile", panel=RUN)
    ] = False,
    folds: Annotated[
        int | None,
        option(
            "N",
            "Also keep rows for N folds of documents, per group on average, for error bars and tests; by default 10 if "
            "the text has groups, else 0.",
            panel=options.GROUPS,
            min=0,
        ),
    ] = None,
    enough: Annotated[
        int, option("N", "Words that occur this often have rows by fold.", panel=options.GROUPS, min=1)
    ] = 20,
    track: Annotated[
        Path | None,
        option("FILE", "Words, one per line: only these have rows by fold, however rare.", panel=options.GROUPS),
    ] = None,
    kept: OccurrenceOptions,
    scale: ScaleOptions,
    text: options.TextOptions,
) -> None:
    """Distil a language model over text into word vectors.

    INPUT is a prepared text, or any other text, which is prepared first.

    With one method DIR is the table of vectors; with several, or with snapshots, it holds a folder for each. The
    same command resumes a run that was stopped.
    """
    with needs_models("wordstill distill"):
        from wordstill.corpus import Vocabulary
        from wordstill.distillation import DistillConfig
        from wordstill.distillation.snapshots import read_sizes
    config = DistillConfig(
        methods=tuple(method or ["still"]),
        teacher=teacher.config(),
        vocabulary=vocabulary.config(),
        prepare=text.config(),
        budget=budget,
        read=cast("Any", read),
        length=cast("Any", length),
        batches=cast("Any", batches),
        epochs=epochs,
        seed=seed,
        seeds=seeds,
        snapshots=() if snapshots is None else read_sizes(snapshots),
        occurrences=kept.config(),
        checkpoint_seconds=60 * checkpoint_minutes,
        folds=folds,
        enough=enough,
        track=Vocabulary.read_word_list(track) if track is not None else (),
    )
    options.output_folder(out)
    _warn_of_idle_settings(config)
    early_stopping = read_development(development, patience, _one_size(score_every))
    in_shards = scale.config()
    if dry_run:
        show_dry_run(inputs, out, config, early_stopping, in_shards)
        return
    from wordstill.core.progress import Profiler
    from wordstill.methods import METHODS
    from wordstill.teacher.device import synchronize

    if sys.stderr.isatty():
        typer.echo(f"Loading {teacher.teacher}.", err=True)
    start, profiler = time.monotonic(), Profiler(synchronize) if profile else None
    texts, shown = cast("list[str | Path]", inputs), options.wants_progress(progress)
    if in_shards.is_used:
        from wordstill.scale import distill_in_shards

        in_parts = distill_in_shards(texts, out, config, in_shards, overwrite=overwrite, resume=resume, progress=shown)
        if in_parts is None:
            typer.echo(f"{out} is made by another process of this run.")
            return
        tables = in_parts
    else:
        from wordstill.distillation import distill

        tables = distill(
            texts,
            out,
            config=config,
            resume=resume,
            overwrite=overwrite,
            progress=shown,
            early_stopping=early_stopping,
            profiler=profiler,
        )
    seconds = time.monotonic() - start
    if profiler is not None:
        show_profile(profiler, seconds)
    purposes = {method.name: method.purpose for method in METHODS.values() if method.purpose}
    made = {label: purposes.get(tables[label].provenance["method"]["name"]) for label in _whole_labels(tables)}
    for label, table in tables.items():
        if chosen := table.provenance.get("development"):
            typer.echo(f"{label}: kept epoch {chosen['kept_epoch']}, {chosen['score']:.1f} on the development pairs.")
    show_result(tables, out, seconds, purposes={label: purpose for label, purpose in made.items() if purpose})


def _one_size(text: str | None) -> int | None:
    from wordstill.distillation.snapshots import read_sizes

    if text is None:
        return None
    if len(sizes := read_sizes(text)) > 1:
        raise UsageError(f"--score-every is one number of words, as in 500k; got {text!r}.")
    return sizes[0]


def _whole_labels(tables: Mapping[str, WordVectors]) -> list[str]:
    """The tables of the whole text, without the snapshots."""
    return [label for label, table in tables.items() if "of_words" not in table.provenance["corpus"]]


def _warn_of_idle_settings(config: DistillConfig) -> None:
    if config.epochs > 1 and not any(request.kind.learns for request in config.requests):
        warn(f"--epochs does nothing: {', '.join(config.methods)} reads the text once.")


def show_dry_run(
    inputs: Sequence[str],
    out: Path,
    config: DistillConfig,
    early_stopping: EarlyStopping | None = None,
    scale: ScaleConfig | None = None,
) -> None:
    """Show the resolved recipe and its cost; only temporary files are written."""
    from wordstill.distillation.estimate import dry_run

    recipe, estimate = dry_run(inputs, config, early_stopping)
    _show_recipe(recipe)
    _show_estimate(estimate)
    if scale is not None and scale.is_used:
        show_shards(recipe, estimate, scale)
    if out.exists():
        warn(f"{out} exists; the run will need --overwrite.")
    typer.echo("\nNothing was written. Run without --dry-run to start.")


def _show_recipe(recipe: Recipe) -> None:
    typer.echo("Recipe")
    for part, value in recipe.facts().items():
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
    if estimate.cells:
        place = "on disk" if estimate.cells_on_disk else "of that memory"
        facts["folds"] = f"{estimate.cells:,} rows of words in folds, {size_text(estimate.cell_bytes)} {place}"
    facts["result"] = f"{least}{size_text(estimate.artifact)} on disk"
    kept = "for the prepared text and two checkpoints" if estimate.store else "for two checkpoints"
    facts["during the run"] = f"{least}{size_text(estimate.working)} more on disk, {kept}"
    show_facts(facts)
    if prefix is not None:
        first, total = size_text(prefix.bytes), size_text(prefix.total)
        typer.echo(
            f"\nThe first {first} of {total} were prepared; time and disk for the text are scaled by bytes."
            "\nOther costs grow with the number of words and are those of the words so far."
            "\nPrepare the text first for exact numbers."
        )


def _origin(step: Step) -> str:
    """Whether a step's time was measured, or scaled from a measurement."""
    words = f"{count_text(step.words, 'word')}, " if step.words else ""
    if step.seconds == step.measured:
        return f"{words}measured"
    low, high = map(time_text, step.spread or (step.seconds, step.seconds))
    spread = f"; {low} to {high}" if low != high else ""
    return f"{words}scaled from {step.measured:.1f} s{spread}"
