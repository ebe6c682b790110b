"""``wordstill add``, ``wordstill remove`` and ``wordstill merge``, which work on kept sums."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wordstill.cli import options
from wordstill.cli.failures import needs_models, warn
from wordstill.cli.options import argument, option
from wordstill.cli.printing import count_text, show_result, time_text

if TYPE_CHECKING:
    from wordstill.scale.incremental import ChangedTable

ADD_EXAMPLES = """\
wordstill add vectors news-of-today.txt
wordstill add vectors more/*.txt --out vectors-v2"""
REMOVE_EXAMPLES = "wordstill remove vectors withdrawn.txt"
MERGE_EXAMPLES = """\
wordstill merge vectors-a vectors-b --out vectors
wordstill merge hospital-a hospital-b --min-count 20 --out shared"""

Table = Annotated[Path, argument("DIR", "A table distilled with --keep-sums.")]
NewOut = Annotated[Path | None, option("DIR", "Output folder; by default the table is replaced.", "--out", "-o")]
SHOWN = 5


@dataclass(frozen=True)
class ChangeOptions:
    """Options that `add` and `remove` share."""

    out: NewOut = None
    device: options.Device = "auto"
    dtype: options.Dtype = "auto"
    overwrite: options.Overwrite = False
    progress: options.ShowProgress = None


def add(*, table: Table, inputs: options.Inputs, how: ChangeOptions, text: options.TextOptions) -> None:
    """Add text to a table without rereading the old text.

    The vocabulary stays the same; frequent words of the new text without a vector are reported.
    """
    with needs_models("wordstill add"):
        from wordstill.scale.incremental import add as run
    change = _changed(run, table, inputs, how, text, "Added")
    if change.newcomers:
        some = ", ".join(change.newcomers[:SHOWN])
        warn(
            f"The new text has {count_text(len(change.newcomers), 'frequent word')} without a vector, such as {some}. "
            "To give them one, distill the whole text again."
        )


def remove(*, table: Table, inputs: options.Inputs, how: ChangeOptions, text: options.TextOptions) -> None:
    """Remove text from a table, as if it had never been read.

    The text must be part of what the table was made from; otherwise nothing is changed.
    """
    with needs_models("wordstill remove"):
        from wordstill.scale.incremental import remove as run
    _changed(run, table, inputs, how, text, "Removed")


def merge(
    *,
    tables: Annotated[list[Path], argument("DIR", "Tables distilled with --keep-sums, with the same words.")],
    out: options.NewFolder,
    min_count: Annotated[
        int | None,
        option(
            "N",
            "Drop words that occur fewer times in a table, so that nothing is revealed about the few sentences they "
            "occur in.",
            min=1,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Merge tables made from different texts."""
    with needs_models("wordstill merge"):
        from wordstill.scale.incremental import merge as run
    start = time.monotonic()
    table = run(tables, options.output_folder(out), min_count=min_count, overwrite=overwrite)
    done = f"Merged {count_text(len(tables), 'table')} in {time_text(time.monotonic() - start)}."
    show_result({"table": table}, out, done)


def _changed(
    run: Callable[..., ChangedTable],
    table: Path,
    inputs: list[str],
    how: ChangeOptions,
    text: options.TextOptions,
    verb: str,
) -> ChangedTable:
    start = time.monotonic()
    change = run(
        table,
        inputs,
        how.out,
        prepare=text.config(),
        device=how.device,
        dtype=how.dtype,
        overwrite=how.overwrite,
        progress=options.wants_progress(how.progress),
    )
    done = f"{verb} {count_text(change.words, 'word')} of text in {time_text(time.monotonic() - start)}."
    show_result({"table": change.table}, how.out or table, done)
    return change
