"""Early stopping by ``--development``: word pairs that no result is reported for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wordstill.core.files import sha256_of
from wordstill.errors import DataError, UsageError, WordstillError

if TYPE_CHECKING:
    from wordstill.distillation.early_stopping import EarlyStopping
    from wordstill.evaluation import SimilarityTask
    from wordstill.vectors import WordVectors

MOST_OF_A_TEST_SET = 0.75
"""One half may serve for choosing, if results are then reported on the other."""


def read_development(path: Path | None, patience: int | None = None, every: int | None = None) -> EarlyStopping | None:
    """Word pairs with judgements, as early stopping by Spearman's correlation; None without a file.

    Raises:
        UsageError: The file is a set that results are reported for, or there is another setting without a file.
        DataError: The file cannot be read, or too few of its words are in a table to judge it.
    """
    if path is None:
        if patience is not None:
            raise UsageError("--patience needs --development with a file of word pairs.")
        if every is not None:
            raise UsageError("--score-every needs --development with a file of word pairs.")
        return None
    from wordstill.distillation.early_stopping import EarlyStopping
    from wordstill.evaluation import SimilarityTask
    from wordstill.vectors import WordVectors

    if not path.is_file():
        raise DataError(f"There is no file {path} with word pairs for --development.")
    _refuse_published_files(path)
    task = SimilarityTask(path)
    _refuse_test_pairs(path, task)

    def score_table(vectors: WordVectors) -> float:
        score = task.run(vectors)
        if score.value is None:
            raise DataError(f"{path} cannot judge the vectors: {score.problem}.")
        return score.value

    def check_words(words: Sequence[str]) -> None:
        score_table(WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)))

    source = {"file": path.name, "sha256": task.dataset.sha256}
    return EarlyStopping(score_table, 1 if patience is None else patience, source, check_words, every)


def _refuse_published_files(path: Path) -> None:
    """Refuse a file of the registry by its checksum, even if no data set is installed."""
    from wordstill.evaluation import DATASETS

    found = sha256_of(path)
    for name, dataset in DATASETS.items():
        if any(found in copy.files.values() for copy in dataset.copies):
            raise _worthless(f"{path} is the test set {name}.")


def _refuse_test_pairs(path: Path, task: SimilarityTask) -> None:
    """Refuse most pairs of an installed test set, in any file format."""
    given = _pairs(task)
    shared = {name: (len(tested & given), len(tested)) for name, tested in _test_pairs()}
    most = {name: common for name, (common, every) in shared.items() if common > MOST_OF_A_TEST_SET * every}
    if most:
        name = max(most, key=most.__getitem__)
        raise _worthless(f"{path} has {most[name]} of the {shared[name][1]} pairs of the test set {name}.")


def _test_pairs() -> Iterator[tuple[str, set[frozenset[str]]]]:
    """The pairs of every similarity set that is installed and intact."""
    from wordstill.evaluation import DATASETS, SimilarityTask

    for name, dataset in DATASETS.items():
        if dataset.task == "similarity":
            with suppress(WordstillError):
                yield name, _pairs(SimilarityTask(name))


def _pairs(task: SimilarityTask) -> set[frozenset[str]]:
    content = task.dataset.content
    return {frozenset((one.lower(), other.lower())) for one, other in zip(content.first, content.second)}


def _worthless(what: str) -> UsageError:
    return UsageError(
        f"{what} Scores on it would be meaningless after tuning on it; use other pairs for --development."
    )
