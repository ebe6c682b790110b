"""Development data: word pairs to choose settings on, never test sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from wordstill.core.files import sha256_of
from wordstill.errors import DataError, UsageError, WordstillError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.tasks.similarity import SimilarityTask
from wordstill.vectors import WordVectors

MOST_OF_A_TEST_SET = 0.75
"""Half of a test set is allowed for choosing settings, if results are reported on the other half."""


class DevelopmentPairs:
    """Word pairs with human ratings, which score a table by Spearman's correlation.

    Raises:
        UsageError: The file is a test set.
        DataError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"There is no file {path} with word pairs for --development.")
        _refuse_published_files(path)
        self.path, self.task = path, SimilarityTask(path)
        _refuse_test_pairs(path, self.task)

    @property
    def source(self) -> dict[str, str]:
        """The name and checksum of the file."""
        return {"file": self.path.name, "sha256": self.task.dataset.sha256}

    def score(self, vectors: WordVectors) -> float:
        """The score of a table, times 100.

        Raises:
            DataError: Too few of its words are in the pairs.
        """
        score = self.task.run(vectors)
        if score.value is None:
            raise DataError(f"{self.path} cannot judge the vectors: {score.problem}.")
        return score.value

    def check_words(self, words: Sequence[str]) -> None:
        """Refuse a vocabulary that covers too few of the pairs."""
        self.score(WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)))


def _refuse_published_files(path: Path) -> None:
    """Refuse a file of the registry by its checksum, even if no data set is installed."""
    found = sha256_of(path)
    for name, dataset in DATASETS.items():
        if any(found in copy.files.values() for copy in dataset.copies):
            raise _worthless(f"{path} is the test set {name}.")


def _refuse_test_pairs(path: Path, task: SimilarityTask) -> None:
    """Refuse a file with most pairs of an installed test set, in any format."""
    given = _pairs(task)
    shared = {name: (len(tested & given), len(tested)) for name, tested in _test_pairs()}
    most = {name: common for name, (common, every) in shared.items() if common > MOST_OF_A_TEST_SET * every}
    if most:
        name = max(most, key=most.__getitem__)
        raise _worthless(f"{path} has {most[name]} of the {shared[name][1]} pairs of the test set {name}.")


def _test_pairs() -> Iterator[tuple[str, set[frozenset[str]]]]:
    """The pairs of every similarity set that is installed and intact."""
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
