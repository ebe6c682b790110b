"""The judge that ``--development`` names: word pairs that no result is reported for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wordstill.errors import DataError, UsageError
from wordstill.files import sha256_of

if TYPE_CHECKING:
    from wordstill.development import Development
    from wordstill.vectors import WordVectors


def read_development(path: Path | None, patience: int | None = None) -> Development | None:
    """Word pairs with judgements, as a judge of tables by Spearman's correlation; None without a file.

    Raises:
        UsageError: The file is a set that results are reported for, or there is patience without a file.
        DataError: The file cannot be read, or too few of its words are in a table to judge it.
    """
    if path is None:
        if patience is not None:
            raise UsageError("--patience is for --development; name a file of word pairs there.")
        return None
    from wordstill.development import Development
    from wordstill.evaluate import SimilarityTask
    from wordstill.vectors import WordVectors

    _refuse_test_sets(path)
    task = SimilarityTask(path)

    def judge(vectors: WordVectors) -> float:
        score = task.run(vectors)
        if score.value is None:
            raise DataError(f"{path} cannot judge the vectors: {score.problem}.")
        return score.value

    def check_words(words: Sequence[str]) -> None:
        judge(WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)))

    source = {"file": path.name, "sha256": task.dataset.sha256}
    return Development(judge, 1 if patience is None else patience, source, check_words)


def _refuse_test_sets(path: Path) -> None:
    from wordstill.evaluate import DATASETS

    if not path.is_file():
        raise DataError(f"There is no file {path} with word pairs for --development.")
    found = sha256_of(path)
    for name, dataset in DATASETS.items():
        if any(found in copy.files.values() for copy in dataset.copies):
            raise UsageError(
                f"{path} is the test set {name}. What is reported on it would be worth nothing after "
                "choosing by it; give other pairs to --development."
            )
