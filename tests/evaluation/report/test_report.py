from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest

from wordstill.evaluation import Evaluation, Protocol, Score
from wordstill.evaluation.data.catalog import EIGHT
from wordstill.evaluation.report.tables import (
    best_cells,
    difference_rows,
    difference_table,
    latex,
    markdown,
    notes,
    table,
)
from wordstill.evaluation.score import Coverage, ItemScores
from wordstill.evaluation.statistics import Interval


def score(name: str, value: float | None, used: int = 60) -> Score:
    interval = None if value is None else Interval(value - 2.04, value + 3)
    problem = "none of the 65 pairs is covered" if value is None else None
    return Score(
        "similarity", name, "spearman", value, interval, Coverage(used, 65), used, Protocol("p"), "s", "0", problem
    )


def printed(evaluation: Evaluation) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=200, color_system=None).print(table(evaluation))
    return out.getvalue()


SINGLE = Evaluation({"mine": {"rg65": score("rg65", 61.26), "men": score("men", None, 0)}}, Protocol("p"), 0)


@pytest.mark.parametrize("show", [markdown, printed])
def test_value_interval_and_coverage_stand_beside_each_other(show):
    shown = show(SINGLE)
    assert "61.3 [59.2, 64.3] 60/65" in shown
    assert "RG-65" in shown
    assert "no score: none of the 65 pairs is covered" in shown
    assert "A8" not in shown


@pytest.mark.parametrize("show", [markdown, printed])
@pytest.mark.parametrize("oov", ["skip", "mean", "zero"])
def test_the_rule_for_absent_words_stands_under_the_table(show, oov):
    protocol = Protocol("p", oov=oov)
    shown = show(Evaluation(SINGLE.scores, protocol, 0))
    body, sentence = " ".join(shown.split()), protocol.describe()
    assert sentence in body
    assert body.index(sentence) > body.index("60/65")


def test_markdown_is_a_whole_table():
    lines = markdown(SINGLE).splitlines()
    assert lines[0] == "| set | measure | mine |"
    assert lines[1] == "| --- | --- | ---: |"
    assert lines[2] == "| RG-65 | spearman | 61.3 [59.2, 64.3] 60/65 |"
    assert len(lines) == 6
    assert lines[4] == ""


@pytest.mark.parametrize("show", [markdown, printed])
def test_mean_of_the_eight(show):
    full = {name: score(name, 10.0 * number) for number, name in enumerate(EIGHT)}
    shown = show(Evaluation({"full": full, "part": {"rg65": full["rg65"]}}, Protocol("p"), 0))
    last = next(line for line in shown.splitlines() if "A8" in line)
    assert "35.0 480/520" in last
    assert "–" in last


def test_uneven_coverage_is_said():
    even = Evaluation({"a": {"men": score("men", 1.0)}, "b": {"men": score("men", 2.0)}}, Protocol("p"), 0)
    uneven = Evaluation({"a": {"men": score("men", 1.0)}, "b": {"men": score("men", 2.0, 3)}}, Protocol("p"), 0)
    assert "not over the same items" not in notes(even)
    assert "not over the same items" in notes(uneven)


def test_odd_names_do_not_break_a_table():
    odd = Evaluation({"a|b\n[red]": {"my|set.tsv": score("my|set.tsv", 5.0)}}, Protocol("p"), 0)
    assert markdown(odd).splitlines()[0] == "| set | measure | a\\|b [red] |"
    assert "| my\\|set.tsv |" in markdown(odd)
    assert "[red]" in printed(odd)
    assert "my|set.tsv" in printed(odd)


def test_latex_is_a_whole_table():
    one = {"rg65": score("rg65", 61.26), "men": score("men", None, 0)}
    made = latex(Evaluation({"a_b": one, "c&d": {"rg65": score("rg65", 70.0)}}, Protocol("p"), 0))
    assert made.count("{") == made.count("}")
    assert made.startswith("% Needs \\usepackage{booktabs}.\n\\begin{table}\n")
    assert r"set & measure & a\_b & c\&d \\" in made
    assert r"RG-65 & spearman & 61.3 [59.2, 64.3] 60/65 & \textbf{70.0} [68.0, 73.0] 60/65 \\" in made
    assert r"95 \% bootstrap" in made and r"\begin{tabular}{llrr}" in made
    assert "no score: none of the 65 pairs is covered & --" in made


@pytest.mark.parametrize("make", [markdown, latex])
def test_published_scores_have_a_column(make):
    made = make(SINGLE, published=True)
    assert "best published" in made and "85.1 Context-to-Vec, retrofitted" in made
    assert "best published" not in make(SINGLE)


def test_missing_sets_are_told():
    lacking = Evaluation(SINGLE.scores, Protocol("p"), 0, missing=("google", "msr"))
    assert "Not found, so not scored: google, msr (see wordstill data list)." in notes(lacking)


def test_trained_tasks_show_their_deviation():
    trained = replace(score("sst5:probe", 40.0), deviation=0.72)
    shown = markdown(Evaluation({"t": {"sst5:probe": trained}}, Protocol("p"), 0))
    assert "| SST-5 (probe) | spearman | 40.0 ± 0.7 [38.0, 43.0] 60/65 |" in shown


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([score("men", 1.0), score("men", 2.0)], {(1, 3)}),
        ([score("men", 2.0), score("men", 2.0), score("men", 1.0)], {(1, 2), (1, 3)}),
        ([score("men", 1.0), score("men", 2.0, 30)], set()),
        ([score("men", 2.0), score("men", None, 0), score("men", 1.0)], {(1, 2)}),
        ([score("men", 2.0), score("men", None, 0)], set()),
        ([score("men", 2.0)], set()),
        ([score("men", -2.0), score("men", -3.0)], {(1, 2)}),
    ],
)
def test_the_best_is_among_tables_that_cover_the_same_items(scores, best):
    evaluation = Evaluation({str(place): {"men": one} for place, one in enumerate(scores)}, Protocol("p"), 0)
    assert best_cells(evaluation) == best
    assert ("Bold" in notes(evaluation)) is bool(best)
    assert markdown(evaluation).count("**") == 2 * len(best)


@pytest.mark.parametrize(("used", "best"), [(991, {(1, 3)}), (989, set())])
def test_items_count_as_the_same_to_one_per_cent(used, best):
    scores = {
        name: {"men": score("men", value, covered)}
        for name, value, covered in (("a", 1.0, 1000), ("b", 2.0, used), ("c", 0.5, 995))
    }
    assert best_cells(Evaluation(scores, Protocol("p"), 0)) == best


def test_what_is_left_out_of_a_relation_counts():
    one, other = (replace(score("semeval2012", 30.0, used), task="relation", n=79) for used in (60, 50))
    assert not best_cells(Evaluation({"a": {"s": one}, "b": {"s": other}}, Protocol("p"), 0))
    trained, less = (replace(score("cr", 30.0, used), task="probe", n=79) for used in (60, 50))
    assert best_cells(Evaluation({"a": {"s": trained}, "b": {"s": less}}, Protocol("p"), 0))


def test_differences_from_the_first_table():
    random = np.random.default_rng(0)
    gold = random.normal(size=50)

    def scored(noise: float) -> Score:
        items = ItemScores("spearman", gold + noise * random.normal(size=50), gold)
        return replace(score("rg65", 50.0), items=items)

    scores = {"a": {"rg65": scored(0.1)}, "b": {"rg65": scored(3.0)}, "c": {"men": score("men", 3.0)}}
    evaluation = Evaluation(scores, Protocol("p"), 0)
    head, (name, found, none) = difference_rows(evaluation)
    assert head == ["set", "b", "c"]
    assert (name, none) == ("RG-65", "–")
    assert re.fullmatch(r"-\d+\.\d \[-\d+\.\d, -\d+\.\d\], p 0\.\d{3}, 50", found)
    assert difference_table(evaluation).title == "Differences from a, over the items of both tables"
    assert difference_table(SINGLE) is None


def test_notes_say_what_the_scores_of_trained_tasks_hold():
    plain = score("cr", 70.0)
    trained = Evaluation({"a": {"cr": replace(plain, task="probe")}}, Protocol("p"), 0)
    assert "coverage is of running words" in notes(trained)
    assert "running words" not in notes(Evaluation({"a": {"cr": plain}}, Protocol("p"), 0))
    sentences = Evaluation({"a": {"sts12": replace(plain, task="sts")}}, Protocol("p"), 0)
    for note in ("has a word of each", "Words without a vector are skipped in sentences"):
        assert note in notes(sentences)
