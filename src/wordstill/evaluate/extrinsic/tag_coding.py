"""Words and tags in numbers, and predicted numbers as tags again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from wordstill.evaluate.extrinsic.examples import Examples, Words
from wordstill.evaluate.extrinsic.metrics import OUTSIDE, span_counts, to_bioes
from wordstill.evaluate.extrinsic.word_table import Ids, Sentences

SPAN_MARKS = ("B-", "I-", "E-", "S-")
UNSEEN_TAG = 0
LONGEST_WORD = 40
"""Characters of a word that are read."""


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Every different word of a set, as it is written; number 0 is padding."""

    rows: Ids
    """The row of the vector of each, (surfaces,)."""
    characters: Ids
    """Numbers of the characters of each, (surfaces, longest); 0 behind its end, 1 for those not seen."""
    kinds: int
    """How many different characters there are, with those two."""

    @classmethod
    def of(cls, words: Sequence[str], rows: Sequence[int], seen: Iterable[str]) -> Surfaces:
        """Spell words.

        Args:
            words: Different words.
            rows: The row of the vector of each.
            seen: The words of the training part, whose characters are known.
        """
        alphabet = sorted(set("".join(seen)))
        number = {character: place for place, character in enumerate(alphabet, start=2)}
        longest = min(LONGEST_WORD, max(map(len, words), default=1))
        characters = np.zeros((len(words) + 1, longest), dtype=np.int64)
        for place, word in enumerate(words, start=1):
            spelt = [number.get(character, 1) for character in word[:longest]]
            characters[place, : len(spelt)] = spelt
        return cls(np.array([0, *rows], dtype=np.int64), characters, len(alphabet) + 2)


@dataclass(frozen=True, eq=False)
class TaggedRows:
    """Sentences as numbers of surfaces, with numbers of tags."""

    sentences: Sentences
    tags: Sentences


@dataclass(frozen=True)
class TagCoder:
    """The tags of a training part; spans are written as BIOES."""

    tags: tuple[str, ...]
    spans: bool

    @classmethod
    def of(cls, train: Examples[Words]) -> TagCoder:
        """Collect the tags."""
        spans = are_spans(train.targets)
        rows = map(to_bioes, train.targets) if spans else train.targets
        return cls(tuple(sorted({tag for row in rows for tag in row})), spans)

    def numbers(self, part: Examples[Words]) -> Sentences:
        """The tags of a part; one that the training part does not have counts as the first."""
        number = {tag: place for place, tag in enumerate(self.tags)}
        rows = [to_bioes(tags) if self.spans else tags for tags in part.targets]
        return Sentences.of([[number.get(tag, UNSEEN_TAG) for tag in row] for row in rows])

    def decode(self, tags: Sentences) -> list[Words]:
        """Rows of tags by name."""
        names = [self.tags[number] for number in tags.rows]
        return [tuple(names[start:end]) for start, end in zip(tags.starts[:-1], tags.starts[1:])]

    def counts(self, gold: Sequence[Words], predicted: Sequence[Words]) -> Ids:
        """What a figure is worked out from, (sentences, 2 or 3): right and all words, or counts of spans."""
        if self.spans:
            return span_counts(gold, predicted)
        rows = [
            (sum(map(str.__eq__, true, guessed)), len(true))
            for true, guessed in zip(gold, predicted, strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)


def are_spans(rows: Iterable[Words]) -> bool:
    """Whether tags mark spans: each is ``O`` or begins with ``B-``, ``I-``, ``E-`` or ``S-``."""
    tags = {tag for row in rows for tag in row}
    return tags != {OUTSIDE} and all(tag == OUTSIDE or tag.startswith(SPAN_MARKS) for tag in tags)
