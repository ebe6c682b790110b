"""The tables that docs/results.md has for each text: which figures of a row each of them shows."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A set, or a part of its figure."""

    title: str
    name: str
    part: str | None = None


class Block(NamedTuple):
    """A table of the page: which figures of a row it shows."""

    title: str
    figures: str
    """Key among the scores of a row."""
    columns: tuple[Column, ...]
    mean: str | None = None
    """The title of a last column with the mean of the others."""
    share: bool = False
    """Whether coverage is shown as a share."""


EIGHT = (
    Column("RG-65", "rg65"),
    Column("WS-353", "wordsim353"),
    Column("WS-S", "wordsim353-similarity"),
    Column("WS-R", "wordsim353-relatedness"),
    Column("SimLex", "simlex999"),
    Column("SimVerb", "simverb3500"),
    Column("RareW", "rareword"),
    Column("MEN", "men"),
)
RELATIONS = (
    Column("Google", "google"),
    Column("semantic", "google", "semantic"),
    Column("syntactic", "google", "syntactic"),
    Column("MSR", "msr"),
    Column("SemEval-2012", "semeval2012"),
    Column("AP", "ap"),
    Column("Battig", "battig"),
    Column("ESSLLI-1a", "esslli-1a"),
    Column("ESSLLI-2c", "esslli-2c"),
)
STS = tuple(Column(f"STS{year}", f"sts{year}") for year in range(12, 17))
SENTENCES = tuple(Column(name.upper(), name) for name in ("cr", "mr", "mpqa", "subj", "trec", "sst5"))
PROBES = tuple(Column(title, f"{name}:probe") for title, name, _ in SENTENCES)
PARENTS = tuple(Column(title, f"{name}:parent") for title, name, _ in SENTENCES)
TAGS = (
    Column("CoNLL-2000", "conll2000"),
    Column("UD-EWT", "ud-ewt"),
    Column("PTB sample", "ptb-sample"),
    Column("WNUT-17", "wnut17"),
)
TAGGING_PARENTS = tuple(Column(title, f"{name}:parent") for title, name, _ in TAGS)
BLOCKS = (
    Block("Word similarity (Spearman's correlation), every pair, unseen words included", "all", EIGHT, "A8"),
    Block(
        "Word similarity, only pairs whose words the text shows at least twice",
        "pairs seen in the text",
        EIGHT,
        "A8",
    ),
    Block(
        "Analogies (accuracy, 3CosAdd), relational similarity (Spearman), concepts (purity)", "all", RELATIONS
    ),
    Block("Similarity of sentences (Pearson), a sentence being the mean of its words", "all", STS, "mean"),
    Block("Similarity of sentences (Pearson), SIF", "sif", STS, "mean"),
    Block("Sentence classification (accuracy), linear probe", "all", PROBES, "mean", share=True),
    Block("Sentence classification (accuracy), CNN", "trained", SENTENCES, "mean", share=True),
    Block(
        "Sentence classification (accuracy), the language model itself trained further",
        "trained",
        PARENTS,
        share=True,
    ),
    Block("Tagging (F1 of spans; accuracy for parts of speech), BiLSTM-CRF", "trained", TAGS, share=True),
    Block("Tagging, the language model itself trained further", "trained", TAGGING_PARENTS, share=True),
)
