"""One step of the memory benchmark in a process of its own: runs it and prints the peak in bytes."""

from __future__ import annotations

import argparse
import resource
from pathlib import Path

STATUS = Path("/proc/self/status")
ENOUGH = 0.99
"""Share of the requested vectors; the tokenizer has no subwords for a few words."""


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("prepare", "distill"))
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--block-bytes", type=int)
    parser.add_argument("--teacher")
    parser.add_argument("--max-vocab", type=int)
    options = parser.parse_args()
    if options.step == "prepare":
        _prepare(options)
        print(own_peak() + options.workers * worker_peak())
    else:
        _distill(options)
        print(own_peak())


def own_peak() -> int:
    """The peak memory of this process.

    The kernel's other counter, ru_maxrss, starts from what the parent had when it forked this process.
    """
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def worker_peak() -> int:
    """The peak memory of one child process, including pages that it shares with its parent."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _prepare(options: argparse.Namespace) -> None:
    from wordstill.corpus import prepare

    prepare(options.source, options.out, workers=options.workers, block_bytes=options.block_bytes)


def _distill(options: argparse.Namespace) -> None:
    import torch

    from wordstill.corpus import VocabularyConfig
    from wordstill.distillation.config import DistillConfig
    from wordstill.distillation.distilling import distill
    from wordstill.teacher import TeacherConfig

    torch.set_num_threads(options.workers)
    config = DistillConfig(
        methods=("still", "ase"),
        teacher=TeacherConfig(options.teacher, device="cpu"),
        vocabulary=VocabularyConfig(min_count=1, max_size=options.max_vocab),
        # After every few batches, so that the peak has a checkpoint in it at both sizes.
        checkpoint_seconds=1.0,
    )
    tables = distill(options.source, options.out, config=config)
    least = min(map(len, tables.values()))
    if least < ENOUGH * options.max_vocab:
        raise SystemExit(f"the text is too small: {least} words got a vector, {options.max_vocab} should")


if __name__ == "__main__":
    main()
