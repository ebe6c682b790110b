"""Shared parts of the benchmarks: sample text, agreement of tables, printing, and JSON files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.record import RESULTS, ROOT, command_line, current_commit, machine, write_json

SPEED = RESULTS / "speed"
LEAST_COSINE = 0.9995
"""Minimum cosine of a fast precision with float32."""

Row = tuple[str, ...]


def use_cores(count: int) -> None:
    """Pin this process and its threads to a number of cores."""
    import torch

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    torch.set_num_threads(count)


def read_paragraphs(text: Path | None, out: Path) -> list[str]:
    """The paragraphs of a file in any input format, by default of the bundled text.

    Args:
        text: The file, or None.
        out: Folder for a temporary store.
    """
    from wordstill.corpus import prepare
    from wordstill.corpus.sources import embedded_text

    corpus = prepare([text or embedded_text()], out)
    return [corpus.text(number) for number in range(len(corpus))]


def agreement(vectors: NDArray[np.float32], reference: NDArray[np.float32]) -> dict[str, float]:
    """Mean and minimum cosine word by word, before and after the best rotation.

    The axes of `still` are principal directions. After the smallest change, those with nearly equal variances come out
    mixed, which is a rotation of the table and does not affect cosines between words.

    Args:
        vectors: Unit vectors [V, d].
        reference: Unit vectors of the same words [V, d].
    """
    left, _, right = np.linalg.svd(vectors.T.astype(np.float64) @ reference)
    plain = np.sum(vectors * reference, axis=1)
    rotated = np.sum((vectors @ (left @ right)) * reference, axis=1)
    return {
        "mean": float(rotated.mean()),
        "least": float(rotated.min()),
        "mean_unrotated": float(plain.mean()),
        "least_unrotated": float(plain.min()),
    }


def save(benchmark: str, result: dict[str, Any], *, seed: int = 0, commit: str | None = None, kind: str = "") -> None:
    """Write a result with its command, commit, seed and machine, as BENCHMARK.json or BENCHMARK.KIND.json."""
    facts = {
        "command": command_line(f"experiments.speed.{benchmark}", sys.argv[1:]),
        "commit": commit or current_commit(),
        "seed": seed,
        "hardware": machine(),
    }
    path = SPEED / ".".join(filter(None, (benchmark, kind, "json")))
    write_json(path, facts | result, indent=2)
    print(f"\nwritten: {path.relative_to(ROOT)}")


def add_commit(parser: argparse.ArgumentParser) -> None:
    """Add the option for a machine without the git history."""
    parser.add_argument("--commit", help="commit to record, where git is not available")


def show(rows: Sequence[Row], remarks: Sequence[str]) -> None:
    """Print a table (first row: titles, first column: words) and the remarks below it."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]))
    print("", *remarks, sep="\n")


def met(yes: bool) -> str:
    """Whether a target is met, in words."""
    return "met" if yes else "NOT met"
