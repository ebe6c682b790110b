"""The tables of docs/retrofitting.md: figures, and how settings were chosen."""

import importlib
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
PAGE = "Before.\n<!-- results: begin -->\nold\n<!-- results: end -->\nAfter.\n"


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("tables")
    finally:
        sys.path.remove(str(SCRIPTS))


def row(label, tried=(), seconds=None):
    figure = {"value": 50.0, "used": 3, "total": 4, "parts": {"semantic": 40.0, "syntactic": 60.0}}
    return {
        "label": label,
        "seed": None,
        "seconds": seconds,
        "beside": [label],
        "provenance": {},
        "tried": list(tried),
        "halves": {"development": 61.26, "other": 60.04},
        "scores": {"all": {"google": figure, "rg65": figure}},
    }


def test_page_has_figures_and_the_settings_that_did_best_on_the_development_half(tables):
    tried = [
        {"settings": {"alpha": 0.5, "beta": None, "nu": 100.0}, "development": 60.0},
        {"settings": {"alpha": 0.25, "beta": 0.75, "nu": 100.0}, "development": 61.26},
    ]
    rows = [row("still"), row("still, PPDB", tried, 1.5)]
    content = {"title": "T", "command": "python x", "commit": "abc", "hardware": "h", "rows": rows}
    page = tables.retrofitting(PAGE, [content])
    assert page.startswith("Before.\n<!-- results: begin -->\n### T\n")
    assert page.endswith("\n<!-- results: end -->\nAfter.\n")
    assert "| `still, PPDB` | 50.0 (3) | 40.0 | 60.0 |" in page
    assert "| `still` |  |  | 61.3 | 60.0 |" in page
    assert "| `still, PPDB` | alpha 0.25, beta 0.75 | 2 | 61.3 | 60.0 |" in page
    assert "1.5 s for still, PPDB; commit abc." in page
    assert "old" not in page


def test_nothing_measured_leaves_nothing_between_the_marks(tables):
    assert tables.retrofitting(PAGE, []) == PAGE.replace("old", "")
