"""The example of a plug-in works: pip installs it, the command line lists and runs it, its result opens."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.teacher.tiny_teachers import LINES, make_model, make_tokenizer
from wordstill import WordVectors
from wordstill.cli import main
from wordstill.methods import METHODS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that pip has installed the example into."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(ROOT / "examples" / "plugin", tmp_path_factory.mktemp("source") / "plugin")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(source)], check=True, capture_output=True, text=True)
    return folder


@pytest.fixture
def wordstill(installed, monkeypatch, capsys):
    """Runs ``wordstill`` in this process, as if the example were installed; gives its exit code and what it says."""
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setenv("COLUMNS", "120")
    # What is installed is looked up once.
    vars(METHODS).pop("plugins", None)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["wordstill", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    yield run
    vars(METHODS).pop("plugins", None)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher")
    make_model("bert-uncased").save_pretrained(folder)
    make_tokenizer("bert-uncased").save_pretrained(folder)
    return folder


def test_distill_with_the_example(wordstill, teacher, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES[:4]), encoding="utf-8")
    methods = ("-m", "mean-direction:layer=1,power=0", "-m", "mean-direction", "-m", "ase:layer=1")
    out = tmp_path / "vectors"
    code, _, said = wordstill("distill", text, "--teacher", teacher, "--min-count", 1, *methods, "--out", out)
    assert code == 0, said
    table = WordVectors.load(out / "mean-direction")
    assert table.provenance["method"]["name"] == "mean-direction.v1"
    assert np.linalg.norm(table.matrix, axis=1).max() <= 1 + 1e-5
    plain, ase = (WordVectors.load(out / "mean-direction-power-0.0-layer-1"), WordVectors.load(out / "ase-layer-1"))
    np.testing.assert_allclose(plain.unit, ase.unit, atol=1e-5)


def test_plug_ins_are_listed_and_their_settings_checked(wordstill, tmp_path):
    assert "Plug-ins: mean-direction" in wordstill("distill", "--help")[1]
    assert "Plug-ins" not in wordstill("convert", "--help")[1]
    for method, message in (
        ("mean-directon", "Did you mean 'mean-direction'? Known: ase, "),
        ("mean-direction:power=2", "mean-direction: power must be from 0 to 1; got 2.0."),
    ):
        code, _, said = wordstill("distill", "text.txt", "-m", method, "--out", tmp_path / "out")
        assert code == 2 and message in said
