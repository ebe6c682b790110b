"""The running words of a store as numbers of the vocabulary, in stretches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus, Vocabulary

STRETCH_FORMS = 1 << 20


@dataclass(frozen=True)
class Stretch:
    """Whole paragraphs of text; words outside the vocabulary are left out, as if they were not there."""

    ids: NDArray[np.int64]
    """Of each word [W]."""
    sentence: NDArray[np.int64]
    """Number of each word's sentence in the corpus [W]; it never falls."""
    paragraph: NDArray[np.int64]
    """Number of each word's paragraph in the corpus [W]."""

    def __len__(self) -> int:
        return len(self.ids)

    def sentence_bounds(self) -> NDArray[np.int64]:
        """Where sentences begin, and the end of the last; sentences without words are not there [S + 1]."""
        starts = np.flatnonzero(np.diff(self.sentence, prepend=-1))
        return np.append(starts, len(self.ids))


class WordText:
    """A text as baselines read it: single words of the vocabulary, in order.

    Args:
        corpus: A prepared text.
        vocabulary: Its words; phrases are not looked for.
        stretch_forms: Forms of the text that are looked at together.

    Attributes:
        words: How many running words there are.
    """

    def __init__(self, corpus: Corpus, vocabulary: Vocabulary, stretch_forms: int = STRETCH_FORMS) -> None:
        self.corpus, self.vocabulary = corpus, vocabulary
        ids = vocabulary.word_ids(corpus)
        # Ids from here on are of words that occur in phrases only.
        self._ids = np.where(ids < len(vocabulary), ids, -1)
        self._bounds = _paragraph_groups(corpus, stretch_forms)
        self.occurring = np.zeros(len(vocabulary), dtype=bool)
        self.occurring[self._ids[self._ids >= 0]] = True
        self.words = int(vocabulary.counts[self.occurring].sum())

    @property
    def stretches(self) -> int:
        """How many stretches there are."""
        return len(self._bounds) - 1

    def read(self, order: Sequence[int] | NDArray[np.int64] | None = None) -> Iterator[Stretch]:
        """The stretches, in the order of the text or in another."""
        for number in range(self.stretches) if order is None else order:
            yield self.stretch(int(number))

    def stretch(self, number: int) -> Stretch:
        """One stretch."""
        corpus = self.corpus
        paragraphs = np.arange(self._bounds[number], self._bounds[number + 1] + 1)
        bounds = corpus.paragraphs[paragraphs]
        slots, sentence = corpus.word_slots(int(bounds[0]), int(bounds[-1]))
        ids = self._ids[slots]
        known = ids >= 0
        sentence = sentence[known]
        paragraph = paragraphs[0] + np.searchsorted(bounds, sentence, side="right") - 1
        return Stretch(ids[known].astype(np.int64), sentence, paragraph)


def _paragraph_groups(corpus: Corpus, forms: int) -> NDArray[np.int64]:
    """Bounds [G + 1] of groups of paragraphs with about so many forms; a longer one is alone."""
    ends = corpus.sentences[corpus.paragraphs]
    bounds = [0]
    while bounds[-1] < len(corpus):
        last = int(np.searchsorted(ends, ends[bounds[-1]] + forms, side="right")) - 1
        bounds.append(min(max(last, bounds[-1] + 1), len(corpus)))
    return np.array(bounds)
