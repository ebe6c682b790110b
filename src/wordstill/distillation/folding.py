"""Folds and groups of a run: which cells have rows, and where their sums are kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.core.settings import Configured
from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.division.dealing import LEAST_FOLDS, Cells, deal_folds
from wordstill.distillation.config import DistillConfig, refuse_without_folds
from wordstill.methods import Method
from wordstill.methods.sums import TableMaker

USUAL_FOLDS, USUAL_FOLDS_OF_GROUP = 20, 10
SHARE_OF_MEMORY = 0.5
"""Tables of cells that would take more of the free memory are kept on disk."""
TABLES = 5
"""Sums by cell of the method that has most, `Still`."""


def make_cells(
    corpus: Corpus, vocabulary: Vocabulary, config: DistillConfig, specs: Sequence[Configured[Method]]
) -> Cells | None:
    """The cells of a run; None if it keeps no rows by fold."""
    per_group = folds_per_group(corpus, config)
    if not per_group:
        return None
    refuse_without_folds(specs)
    plan = deal_folds(corpus, per_group, config.seed)
    _warn_of_few(corpus, plan.names, plan.dealt, np.bincount(plan.group_of_fold).tolist(), per_group)
    return Cells.count(corpus, vocabulary, plan, config.enough, config.track)


def folds_per_group(corpus: Corpus, config: DistillConfig) -> int:
    """Folds for each group on average; 0 keeps none."""
    if config.folds is not None:
        return config.folds
    if corpus.groups is not None:
        return USUAL_FOLDS_OF_GROUP
    return USUAL_FOLDS if config.track else 0


def fold_facts(corpus: Corpus, cells: Cells | None, config: DistillConfig) -> dict[str, Any] | None:
    """What the recipe says of folds."""
    if cells is None:
        return None
    origins = corpus.meta.get("origins") or {}
    return {
        "group": origins.get("group"),
        "bins": origins.get("bins"),
        "groups": list(cells.plan.names),
        "folds": np.bincount(cells.plan.group_of_fold, minlength=len(cells.plan.names)).tolist(),
        "dealt": list(cells.plan.dealt),
        "enough": None if config.track else config.enough,
        "track": len(config.track),
        "cells": len(cells),
        "sha256": hashlib.sha256(cells.plan.of_paragraph.tobytes() + cells.words.tobytes()).hexdigest(),
    }


def table_maker(cells: Cells | None, width: int, methods: int, work: Path | None) -> TableMaker | None:
    """Where the sums of cells are kept: on disk if they would take much of the free memory, else None."""
    if cells is None or len(cells) * width * 4 * TABLES * methods <= SHARE_OF_MEMORY * free_memory():
        return None

    def make(rows: int, columns: int) -> Tensor:
        # The file has no name any more, so that nothing is left of it when the run ends.
        with tempfile.TemporaryFile(dir=work) as file:
            return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=(max(rows, 1), columns))[:rows])

    return make


def free_memory() -> int:
    """Bytes of memory that are free, or all there is where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (ValueError, AttributeError):
            return 8 << 30


def _warn_of_few(
    corpus: Corpus, names: Sequence[str], dealt: Sequence[str], folds: Sequence[int], per_group: int
) -> None:
    if per_group == 1:
        return
    by_paragraph = [name for name, kind in zip(names, dealt) if kind == "paragraphs"]
    if by_paragraph and corpus.documents is not None:
        warnings.warn(
            f"Too few documents for folds of documents in {_some(by_paragraph)}: runs of paragraphs are dealt instead, "
            "and intervals say nothing about other documents.",
            stacklevel=4,
        )
    elif by_paragraph:
        warnings.warn(
            "The text was prepared without documents, so folds are of runs of paragraphs, and intervals may be too "
            "narrow. Prepare it with --documents (documents=True).",
            stacklevel=4,
        )
    if small := [name for name, number in zip(names, folds) if number < LEAST_FOLDS]:
        warnings.warn(
            f"Too little text for a comparison in {_some(small)}: fewer than {LEAST_FOLDS} folds of the size of the "
            "others. Join small groups.",
            stacklevel=4,
        )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
