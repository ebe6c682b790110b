"""Pairs of sentences with a human score or label: STS by sub-corpus, PAWS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wordstill.core.text_io import numbered_lines
from wordstill.errors import DataError
from wordstill.evaluation.data.fields import SENTENCES as SENTENCES_AND_SCORE
from wordstill.evaluation.data.fields import exactly, filled_lines, own_rows, required_number
from wordstill.evaluation.data.registry import Dataset, DatasetFile

OWN_CORPUS = "all"
SCORE = "the score of the pair"


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """Scored pairs, sub-corpus after sub-corpus."""

    holds: ClassVar[str] = "scored pairs of sentences"

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    corpus: NDArray[np.int64]
    """The number of each pair's sub-corpus, shape (pairs,)."""
    corpora: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class ParaphraseParts:
    """Pairs with the score 1 for paraphrases and 0 for others, by part: ``dev`` and ``test``."""

    holds: ClassVar[str] = "paraphrases"

    parts: dict[str, SentencePairs]

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))


@dataclass(frozen=True)
class StsReader:
    """Reads the folder of one year: ``STS.input.X.txt`` with sentences, ``STS.gs.X.txt`` with scores."""

    corpora: tuple[str, ...]

    def __call__(self, folder: Path) -> SentencePairs:
        """Read the sub-corpora of a folder; pairs with an empty score were never scored and are skipped."""
        rows: list[tuple[str, str, float, int]] = []
        for number, corpus in enumerate(self.corpora):
            rows += [(*row, number) for row in _corpus(folder, corpus)]
        return _collect(rows, tuple(name.removeprefix("surprise.") for name in self.corpora), folder)


def read_own_sentences(path: Path) -> SentencePairs:
    """Read a user's own file: ``sentence1 TAB sentence2 TAB score``, the published STS benchmark, or chosen columns."""
    rows = []
    for place, (first, second, score) in own_rows(path, SENTENCES_AND_SCORE, blanks=False):
        rows.append((first, second, required_number(score, SCORE, place), 0))
    return _collect(rows, (OWN_CORPUS,), path)


def read_paws(folder: Path) -> ParaphraseParts:
    """PAWS-Wiki, which has no header line here: the parts ``dev`` and ``test``, with the label as score."""
    parts = {}
    for part in ("dev", "test"):
        path = folder / f"{part}.tsv"
        rows = []
        for place, line in filled_lines(path):
            _, first, second, label = exactly(line.split("\t"), 4, "'id sentence1 sentence2 label'", place)
            if label not in ("0", "1"):
                raise DataError(f"{place}: expected the label 0 or 1 but got {label!r}.")
            rows.append((first, second, float(label), 0))
        parts[part] = _collect(rows, (part,), path)
    return ParaphraseParts(parts)


def _corpus(folder: Path, corpus: str) -> list[tuple[str, str, float]]:
    inputs = _whole(folder / f"STS.input.{corpus}.txt")
    scores = _whole(folder / f"STS.gs.{corpus}.txt")
    if len(inputs) != len(scores):
        raise DataError(
            f"{folder}: STS.input.{corpus}.txt has {len(inputs)} lines, but STS.gs.{corpus}.txt has {len(scores)}."
        )
    rows = []
    for number, (line, score) in enumerate(zip(inputs, scores), start=1):
        if not score.strip():
            continue
        place = f"{folder / f'STS.input.{corpus}.txt'}:{number}"
        fields = line.split("\t")
        # In some years, further columns have the sources of the sentences.
        if len(fields) < 2:
            raise DataError(f"{place}: expected two sentences between tabs but got {line!r}.")
        rows.append(
            (fields[0], fields[1], required_number(score, SCORE, f"{folder / f'STS.gs.{corpus}.txt'}:{number}"))
        )
    return rows


def _whole(path: Path) -> list[str]:
    return [line for _, line in numbered_lines(path)]


def _collect(rows: list[tuple[str, str, float, int]], corpora: tuple[str, ...], path: Path) -> SentencePairs:
    if not rows:
        raise DataError(f"{path} holds no scored pairs of sentences.")
    first, second, gold, corpus = zip(*rows)
    return SentencePairs(first, second, np.array(gold, dtype=np.float64), np.array(corpus, dtype=np.int64), corpora)


_BLANK = "A blank line of a gold file is a pair that was never scored; such pairs are left out."
_YEARS = {
    "sts12": (
        3108,
        "Agirre et al. 2012, SemEval",
        ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
        "MSRpar is under Microsoft's terms.",
    ),
    "sts13": (
        1500,
        "Agirre et al. 2013, *SEM",
        ("FNWN", "OnWN", "headlines"),
        "Without SMT, whose sentences only LDC gives out.",
    ),
    "sts14": (
        3750,
        "Agirre et al. 2014, SemEval",
        ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"),
        None,
    ),
    "sts15": (
        3000,
        "Agirre et al. 2015, SemEval",
        ("answers-forums", "answers-students", "belief", "headlines", "images"),
        _BLANK,
    ),
    "sts16": (
        1186,
        "Agirre et al. 2016, SemEval",
        ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
        _BLANK,
    ),
}


def _year(name: str) -> Dataset:
    size, citation, corpora, caveat = _YEARS[name]
    folder = f"{name.upper()}-en-test"
    return Dataset(
        name,
        name.upper().replace("STS", "STS "),
        size,
        citation,
        "see the readme and licence files of the set",
        "FreedomIntelligence/qnn@77f54937",
        (DatasetFile(f"sts/{folder}", StsReader(corpora), f"data/STS/{folder}"),),
        task="sts",
        home="http://ixa2.si.ehu.eus/stswiki/",
        caveat=caveat,
    )


SENTENCES: tuple[Dataset, ...] = (
    *map(_year, _YEARS),
    Dataset(
        "paws-wiki",
        "PAWS-Wiki",
        16_000,
        "Zhang, Baldridge & He 2019, NAACL",
        "free use with acknowledgement to Google LLC (upstream LICENSE)",
        "hoangdzung/simmat@7e55b810",
        (DatasetFile("paraphrase/PAWS-Wiki", read_paws, "data/final"),),
        task="paraphrase",
        home="https://github.com/google-research-datasets/paws",
        caveat="dev and test only, 8,000 pairs each, without the upstream header line.",
    ),
)
