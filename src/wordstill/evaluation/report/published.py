"""What the papers report, row by row, with the table that each row stands in.

Scores are in points. They were made with other evaluators, words and rules for absent words than ours: the
paper's protocol is named with each row, and a comparison is fair only under that protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

X2STATIC = "Gupta & Jaggi 2021 (X2Static)"
WANG = "Wang et al. 2021 (BERT + skip-gram)"
ARASE = "Arase & Kajiwara 2021 (meaning in context)"
CONTEXT = "Zheng et al. 2022 (Context-to-Vec)"


@dataclass(frozen=True)
class PublishedRow:
    """One row of one table of a paper."""

    paper: str
    table: int
    """Its number in the paper."""
    model: str
    protocol: str | None
    """The named protocol that comes nearest to the paper's own rules."""
    scores: Mapping[str, float]
    """By the name of the set."""

    @property
    def source(self) -> str:
        """The paper and the table."""
        return f"{self.paper}, Table {self.table}"


@dataclass(frozen=True)
class Best:
    """The highest published score of a set."""

    value: float
    row: PublishedRow


def best_published(name: str, rows: Iterable[PublishedRow] | None = None) -> Best | None:
    """The highest published score of a set, None if no paper reports it."""
    among = PUBLISHED if rows is None else rows
    found = [Best(row.scores[name], row) for row in among if name in row.scores]
    return max(found, key=lambda best: best.value, default=None)


def published_for(names: Iterable[str]) -> list[PublishedRow]:
    """The rows that report at least one of the sets."""
    wanted = set(names)
    return [row for row in PUBLISHED if wanted & set(row.scores)]


def _rows(paper: str, table: int, protocol: str | None, sets: str, cells: str) -> list[PublishedRow]:
    """Rows of a table written as ``model | score score …``; a dash stands for one that is not given."""
    rows = []
    for line in cells.strip().splitlines():
        model, _, numbers = line.partition("|")
        pairs = zip(sets.split(), numbers.split(), strict=True)
        scores = {name: float(cell) for name, cell in pairs if cell != "-"}
        rows.append(PublishedRow(paper, table, model.strip(), protocol, scores))
    return rows


_X2STATIC_SIMILARITY = _rows(
    X2STATIC,
    3,
    "muse",
    "rg65 wordsim353 simlex999 simverb3500 rareword",
    """
    fastText, 12 times the text               | 76.69 59.60 41.60 32.74 52.26
    GloVe, 650 times the text                 | 64.42 57.91 37.64 26.25 46.07
    skip-gram                                 | 82.59 71.41 40.64 27.22 48.49
    CBOW                                      | 83.48 49.99 40.97 26.26 40.43
    Sent2vec                                  | 78.11 74.07 50.34 32.97 42.48
    ASE of BERT-12, best layer per task       | 74.49 70.12 52.16 41.51 45.77
    ASE of BERT-12, best overall layer        | 69.48 67.68 51.95 38.89 43.43
    BERT2Static sent                          | 74.21 72.97 54.61 44.37 54.69
    BERT2Static para                          | 75.55 75.98 53.84 43.17 52.99
    ASE of RoBERTa-12, best layer per task    | 67.30 70.23 55.40 46.02 50.75
    ASE of RoBERTa-12, best overall layer     | 67.30 70.23 51.67 44.24 46.57
    RoBERTa2Static sent                       | 79.99 74.52 55.07 46.58 54.96
    RoBERTa2Static para                       | 80.57 76.38 55.44 47.17 55.01
    ASE of GPT2-12, best layer per task       | 70.13 68.79 49.72 39.05 45.56
    ASE of GPT2-12, best overall layer        | 68.33 65.60 49.72 39.05 45.56
    GPT2Static sent                           | 74.84 71.51 53.97 46.76 57.60
    GPT2Static para                           | 78.81 72.67 54.17 47.33 56.68
    """,
)
# Rows of the 24-layer parents whose scores can be read without doubt.
_X2STATIC_LARGE = _rows(
    X2STATIC,
    6,
    "muse",
    "rg65 wordsim353 simlex999 simverb3500 rareword",
    """
    ASE of BERT-24, best layer per task       | 77.45 72.67 54.04 43.64 47.35
    BERT-24 2Static sent                      | 80.31 72.39 56.75 46.92 55.95
    BERT-24 2Static para                      | 80.85 76.52 -     -     -
    RoBERTa-24 2Static sent                   | 76.77 73.36 53.97 45.76 57.20
    RoBERTa-24 2Static para                   | 79.39 75.23 54.76 46.63 57.39
    GPT2-24 2Static sent                      | 78.15 73.11 55.37 47.7  59.39
    """,
)
_X2STATIC_CLASSES = _rows(
    X2STATIC,
    4,
    None,
    "cr mr mpqa subj trec sst5",
    """
    GloVe                                     | 83.2 78.2 87.6 90.9 86.2 43.2
    GloVe (Twitter)                           | 80.9 74.2 85.0 89.7 87.8 37.5
    fastText                                  | 81.9 78.4 88.1 90.9 85.9 43.9
    skip-gram                                 | 80.9 75.2 85.8 91.5 88.6 39.0
    CBOW                                      | 78.5 72.7 86.0 85.5 85.7 38.9
    Sent2vec                                  | 81.2 74.1 84.5 89.4 84.1 38.6
    ASE of BERT-12, layer 5                   | 83.0 78.5 86.0 91.0 87.6 42.1
    BERT2Static sent                          | 82.0 78.9 89.1 91.8 88.7 43.7
    BERT2Static para                          | 83.6 80.8 89.3 91.6 89.2 44.9
    ASE of RoBERTa-12, layer 2                | 81.2 78.3 88.5 89.5 89.1 43.0
    RoBERTa2Static sent                       | 79.6 80.2 88.0 92.2 89.1 43.8
    RoBERTa2Static para                       | 82.3 80.1 89.4 92.4 88.8 43.4
    ASE of GPT2-12, layer 4                   | 82.1 80.1 86.2 91.2 88.8 42.0
    GPT2Static sent                           | 83.5 79.5 88.5 91.8 89.2 43.8
    GPT2Static para                           | 82.6 79.7 88.8 92.1 89.1 44.1
    BERT-12 itself, fine-tuned                | 90.6 87.4 90.8 96.7 94.7 54.0
    RoBERTa-12 itself, fine-tuned             | 90.8 90.1 90.6 96.3 99.2 57.6
    GPT2-12 itself, fine-tuned                | 89.5 87.1 89.1 96.1 94.3 54.5
    """,
)
_WANG = _rows(
    WANG,
    2,
    "web",
    "wordsim353 wordsim353-similarity wordsim353-relatedness simlex999 rareword men msr google semeval2012",
    """
    skip-gram                                 | 61.6 69.2 54.6 35.1 35.3 68.8 30.6 46.7 20.5
    CBOW                                      | 66.2 71.4 52.6 38.0 30.0 68.1 44.0 49.9 18.9
    GloVe                                     | 54.3 66.2 47.7 37.0 36.6 73.7 61.4 71.7 16.9
    fastText                                  | 68.3 74.6 61.6 38.2 37.3 74.8 53.2 72.7 19.5
    Deps                                      | 60.6 65.7 36.2 39.6 33.0 60.5 40.3 36.0 22.9
    BERT-base, token table                    | 51.8 60.1 37.3 48.1 26.7 42.8 52.7 50.5 20.8
    BERT-large, token table                   | 57.8 65.8 46.4 47.5 27.6 51.8 57.6 54.7 20.7
    BERT, averaged                            | 59.4 67.0 49.9 46.8 30.8 66.3 62.2 59.4 20.8
    SynGCN                                    | 60.9 73.2 45.7 45.5 33.7 71.0 52.8 50.7 23.4
    BERT + skip-gram                          | 72.8 75.3 66.6 49.4 42.3 76.2 57.3 75.8 20.9
    """,
)
_ARASE_WORDS = _rows(
    ARASE,
    3,
    "default",
    "usim wic cosimlex-1 cosimlex-2 scws",
    """
    BERT-large                                | 59.66 66.57 76.38 73.32 72.55
    Liu et al. 2020                           | 63.83 67.50 77.10 72.58 75.72
    meaning vectors                           | 63.05 67.29 75.76 73.58 75.94
    context vectors                           | 41.47 62.21 64.85 51.06 29.14
    """,
)
_ARASE_PARAPHRASES = _rows(
    ARASE,
    5,
    "default",
    "paws-wiki",
    """
    no to all                                 | 55.80
    fastText                                  | 53.89
    BERT-large                                | 55.76
    Liu et al. 2020                           | 55.80
    meaning vectors                           | 56.71
    """,
)
_ARASE = _rows(
    ARASE,
    4,
    "default",
    "sts12 sts13 sts14 sts15 sts16",
    """
    BERT-large                                | 48.0 49.2 53.8 58.9 57.6
    Liu et al. 2020                           | 57.6 61.6 64.1 69.2 68.7
    meaning vectors                           | 58.3 62.8 66.2 71.4 68.4
    context vectors                           | 46.0 41.1 46.6 56.9 57.5
    """,
)
_CONTEXT = _rows(
    CONTEXT,
    1,
    "web",
    "wordsim353 wordsim353-similarity wordsim353-relatedness simlex999 rareword men rg65 google semeval2012",
    """
    skip-gram                                 | 61.0 68.9 53.7 34.9 34.5 67.0 75.2 43.5 19.1
    CBOW                                      | 62.7 70.7 53.9 38.0 30.0 68.6 72.7 58.4 18.9
    GloVe                                     | 54.2 64.3 50.2 31.6 29.9 68.3 61.8 45.3 18.7
    fastText                                  | 68.3 74.6 61.6 38.2 37.3 74.8 80.8 72.7 19.5
    Deps                                      | 60.6 73.1 46.8 39.6 33.0 60.5 77.1 36.0 22.9
    BERT, averaged                            | 59.4 67.0 49.9 46.8 30.8 66.3 81.2 59.4 20.8
    GPT2, averaged                            | 64.5 72.1 59.7 46.9 29.1 68.6 80.0 37.2 21.9
    XLNet, averaged                           | 64.9 72.3 58.0 47.3 27.7 64.1 69.7 30.8 23.2
    ContextLSTM                               | 63.5 66.6 57.3 39.3 23.1 66.4 72.6 60.7 20.0
    SynGCN                                    | 60.9 73.2 45.7 45.5 33.7 71.0 79.6 58.5 23.4
    BERT + skip-gram                          | 72.8 75.3 66.7 49.4 42.3 76.2 78.6 75.8 20.2
    Context-to-Vec                            | 76.9 76.7 68.3 54.9 43.5 76.8 84.3 75.6 20.3
    Context-to-Vec, retrofitted               | 78.9 77.0 70.1 55.2 44.0 77.9 85.1 76.3 21.4
    """,
)
# The paper's ESSLLI (N) is set 2b of 40 nouns, which is not 1a, and so it is not listed.
_CONTEXT_CONCEPTS = _rows(
    CONTEXT,
    2,
    "web",
    "ap battig esslli-2c",
    """
    skip-gram                                 | 63.4 42.8 62.2
    CBOW                                      | 63.2 43.3 64.4
    GloVe                                     | 58.0 41.3 60.0
    fastText                                  | 63.4 44.4 62.2
    Deps                                      | 61.8 41.7 68.8
    BERT, averaged                            | 55.7 34.7 64.0
    SynGCN                                    | 63.4 42.8 62.2
    BERT + skip-gram                          | 64.1 43.8 66.6
    Context-to-Vec                            | 65.7 44.0 70.4
    Context-to-Vec, retrofitted               | 66.4 44.2 74.1
    """,
)

PUBLISHED: tuple[PublishedRow, ...] = (
    *_X2STATIC_SIMILARITY,
    *_X2STATIC_LARGE,
    *_X2STATIC_CLASSES,
    *_WANG,
    *_ARASE_WORDS,
    *_ARASE,
    *_ARASE_PARAPHRASES,
    *_CONTEXT,
    *_CONTEXT_CONCEPTS,
)
