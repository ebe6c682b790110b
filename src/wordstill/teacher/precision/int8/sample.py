"""Which texts of a corpus show a teacher the ranges of its numbers: always the same for the same corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.corpus import Corpus
from wordstill.teacher.subwords.tokenisation import Subwords

PARAGRAPHS, WORDS = 32, 32
"""How many ranges are learnt from; fewer give worse ranges, more take longer."""
LONGEST = 128
"""Sub-words of each that are read, special tokens counted."""


@dataclass(frozen=True)
class RangeSample:
    """Texts to learn ranges from, and one to judge the result by; sub-words with their special tokens [n]."""

    learnt: tuple[Tensor, ...]
    judged: Tensor

    def facts(self) -> dict[str, Any]:
        """What it is, as plain data."""
        digest = hashlib.sha256()
        for text in self.learnt:
            digest.update(len(text).to_bytes(8, "little") + text.numpy().astype("<i8").tobytes())
        return {
            "texts": len(self.learnt),
            "sub_words": sum(map(len, self.learnt)),
            "sha256": digest.hexdigest(),
        }


def sample_of(corpus: Corpus, subwords: Subwords, limit: int) -> RangeSample:
    """Paragraphs from all over a corpus, and words alone, frequent and rare.

    Args:
        corpus: The text that will be read.
        subwords: The teacher's tokenizer.
        limit: Longest text in sub-words, special tokens counted.
    """
    paragraphs = _texts([corpus.text(number) for number in _paragraphs(corpus)], subwords, limit)
    words = _texts([corpus.forms[number] for number in _forms(corpus)], subwords, limit)
    judged = max(paragraphs, key=len, default=torch.empty(0, dtype=torch.int64))
    # A corpus of one paragraph has no other to learn from.
    others = [text for text in paragraphs if text is not judged] or paragraphs
    return RangeSample((*others, *words), judged)


def _paragraphs(corpus: Corpus) -> list[int]:
    """Numbers of the paragraphs at even distances in the running text."""
    places = np.linspace(0, len(corpus.tokens) - 1, PARAGRAPHS + 1).astype(np.int64)
    sentences = np.searchsorted(corpus.sentences, places, side="right") - 1
    numbers: list[int] = np.unique(np.searchsorted(corpus.paragraphs, sentences, side="right") - 1).tolist()
    return numbers


def _forms(corpus: Corpus) -> list[int]:
    """Numbers of forms by their rank: each rarer than the last by about the same factor."""
    ranks = np.unique(np.geomspace(1, len(corpus.forms), WORDS).round().astype(np.int64)) - 1
    numbers: list[int] = np.argsort(-corpus.forms.counts, kind="stable")[ranks].tolist()
    return numbers


def _texts(texts: Sequence[str], subwords: Subwords, limit: int) -> list[Tensor]:
    """Those that have sub-words, cut to their beginnings."""
    before, after = list(subwords.prefix), list(subwords.suffix)
    room = max(1, min(LONGEST, limit) - len(before) - len(after))
    pieces = subwords.encode(texts)
    found = [pieces.ids[first:last] for first, last in zip(pieces.offsets, pieces.offsets[1:])]
    return [torch.tensor([*before, *ids[:room].tolist(), *after]) for ids in found if len(ids)]
