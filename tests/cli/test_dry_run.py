from __future__ import annotations

import pytest

from wordstill import estimate


@pytest.fixture
def dry(cli, teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "PROBE_SECONDS", 0.2)
    monkeypatch.chdir(tmp_path)

    def run(source: object, *more: object) -> object:
        before = sorted(tmp_path.iterdir())
        done = cli("distill", source, "--out", "vectors", "--teacher", teacher, "--dry-run", *more)
        assert sorted(tmp_path.iterdir()) == before
        return done

    return run


def test_recipe_time_memory_and_disk(dry, text):
    done = dry(text, "--method", "ase", "--seed", "7")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    for fact in ("name=ase.v1, layer=3", "seed 7", "prepare the text", "in all", "at the peak", "on disk"):
        assert fact in shown
    assert "looked at" not in shown
    assert done.err == ""


def test_a_large_text_is_sampled_and_said_so(dry, more_text, tmp_path, monkeypatch):
    (tmp_path / "large.txt").write_text(20 * more_text.read_text())
    monkeypatch.setattr(estimate, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(estimate, "SAMPLE_BYTES", 100_000)
    done = dry("large.txt")
    assert done.code == 0, done.err
    assert "of it was looked at" in done.out
    assert "known when the text is prepared" in done.out


def test_errors_are_those_of_the_run(dry, text):
    assert dry(text, "--method", "stil").code == 2
    assert dry(text, "--method", "still:dim=1000").code == 2
    assert dry("nowhere.txt").code == 1


def test_an_existing_output_is_mentioned(dry, text, tmp_path):
    (tmp_path / "vectors").mkdir()
    assert "warning: vectors exists; the run will need --overwrite." in dry(text, "--method", "ase").err
