from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from wordstill.cli.wide_tables import print_wide

CELL = "34.4 \\[28.7, 40.6] 999/999"


def printed(headings, width, cell=CELL, names=2):
    table = Table(title="Title", caption="Caption")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number >= names else "left")
    for title in ("SimLex-999", "WordSim-353"):
        table.add_row(title, "spearman", *(cell for _ in headings[2:]))
    file = io.StringIO()
    print_wide(Console(file=file, width=width), table, names)
    return file.getvalue()


def heads(shown):
    """The headings of each block, for headings of one line."""
    return [line.replace("┃", " ").split() for line in shown.splitlines() if line.startswith("┃")]


def test_a_table_that_fits_is_one_block():
    shown = printed(["set", "measure", "cbow", "skipgram"], 120)
    assert heads(shown) == [["set", "measure", "cbow", "skipgram"]]
    assert shown.count("34.4 [28.7, 40.6] 999/999") == 4


def test_cells_wrap_before_columns_go_into_another_block():
    shown = printed(["set", "measure", *(f"seed{number}" for number in range(5))], 90)
    assert len(heads(shown)) == 1
    assert "34.4 [28.7, 40.6] 999/999" not in shown and shown.count("999/999") == 10


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_name_is_cut(width):
    names = [f"{kind}.seed{number}" for kind in ("cbow", "fasttext", "skipgram") for number in range(3)]
    shown = printed(["set", "measure", *names], width)
    blocks = heads(shown)
    assert all(block[:2] == ["set", "measure"] for block in blocks)
    assert [name for block in blocks for name in block[2:]] == names
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("999/999") == 18 and shown.count("WordSim-353") == len(blocks)
    assert shown.count("Title") == shown.count("Caption") == 1
    assert shown.index("Title") < shown.index("cbow.seed0") < shown.index("Caption")


def test_a_long_name_leaves_room_for_the_others():
    long = "skipgram-of-the-whole-encyclopaedia-seed0"
    shown = printed(["set", "measure", long, "cbow"], 100)
    assert heads(shown) == [["set", "measure", long, "cbow"]]


@pytest.mark.parametrize("width", [24, 40, 60])
def test_what_is_too_long_for_any_line_is_broken(width):
    long = "x" * 100
    shown = printed(["set", "measure", long], width, cell="y" * 90)
    assert max(map(len, shown.splitlines())) <= width
    assert (shown.count("x"), shown.count("y")) == (101, 180)  # one x is of SimLex


def test_only_names():
    assert heads(printed(["set", "measure"], 80)) == [["set", "measure"]]
