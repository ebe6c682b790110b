"""Words with their classes, for categorization: AP, Battig, ESSLLI."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from wordstill.errors import DataError
from wordstill.evaluation.data.fields import CATEGORIES as WORD_AND_CLASS
from wordstill.evaluation.data.fields import filled_lines, own_rows, split_fields
from wordstill.evaluation.data.registry import Dataset, DatasetFile


@dataclass(frozen=True)
class Categories:
    """Words in the order of their file; a word may be in several classes."""

    holds: ClassVar[str] = "words with classes"

    words: tuple[str, ...]
    labels: tuple[str, ...]
    coarser: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Other, coarser classes of the same words, by the name of the division."""

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class CategoryReader:
    """Reads one published layout with a header line."""

    delimiter: str
    word: int
    label: int
    suffix: str = ""
    """Suffix to remove from every word, such as the part of speech in ``chicken_N``."""
    coarser: tuple[tuple[str, int], ...] = ()
    """Names of coarser divisions, with the columns of their classes."""
    split_label: str | None = None
    """The name of a coarser division, whose class follows the hyphen in the class itself."""

    def __call__(self, path: Path) -> Categories:
        """Read a file; rows without a word are skipped."""
        rows: list[tuple[str, ...]] = []
        for number, (place, line) in enumerate(filled_lines(path)):
            if number:
                rows.append(self._row(split_fields(line, self.delimiter, place), place))
        # AP holds one row without a word for each of its classes.
        columns = list(zip(*(row for row in rows if row[0])))
        if not columns:
            raise DataError(f"{path} holds no words with classes.")
        names = [name for name, _ in self.coarser] + ([self.split_label] if self.split_label else [])
        return Categories(columns[0], columns[1], dict(zip(names, columns[2:])))

    def _row(self, fields: list[str], place: str) -> tuple[str, ...]:
        wanted = [self.word, self.label, *(column for _, column in self.coarser)]
        if len(fields) <= max(wanted):
            raise DataError(f"{place}: expected at least {max(wanted) + 1} fields but got {len(fields)}: {fields!r}.")
        word, label, *coarser = (fields[column] for column in wanted)
        if self.suffix and not word.endswith(self.suffix):
            raise DataError(f"{place}: expected a word ending in {self.suffix!r} but got {word!r}.")
        if self.split_label:
            coarser.append(label.rpartition("-")[2])
        return word.removesuffix(self.suffix), label, *coarser


def read_own_categories(path: Path) -> Categories:
    """Read a user's own file: ``word class`` on each line, separated by tabs, commas or spaces, or chosen columns."""
    rows = []
    for place, fields in own_rows(path, WORD_AND_CLASS):
        if not all(fields):
            raise DataError(f"{place}: expected 'word class', but one is empty: {fields!r}.")
        rows.append((fields[0], fields[1]))
    if not rows:
        raise DataError(f"{path} holds no words. Expected lines of 'word class'.")
    words, labels = zip(*rows)
    return Categories(words, labels)


_VECTO = CategoryReader(",", word=2, label=1)
_VERBS = CategoryReader(",", word=2, label=1, split_label="5 classes")
_NOUNS = CategoryReader("\t", word=0, label=1, suffix="_N", coarser=(("3 classes", 2), ("2 classes", 3)))
_STRUDEL = CategoryReader("\t", word=0, label=1)

_FOLDER = "word-categorization/monolingual/en"
_vecto = partial(Dataset, license="not stated", upstream="vecto-ai/word-benchmarks@9b61d0e0", task="categorisation")

CATEGORIES: tuple[Dataset, ...] = (
    _vecto(
        "ap",
        "AP",
        402,
        "Almuhareb & Poesio 2005; Almuhareb 2006",
        copies=(DatasetFile("categorization/AP.csv", _VECTO, f"{_FOLDER}/ap.csv"),),
        caveat="The file holds one row without a word for each of the 21 classes; they are dropped.",
    ),
    _vecto(
        "battig",
        "Battig",
        5231,
        "Battig & Montague 1969; form of Jastrzebski et al. 2017",
        copies=(DatasetFile("categorization/Battig-5231.csv", _VECTO, f"{_FOLDER}/battig.csv"),),
        caveat="Words stand in several classes (4,668 distinct ones); phrases and misspellings are original.",
    ),
    Dataset(
        "battig82",
        "Battig-82",
        82,
        "Baroni et al. 2010, Cognitive Science",
        "not stated (repo: MIT)",
        "SemanticPriming/subs2strudel@0de1e819",
        (DatasetFile("categorization/Battig-82.tsv", _STRUDEL),),
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
        (DatasetFile("categorization/ESSLLI-2008-1a.tsv", _NOUNS),),
        task="categorisation",
        home="http://wordspace.collocations.de/doku.php/data:esslli2008:start",
        caveat="Six classes; from an R data frame. Published 'ESSLLI (N)' scores are of 2b, 40 nouns.",
    ),
    _vecto(
        "esslli-2c",
        "ESSLLI-2008 2c, verbs",
        45,
        "ESSLLI 2008 lexical semantics workshop (Baroni, Evert & Lenci)",
        copies=(DatasetFile("categorization/ESSLLI-2008-2c.csv", _VERBS, f"{_FOLDER}/essli-2008.csv"),),
        home="http://wordspace.collocations.de/doku.php/data:esslli2008:start",
        caveat="Nine classes; five behind the hyphen.",
    ),
)
