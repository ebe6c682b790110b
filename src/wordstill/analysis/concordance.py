"""Concordance: occurrences of a word in a prepared text, and the most similar occurrences of two words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.segment import WordSegmenter
from wordstill.corpus.store import Corpus
from wordstill.corpus.vocabulary import Entry, KeyRule, Vocabulary, VocabularyConfig, words_of
from wordstill.vectors.occurrences import Occurrences, WordUses
from wordstill.vectors.search import unit_rows
from wordstill.vectors.sentences import sif_weights, word_frequencies
from wordstill.vectors.table import WordVectors

Numbers = NDArray[np.int64]

LONGEST = 400
"""Maximum characters of context; longer contexts are cut on either side of the word."""
COMPARED = 400
"""Maximum occurrences of each word to compare."""
SMOOTHING = 1e-3


@dataclass(frozen=True)
class Line:
    """One occurrence: the text before the word, the word as written there, and the text after it."""

    sentence: int
    """Index of the sentence in the text."""
    before: str
    word: str
    after: str


@dataclass(frozen=True)
class LinePair:
    """An occurrence of each of two words, and their similarity."""

    first: Line
    second: Line
    likeness: float
    """Cosine of the teacher's states of both, or of the mean word vectors of their sentences without the two words."""


class Concordance:
    """Occurrences of the words of a table in a prepared text.

    Args:
        corpus: The text.
        vectors: The table. Case is ignored if its words are lowercased.
    """

    def __init__(self, corpus: Corpus, vectors: WordVectors) -> None:
        self.corpus, self.vectors = corpus, vectors
        self.key = _key_rule(vectors)
        self._vocabulary = Vocabulary(
            (Entry(word, 1, word) for word in vectors.words), VocabularyConfig(1, None, self.key), WordSegmenter()
        )

    def count(self, word: str) -> int:
        """How often a word or phrase occurs."""
        return len(self._occurrences(word))

    def lines(self, word: str, limit: int, offset: int = 0) -> list[Line]:
        """Occurrences spread evenly over the text, ``limit`` at a time; ``offset`` is the page."""
        found = self._occurrences(word)
        return [self._line(place, word) for place in _spread(found, limit, offset).tolist()]

    def together(self, first: str, second: str, limit: int) -> list[Line]:
        """Occurrences of the first word in sentences that also have the second."""
        one, other = self._occurrences(first), self._occurrences(second)
        sentences = self._sentence_of(one)
        both = one[np.isin(sentences, self._sentence_of(other))]
        return [self._line(place, first) for place in _spread(both, limit, 0).tolist()]

    def alike(self, first: str, second: str, limit: int) -> list[LinePair]:
        """Pairs of occurrences whose sentences are most similar apart from the two words; each is in one pair only."""
        places = [_spread(self._occurrences(word), COMPARED, 0) for word in (first, second)]
        if not all(len(some) for some in places):
            return []
        without = [self.vectors.index(word) for word in (first, second) if word in self.vectors]
        means = [self._sentence_means(self._sentence_of(some), without) for some in places]
        sentences = [self._sentence_of(some) for some in places]
        return [
            LinePair(self._line(int(places[0][row]), first), self._line(int(places[1][column]), second), likeness)
            for row, column, likeness in _best_pairs(means[0] @ means[1].T, sentences[0], sentences[1], limit)
        ]

    @cached_property
    def states(self) -> Occurrences | None:
        """Occurrences of this text whose states were kept with the table."""
        corpus, kept = self.vectors.provenance.get("corpus"), self.vectors.occurrences
        same = isinstance(corpus, dict) and corpus.get("hash") == self.corpus.hash
        return kept if same else None

    def alike_by_states(self, first: str, second: str, limit: int) -> list[LinePair] | None:
        """Pairs of occurrences with the nearest states, each in one pair only; None if no states were kept."""
        kept = self.states
        if kept is None or first not in kept or second not in kept:
            return None
        uses = [kept.of(word) for word in (first, second)]
        likeness = unit_rows(uses[0].states) @ unit_rows(uses[1].states).T
        pairs = _best_pairs(likeness, uses[0].sentences, uses[1].sentences, limit)
        return [
            LinePair(self._use_line(uses[0], row), self._use_line(uses[1], column), best) for row, column, best in pairs
        ]

    def towards(
        self, word: str, direction: NDArray[np.floating], paragraphs: NDArray[np.bool_], limit: int
    ) -> list[Line]:
        """Occurrences in some paragraphs [P] whose sentences, without the word, score highest along a direction."""
        places = self._occurrences(word)
        inside = self.corpus.paragraphs_of(self._sentence_of(places))
        places = _spread(places[paragraphs[inside]], COMPARED, 0)
        sentences, first = np.unique(self._sentence_of(places), return_index=True)
        means = self._sentence_means(sentences, [self.vectors.index(word)])
        found: dict[str, Line] = {}
        for number in np.argsort(-(means @ direction.astype(np.float32)), kind="stable").tolist():
            line = self._line(int(places[first[number]]), word)
            # The same sentence may occur twice.
            found.setdefault(f"{line.before}{line.word}{line.after}", line)
            if len(found) >= limit:
                break
        return list(found.values())

    def totals(self) -> Numbers:
        """[words] count of each word of the table."""
        known = self._slot_ids >= 0
        counts = self.corpus.forms.counts[self._slot_forms[known]]
        totals = np.bincount(self._slot_ids[known], counts, len(self.vectors))
        return totals.astype(np.int64)

    def words_between(self, start: int, end: int) -> tuple[Numbers, Numbers]:
        """The rows of the table's words in the sentences from ``start`` up to ``end``, and their sentences."""
        slots, sentences = self.corpus.word_slots(start, end)
        rows = self._slot_ids[slots].astype(np.int64)
        return rows[rows >= 0], sentences[rows >= 0]

    def words_of_sentence(self, sentence: int) -> tuple[str, list[tuple[int, int, int]]]:
        """The text of a sentence, and the row, start and end of every word of the table in it."""
        text, spans = self._slots_of_sentence(sentence)
        bare = text.lstrip(" ")
        cut = len(text) - len(bare)
        known = [(int(self._slot_ids[slot]), start - cut, end - cut) for slot, start, end in spans]
        return bare, [span for span in known if span[0] >= 0]

    def _slots_of_sentence(self, sentence: int) -> tuple[str, list[tuple[int, int, int]]]:
        """The text of a sentence, and the slot, start and end of every word in it."""
        corpus, forms = self.corpus, self.corpus.forms
        text, spans = "", []
        for number in corpus.form_ids[corpus.sentences[sentence] : corpus.sentences[sentence + 1]].tolist():
            for slot in range(int(forms.word_offsets[number]), int(forms.word_offsets[number + 1])):
                start, end = int(forms.word_starts[slot]), int(forms.word_ends[slot])
                spans.append((slot, len(text) + start, len(text) + end))
            text += forms[number]
        return text, spans

    @cached_property
    def _slot_ids(self) -> NDArray[np.int32]:
        """[N] the table row of every word of every form, or -1."""
        return self._vocabulary.word_ids(self.corpus)

    @cached_property
    def _slot_forms(self) -> Numbers:
        """[N] the form of every word of every form."""
        return np.repeat(np.arange(len(self.corpus.forms)), np.diff(self.corpus.forms.word_offsets))

    @cached_property
    def _frequencies(self) -> NDArray[np.float64]:
        return word_frequencies(self.vectors)

    def _occurrences(self, word: str) -> Numbers:
        """Positions in the text, ascending, of the forms that contain the word or the first word of the phrase."""
        parts = words_of(word, WordSegmenter()) if " " in word else [word]
        places: Numbers | None = None
        for number, part in enumerate(parts):
            found = self._form_positions(part) - number
            places = found if places is None else np.intersect1d(places, found)
        assert places is not None
        return places[places >= 0]

    def _form_positions(self, word: str) -> Numbers:
        try:
            row = self._vocabulary.id(word)
        except KeyError:
            return np.empty(0, dtype=np.int64)
        wanted = np.zeros(len(self.corpus.forms), dtype=np.bool_)
        wanted[self._slot_forms[self._slot_ids == row]] = True
        return np.flatnonzero(wanted[self.corpus.form_ids])

    def _sentence_of(self, places: Numbers) -> Numbers:
        return np.searchsorted(self.corpus.sentences, places, side="right") - 1

    def _line(self, place: int, word: str) -> Line:
        corpus = self.corpus
        sentence = int(self._sentence_of(np.array([place]))[0])
        start, end = int(corpus.sentences[sentence]), int(corpus.sentences[sentence + 1])
        forms = [corpus.forms[form] for form in corpus.form_ids[start:end].tolist()]
        span = len(word.split())
        before, after = "".join(forms[: place - start]), "".join(forms[place - start + span :])
        shown = "".join(forms[place - start : place - start + span])
        left, inner, right = _inside(shown, word, self.key)
        return Line(sentence, _end(before + left), inner, _beginning(right + after))

    def _use_line(self, uses: WordUses, number: int) -> Line:
        """A kept occurrence as a line."""
        sentence, first = int(uses.sentences[number]), int(uses.positions[number])
        text, spans = self._slots_of_sentence(sentence)
        start, end = spans[first][1], spans[first + int(uses.sizes[number]) - 1][2]
        return Line(sentence, _end(text[:start]), text[start:end], _beginning(text[end:]))

    def _sentence_means(self, sentences: Numbers, without: Sequence[int]) -> NDArray[np.float32]:
        """Normalized SIF-weighted means of the word vectors of sentences, (sentences, dim)."""
        means = np.zeros((len(sentences), self.vectors.dim), dtype=np.float32)
        for number, sentence in enumerate(sentences.tolist()):
            rows, _ = self.words_between(sentence, sentence + 1)
            rows = rows[~np.isin(rows, without)]
            if len(rows):
                weights = sif_weights(self._frequencies, rows, SMOOTHING)
                means[number] = weights.astype(np.float32) @ self.vectors.unit[rows]
        return unit_rows(means)


def _key_rule(vectors: WordVectors) -> KeyRule:
    vocabulary = vectors.provenance.get("vocabulary")
    if isinstance(vocabulary, dict) and vocabulary.get("key") in ("lower", "none"):
        return "lower" if vocabulary["key"] == "lower" else "none"
    some = vectors.words[:10_000]
    return "none" if any(word != word.lower() for word in some) else "lower"


def _best_pairs(
    likeness: NDArray[np.float32], first: Numbers, second: Numbers, limit: int
) -> Iterator[tuple[int, int, float]]:
    """Rows and columns of the largest positive numbers, each used once; pairs within one sentence are excluded."""
    likeness[first[:, None] == second[None, :]] = -np.inf
    for _ in range(min(limit, *likeness.shape)):
        row, column = (int(place) for place in np.unravel_index(int(likeness.argmax()), likeness.shape))
        best = float(likeness[row, column])
        if best <= 0:
            return
        yield row, column, best
        likeness[row], likeness[:, column] = -np.inf, -np.inf


def _spread(places: Numbers, limit: int, offset: int) -> Numbers:
    """At most ``limit`` places, evenly spread; the next offset takes the next place after each."""
    pages = max(1, -(-len(places) // max(1, limit)))
    chosen: Numbers = places[offset::pages][:limit] if offset < pages else places[:0]
    return chosen


def _inside(shown: str, word: str, key: KeyRule) -> tuple[str, str, str]:
    """The word within the forms that contain it, and the characters before and after it there."""
    where = shown.lower().find(word.lower()) if key == "lower" else shown.find(word)
    if where < 0 or len(shown.lower()) != len(shown):
        bare = shown.lstrip(" ")
        return shown[: len(shown) - len(bare)], bare, ""
    return shown[:where], shown[where : where + len(word)], shown[where + len(word) :]


def _end(text: str) -> str:
    text = text.lstrip(" ")
    return text if len(text) <= LONGEST // 2 else f"… {text[-LONGEST // 2 :].partition(' ')[2]}"


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST // 2 else f"{text[: LONGEST // 2].rpartition(' ')[0]} …"
