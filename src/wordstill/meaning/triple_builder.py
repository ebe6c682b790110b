"""Training triples from targets: predictions and paraphrases, filtered by cosines of static vectors.

The positive is the word of a paraphrase that corresponds to the target (Algorithm 4.1 of Arase & Kajiwara 2021):
words other than the target that are each other's best match are removed; the target's match is the best of the
rest, if its cosine reaches the threshold. Ties, for example between repeated words, go to the nearer relative
position, which the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range
from wordstill.corpus.segment import word_spans
from wordstill.meaning.masked import Candidate
from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.triples import Triple
from wordstill.vectors import WordVectors

Cosines = NDArray[np.float32]
TIE = 1e-4
"""Smaller than any meaningful difference of cosines."""
SUBSTITUTED = "substituted"
"""Source of positives made by replacing only the word."""
TARGET_UNKNOWN = "the target has no static vector"
NOT_PREDICTED = "the masked model cannot read it"
NO_NEGATIVE = "no word fits its place with another meaning"
NO_SUBSTITUTE = "no word fits its place with the same meaning"
NAME = "a name, which no other word can stand for"
NO_PARAPHRASE = "no paraphrase"
NOT_ALIGNED = "no word of the paraphrase matches"


@dataclass(frozen=True)
class BuildConfig(Config):
    """Which words have the same meaning, and which predictions are used; the defaults are the paper's.

    The paper's threshold is for fastText; for another table, choose a cosine that separates synonyms from other words.
    """

    similarity: Annotated[float, Range(0, 1, above=True, below=True)] = 0.6
    """Cosine of static vectors from which on two words have the same meaning, λ."""
    probability: Annotated[float, Range(0, 1, below=True)] = 0.003
    """Minimum probability of a prediction, δ."""
    candidates: Annotated[int, Range(1)] = 100
    """Number of predictions to consider."""
    edit_distance: int = 3
    """Maximum edit distance at which a positive is nearly the same word, and is replaced if possible."""
    guarded: bool = True
    """Do not replace names, do not substitute nearly the same word, and do not replace words that differ in more than
    half of their letters; the paper has none of these rules."""


class TripleBuilder:
    """Builds triples with the cosines of a static table."""

    def __init__(self, cosines: WordCosines, config: BuildConfig | None = None) -> None:
        self.cosines, self.config = cosines, config or BuildConfig()

    def build(
        self, occurrence: Occurrence, predicted: Sequence[Candidate] | None, paraphrase: str | None, *, source: str
    ) -> Triple | str:
        """A triple, or the reason why there is none.

        Args:
            occurrence: The target in its sentence.
            predicted: Predicted substitutes, the most probable first; None if they are unknown.
            paraphrase: A paraphrase of the sentence; not used with ``source="substituted"``.
            source: Source of the paraphrase.
        """
        if reason := self.ruled_out(occurrence, source=source):
            return reason
        if predicted is None:
            return NOT_PREDICTED
        same, other = self._sorted_out(occurrence.word, predicted)
        if other is None:
            return NO_NEGATIVE
        negative = occurrence.replaced(in_the_case_of(occurrence, other))
        if source == SUBSTITUTED:
            if same is None:
                return NO_SUBSTITUTE
            return Triple(occurrence, occurrence.replaced(in_the_case_of(occurrence, same)), negative, source)
        if not paraphrase or not paraphrase.strip():
            return NO_PARAPHRASE
        positive = self.matched(occurrence, paraphrase)
        if positive is None:
            return NOT_ALIGNED
        if same is not None and self._replaceable(occurrence, positive):
            return Triple(occurrence, positive.replaced(in_the_case_of(positive, same)), negative, "replaced")
        return Triple(occurrence, positive, negative, source)

    def ruled_out(self, occurrence: Occurrence, *, source: str) -> str | None:
        """Why a target gives no triple for any predictions; None if it may give one."""
        if occurrence.word not in self.cosines:
            return TARGET_UNKNOWN
        return NAME if source == SUBSTITUTED and is_name(occurrence) else None

    def matched(self, occurrence: Occurrence, paraphrase: str) -> Occurrence | None:
        """The word of a paraphrase that corresponds to the target (Algorithm 4.1)."""
        # A hyphenated word is one word on both sides, and the target's position identifies it.
        others = word_spans(paraphrase)
        other_words = [paraphrase[slice(*span)] for span in others]
        # Most targets end here; comparing all words takes much longer.
        if not (self.cosines.matrix([occurrence.word], other_words) >= self.config.similarity).any():
            return None
        spans = word_spans(occurrence.text)
        target = next((row for row, (start, end) in enumerate(spans) if start <= occurrence.start < end), None)
        if target is None:
            return None
        words = [occurrence.text[slice(*span)] for span in spans]
        words[target] = occurrence.word
        cosines = self.cosines.matrix(words, other_words)
        match = align_target(cosines, target, self.config.similarity)
        return None if match is None else Occurrence(paraphrase, *others[match])

    def _sorted_out(self, word: str, predicted: Sequence[Candidate]) -> tuple[str | None, str | None]:
        """The most probable other word with the same meaning, and the most probable one with another meaning."""
        itself = word.casefold()
        words = [
            candidate.word
            for candidate in predicted
            if candidate.probability > self.config.probability
            and candidate.word.casefold() != itself
            and candidate.word in self.cosines
        ]
        if not words:
            return None, None
        near = self.cosines.matrix([word], words)[0] >= self.config.similarity
        guarded = self.config.guarded
        same = (other for other, alike in zip(words, near) if alike and not (guarded and self._nearly(word, other)))
        return next(same, None), next((other for other, alike in zip(words, near) if not alike), None)

    def _replaceable(self, occurrence: Occurrence, positive: Occurrence) -> bool:
        named = self.config.guarded and (is_name(occurrence) or is_name(positive))
        return self._nearly(occurrence.word, positive.word) and not named

    def _nearly(self, word: str, other: str) -> bool:
        if self.config.guarded:
            return nearly_the_same(word, other, self.config.edit_distance)
        return edit_distance(word.casefold(), other.casefold()) <= self.config.edit_distance


class WordCosines:
    """Cosines between words of any table, which are looked up as written, then in lower case."""

    def __init__(self, vectors: WordVectors) -> None:
        self._unit = vectors.unit
        self._rows = {word: row for row, word in enumerate(vectors.words)}

    def __contains__(self, word: str) -> bool:
        return self._row(word) >= 0

    def matrix(self, first: Sequence[str], second: Sequence[str]) -> Cosines:
        """[first, second] cosines; 1 for equal words, otherwise 0 if one of them is not in the table."""
        cosines: Cosines = self._vectors(first) @ self._vectors(second).T
        columns: dict[str, list[int]] = {}
        for column, word in enumerate(second):
            columns.setdefault(word.casefold(), []).append(column)
        for row, word in enumerate(first):
            for column in columns.get(word.casefold(), ()):
                cosines[row, column] = 1.0
        return cosines

    def _vectors(self, words: Sequence[str]) -> Cosines:
        rows = np.array([self._row(word) for word in words], dtype=np.int64)
        vectors: Cosines = self._unit[rows]
        vectors[rows < 0] = 0.0
        return vectors

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        return self._rows.get(word.lower(), -1) if row is None else row


def align_target(cosines: Cosines, target: int, threshold: float) -> int | None:
    """The index of the target's match in a paraphrase, from cosines [n, m] and a minimum (the paper's λ), or None.

    >>> cosines = np.array([[1.0, 0.1], [0.2, 0.7]], dtype=np.float32)
    >>> align_target(cosines, 1, 0.6), align_target(cosines, 1, 0.8)
    (1, None)
    """
    rows, columns = cosines.shape
    if columns == 0:
        return None
    places = np.abs(_relative(rows)[:, None] - _relative(columns)[None, :])
    ranked = cosines - TIE * places
    best_of_row, best_of_column = ranked.argmax(axis=1), ranked.argmax(axis=0)
    mutual = best_of_column[best_of_row] == np.arange(rows)
    mutual[target] = False
    free = cosines[target] >= threshold
    free[best_of_row[mutual]] = False
    if not free.any():
        return None
    return int(np.where(free, ranked[target], -np.inf).argmax())


def _relative(count: int) -> Cosines:
    """The relative position of each word, from 0 to 1."""
    return np.linspace(0.0, 1.0, count, dtype=np.float32)


def nearly_the_same(first: str, second: str, distance: int) -> bool:
    """Whether two words differ by at most ``distance`` letters, and by no more than half of the longer one.

    >>> nearly_the_same("promise", "promised", 3), nearly_the_same("cat", "dog", 3)
    (True, False)
    """
    limit = min(distance, max(len(first), len(second)) // 2)
    return edit_distance(first.casefold(), second.casefold()) <= limit


def edit_distance(first: str, second: str) -> int:
    """The Levenshtein distance of two words.

    >>> edit_distance("kitten", "sitting")
    3
    """
    before = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, other in enumerate(second, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != other)))
        before = now
    return before[-1]


def is_name(occurrence: Occurrence) -> bool:
    """Whether a word has a capital letter but does not begin a sentence."""
    before = occurrence.text[: occurrence.start].rstrip()
    return occurrence.word[:1].isupper() and bool(before) and before[-1] not in ".!?:\"“”'"


def in_the_case_of(occurrence: Occurrence, word: str) -> str:
    """A word in the case of the one that it replaces: capitalized, in all caps, or unchanged."""
    if occurrence.word.isupper() and len(occurrence.word) > 1:
        return word.upper()
    if occurrence.word[:1].isupper():
        return word[:1].upper() + word[1:]
    return word
