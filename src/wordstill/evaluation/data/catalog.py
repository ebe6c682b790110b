"""All data sets and suites.

A new set is one row in the module of its kind and, for each file, one line of ``SHA256SUMS``. A set may have several
copies (``copies``); the first one found is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from wordstill.errors import unknown_name
from wordstill.evaluation.data.analogy_sets import ANALOGY
from wordstill.evaluation.data.category_sets import CATEGORIES
from wordstill.evaluation.data.context_sets import CONTEXT
from wordstill.evaluation.data.registry import Dataset
from wordstill.evaluation.data.sentence_sets import SENTENCES
from wordstill.evaluation.data.similarity_sets import SIMILARITY
from wordstill.evaluation.data.text_sets import TEXTS

__all__ = ["DATASETS"]


DATASETS: Mapping[str, Dataset] = {
    row.name: row for row in (*SIMILARITY, *ANALOGY, *CATEGORIES, *SENTENCES, *TEXTS, *CONTEXT)
}


EIGHT = (
    "rg65",
    "wordsim353",
    "wordsim353-similarity",
    "wordsim353-relatedness",
    "simlex999",
    "simverb3500",
    "rareword",
    "men",
)
"""The similarity sets whose mean is quoted most often."""
YEARS = ("sts12", "sts13", "sts14", "sts15", "sts16")
"""The sets of STS, whose mean is quoted too."""

_RELATIONAL = ("google", "msr", "semeval2012")
_CONCEPTS = ("ap", "battig", "esslli-1a", "esslli-2c")


def _of(*kinds: str) -> tuple[str, ...]:
    return tuple(name for name, row in DATASETS.items() if row.task in kinds)


SUITES: Mapping[str, tuple[str, ...]] = {
    "similarity": _of("similarity"),
    "intrinsic": _of("similarity", "analogy", "relation", "categorisation"),
    "sentences": YEARS,
    "papers": (*EIGHT, *_RELATIONAL, *_CONCEPTS, *YEARS),
    "trained": ("cr", "mr", "mpqa", "subj", "trec", "sst5", "conll2000", "ud-ewt", "ptb-sample", "wnut17"),
    "probe": tuple(f"{name}:probe" for name in ("cr", "mr", "mpqa", "subj", "trec", "sst5")),
}
"""Names by suite. ``papers`` has the sets on which papers score the vectors themselves, ``trained`` those on which they
train classifiers and taggers (hours instead of a minute), ``probe`` a quick stand-in for the classifiers."""

DEFAULT_SUITE = "similarity"


def dataset_of(name: str) -> str:
    """The data set of a name that may ask for another task on it: ``sst5`` of ``sst5:probe``."""
    return name if name in DATASETS else name.partition(":")[0]


def suite_sets(name: str) -> tuple[str, ...]:
    """The sets of a suite."""
    if name not in SUITES:
        raise unknown_name("suite", name, SUITES)
    return SUITES[name]
