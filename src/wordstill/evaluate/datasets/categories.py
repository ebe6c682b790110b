"""Concept categorisation: words with the class that they belong to."""

from __future__ import annotations

from functools import partial

from wordstill.evaluate.readers.categories import CategoryReader
from wordstill.evaluate.registry import Copy, Dataset

_VECTO = CategoryReader(",", word=2, label=1)
_VERBS = CategoryReader(",", word=2, label=1, split_label="5 classes")
_NOUNS = CategoryReader("\t", word=0, label=1, suffix="_N", coarser=(("3 classes", 2), ("2 classes", 3)))
_STRUDEL = CategoryReader("\t", word=0, label=1)

_FOLDER = "word-categorization/monolingual/en"
_vecto = partial(
    Dataset, licence="not stated", upstream="vecto-ai/word-benchmarks@9b61d0e0", task="categorisation"
)

CATEGORIES: tuple[Dataset, ...] = (
    _vecto(
        "ap",
        "AP",
        402,
        "Almuhareb & Poesio 2005; Almuhareb 2006",
        copies=(Copy("categorization/AP.csv", _VECTO, f"{_FOLDER}/ap.csv"),),
        caveat="The file holds one row without a word for each of the 21 classes; they are dropped.",
    ),
    _vecto(
        "battig",
        "Battig",
        5231,
        "Battig & Montague 1969; form of Jastrzebski et al. 2017",
        copies=(Copy("categorization/Battig-5231.csv", _VECTO, f"{_FOLDER}/battig.csv"),),
        caveat="Words stand in several classes (4,668 distinct ones); phrases and misspellings are original.",
    ),
    Dataset(
        "battig82",
        "Battig-82",
        82,
        "Baroni et al. 2010, Cognitive Science",
        "not stated (repo: MIT)",
        "SemanticPriming/subs2strudel@0de1e819",
        (Copy("categorization/Battig-82.tsv", _STRUDEL),),
        task="categorisation",
        home="https://doi.org/10.1111/j.1551-6709.2009.01068.x",
        caveat="The first two columns of Strudel's clustering matrix; the paper counts 83 words.",
    ),
    Dataset(
        "esslli-1a",
        "ESSLLI-2008 1a, nouns",
        44,
        "ESSLLI 2008 lexical semantics workshop (Baroni, Evert & Lenci)",
        "GPL-3 (package)",
        "cran/wordspace@416cb511",
        (Copy("categorization/ESSLLI-2008-1a.tsv", _NOUNS),),
        task="categorisation",
        home="http://wordspace.collocations.de/doku.php/data:esslli2008:start",
        caveat="Six classes; from an R data frame. Published 'ESSLLI (N)' figures are of 2b, 40 nouns.",
    ),
    _vecto(
        "esslli-2c",
        "ESSLLI-2008 2c, verbs",
        45,
        "ESSLLI 2008 lexical semantics workshop (Baroni, Evert & Lenci)",
        copies=(Copy("categorization/ESSLLI-2008-2c.csv", _VERBS, f"{_FOLDER}/essli-2008.csv"),),
        home="http://wordspace.collocations.de/doku.php/data:esslli2008:start",
        caveat="Nine classes; five behind the hyphen.",
    ),
)
