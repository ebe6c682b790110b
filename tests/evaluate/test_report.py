from __future__ import annotations

import io

import pytest

from wordstill.evaluate import Evaluation, Protocol, Score
from wordstill.evaluate.report import markdown, notes, table
from wordstill.evaluate.score import Coverage
from wordstill.evaluate.statistics import Interval
from wordstill.evaluate.suite import EIGHT


def score(name: str, value: float | None, used: int = 60) -> Score:
    interval = None if value is None else Interval(value - 2.04, value + 3)
    problem = "none of the 65 pairs is covered" if value is None else None
    return Score(
        "similarity",
        name,
        "spearman",
        value,
        interval,
        Coverage(used, 65),
        used,
        Protocol("p"),
        "s",
        "0",
        problem,
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
    assert "no figure: none of the 65 pairs is covered" in shown
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
    assert "35.0" in last
    assert "–" in last


def test_uneven_coverage_is_said():
    even = Evaluation({"a": {"men": score("men", 1.0)}, "b": {"men": score("men", 2.0)}}, Protocol("p"), 0)
    uneven = Evaluation(
        {"a": {"men": score("men", 1.0)}, "b": {"men": score("men", 2.0, 3)}}, Protocol("p"), 0
    )
    assert "not over the same pairs" not in notes(even)
    assert "not over the same pairs" in notes(uneven)


def test_odd_names_do_not_break_a_table():
    odd = Evaluation({"a|b\n[red]": {"my|set.tsv": score("my|set.tsv", 5.0)}}, Protocol("p"), 0)
    assert markdown(odd).splitlines()[0] == "| set | measure | a\\|b [red] |"
    assert "| my\\|set.tsv |" in markdown(odd)
    assert "[red]" in printed(odd)
    assert "my|set.tsv" in printed(odd)
