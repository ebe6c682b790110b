"""Sizes, times and lists of facts, as people read them."""

from __future__ import annotations

from collections.abc import Mapping

import typer


def show_facts(facts: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"  {name:<{width}}  {value}")


def show_next(*commands: str) -> None:
    """Print commands to try next."""
    typer.echo("\nNext:")
    for command in commands:
        typer.echo(f"  {command}")


def show_scored(scored: list[tuple[str, float]]) -> None:
    """Print words with their scores."""
    for word, score in scored:
        typer.echo(f"{score:8.4f}  {word}")


def size_text(size: float) -> str:
    """A number of bytes in its usual unit."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def time_text(seconds: float) -> str:
    """A duration in its two largest units."""
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    for unit, size, smaller, part in (
        ("d", 86_400, "h", 3_600),
        ("h", 3_600, "min", 60),
        ("min", 60, "s", 1),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"


def count_text(number: int, noun: str) -> str:
    """A number with its noun, which gets an s unless it is one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
