"""The table of data sets.

A new set is one row in the module of its kind and, for each file, one line of ``SHA256SUMS``. A set may lie
in several files with the same content (``copies``); the first found is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from wordstill.evaluate.datasets.analogy import ANALOGY
from wordstill.evaluate.datasets.categories import CATEGORIES
from wordstill.evaluate.datasets.context import CONTEXT
from wordstill.evaluate.datasets.sentences import SENTENCES
from wordstill.evaluate.datasets.similarity import SIMILARITY
from wordstill.evaluate.datasets.texts import TEXTS
from wordstill.evaluate.registry import Dataset

DATASETS: Mapping[str, Dataset] = {
    row.name: row for row in (*SIMILARITY, *ANALOGY, *CATEGORIES, *SENTENCES, *TEXTS, *CONTEXT)
}

__all__ = ["DATASETS"]
