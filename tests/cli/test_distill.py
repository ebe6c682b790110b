from __future__ import annotations

import re
import sys

import pytest

from wordstill import WordVectors
from wordstill.corpus import Corpus
from wordstill.formats.card import content_words


def test_text_alone_does_the_sensible_thing(cli, text, teacher, tmp_path):
    out = tmp_path / "vectors"
    done = cli("distill", text, "--out", out, "--teacher", teacher)
    assert done.code == 0, done.err
    table = WordVectors.load(out)
    assert table.provenance["method"]["name"].startswith("still")
    assert f"{out}  {len(table):,} words x {table.dim}" in done.out
    assert "Nearest words:" in done.out
    assert f"wordstill evaluate {out}" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]


def test_the_next_command_works(cli, text, teacher, tmp_path):
    done = cli("distill", text, "--out", tmp_path / "my vectors", "--teacher", teacher, "--method", "ase")
    command = re.search(r"wordstill (similar) '(.*)' (\S+)", done.out)
    assert cli(*command.groups()).code == 0


def test_the_epoch_that_development_pairs_keep_is_shown(cli, store, teacher, tmp_path):
    words = ["babar", "bador", "bafir", "bagur"]
    pairs = tmp_path / "pairs.tsv"
    scored = [(one, other) for one in words for other in words if one < other]
    pairs.write_text("".join(f"{one}\t{other}\t{number}\n" for number, (one, other) in enumerate(scored)))
    done = cli(
        "distill", store, "--out", tmp_path / "v", "--teacher", teacher, "-m", "x2static", "--epochs", "2",
        "--development", pairs,
    )  # fmt: skip
    assert done.code == 0, done.err
    chosen = WordVectors.load(tmp_path / "v").provenance["development"]
    assert f"kept epoch {chosen['kept_epoch']}, {chosen['score']:.1f} on the development pairs" in done.out


def test_several_methods_and_every_setting(cli, store, teacher, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("neverseen\nbabar dodor\n")
    out = tmp_path / "vectors"
    done = cli(
        "distill", store, "--out", out, "--teacher", teacher, "--device", "cpu", "--dtype", "float32",
        "--method", "ase:layer=0-1,subword=max", "-m", "decontextual", "--max-length", "32",
        "--budget", "500", "--min-count", "30", "--max-vocab", "20", "--key", "none", "--words", words,
        "--seed", "3",
    )  # fmt: skip
    assert done.code == 0, done.err
    names = {path.name for path in out.iterdir()}
    assert names == {"ase-subword-max-layer-0", "ase-subword-max-layer-1", "decontextual"}
    table = WordVectors.load(out / "decontextual")
    assert len(table) == 22 and {"neverseen", "babar dodor"} <= set(table)
    facts = table.provenance
    assert facts["seed"] == 3
    assert facts["batches"] == {"budget": 500, "limit": 32, "unit": "sentence", "packed": True}
    assert facts["vocabulary"]["key"] == "none"
    assert facts["teacher"]["dtype"] == "float32"


@pytest.mark.parametrize("dtype", ["int8", "fp8"])
def test_an_unknown_precision(dtype, cli, store, teacher, tmp_path):
    done = cli("distill", store, "--out", tmp_path / "v", "--teacher", teacher, "--dtype", dtype)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: Unknown dtype '{dtype}'. Known: auto, bfloat16, float16, float32.\n"
    assert list(tmp_path.iterdir()) == []


def test_text_options_reach_the_preparation(cli, teacher, text, tmp_path):
    out = tmp_path / "vectors"
    options = ("--sentences-per-line", "--filter", "sentences-10-40", "--errors", "replace")
    broken = tmp_path / "broken.txt"
    broken.write_bytes(text.read_bytes() + b"\xff\n")
    assert cli("distill", broken, "--out", out, "--teacher", teacher, "-m", "ase", *options).code == 0
    settings = WordVectors.load(out).provenance["corpus"]["settings"]
    assert settings["filter"] == "sentences-10-40" and settings["sentences_per_line"]


def test_cut_sentences_are_reported(cli, teacher, text, tmp_path):
    long = tmp_path / "long.txt"
    long.write_text(text.read_text() + "babar dodor " * 60 + "\n")
    done = cli("distill", long, "--out", tmp_path / "vectors", "--teacher", teacher, "-m", "ase")
    assert done.code == 0
    assert "warning: 1 sentence was longer than 128 subwords and truncated." in done.err


def test_progress_shows_rate_share_and_time_left(cli, store, teacher, tmp_path):
    done = cli("distill", store, "--out", tmp_path / "v", "--teacher", teacher, "-m", "ase", "--progress")
    assert re.search(r"text: 100%.* words/s\]", done.err)
    quiet = cli("distill", store, "--out", tmp_path / "w", "--teacher", teacher, "-m", "ase")
    assert quiet.err == ""


def test_a_profile_has_every_part_and_the_whole(cli, store, teacher, tmp_path):
    methods = ("--method", "ase", "--method", "x2static")
    result = cli("distill", store, "--teacher", teacher, *methods, "--profile", "--out", tmp_path / "out")
    _, _, shown = result.out.partition("Where the time went:")
    lines = shown.partition("\n\n")[0].strip().splitlines()
    shares = {line.strip().partition("  ")[0]: float(line.split()[-1].rstrip("%")) for line in lines}
    assert {"loading the teacher", "waiting for batches", "teacher", "ase.v1", "x2static.v1"} <= shares.keys()
    assert {"importing torch", "finishing", "writing the tables", "all else"} <= shares.keys()
    assert sum(shares.values()) == pytest.approx(100, abs=0.1 * len(shares))
    assert re.search(r"  loading +importing transformers \d+\.\d s, .*, first batches \d+\.\d s\n", shown)


def test_standard_input(cli, text, store, teacher, tmp_path, monkeypatch):
    with text.open() as handle:
        monkeypatch.setattr(sys, "stdin", handle)
        assert cli("distill", "-", "--out", tmp_path / "v", "--teacher", teacher, "-m", "ase").code == 0
    expected = Corpus.open(store)
    assert WordVectors.load(tmp_path / "v").provenance["corpus"]["hash"] == expected.hash


def test_samples_are_frequent_content_words(vectors):
    table = WordVectors.load(vectors / "ase")
    samples = content_words(table)
    assert len(samples) == 5
    assert all(word.isalpha() and table.index(word) >= len(table) // 10 for word in samples)


@pytest.mark.parametrize("words", [["."], [",", ".", "of"]])
def test_tables_without_content_words_have_no_samples(words):
    import numpy as np

    assert content_words(WordVectors(words, np.ones((len(words), 2), dtype=np.float32))) == []


def test_job_scripts_may_repeat_a_finished_run(cli, text, teacher, tmp_path):
    command = ("distill", text, "--teacher", teacher, "--out", tmp_path / "out", "--resume")
    assert "Distilled 1 table" in cli(*command).out
    again = cli(*command)
    assert again.code == 0 and "is complete already" in again.err
    assert "Found 1 table" in again.out
    assert cli(*command[:-1]).code == 2
