"""``wordstill distill --dry-run``: show the recipe and its expected cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordstill.cli.failures import warn
from wordstill.cli.printing import count_text, show_facts, size_text, time_text

if TYPE_CHECKING:
    from wordstill.distillation.config import DistillConfig, EarlyStopping
    from wordstill.distillation.estimate import Estimate, Step
    from wordstill.distillation.recipe import Recipe
    from wordstill.scale import ScaleConfig


def show_dry_run(
    inputs: Sequence[str],
    out: Path,
    config: DistillConfig,
    early_stopping: EarlyStopping | None = None,
    scale: ScaleConfig | None = None,
) -> None:
    """Show the resolved recipe and its expected cost; only temporary files are written."""
    from wordstill.distillation.estimate import dry_run

    in_shards = scale is not None and scale.is_used
    if scale is not None and in_shards:
        from wordstill.scale.running import settings_in_shards

        config = settings_in_shards(inputs, config, scale)
    recipe, estimate = dry_run(inputs, config, early_stopping)
    _show_recipe(recipe)
    _show_estimate(estimate)
    if scale is not None and in_shards:
        _show_shards(recipe, estimate, scale)
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
            "\nOther costs grow with the vocabulary; they are for the words found so far."
            "\nPrepare the text first for exact numbers."
        )


def _origin(step: Step) -> str:
    """Whether the time of a step was measured, or scaled from a measurement."""
    words = f"{count_text(step.words, 'word')}, " if step.words else ""
    if step.seconds == step.measured:
        return f"{words}measured"
    low, high = map(time_text, step.spread or (step.seconds, step.seconds))
    spread = f"; {low} to {high}" if low != high else ""
    return f"{words}scaled from {step.measured:.1f} s{spread}"


def _show_shards(recipe: Recipe, estimate: Estimate, scale: ScaleConfig) -> None:
    """Show the number of shards, and the time and memory of each worker."""
    from wordstill.scale.partition import shard_size
    from wordstill.scale.pools import slowdown

    text = [step for step in estimate.steps if step.title.startswith("text")]
    words, seconds = sum(step.words for step in text), sum(step.seconds for step in text)
    size = min(shard_size(recipe, words, scale.shard_words), max(words, 1))
    shards, workers = -(-words // size), scale.workers or 1
    slower = slowdown(workers, ray=scale.ray is not None, on_gpu=recipe.teacher["device"] == "cuda")
    each = seconds / shards * slower
    loading = sum(step.seconds for step in estimate.steps if step.title == "load the teacher")
    divided = f"about {count_text(shards, 'shard')} of {size:,} words"
    if scale.join or (scale.ray is not None and scale.workers is None):
        # The number of workers is not known before the run.
        facts = {"shards": divided, "each worker": f"{time_text(each)} per shard"}
    else:
        most = -(-shards // workers)
        facts = {
            "shards": f"{divided}, for {count_text(workers, 'worker')}",
            "each worker": f"up to {count_text(most, 'shard')}, {time_text(most * each)}",
        }
        if shards < workers:
            warn(
                f"Only {count_text(shards, 'shard')} for {workers} workers: some workers have nothing to do. "
                "Make more shards with --shard-words."
            )
    facts["each worker"] += f", after {time_text(loading)} to load the model"
    if estimate.memory is not None:
        # A worker stores the sums of one shard while it reads the next.
        memory = size_text(estimate.memory + estimate.checkpoint)
        facts["memory"] = f"up to {memory} for each worker, and as much for the driver"
    facts["parts on disk"] = f"up to {size_text(min(shards, 8) * estimate.checkpoint)}"
    typer.echo("\nIn shards")
    show_facts(facts)
