"""The page of results: means over seeds, their deviation, coverage, and figures that are not there."""

import pytest

from experiments.pages import quality


def figure(value, used=3, total=4, **more):
    return {"value": value, "used": used, "total": total, **more}


def row(label, seed, **figures):
    provenance = {"teacher": {"name": "t", "dtype": "float32"}, "corpus": {"words": 1234}}
    return {"label": label, "seed": seed, "provenance": provenance, "scores": {"all": figures}}


def result(*rows):
    return {"title": "T", "command": "python x", "commit": "abc", "hardware": "a machine", "rows": list(rows)}


def lines_of(*files):
    return [line for line in quality.section(list(files)).splitlines() if line.startswith("| `")]


def test_seeds_of_one_method_are_one_row_with_mean_and_deviation():
    files = (result(row("m", 0, rg65=figure(10.0))), result(row("m", 1, rg65=figure(14.0))))
    (line,) = lines_of(*files)
    assert line.startswith("| `m` | 12.0 ± 2.8 (3) | – |")


def test_one_seed_has_no_deviation_but_a_trained_task_brings_its_own():
    files = result(row("m", None, rg65=figure(10.0)), row("n", None, rg65=figure(9.0, deviation=0.52)))
    first, second = lines_of(files)
    assert first.startswith("| `m` | 10.0 (3) |")
    assert second.startswith("| `n` | 9.0 ± 0.5 (3) |")


def test_seeds_may_cover_different_items():
    files = result(row("m", 0, rg65=figure(10.0, used=2)), row("m", 1, rg65=figure(10.0)))
    (line,) = lines_of(files)
    assert line.startswith("| `m` | 10.0 ± 0.0 (2–3) |")


def test_mean_needs_every_column():
    sts = {f"sts{year}": figure(float(year)) for year in range(12, 17)}
    whole, part = lines_of(result(row("m", 0, **sts), row("n", 0, sts12=figure(1.0))))
    assert whole.endswith("| **14.0** |")
    assert part.endswith("| **–** |")


def test_halves_of_analogies_and_shares_of_words():
    google = figure(50.0, parts={"semantic": 40.0, "syntactic": 60.0})
    analogies, probes = lines_of(result(row("m", 0, google=google, **{"cr:probe": figure(70.0)})))
    assert analogies.startswith("| `m` | 50.0 (3) | 40.0 | 60.0 | – |")
    assert probes.startswith("| `m` | 70.0 (75 %) |")


def test_labels_say_what_the_teacher_read_if_that_is_not_the_default():
    rows = [row(label, 0, rg65=figure(1.0)) for label in ("m", "m", "parent", "decontextual")]
    rows[0]["provenance"]["batches"] = {"unit": "sentence"}
    for each in rows[1:]:
        each["provenance"]["batches"] = {"unit": "paragraph"}
    lines = lines_of(result(*rows))
    assert [line.split("`")[1] for line in lines] == ["m", "m, paragraphs", "parent", "decontextual"]


def test_rows_say_what_they_were_made_from():
    rows = [row("m", None, rg65=figure(1.0)), row("skipgram", 0), row("given", None)]
    del rows[1]["provenance"]["teacher"]
    rows[2]["provenance"] = {}
    text = quality.made(result(*rows))
    assert text == (
        "`m`: teacher t (float32), 1,234 words and punctuation marks; "
        "`skipgram` (seed 0): 1,234 words and punctuation marks; `given`; on a machine; commit abc."
    )


def test_section_says_how_rows_were_made():
    page = quality.section([result(row("m", 0, rg65=figure(1.0)), row("m", 1, rg65=figure(1.0)))])
    assert "`m` (seeds 0, 1): teacher t (float32), 1,234 words and punctuation marks" in page
    assert "on a machine; commit abc." in page
    assert "    python x" in page


def test_figures_of_one_seed_may_come_from_two_files():
    first = {f"sts{year}": figure(float(year)) for year in range(12, 16)}
    files = result(row("m", 0, **first)), result(row("m", 0, sts16=figure(16.0)))
    (line,) = lines_of(*files)
    assert line.endswith("| **14.0** |")


def test_a_figure_that_two_files_have_is_refused():
    files = result(row("m", 0, rg65=figure(10.0))), result(row("m", 0, rg65=figure(12.0)))
    with pytest.raises(SystemExit, match="m, seed 0: two files have rg65; keep one"):
        lines_of(*files)


def retrofitted(label, tried=(), seconds=None):
    score = {"value": 50.0, "used": 3, "total": 4, "parts": {"semantic": 40.0, "syntactic": 60.0}}
    return {
        "label": label,
        "seed": None,
        "seconds": seconds,
        "beside": [label],
        "provenance": {},
        "tried": list(tried),
        "halves": {"development": 61.26, "other": 60.04},
        "scores": {"all": {"google": score, "rg65": score}},
    }


def test_page_has_figures_and_the_settings_that_did_best_on_the_development_half():
    tried = [
        {"settings": {"alpha": 0.5, "beta": None, "nu": 100.0}, "development": 60.0},
        {"settings": {"alpha": 0.25, "beta": 0.75, "nu": 100.0}, "development": 61.26},
    ]
    rows = [retrofitted("still"), retrofitted("still, PPDB", tried, 1.5)]
    content = {"title": "T", "command": "python x", "commit": "abc", "hardware": "h", "rows": rows}
    page = quality.retrofit_section(content)
    assert page.startswith("### T\n")
    assert "| `still, PPDB` | 50.0 (3) | 40.0 | 60.0 |" in page
    assert "| `still` |  |  | 61.3 | 60.0 |" in page
    assert "| `still, PPDB` | alpha 0.25, beta 0.75 | 2 | 61.3 | 60.0 |" in page
    assert "1.5 s for still, PPDB; commit abc." in page
