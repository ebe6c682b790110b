"""What precision changes: a small text for real, what is said of a result, and data that are missing."""

import sys

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments.speed import precision


def made_up(dtype="bfloat16", least=0.9996, moved=0.1):
    """A result in which only `ase` moves, on one set."""
    exact = {"still": {"men": 70.0, "rg65": 60.0}, "ase": {"men": 50.0, "rg65": 40.0}}
    other = {"still": exact["still"], "ase": {"men": 50.0 - moved, "rg65": 40.0}}
    cosines = {"still": {"least": 0.99999, "mean": 1.0}, "ase": {"least": least, "mean": 0.9999}}
    return {
        "device": "a processor",
        "words": 12345,
        "vectors": {"still": 4321, "ase": 4320},
        "precisions": {
            "float32": {"words_per_second": 1000.4, "scores": exact},
            dtype: {"words_per_second": 4000.0, "scores": other, "cosine_to_float32": cosines},
        },
    }


@pytest.mark.parametrize("least, moved, cosine, scores", [
    (0.9996, 0.1, "met", "met"),
    (0.9995, -0.199, "met", "met"),
    (0.9994, 0.1, "NOT met", "met"),
    (0.9996, -0.21, "met", "NOT met"),
])  # fmt: skip
def test_bfloat16_is_held_to_the_targets(least, moved, cosine, scores):
    first, still, ase = precision.remarks(made_up(least=least, moved=moved))
    assert first == (
        "a processor; 12,345 words and punctuation marks; word vectors: 4,321 of `still` and 4,320 of `ase`."
    )
    assert still.startswith("`still` in bfloat16: minimum cosine 0.99999, target 0.9995: met; ")
    assert ase == (
        f"`ase` in bfloat16: minimum cosine {least:.5f}, target 0.9995: {cosine}; scores differ most on `men`, "
        f"by {abs(moved):.3f}, target 0.2: {scores}."
    )


def test_other_precisions_have_no_target():
    ase = precision.remarks(made_up("float16", least=0.998, moved=1.0))[-1]
    assert ase == "`ase` in float16: minimum cosine 0.99800; scores differ most on `men`, by 1.000."


def test_the_table_has_a_row_for_each_precision():
    assert precision.rows(made_up()) == [
        ("", "words/s", *("still: minimum cosine", "mean", "scores differ by"),
         *("ase: minimum cosine", "mean", "scores differ by")),
        ("float32", "1,000", "", "", "", "", "", ""),
        ("bfloat16", "4,000", "0.99999", "1.00000", "0.000", "0.99960", "0.99990", "0.100"),
    ]  # fmt: skip


def test_a_small_text_for_real(saved_teacher, short_text, tmp_path, monkeypatch, capsys):
    pairs = tmp_path / "pairs.tsv"
    judged = [
        "old\thouse\t3",
        "river\theat\t1",
        "small\tkeep\t2",
        "vapour\tocean\t4",
        "old\triver\t2.5",
        "heat\tsmall\t0.5",
    ]
    pairs.write_text("\n".join(judged), encoding="utf-8")
    saved = []
    monkeypatch.setattr(precision, "NAME", str(saved_teacher))
    monkeypatch.setattr(precision, "EIGHT", (str(pairs),))
    monkeypatch.setattr(precision, "save", lambda name, result, commit: saved.append((name, result, commit)))
    # Products in bfloat16 can kill a process on some machines.
    options = ["--device", "cpu", "--dtype", "float16", "--commit", "c"]
    monkeypatch.setattr(sys, "argv", ["precision", str(short_text), *options])
    precision.main()
    ((name, result, commit),) = saved
    assert (name, commit, result["words"]) == ("precision", "c", 40 * 13)
    # Wanted words are there, in the text or not.
    assert result["vectors"] == {"still": 20, "ase": 20}
    exact, half = result["precisions"]["float32"], result["precisions"]["float16"]
    assert exact["words_per_second"] > 0 and half["words_per_second"] > 0
    for cosine in half["cosine_to_float32"].values():
        assert 0.999 < cosine["least"] <= cosine["mean"] < 1 + 1e-6
    assert set(exact["scores"]["still"]) == {str(pairs)}
    assert np.isfinite([scores[str(pairs)] for scores in half["scores"].values()]).all()
    assert "float16" in capsys.readouterr().out


@pytest.mark.parametrize("options, message", [
    ((), "Data set 'rg65' .* was not found.*WORDSTILL_DATA"),
    (("--device", "nowhere"), "Data set 'rg65'"),
])  # fmt: skip
def test_missing_data_are_reported_before_any_work(options, message, tmp_path, monkeypatch):
    monkeypatch.delenv("WORDSTILL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["precision", "no-such-text", *options])
    with pytest.raises(SystemExit, match=message):
        precision.main()


def test_a_device_that_cannot_be_used_is_reported_before_any_work(saved_teacher, monkeypatch):
    monkeypatch.setattr(precision, "NAME", str(saved_teacher))
    monkeypatch.setattr(precision, "EIGHT", ())
    monkeypatch.setattr(sys, "argv", ["precision", "no-such-text", "--device", "nowhere"])
    with pytest.raises(SystemExit, match="device 'nowhere' cannot be used here"):
        precision.main()
