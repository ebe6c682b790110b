"""The running words of a corpus as vocabulary ids, in stretches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus import Corpus, Vocabulary

STRETCH_FORMS = 1 << 20


@dataclass(frozen=True)
class Stretch:
    """Whole paragraphs of text, without the words outside the vocabulary."""

    ids: NDArray[np.int64]
    """Vocabulary ids of the words [W]."""
    sentence: NDArray[np.int64]
    """Sentence of each word in the corpus [W], ascending."""
    paragraph: NDArray[np.int64]
    """Paragraph of each word in the corpus [W]."""

    def __len__(self) -> int:
        return len(self.ids)

    def sentence_bounds(self) -> NDArray[np.int64]:
        """Offsets of the sentences that have words [S + 1]."""
        starts = np.flatnonzero(np.diff(self.sentence, prepend=-1))
        return np.append(starts, len(self.ids))


class WordText:
    """A corpus as baselines read it: running words of the vocabulary, without phrases.

    Attributes:
        words: Number of running words.
        occurring: Which words of the vocabulary occur [V].
        trees: CoNLL-U files with the dependency trees of the text, if there are any.
    """

    def __init__(
        self, corpus: Corpus, vocabulary: Vocabulary, stretch_forms: int = STRETCH_FORMS, trees: Sequence[Path] = ()
    ) -> None:
        self.corpus, self.vocabulary, self.trees = corpus, vocabulary, trees
        ids = vocabulary.word_ids(corpus)
        # Larger ids are of words that occur in phrases only.
        self._ids = np.where(ids < len(vocabulary), ids, -1)
        self._bounds = _paragraph_groups(corpus, stretch_forms)
        self.occurring = np.zeros(len(vocabulary), dtype=bool)
        self.occurring[self._ids[self._ids >= 0]] = True
        self.words = int(vocabulary.counts[self.occurring].sum())

    @property
    def stretches(self) -> int:
        """Number of stretches."""
        return len(self._bounds) - 1

    def read(self, order: Sequence[int] | NDArray[np.int64] | None = None) -> Iterator[Stretch]:
        """The stretches, in the order of the text or in the given one."""
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
    """Bounds [G + 1] of groups of paragraphs with about this many forms."""
    ends = corpus.sentences[corpus.paragraphs]
    bounds = [0]
    while bounds[-1] < len(corpus):
        last = int(np.searchsorted(ends, ends[bounds[-1]] + forms, side="right")) - 1
        bounds.append(min(max(last, bounds[-1] + 1), len(corpus)))
    return np.array(bounds)
