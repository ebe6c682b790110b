"""The command line as a user meets it, with a tiny teacher of random weights."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main

import wordstill
from wordstill.cli import main

SYLLABLES = ("ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pa", "ro")
WORDS = [first + second + "r" for first in SYLLABLES for second in SYLLABLES]


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def one_tree_of_commands() -> Iterator[None]:
    """typer makes hundreds of options out of signatures anew whenever the app is called, which a process does once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module", autouse=True)
def one_reading_of_models(models_read_once: None) -> None:
    """Commands run in this process do not read the same files again and again."""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Runs ``wordstill`` with some arguments in this process, through its entry point."""

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["wordstill", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Result(int(end.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts ``wordstill`` in a process of its own; what still runs in the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object, **options: object) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": str(Path(wordstill.__file__).parents[1])}
        environment["OMP_NUM_THREADS"] = "1"
        command = [sys.executable, "-m", "wordstill", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def make_text(paragraphs: int, seed: int = 0) -> str:
    """Paragraphs of three sentences of made-up words, frequent ones and rare ones."""
    generator = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, len(WORDS) + 1)
    lines = []
    for _ in range(paragraphs):
        sentences = (
            " ".join(generator.choice(WORDS, size=9, p=frequency / frequency.sum())).capitalize() + "."
            for _ in range(3)
        )
        lines.append(" ".join(sentences))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def teacher(tmp_path_factory: pytest.TempPathFactory, tiny_model: Any, tiny_tokenizer: Any) -> Path:
    """A saved model of random weights."""
    folder = tmp_path_factory.mktemp("teacher")
    tiny_model("bert-uncased").save_pretrained(folder)
    tiny_tokenizer("bert-uncased").save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text(make_text(120), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, text: Path) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "store"
    wordstill.prepare([text], path)
    return path


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory, store: Path, teacher: Path) -> Path:
    """Two tables in one folder."""
    path = tmp_path_factory.mktemp("distilled") / "vectors"
    wordstill.distill(store, path, methods=("ase", "decontextual"), teacher=teacher)
    return path


@pytest.fixture(scope="session")
def more_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of many small batches."""
    path = tmp_path_factory.mktemp("text") / "more.txt"
    path.write_text(make_text(120, seed=1), encoding="utf-8")
    return path
