"""What notebooks show: tables, evaluations, comparisons, and the page in a frame."""

import re
from html import escape
from itertools import pairwise

import numpy as np
import pytest

from wordstill import WordVectors, evaluate
from wordstill.errors import MissingExtra
from wordstill.evaluation.comparison import SideBySide, agreement


def test_a_table_shows_its_facts_and_first_words(tables):
    shown = tables["first"]._repr_html_()
    assert "<b>40</b> words" in shown
    assert "<td>river</td><td>400</td>" in shown
    assert "<b>test</b> method" in shown


def test_markup_in_a_word_is_text():
    shown = WordVectors(["<script>"], np.ones((1, 2), dtype=np.float32))._repr_html_()
    assert "<td>&lt;script&gt;</td>" in shown
    assert "<script>" not in shown


def test_an_empty_table_is_shown_too():
    assert "<b>0</b> words" in WordVectors([], np.empty((0, 3), dtype=np.float32))._repr_html_()


def test_evaluations_and_comparisons_show_scores(tables, tmp_path):
    words = tables["first"].words[:24]
    rows = [f"{a}\t{b}\t{number % 7}" for number, (a, b) in enumerate(pairwise(words))]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    result = evaluate(tables, [tmp_path / "pairs.tsv"])
    assert "<th" in result._repr_html_()
    assert "95 % bootstrap interval" in result._repr_html_()
    compared = SideBySide(("first", "second"), agreement(*tables.values(), topn=3), result)
    assert "first and second share" in compared._repr_html_()
    assert "difference" in compared._repr_html_()


def test_the_page_is_one_frame(tables):
    shown = tables["first"].explore()._repr_html_()
    assert re.fullmatch(r'<iframe srcdoc="[^"]+" title="wordstill" sandbox="allow-scripts[^"]*"[^<]*></iframe>', shown)


def test_the_page_is_a_widget_where_anywidget_is_installed(tables):
    pytest.importorskip("anywidget", reason="needs anywidget: pip install 'wordstill[notebook]'")
    shown = tables["first"].explore(height=300)
    shown.word = "river"
    assert shown.word == "river" and shown.words == []
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    state = shown._widget.get_state()
    assert (state["height"], state["word"]) == (300, "river")
    assert escape(state["page"]) in shown._repr_html_()


def test_without_anywidget_the_page_is_a_frame(tables, monkeypatch):
    monkeypatch.setattr("wordstill.explore.notebook.find_spec", lambda _: None)
    shown = tables["first"].explore()
    assert shown._repr_mimebundle_() == {}
    with pytest.raises(MissingExtra, match=r"wordstill\[notebook\]"):
        shown.word = "river"
