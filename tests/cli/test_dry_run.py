from __future__ import annotations

import re
from functools import partial

import pytest

from wordstill.distillation import estimate

PAIRS = [("babar", "bador"), ("babar", "bafir"), ("bador", "bagur"), ("bafir", "baker"), ("bagur", "balor")]
PAIRS += [("baker", "balor")]


@pytest.fixture
def dry(cli, teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "dry_run", partial(estimate.dry_run, probe_bytes=100_000, probe_seconds=0.2))
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
    assert "at least" not in shown
    assert done.err == ""


def test_of_a_store_words_are_exact(dry, cli, text, tmp_path):
    assert cli("prepare", text, "--out", tmp_path / "store").code == 0
    done = dry("store", "--method", "ase")
    assert done.code == 0, done.err
    assert "words get a vector" in done.out and "check the prepared text" in done.out
    assert "at least" not in done.out


def test_of_long_text_the_beginning_is_probed(dry, more_text, tmp_path):
    (tmp_path / "long.txt").write_text(20 * more_text.read_text())
    done = dry("long.txt")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert re.search(r"words at least \d+ words \(from the first \d+ kB\)", shown)
    assert "scaled from" in shown and "were prepared" in shown
    assert "known when the text is prepared" in shown


def test_errors_are_those_of_the_run(dry, text):
    assert dry(text, "--method", "stil").code == 2
    assert dry(text, "--method", "still:dim=1000").code == 2
    assert dry("nowhere.txt").code == 1


def test_a_development_set_is_checked_and_shown(dry, text, tmp_path):
    learner = ("--method", "x2static:subsample=0", "--epochs", "2")
    assert "There is no file" in dry(text, *learner, "--development", "nowhere.tsv").err
    (tmp_path / "pairs.tsv").write_text("\n".join(f"{one}\t{two}\t{n}" for n, (one, two) in enumerate(PAIRS)))
    assert "only one. Set --epochs" in dry(text, *learner[:2], "--development", "pairs.tsv").err
    done = dry(text, *learner, "--development", "pairs.tsv", "--patience", "3")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "development file pairs.tsv sha256" in shown and "patience 3" in shown
    (tmp_path / "strange.tsv").write_text("stone\trock\t1\nsong\ttune\t2\n")
    done = dry(text, *learner, "--development", "strange.tsv")
    assert done.code == 1 and "cannot judge" in done.err


def test_an_existing_output_is_mentioned(dry, text, tmp_path):
    (tmp_path / "vectors").mkdir()
    assert "warning: vectors exists; the run will need --overwrite." in dry(text, "--method", "ase").err
