"""What ``wordstill distill --dry-run`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordstill.cli.failures import warn
from wordstill.cli.wording import show_facts, size_text, time_text

if TYPE_CHECKING:
    from wordstill.development import Development
    from wordstill.estimate import Estimate
    from wordstill.recipe import Recipe
    from wordstill.run import DistillConfig


def show_dry_run(
    inputs: Sequence[str], out: Path, config: DistillConfig, development: Development | None = None
) -> None:
    """Show the resolved recipe and what it will take; nothing is written beside temporary files."""
    from wordstill.estimate import dry_run

    recipe, estimate = dry_run(inputs, config, development)
    _show_recipe(recipe)
    if estimate.share < 1:
        typer.echo(
            f"\nThe text is large: {estimate.share:.1%} of it was looked at, and the rest extrapolated."
        )
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
    typer.echo("\nExpected")
    facts = {}
    for step in estimate.steps:
        rate = (
            f"  ({step.words:,} words, {step.words / max(step.seconds, 1e-9):,.0f} words/s)"
            if step.words
            else ""
        )
        facts[step.title] = time_text(step.seconds) + rate
    facts["in all"] = time_text(estimate.seconds)
    if estimate.memory is not None:
        facts["memory"] = f"{size_text(estimate.memory)} at the peak"
    if estimate.device_memory is not None:
        facts["GPU memory"] = f"{size_text(estimate.device_memory)} at the peak"
    facts["result"] = f"{size_text(estimate.artefact)} on disk, {estimate.rows:,} words"
    facts["while running"] = (
        f"{size_text(estimate.working)} more on disk, for the prepared text and two checkpoints"
    )
    show_facts(facts)
