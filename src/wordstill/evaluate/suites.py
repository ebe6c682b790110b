"""Groups of data sets that are scored together."""

from __future__ import annotations

from collections.abc import Mapping

from wordstill.errors import unknown_name
from wordstill.evaluate.datasets import DATASETS

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

_RELATIONAL = ("google", "msr", "semeval2012")
_CONCEPTS = ("ap", "battig", "esslli-1a", "esslli-2c")


def _of(*kinds: str) -> tuple[str, ...]:
    return tuple(name for name, row in DATASETS.items() if row.task in kinds)


SUITES: Mapping[str, tuple[str, ...]] = {
    "similarity": _of("similarity"),
    "intrinsic": _of("similarity", "analogy", "relation", "categorisation"),
    "sentences": _of("sts"),
    "papers": (*EIGHT, *_RELATIONAL, *_CONCEPTS, *_of("sts")),
    "trained": ("cr", "mr", "mpqa", "subj", "trec", "sst5", "conll2000", "ud-ewt", "ptb-sample", "wnut17"),
    "probe": tuple(f"{name}:probe" for name in ("cr", "mr", "mpqa", "subj", "trec", "sst5")),
}
"""Names by suite. ``papers`` holds what the papers report of tables as they are; ``trained`` holds what they
report of classifiers and taggers on top, which takes hours instead of a minute, and ``probe`` a quick
stand-in for the classifiers."""

DEFAULT_SUITE = "similarity"


def suite_sets(name: str) -> tuple[str, ...]:
    """The sets of a suite."""
    if name not in SUITES:
        raise unknown_name("suite", name, SUITES)
    return SUITES[name]
