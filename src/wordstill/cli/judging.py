"""The judge that ``--development`` names: word pairs that no result is reported for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wordstill.errors import DataError, UsageError
from wordstill.files import sha256_of

if TYPE_CHECKING:
    from wordstill.development import Development
    from wordstill.vectors import WordVectors


def read_development(path: Path, patience: int) -> Development:
    """Word pairs with judgements, as a judge of tables by Spearman's correlation.

    Raises:
        UsageError: The file is a set that results are reported for.
        DataError: The file cannot be read, or too few of its words are in a table to judge it.
    """
    from wordstill.development import Development
    from wordstill.evaluate import SimilarityTask

    _refuse_test_sets(path)
    task = SimilarityTask(path)

    def judge(vectors: WordVectors) -> float:
        score = task.run(vectors)
        if score.value is None:
            raise DataError(f"{path} cannot judge the vectors: {score.problem}.")
        return score.value

    return Development(judge, patience)


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
