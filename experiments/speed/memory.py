"""Peak memory of preparing and of distilling a text, and the same for four times as much text.

Each value is the peak of a new process as recorded by the kernel; for `prepare`, it includes all its workers, each
counted like the largest. The larger text begins with the smaller one, and the same number of words get a vector.
`distill` is measured twice: with the embedded teacher over a short text, and with a tiny one that is fast enough to
read as much as `prepare` does. Needs Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.speed.common import Row, met, read_paragraphs, save, show
from wordstill.corpus import prepare
from wordstill.teacher.loading import NAME, embedded_teacher

BENCHMARK = "memory"
TITLE = "Memory"
LIMIT = 1.10
TIMES = 4
LARGEST_BLOCK = 16 << 20
BLOCKS = 8
"""Blocks in the smaller text, more than are processed at once; in a long text they have their usual size."""
TINY_WIDTH = 32
BYTES_OF_A_WORD = 6


@dataclass(frozen=True)
class Step:
    """A step at both sizes, all in bytes."""

    title: str
    text: tuple[int, ...]
    peak: tuple[int, ...]
    settings: dict[str, int]


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        steps = measure(options, Path(folder))
    result = {
        "text": options.text.name if options.text else "embedded",
        "workers": options.workers,
        "steps": [asdict(step) for step in steps],
        "ratio": max(step.peak[1] / step.peak[0] for step in steps),
    }
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "text", "4x", "peak memory", "at 4x", "ratio")]
    for step in result["steps"]:
        sizes = [f"{size / 1e6:,.1f} MB" for size in (*step["text"], *step["peak"])]
        table.append((step["title"], *sizes, f"{step['peak'][1] / step['peak'][0]:.3f}"))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the limit is kept."""
    settings = "; ".join(
        f"{step['title']}: {value:,} {name}" for step in result["steps"] for name, value in step["settings"].items()
    )
    return [
        f"{result['workers']} processes or threads; {settings}.",
        f"Largest ratio {result['ratio']:.3f}, limit {LIMIT}: {met(result['ratio'] < LIMIT)}.",
    ]


def measure(options: argparse.Namespace, folder: Path) -> list[Step]:
    """All steps at both sizes."""
    paragraphs = read_paragraphs(options.text, folder / "everything")
    whole = sum(len(paragraph.encode()) + 1 for paragraph in paragraphs)
    size = min(whole, int(options.megabytes * 1e6)) if options.megabytes else whole
    much = _texts(paragraphs, size // TIMES, folder)
    little = _texts(paragraphs, min(size // TIMES, BYTES_OF_A_WORD * options.words), folder)
    tiny = _tiny_teacher(folder / "tiny")
    return [
        _prepare(much, options.workers),
        _distill("a tiny teacher", much, tiny, options.tiny_vocab, options.workers),
        _distill(NAME, little, Path(NAME), options.max_vocab, options.workers),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--text", type=Path, help="text to read; by default the embedded Wikipedia excerpt")
    parser.add_argument("--megabytes", type=float, help="size of the larger text; by default all of it")
    parser.add_argument("--words", type=int, default=90_000, help="for the embedded teacher, of the smaller text")
    parser.add_argument("--max-vocab", type=int, default=2_000, help="vectors of the embedded teacher")
    parser.add_argument("--tiny-vocab", type=int, default=10_000, help="vectors of the tiny teacher")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def _texts(paragraphs: Sequence[str], small: int, folder: Path) -> list[Path]:
    """Files with the first paragraphs: of about the given number of bytes, and of four times as much."""
    paths = []
    for size in (small, TIMES * small):
        paths.append(folder / f"{size}.txt")
        with paths[-1].open("w", encoding="utf-8") as file:
            for paragraph in paragraphs:
                if file.tell() >= size:
                    break
                file.write(paragraph + "\n")
    return paths


def _prepare(texts: list[Path], workers: int) -> Step:
    sizes = tuple(text.stat().st_size for text in texts)
    block = min(LARGEST_BLOCK, sizes[0] // BLOCKS)
    options = {"workers": workers, "block-bytes": block}
    peaks = tuple(_peak("prepare", text, text.with_suffix(".prepared"), options) for text in texts)
    return Step("prepare", sizes, peaks, {"bytes in a block": block})


def _distill(title: str, texts: list[Path], teacher: Path, vectors: int, workers: int) -> Step:
    options = {"teacher": teacher, "max-vocab": vectors, "workers": workers}
    peaks = []
    for text in texts:
        store = text.with_suffix(".store")
        prepare(text, store, workers=workers)
        peaks.append(_peak("distill", store, text.with_suffix(".vectors"), options))
    sizes = tuple(text.stat().st_size for text in texts)
    return Step(f"distill, {title}", sizes, tuple(peaks), {"vectors": vectors})


def _peak(step: str, source: Path, out: Path, options: Mapping[str, object]) -> int:
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "experiments.speed.memory_step", step, str(source), str(out), *flags]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(f"{step} of {source.name} failed")
    return int(ended.stdout.split()[-1])


def _tiny_teacher(folder: Path) -> Path:
    """A model of one small layer with random weights and the embedded tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel
    from transformers.utils import logging

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(embedded_teacher())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=TINY_WIDTH,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=TINY_WIDTH,
    )
    logging.disable_progress_bar()
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    main()
