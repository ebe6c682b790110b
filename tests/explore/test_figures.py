"""Figures: what they show, and that they are what their suffix says."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.errors import DataError, UsageError
from wordstill.explore import figures
from wordstill.vectors.oov import UnknownWord

PNG = b"\x89PNG"


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def test_a_map_has_a_point_per_word_and_labels_that_do_not_overlap(tables):
    svg = figures.map_figure(tables["first"], layout="pca", labels=12)
    root = ElementTree.fromstring(svg)
    assert len([node for node in root.iter() if node.tag.endswith("circle")]) == 40
    boxes = [
        (float(node.get("x")), float(node.get("y")), len(node.text) * 6.6)
        for node in root.iter()
        if node.tag.endswith("text")
    ]
    assert 3 < len(boxes) <= 12
    for number, (x, y, width) in enumerate(boxes):
        for other_x, other_y, other_width in boxes[:number]:
            assert abs(y - other_y) > 14 or abs(x - other_x) >= (width + other_width) / 2


def test_words_of_a_list_are_labeled_first(tables):
    svg = figures.map_figure(tables["first"], layout="pca", lists=[["goat", "cow"]], labels=2)
    assert set(texts(svg)) <= {"goat", "cow"}


def test_markup_in_a_word_is_text(tables):
    svg = figures.heat_figure(tables["first"], ["river", "<script>alert(1)</script>"])
    assert "<script>" not in svg
    assert "<script>alert(1)</script>" in texts(svg)


def test_a_heat_map_shows_cosines(tables):
    shown = texts(figures.heat_figure(tables["first"], ["river", "lake"]))
    assert f"{tables['first'].similarity('river', 'lake'):.2f}" in shown
    with pytest.raises(UsageError, match="two words or more, got 1"):
        figures.heat_figure(tables["first"], ["river"])


def test_one_unknown_word_does_not_keep_the_others_from_being_drawn(tables):
    with pytest.warns(UserWarning, match="they are not in the table: mouse, rat"):
        shown = texts(figures.heat_figure(tables["first"], ["river", "mouse", "lake", "rat"]))
    assert {"river", "lake"} <= set(shown) and "mouse" not in shown
    with pytest.warns(UserWarning, match="mouse"):
        assert "king" in texts(figures.timeline_figure(tables["first"], ["king", "mouse"]))
    with pytest.raises(UnknownWord, match="mouse"):
        figures.heat_figure(tables["first"], ["river", "mouse"])


def test_a_curve_says_what_it_shows_and_over_how_many_items(tables, tmp_path):
    words = tables["first"].words[:8]
    pairs = tmp_path / "own.tsv"
    pairs.write_text("".join(f"{a}\t{b}\t{place}\n" for place, (a, b) in enumerate(combinations(words, 2))))
    sizes = {
        str(size): tables["first"].replace(provenance={"method": {"name": "ase"}, "corpus": {"words": size}})
        for size in (1000, 2000)
    }
    shown = texts(figures.curve_figure(sizes, str(pairs)))
    assert any("spearman × 100 over words of the text; 28 items that all cover" in text for text in shown)


def test_change_shows_the_words_that_are_shared_least(tables):
    shown = texts(figures.change_figure(tables, words=5))
    assert len([text for text in shown if text in tables["first"]]) == 5
    with pytest.raises(UsageError, match="two tables, got 1"):
        figures.change_figure({"first": tables["first"]})


def test_relations_by_name_and_by_pairs(tables):
    pairs = [("man", "woman"), ("son", "daughter"), ("father", "mother")]
    assert texts(figures.relation_figure(tables["first"], pairs))[:2] == ["man", "woman"]
    assert "king" in texts(figures.relation_figure(tables["first"], "gender"))
    with pytest.raises(DataError, match="needs 3 pairs or more; the table has 0 of these 8"):
        figures.relation_figure(tables["first"], "capital")


@pytest.mark.parametrize("projection", ["pca", "tsne"])
def test_a_relation_in_space_has_every_word_and_a_frame(tables, projection):
    svg = figures.relation_figure(tables["first"], "gender", projection, dimensions=3)
    root = ElementTree.fromstring(svg)
    shown = texts(svg)
    assert {"king", "queen"} <= set(shown)
    pairs = len(shown) // 2
    assert len([node for node in root.iter() if node.tag.endswith("line")]) == 12 + pairs
    width, height = map(float, root.get("viewBox").split()[2:])
    for node in root.iter():
        if node.tag.endswith("circle"):
            assert 0 < float(node.get("cx")) < width and 0 < float(node.get("cy")) < height
    with pytest.raises(UsageError, match="2 or 3 dimensions, got 4"):
        figures.relation_figure(tables["first"], "gender", dimensions=4)


def test_a_curve_of_a_training(tables):
    first = tables["first"]
    first = first.replace(provenance={"development": {"curve": [[1000, 10.0], [2000, 30.0]]}})
    assert "trained" in texts(figures.training_figure({"trained": first}))
    with pytest.raises(DataError, match="No table has two scores of its training: first"):
        figures.training_figure({"first": tables["first"]})


def test_files_are_what_their_suffix_says(tables, tmp_path):
    svg = figures.heat_figure(tables["first"], ["river", "lake"])
    figures.save_figure(svg, tmp_path / "figure.svg")
    assert ElementTree.parse(tmp_path / "figure.svg").getroot().get("width")
    with pytest.raises(UsageError, match=r"\.svg or \.png, got .*figure\.pdf"):
        figures.save_figure(svg, tmp_path / "figure.pdf")


def test_a_png_has_the_text(tables, tmp_path):
    pytest.importorskip("resvg_py")
    long, short = tmp_path / "long.png", tmp_path / "short.png"
    svg = figures.heat_figure(tables["first"], ["river", "lake"])
    try:
        figures.save_figure(svg, long)
    except UsageError as error:
        # No font was found on this machine.
        pytest.skip(str(error))
    figures.save_figure(svg.replace("river", "").replace("lake", ""), short)
    assert long.read_bytes()[:4] == PNG
    assert len(long.read_bytes()) > len(short.read_bytes())


def test_a_timeline_has_a_line_for_each_word_and_a_name_for_each_group(tables):
    shown = figures.timeline_figure(tables["first"], ["king", "dog"])
    assert shown.count("<polyline") == 2
    assert all(f">{name}</text>" in shown for name in ("rivers", "kings", "king", "dog"))
    with pytest.raises(UsageError, match="--words"):
        figures.timeline_figure(tables["first"], [])
    with pytest.raises(UsageError, match="--group"):
        figures.timeline_figure(tables["second"], ["king"])


def test_words_of_a_relation_do_not_cover_each_other():
    close = [("man", "woman"), ("boy", "girl"), ("son", "daughter"), ("he", "she")]
    words = [word for pair in close for word in pair]
    rows = np.random.default_rng(0).normal(size=(2, 6)).repeat(4, axis=0)
    rows[1::2] += 0.01
    shown = figures.relation_figure(WordVectors(words, rows.astype(np.float32)), close)
    boxes = [
        (float(x), float(y), word) for x, y, word in re.findall(r'<text x="([^"]+)" y="([^"]+)"[^>]*>(\w+)<', shown)
    ]
    for number, (x, y, word) in enumerate(boxes):
        for other_x, other_y, other in boxes[:number]:
            apart = abs(y - other_y) >= 9 or x >= other_x + 6 * len(other) or other_x >= x + 6 * len(word)
            assert apart, (word, other)
