"""The command line as a user meets it, with a tiny teacher of random weights."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

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
        command = [sys.executable, "-m", "wordstill.cli", *map(str, arguments)]
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
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BERT of two layers, 16 numbers wide."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("teacher")
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator([make_text(50)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
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


@pytest.fixture
def more_text(tmp_path: Path) -> Path:
    """A text that takes the tiny teacher some seconds in small batches."""
    path = tmp_path / "more.txt"
    path.write_text(make_text(1500, seed=1), encoding="utf-8")
    return path
