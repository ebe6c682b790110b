"""Word pairs with human ratings: readers and data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError
from wordstill.evaluation.data.fields import PAIRS, own_rows, required_number, split_fields
from wordstill.evaluation.data.registry import Dataset, DatasetFile

LEMMA_SUFFIXES = ("-n", "-v", "-j")


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Pairs in the order of their file, repetitions included."""

    holds: ClassVar[str] = "scored pairs of words"

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    """The human score of each pair, shape (pairs,)."""

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class PairReader:
    """Reads one published layout."""

    delimiter: str | None = "\t"
    """The separator of fields; None for runs of spaces."""
    columns: tuple[int, int, int] = (0, 1, 2)
    """Of the first word, the second word and the mean human score."""
    header: int = 0
    """Lines before the first pair."""
    lemma_suffix: bool = False
    """Whether every word has a part of speech (``sun-n``), which is removed."""
    only: tuple[int, str] | None = None
    """For a subset: a column, and its value in the pairs of the subset."""

    def __call__(self, path: Path) -> WordPairs:
        """Read a file."""
        rows: list[tuple[str, str, float]] = []
        for number, line in numbered_lines(path):
            if number <= self.header or not line.strip():
                continue
            place = f"{path}:{number}"
            fields = split_fields(line, self.delimiter, place)
            first, second, score = _pair(fields, self.columns, place)
            if self.only is not None and fields[self.only[0]] != self.only[1]:
                continue
            if self.lemma_suffix:
                first, second = _lemma(first, place), _lemma(second, place)
            rows.append((first, second, score))
        return _collect(rows, path)


def read_own_pairs(path: Path) -> WordPairs:
    """Read a user's own file: ``word1 word2 score`` on each line, separated by tabs, commas, semicolons or spaces.

    Other columns are found by their titles, or chosen as in ``FILE#2,3,5``. Empty lines and lines that begin with
    ``# `` are skipped; any other line that is not two words and a number is an error.
    """
    return _collect((_pair(row.fields, (0, 1, 2), row.place) for row in own_rows(path, PAIRS)), path)


def _pair(fields: list[str], columns: tuple[int, int, int], place: str) -> tuple[str, str, float]:
    if len(fields) <= max(columns):
        raise DataError(f"{place}: expected at least {max(columns) + 1} fields but got {len(fields)}: {fields!r}.")
    first, second, score = (fields[column] for column in columns)
    if not first or not second:
        raise DataError(f"{place}: a word of the pair is empty: {fields!r}.")
    return first, second, required_number(score, "the score of the pair", place)


def _lemma(word: str, place: str) -> str:
    if not word.endswith(LEMMA_SUFFIXES):
        raise DataError(f"{place}: expected a word ending in {' or '.join(LEMMA_SUFFIXES)} but got {word!r}.")
    return word[:-2]


def _collect(rows: Iterable[tuple[str, str, float]], path: Path) -> WordPairs:
    columns = list(zip(*rows))
    if not columns:
        raise DataError(f"{path} holds no pairs. Expected lines of 'word1 word2 score'.")
    return WordPairs(columns[0], columns[1], np.array(columns[2], dtype=np.float64))


_TABBED = PairReader()
_SPACED = PairReader(delimiter=None)
_LEMMAS = PairReader(delimiter=None, lemma_suffix=True)
_WORDSIM_CSV = PairReader(delimiter=",", header=1)
_SIMLEX = PairReader(columns=(0, 1, 3), header=1)
_SIMVERB = PairReader(columns=(0, 1, 3))
_GENSIM = PairReader(header=2)

_SIMLEX_FILE = "similarity/SimLex-999/SimLex-999.txt"
_SIMLEX_SOURCE = "evaluation_data/SimLex-999/SimLex-999.txt"

_faruqui = partial(Dataset, license="not stated (repo: MIT)", upstream="mfaruqui/eval-word-vectors@94b3dd9f")
_word2gm = partial(Dataset, upstream="benathi/word2gm@56bda7d9")
_agirre = partial(
    _faruqui,
    citation="Agirre et al. 2009, NAACL",
    home="http://alfonseca.org/eng/research/wordsim353.html",
    caveat="The two splits share the unrelated pairs.",
)
_simlex = partial(
    _word2gm,
    citation="Hill, Reichart & Korhonen 2015, CL",
    license="not stated (README asks for citation)",
    home="https://fh295.github.io/simlex.html",
)
_simverb = partial(
    _word2gm, citation="Gerz et al. 2016, EMNLP", license="not stated", home="https://aclanthology.org/D16-1235/"
)
_men = partial(
    _word2gm,
    citation="Bruni, Tran & Baroni 2014, JAIR",
    license="CC BY 2.0 (licence.txt)",
    home="https://staff.fnwi.uva.nl/e.bruni/MEN",
)


def _words(name: str, reader: PairReader = _TABBED) -> tuple[DatasetFile, ...]:
    return (DatasetFile(f"similarity/{name}", reader, f"data/word-sim/{name}"),)


def _simlex_part(column: int, value: str) -> tuple[DatasetFile, ...]:
    reader = PairReader(columns=(0, 1, 3), header=1, only=(column, value))
    return (DatasetFile(_SIMLEX_FILE, reader, _SIMLEX_SOURCE),)


def _simverb_file(name: str) -> tuple[DatasetFile, ...]:
    return (DatasetFile(f"similarity/SimVerb-3500/{name}", _SIMVERB, f"evaluation_data/simverb/data/{name}"),)


def _men_file(name: str, reader: PairReader) -> tuple[DatasetFile, ...]:
    return (DatasetFile(f"similarity/MEN/{name}", reader, f"evaluation_data/MEN/{name}"),)


def _half(name: str, title: str, size: int, file: str) -> Dataset:
    return Dataset(
        name,
        title,
        size,
        "Finkelstein et al. 2002, ACM TOIS",
        "not stated",
        "fanglanting/skip-gram-pytorch@0a16cd6b",
        (DatasetFile(f"similarity/wordsim353/{file}", _WORDSIM_CSV, f"wordsim353/{file}"),),
        home="https://gabrilovich.com/resources/data/wordsim353/wordsim353.html",
        caveat="Of the original distribution; the single ratings stand in further columns.",
    )


SIMILARITY: tuple[Dataset, ...] = (
    _faruqui(
        "rg65",
        "RG-65",
        65,
        "Rubenstein & Goodenough 1965, CACM",
        copies=_words("EN-RG-65.txt"),
        home="https://doi.org/10.1145/365628.365657",
    ),
    _faruqui(
        "mc30",
        "MC-30",
        30,
        "Miller & Charles 1991",
        copies=_words("EN-MC-30.txt"),
        home="https://doi.org/10.1080/01690969108406936",
        caveat="A re-rated subset of RG-65.",
    ),
    _faruqui(
        "wordsim353",
        "WordSim-353",
        353,
        "Finkelstein et al. 2002, ACM TOIS",
        copies=(
            *_words("EN-WS-353-ALL.txt"),
            DatasetFile("similarity/wordsim353/combined.csv", _WORDSIM_CSV),
            DatasetFile.of_gensim("wordsim353.tsv", _GENSIM),
        ),
        home="https://gabrilovich.com/resources/data/wordsim353/wordsim353.html",
        caveat="'money cash' stands twice and 'tiger tiger' once; all are kept as published.",
    ),
    _agirre("wordsim353-similarity", "WordSim-353 similarity", 203, copies=_words("EN-WS-353-SIM.txt")),
    _agirre("wordsim353-relatedness", "WordSim-353 relatedness", 252, copies=_words("EN-WS-353-REL.txt")),
    _half("wordsim353-set1", "WordSim-353 first set", 153, "set1.csv"),
    _half("wordsim353-set2", "WordSim-353 second set", 200, "set2.csv"),
    _simlex(
        "simlex999",
        "SimLex-999",
        999,
        copies=(DatasetFile(_SIMLEX_FILE, _SIMLEX, _SIMLEX_SOURCE), DatasetFile.of_gensim("simlex999.txt", _GENSIM)),
    ),
    _simlex("simlex999-nouns", "SimLex-999 nouns", 666, copies=_simlex_part(2, "N")),
    _simlex("simlex999-verbs", "SimLex-999 verbs", 222, copies=_simlex_part(2, "V")),
    _simlex("simlex999-adjectives", "SimLex-999 adjectives", 111, copies=_simlex_part(2, "A")),
    _simlex(
        "simlex999-associated",
        "SimLex-999 most associated",
        333,
        copies=_simlex_part(8, "1"),
        caveat="The third of pairs that people associate most: similar ones must be told from related ones.",
    ),
    _simverb("simverb3500", "SimVerb-3500", 3500, copies=_simverb_file("SimVerb-3500.txt")),
    _simverb("simverb3500-dev", "SimVerb-3500 dev", 500, copies=_simverb_file("SimVerb-500-dev.txt")),
    _simverb("simverb3500-test", "SimVerb-3500 test", 3000, copies=_simverb_file("SimVerb-3000-test.txt")),
    Dataset(
        "rareword",
        "Rare Words",
        2034,
        "Luong, Socher & Manning 2013, CoNLL",
        "not stated",
        "fanglanting/skip-gram-pytorch@0a16cd6b",
        (DatasetFile("similarity/RW/rw.txt", _TABBED, "rw/rw.txt"),),
        home="https://nlp.stanford.edu/~lmthang/morphoNLM/",
    ),
    _men("men", "MEN-3000", 3000, copies=_men_file("MEN_dataset_natural_form_full", _SPACED)),
    _men(
        "men-dev",
        "MEN-3000 dev (lemmas)",
        2000,
        copies=_men_file("MEN_dataset_lemma_form.dev", _LEMMAS),
        caveat="The published split exists in lemma form only: 'stairs' of the natural form is 'stair' here.",
    ),
    _men(
        "men-test",
        "MEN-3000 test (lemmas)",
        1000,
        copies=_men_file("MEN_dataset_lemma_form.test", _LEMMAS),
        caveat="The published split exists in lemma form only: 'stairs' of the natural form is 'stair' here.",
    ),
)
