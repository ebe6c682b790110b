"""What commands print: facts, sizes, times, scores, tables, and the result of a run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wordstill.cli.failures import warn
from wordstill.core.guard import printable
from wordstill.core.object_stores import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from wordstill.core.progress import Profiler
    from wordstill.vectors import WordVectors

SAMPLE_NEIGHBORS = 4
LONGEST_NAME = 30
"""Characters of a group's name that are shown."""
PLAIN_WIDTH = 120
UNLIMITED = 10_000


def show_result(
    tables: Mapping[str, WordVectors], out: Path, headline: str, purposes: Mapping[str, str] | None = None
) -> None:
    """Print what was done, where the vectors are, what they are good for, some neighbors, and next commands."""
    from wordstill.formats.card import content_words

    places = {label: shown(out if len(tables) == 1 else out / label) for label in tables}
    typer.echo(headline)
    show_facts(
        {
            label: f"{places[label]}  {len(table):,} words x {table.dim}, {size_text(table.nbytes)}"
            for label, table in tables.items()
        }
    )
    for label, purpose in (purposes or {}).items():
        typer.echo(f"Use {label} for {purpose}.")
    label, table = next(iter(tables.items()))
    _warn_of_cut(table)
    samples = content_words(table)
    if samples:
        typer.echo(f"\nNearest words in {label}:" if len(tables) > 1 else "\nNearest words:")
        found = table.neighbors(samples, SAMPLE_NEIGHBORS)
        show_facts({word: ", ".join(other for other, _ in scored) for word, scored in zip(samples, found) if scored})
    place = places[label]
    more = [("change", place)] if len(table.groups) > 1 else []
    show_next(("similar", place, example_word(table)), *more, ("evaluate", shown(out)), ("info", place))


def example_word(table: WordVectors) -> str:
    """A word to look up first: a content word, or at least one with letters."""
    from wordstill.formats.card import content_words

    lettered = (word for word in table.words if any(map(str.isalnum, word)))
    return next(iter(content_words(table)), None) or next(lettered, table.words[0])


def show_profile(profiler: Profiler, seconds: float) -> None:
    """Print the time of each part of a run."""
    parts = profiler.seconds | {"all else": max(0.0, seconds - sum(profiler.seconds.values()))}
    typer.echo("Where the time went:")
    show_facts({name: f"{spent:8.2f} s  {spent / seconds:6.1%}" for name, spent in parts.items()})
    typer.echo()
    if profiler.notes:
        show_facts(profiler.notes)
        typer.echo()


def _warn_of_cut(table: WordVectors) -> None:
    if cut := table.provenance.get("cut_sentences"):
        limit = table.provenance["teacher"]["max_length"]
        verb = "was" if cut == 1 else "were"
        warn(f"{count_text(cut, 'sentence')} {verb} longer than {limit} subwords and truncated.")


def show_facts(facts: Mapping[str, str]) -> None:
    """Print names and values in two columns."""
    facts = {printable(name): printable(value) for name, value in facts.items()}
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        typer.echo(f"  {name:<{width}}  {value}")


def show_next(*commands: tuple[object, ...]) -> None:
    """Print commands to try next, each given as its arguments."""
    typer.echo("\nNext:")
    for command in commands:
        typer.echo(f"  wordstill {shlex.join(map(str, command))}")


def show_scored(scored: list[tuple[str, float]]) -> None:
    """Print words with their scores."""
    for word, score in scored:
        typer.echo(f"{score:8.4f}  {printable(word)}")


def show_json(content: object) -> None:
    """Print something as JSON."""
    typer.echo(json.dumps(content, ensure_ascii=False, indent=2))


def disk_size(path: Path) -> str:
    """The size of a file, or of all files in a folder, in its usual unit."""
    return size_text(disk_bytes(path))


def disk_bytes(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


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
    for unit, size, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"


def count_text(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def groups_text(names: Sequence[str]) -> str:
    """How many groups there are, and the first and last of them."""
    short = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..." for name in names]
    shown = ", ".join(short) if len(short) <= 6 else ", ".join([*short[:3], "...", short[-1]])
    return f"{len(names):,}: {shown}"


def wide_console() -> Console:
    """The standard output, with a fixed width if it is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def print_whole(table: Table, names: int) -> None:
    """Print a table without truncation: one that is too wide gets a line for each cell.

    Its columns are changed; the first ``names`` of them name the row.
    """
    console = wide_console()
    for column in table.columns:
        column.overflow = "fold"
    needed = console.measure(table, options=console.options.update_width(UNLIMITED)).minimum
    console.print(table if needed <= console.width else _long(table, names))


def _long(table: Table, names: int) -> Table:
    """The same cells below each other, each next to the heading of its column."""
    from rich.table import Table

    keys, others = table.columns[:names], table.columns[names:]
    long = Table(title=table.title, caption=table.caption, title_justify="left", caption_justify="left")
    for heading in (*(column.header for column in keys), "table", "result"):
        long.add_column(heading, overflow="fold")
    for key, cells in zip(zip(*(column.cells for column in keys)), zip(*(column.cells for column in others))):
        for number, (column, cell) in enumerate(zip(others, cells), start=1):
            shown = key if number == 1 else [""] * names
            long.add_row(*shown, column.header, cell, end_section=number == len(others))
    return long
