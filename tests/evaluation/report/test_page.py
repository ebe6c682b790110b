from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from wordstill.errors import UsageError
from wordstill.evaluation import evaluate
from wordstill.evaluation.comparison import neighbor_table
from wordstill.evaluation.report import plots
from wordstill.evaluation.report.page import Exhibits, html
from wordstill.evaluation.report.relation_points import RELATIONS, relation_points
from wordstill.evaluation.studies import Curve
from wordstill.vectors import WordVectors

GENDER = [word for pair in RELATIONS["gender"] for word in pair]
VOID = {"meta", "circle", "rect", "line", "polyline", "br"}


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order, and on anything that is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & {name for name, _ in attrs}
        assert tag not in ("script", "link", "img")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture
def tables(random_vectors):
    return {"one": random_vectors(GENDER, 0), "two & <b>": random_vectors(GENDER, 1)}


@pytest.fixture
def sets(tmp_path):
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    pairs.write_text("".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(RELATIONS["gender"])))
    lines = [f"{a} {b} {c} {d}" for a, b in RELATIONS["gender"] for c, d in RELATIONS["gender"] if a != c]
    questions.write_text(": gram1\n" + "\n".join(lines[:40]) + "\n: family\n" + "\n".join(lines[40:]))
    return [str(pairs), f"analogy:{questions}"]


def test_the_page_is_whole_and_holds_everything(tables, sets):
    page = html(evaluate(tables, sets), Exhibits.of(tables, ["king", "nowhere"]))
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    for heading in ("Scores", "Bars", "Coverage", "Differences", "Sections", "Nearest", "Relations", "To paste"):
        assert f"<h2>{heading}" in page
    assert "two &amp; &lt;b&gt;" in page and "<b>" not in page
    assert "\\begin{tabular}" in page
    for drawing in re.findall(r"<svg.*?</svg>", page):
        ElementTree.fromstring(drawing)


def test_the_best_score_is_strong(tables, sets):
    page = html(evaluate(tables, sets))
    assert page.count("<strong>") == len(sets)


def test_the_same_evaluation_gives_the_same_page(tables, sets):
    pages = {html(evaluate(tables, sets), Exhibits.of(tables)) for _ in range(2)}
    assert len(pages) == 1


def test_published_rows_stand_beside_ours(tables, data_folder):
    words = {"cord": 0, "smile": 0, "rooster": 0, "voyage": 0, "noon": 0, "string": 0, "fruit": 0, "furnace": 0}
    vectors = WordVectors(list(words), np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    page = html(evaluate(vectors, ["rg65"]))
    assert "Context-to-Vec, retrofitted" in page and "85.1" in page and "Table 3" in page
    assert "Context-to-Vec" not in html(evaluate(vectors, ["rg65"]), published=False)


def test_a_page_without_any_score(random_vectors, sets):
    page = html(evaluate(random_vectors("xy"), sets))
    assert "no score: none of the 14 pairs is covered" in page
    assert "<h2>Bars" not in page


def test_neighbours(tables):
    found = neighbor_table(tables, ["King", "nowhere"], topn=2)
    assert list(found) == ["King"]
    assert found["King"]["one"] == tables["one"].most_similar("king", topn=2)
    half = {"has": tables["one"], "has not": tables["one"].subset(["man", "woman"])}
    assert neighbor_table(half, ["king"])["king"]["has not"] is None


def test_principal_components_keep_parallel_pairs_parallel():
    random = np.random.default_rng(0)
    starts, step = 0.1 * random.normal(size=(len(GENDER) // 2, 30)), random.normal(size=30)
    matrix = np.empty((len(GENDER), 30))
    matrix[::2], matrix[1::2] = 1 + starts, 1 + starts + step
    vectors = WordVectors(GENDER, matrix.astype(np.float32))
    pairs = relation_points(vectors, RELATIONS["gender"])
    angles = [math.atan2(second.y - first.y, second.x - first.x) for first, second in pairs]
    assert len(pairs) == len(RELATIONS["gender"])
    assert np.ptp(np.cos(angles)) < 0.1
    assert [first.label for first, _ in pairs] == [first for first, _ in RELATIONS["gender"]]


def test_t_sne_is_seeded(tables):
    once, again = (relation_points(tables["one"], RELATIONS["gender"], "tsne", seed=3) for _ in range(2))
    assert once == again
    assert len(once) == len(RELATIONS["gender"])


def test_relations_that_a_table_lacks(random_vectors):
    assert relation_points(random_vectors(["man", "woman", "king", "queen"]), RELATIONS["gender"]) == []
    with pytest.raises(UsageError, match="projection"):
        relation_points(random_vectors("ab"), RELATIONS["gender"], "umap")


def test_drawings_of_odd_values():
    drawings = [
        plots.bars([plots.Bar("a<b", -5.0, -9.0, 3.0), plots.Bar("none", 0.0)], [plots.color(0)]),
        plots.curves([Curve("only", ((1000.0, 5.0), (2000.0, 5.0)))]),
        plots.scatter([(plots.Point("a", 0, 0), plots.Point("b", 0, 0))]),
    ]
    for drawing in drawings:
        ElementTree.fromstring(drawing)
        assert "nan" not in drawing and "inf" not in drawing


@pytest.mark.parametrize(("words", "text"), [(950, "950"), (27e6, "27 M"), (4e5, "400 k"), (1.28e9, "1.28 G")])
def test_sizes_of_text(words, text):
    assert plots.size_text(words) == text


def test_labels_of_a_curve_are_round_and_apart():
    sizes = (1e6, 5e6, 25e6, 31.7e6)
    drawn = plots.curves([Curve("still", tuple(zip(sizes, (50.3, 52.9, 53.7, 50.4))))])
    labels = re.findall(r">([^<>]+)</text>", drawn)
    assert labels == ["50", "52", "54", "1 M", "5 M", "25 M", "still"]


def test_intervals_below_zero_stay_right_of_the_labels():
    drawn = plots.bars([plots.Bar("a table", 2.0, -40.0, 44.0)], [plots.color(0)])
    label_end = float(re.search(r'<text x="([\d.]+)"', drawn)[1])
    starts = [float(x) for x in re.findall(r'<line x1="([-\d.]+)"', drawn)]
    assert min(starts) > label_end
