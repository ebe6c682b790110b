"""Texts for an estimate."""

from __future__ import annotations

import pytest

from wordstill import text_sample
from wordstill.corpus import PrepareConfig
from wordstill.text_sample import open_sample

LINES = [f"Line {number} has a few words." for number in range(12_000)]


@pytest.fixture
def limits(monkeypatch):
    """What counts as large, and how much of it is looked at."""
    monkeypatch.setattr(text_sample, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(text_sample, "SAMPLE_BYTES", 100_000)


@pytest.mark.usefixtures("limits")
def test_of_a_large_text_a_share_is_prepared_and_the_rest_extrapolated(tmp_path):
    (tmp_path / "large.txt").write_text("\n".join(LINES))
    found = open_sample([tmp_path / "large.txt"], PrepareConfig(), tmp_path)
    assert 0.2 < found.share < 0.6
    assert len(found.corpus) == pytest.approx(found.share * len(LINES), rel=0.05)
    files = sum(file["bytes"] for file in found.corpus.meta["files"].values())
    assert found.store == pytest.approx(files / found.share, rel=0.01)


@pytest.mark.usefixtures("limits")
def test_small_texts_and_stores_are_taken_whole(tmp_path):
    (tmp_path / "small.txt").write_text("\n".join(LINES[:100]))
    found = open_sample([tmp_path / "small.txt"], PrepareConfig(), tmp_path)
    assert (found.share, len(found.corpus)) == (1.0, 100)
    again = open_sample([found.corpus.path], PrepareConfig(), tmp_path)
    assert (again.corpus.hash, again.share, again.store, again.seconds) == (found.corpus.hash, 1.0, 0, 0.0)


@pytest.mark.usefixtures("limits")
def test_sentences_per_line_survive_sampling(tmp_path):
    groups = ["\n".join(LINES[start : start + 4]) for start in range(0, len(LINES), 4)]
    (tmp_path / "grouped.txt").write_text("\n\n".join(groups))
    found = open_sample([tmp_path / "grouped.txt"], PrepareConfig(sentences_per_line=True), tmp_path)
    assert found.share < 1
    assert len(found.corpus.sentences) - 1 == pytest.approx(4 * len(found.corpus), rel=0.01)
