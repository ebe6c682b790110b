from __future__ import annotations

from wordstill.corpus import Corpus


def test_counts_hash_rate_and_the_next_command(cli, text, tmp_path):
    done = cli("prepare", text, "--out", tmp_path / "store")
    assert done.code == 0 and not done.err
    corpus = Corpus.open(tmp_path / "store", verify=True)
    assert corpus.hash in done.out
    assert f"{corpus.n_words:,}, including punctuation marks" in done.out
    assert "words/s" in done.out
    assert f"wordstill distill {tmp_path / 'store'} --out vectors" in done.out


def test_options_reach_the_library(cli, tmp_path):
    source = tmp_path / "text.jsonl"
    source.write_bytes('{"body": "Ein Haus. Café!"}\n{"body": "kurz"}\n'.encode("latin-1"))
    done = cli(
        "prepare", source, "--out", tmp_path / "store", "--format", "jsonl", "--field", "body",
        "--encoding", "latin-1", "--splitter-language", "de", "--filter", "none", "--workers", "1",
    )  # fmt: skip
    assert done.code == 0
    corpus = Corpus.open(tmp_path / "store")
    assert corpus.text(0) == "Ein Haus. Café!"
    assert corpus.meta["settings"]["splitter"] == "sentencex:de"


def test_what_a_filter_drops_is_said(cli, text, tmp_path):
    text_with_rest = tmp_path / "text.txt"
    text_with_rest.write_text(text.read_text() + "Too short.\n")
    done = cli("prepare", text_with_rest, "--out", tmp_path / "store", "--filter", "x2static")
    assert "dropped by filter  1 paragraph\n" in done.out


def test_standard_input(start, text, tmp_path):
    with text.open() as handle:
        process = start("prepare", "-", "--out", tmp_path / "store", stdin=handle)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert len(Corpus.open(tmp_path / "store")) == 120


def test_overwrite(cli, text, tmp_path):
    out = tmp_path / "store"
    assert cli("prepare", text, "--out", out).code == 0
    assert cli("prepare", text, "--out", out).code == 2
    assert cli("prepare", text, "--out", out, "--overwrite").code == 0
