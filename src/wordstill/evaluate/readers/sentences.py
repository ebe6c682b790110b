"""Pairs of sentences with a human score or label: STS by sub-corpus, PAWS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError
from wordstill.evaluate.readers.lines import exactly, filled_lines, finite_number, own_lines, read_lines

OWN_CORPUS = "all"


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """Scored pairs, sub-corpus after sub-corpus."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    corpus: NDArray[np.int64]
    """The number of each pair's sub-corpus, shape (pairs,)."""
    corpora: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class StsReader:
    """Reads the folder of one year: ``STS.input.X.txt`` with sentences, ``STS.gs.X.txt`` with scores."""

    corpora: tuple[str, ...]

    def __call__(self, folder: Path) -> SentencePairs:
        """Read the sub-corpora of a folder; pairs whose score is blank were never scored and are left out."""
        rows: list[tuple[str, str, float, int]] = []
        for number, corpus in enumerate(self.corpora):
            rows += [(*row, number) for row in _corpus(folder, corpus)]
        return _collect(rows, tuple(name.removeprefix("surprise.") for name in self.corpora), folder)


def read_own_sentences(path: Path) -> SentencePairs:
    """A user's own file: ``sentence1 TAB sentence2 TAB score`` on each line."""
    rows = []
    for place, line in own_lines(path):
        first, second, score = exactly(line.split("\t"), 3, "two sentences and a score between tabs", place)
        rows.append((first, second, _score(score, place), 0))
    return _collect(rows, (OWN_CORPUS,), path)


def read_paraphrases(folder: Path) -> dict[str, SentencePairs]:
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
    return parts


def _corpus(folder: Path, corpus: str) -> list[tuple[str, str, float]]:
    inputs = _whole(folder / f"STS.input.{corpus}.txt")
    scores = _whole(folder / f"STS.gs.{corpus}.txt")
    if len(inputs) != len(scores):
        raise DataError(
            f"{folder}: STS.input.{corpus}.txt has {len(inputs)} lines, "
            f"but STS.gs.{corpus}.txt has {len(scores)}."
        )
    rows = []
    for number, (line, score) in enumerate(zip(inputs, scores), start=1):
        if not score.strip():
            continue
        place = f"{folder / f'STS.input.{corpus}.txt'}:{number}"
        fields = line.split("\t")
        # Some years carry the sources of the sentences in further columns.
        if len(fields) < 2:
            raise DataError(f"{place}: expected two sentences between tabs but got {line!r}.")
        rows.append((fields[0], fields[1], _score(score, f"{folder / f'STS.gs.{corpus}.txt'}:{number}")))
    return rows


def _whole(path: Path) -> list[str]:
    lines = [line for _, line in read_lines(path)]
    return lines[:-1] if lines and not lines[-1] else lines


def _score(text: str, place: str) -> float:
    value = finite_number(text)
    if value is None:
        raise DataError(f"{place}: expected a finite number as the score of the pair but got {text!r}.")
    return value


def _collect(rows: list[tuple[str, str, float, int]], corpora: tuple[str, ...], path: Path) -> SentencePairs:
    if not rows:
        raise DataError(f"{path} holds no scored pairs of sentences.")
    first, second, gold, corpus = zip(*rows)
    return SentencePairs(
        first, second, np.array(gold, dtype=np.float64), np.array(corpus, dtype=np.int64), corpora
    )
