"""What ``wordstill distill --dry-run`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordstill.cli.failures import warn
from wordstill.cli.wording import count_text, show_facts, size_text, time_text

if TYPE_CHECKING:
    from wordstill.development import Development
    from wordstill.estimate import Estimate, Step
    from wordstill.recipe import Recipe
    from wordstill.run import DistillConfig


def show_dry_run(
    inputs: Sequence[str], out: Path, config: DistillConfig, development: Development | None = None
) -> None:
    """Show the resolved recipe and what it will take; nothing is written beside temporary files."""
    from wordstill.estimate import dry_run

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
