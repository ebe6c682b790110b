"""Printing tables with many columns: nothing is cut off, and what does not fit stands in another block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LONGEST_WORD = 24
"""Longer words of a cell, such as a path, are broken; a heading is not, as long as there is room for it."""
BESIDE = 3
"""What stands beside the text of a column: a blank on both sides and a line."""


def print_wide(console: Console, table: Table, names: int) -> None:
    """Print a table, in several blocks one below the other if its words do not fit side by side.

    Args:
        console: Where to.
        table: A table with the usual lines. Its columns are changed.
        names: How many columns every block begins with.
    """
    room = console.width - 1
    for column in table.columns:
        column.overflow = "fold"
    least = [_least(console, table, number, room) for number in range(len(table.columns))]
    blocks = _blocks(least, names, room)
    for number, columns in enumerate(blocks):
        block = _with_columns(table, columns)
        for column, width in zip(block.columns, _widths(console, block, [least[one] for one in columns])):
            column.width = width
        block.title = table.title if number == 0 else None
        block.caption = table.caption if number == len(blocks) - 1 else None
        console.print(block)


def _least(console: Console, table: Table, number: int, room: int) -> int:
    """The width below which a column would break its heading or a word."""
    column = table.columns[number]
    words = max((console.measure(cell).minimum for cell in column.cells), default=0)
    heading = console.measure(column.header).minimum
    # Half of the room is left to the names of the sets.
    return min(max(heading, min(words, LONGEST_WORD)), room // 2 - BESIDE)


def _blocks(least: Sequence[int], names: int, room: int) -> list[list[int]]:
    """The numbers of the columns of each block, as evenly as they fit."""
    first, others = list(range(names)), list(range(names, len(least)))
    for count in range(1, len(others) + 1):
        size, larger = divmod(len(others), count)
        cuts = [part * size + min(part, larger) for part in range(count + 1)]
        blocks = [first + others[start:end] for start, end in pairwise(cuts)]
        if all(sum(least[one] + BESIDE for one in block) <= room for block in blocks):
            return blocks
    return [[*first, one] for one in others] or [first]


def _with_columns(table: Table, columns: Sequence[int]) -> Table:
    from rich.table import Table

    chosen = [table.columns[number] for number in columns]
    block = Table(title_justify=table.title_justify, caption_justify=table.caption_justify)
    for column in chosen:
        block.add_column(column.header, justify=column.justify, overflow=column.overflow)
    for row in zip(*(column.cells for column in chosen)):
        block.add_row(*row)
    return block


def _widths(console: Console, block: Table, least: Sequence[int]) -> list[int]:
    """As wide as the text, or else all up to the same limit, but none below what it needs if that fits."""
    room = console.width - 1 - BESIDE * len(least)
    if sum(least) > room:
        least = [1] * len(least)
    whole = [
        max(console.measure(text).maximum for text in (column.header, *column.cells))
        for column in block.columns
    ]
    limit = max(whole)
    while limit > 1 and sum(_limited(whole, least, limit)) > room:
        limit -= 1
    return _limited(whole, least, limit)


def _limited(whole: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    return [max(fewest, min(most, limit)) for most, fewest in zip(whole, least)]
