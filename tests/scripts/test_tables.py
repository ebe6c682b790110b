"""The page of results: means over seeds, their deviation, coverage, and figures that are not there."""

import importlib
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def tables():
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("tables")
    finally:
        sys.path.remove(str(SCRIPTS))


def figure(value, used=3, total=4, **more):
    return {"value": value, "used": used, "total": total, **more}


def row(label, seed, **figures):
    provenance = {"teacher": {"name": "t", "dtype": "float32"}, "corpus": {"words": 1234}}
    return {"label": label, "seed": seed, "provenance": provenance, "scores": {"all": figures}}


def result(*rows):
    return {"title": "T", "command": "python x", "commit": "abc", "hardware": "a machine", "rows": list(rows)}


def lines_of(tables, *files):
    return [line for line in tables.section(list(files)).splitlines() if line.startswith("| `")]


def test_seeds_of_one_method_are_one_row_with_mean_and_deviation(tables):
    files = (result(row("m", 0, rg65=figure(10.0))), result(row("m", 1, rg65=figure(14.0))))
    (line,) = lines_of(tables, *files)
    assert line.startswith("| `m` | 12.0 ± 2.8 (3) | – |")


def test_one_seed_has_no_deviation_but_a_trained_task_brings_its_own(tables):
    files = result(row("m", None, rg65=figure(10.0)), row("n", None, rg65=figure(9.0, deviation=0.52)))
    first, second = lines_of(tables, files)
    assert first.startswith("| `m` | 10.0 (3) |")
    assert second.startswith("| `n` | 9.0 ± 0.5 (3) |")


def test_seeds_may_cover_different_items(tables):
    files = result(row("m", 0, rg65=figure(10.0, used=2)), row("m", 1, rg65=figure(10.0)))
    (line,) = lines_of(tables, files)
    assert line.startswith("| `m` | 10.0 ± 0.0 (2–3) |")


def test_mean_needs_every_column(tables):
    sts = {f"sts{year}": figure(float(year)) for year in range(12, 17)}
    whole, part = lines_of(tables, result(row("m", 0, **sts), row("n", 0, sts12=figure(1.0))))
    assert whole.endswith("| **14.0** |")
    assert part.endswith("| **–** |")


def test_halves_of_analogies_and_shares_of_words(tables):
    google = figure(50.0, parts={"semantic": 40.0, "syntactic": 60.0})
    analogies, probes = lines_of(tables, result(row("m", 0, google=google, **{"cr:probe": figure(70.0)})))
    assert analogies.startswith("| `m` | 50.0 (3) | 40.0 | 60.0 | – |")
    assert probes.startswith("| `m` | 70.0 (75 %) |")


def test_what_the_teacher_read_is_told_where_it_is_not_the_default(tables):
    rows = [row(label, 0, rg65=figure(1.0)) for label in ("m", "m", "parent", "decontextual")]
    rows[0]["provenance"]["batches"] = {"unit": "sentence"}
    for each in rows[1:]:
        each["provenance"]["batches"] = {"unit": "paragraph"}
    lines = lines_of(tables, result(*rows))
    assert [line.split("`")[1] for line in lines] == ["m", "m, paragraphs", "parent", "decontextual"]


def test_what_rows_were_made_from_is_told_of_those_that_were(tables):
    rows = [row("m", None, rg65=figure(1.0)), row("skipgram", 0), row("given", None)]
    del rows[1]["provenance"]["teacher"]
    rows[2]["provenance"] = {}
    text = tables.made(result(*rows))
    assert text == (
        "`m`: teacher t (float32), 1,234 words and punctuation marks; "
        "`skipgram` (seed 0): 1,234 words and punctuation marks; `given`; on a machine; commit abc."
    )


def test_section_says_how_rows_were_made(tables):
    page = tables.section([result(row("m", 0, rg65=figure(1.0)), row("m", 1, rg65=figure(1.0)))])
    assert "`m` (seeds 0, 1): teacher t (float32), 1,234 words and punctuation marks" in page
    assert "on a machine; commit abc." in page
    assert "    python x" in page


def test_figures_of_one_seed_may_come_from_two_files(tables):
    first = {f"sts{year}": figure(float(year)) for year in range(12, 16)}
    files = result(row("m", 0, **first)), result(row("m", 0, sts16=figure(16.0)))
    (line,) = lines_of(tables, *files)
    assert line.endswith("| **14.0** |")


def test_a_figure_that_two_files_have_is_refused(tables):
    files = result(row("m", 0, rg65=figure(10.0))), result(row("m", 0, rg65=figure(12.0)))
    with pytest.raises(SystemExit, match="m, seed 0: two files have rg65; keep one"):
        lines_of(tables, *files)
