"""Word senses: clusters of a word's kept occurrences in the space of its table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.clusters import NEEDED, divide
from wordstill.analysis.state_projection import ENOUGH_USES, StateProjection
from wordstill.core.progress import count_bar
from wordstill.core.settings import SEEDS, Config, Range
from wordstill.corpus import Corpus
from wordstill.errors import UsageError
from wordstill.meaning.occurrence import Occurrence
from wordstill.vectors import WordVectors
from wordstill.vectors.occurrences import Occurrences, WordUses
from wordstill.vectors.search import unit_rows

Floats = NDArray[np.float32]
SEPARATOR = "|"
"""Separates a word from the name of its sense: ``bank|river``."""
MOST_USES = 500
"""Maximum occurrences to cluster; any others join the nearest sense."""
CANDIDATES = 30
WHITENED_WORDS = 2000
RIDGE = 0.05
"""Added to the variance within words in every direction, as a fraction of the mean variance."""
LONGEST = 300
"""Sentences of at most this many characters are shown first."""


@dataclass(frozen=True)
class SenseConfig(Config):
    """Settings for splitting the uses of a word into senses."""

    strength: Annotated[float, Range(0, 1)] = 0.7
    """Minimum prediction strength for a split in two; 1 needs perfect agreement."""
    least: Annotated[int, Range(2)] = 5
    """Minimum uses of a sense. Only words and senses with four times as many are split."""
    most: Annotated[int, Range(1, 1_000)] = 8
    """Maximum number of senses of a word."""
    sharpness: Annotated[float, Range(0, 1e6)] = 50.0
    """Inverse temperature: cosines with senses and uses are multiplied by it before a softmax."""
    reach: Annotated[float, Range(0, 100)] = 1.5
    """How far a sense's vector lies from its word's row, relative to how far its mean use lies from the mean of all."""
    seed: Annotated[int, SEEDS] = 0


@dataclass(frozen=True, eq=False)
class Sense:
    """One sense of a word."""

    label: str
    """Such as ``bank|river``, with a word that is nearer to it than to the other senses; the word itself if it has one
    sense."""
    share: float
    """Share of the kept uses."""
    vector: Floats
    """[dim] in the space of the table."""
    uses: NDArray[np.int64]
    """Indices of its kept uses, the most typical first."""
    neighbors: tuple[tuple[str, float], ...]
    """Neighbors with their cosines."""


@dataclass(frozen=True, eq=False)
class WordSenses:
    """The senses of a word, the most frequent first."""

    word: str
    kept: WordUses
    senses: tuple[Sense, ...]
    strength: float
    """Prediction strength of the first split in two."""
    enough: bool
    """Whether there are enough uses to look for several senses."""
    centroids: Floats = field(repr=False)
    """[senses, dim] mean use of each sense."""

    def __len__(self) -> int:
        return len(self.senses)

    def by_group(self, corpus: Corpus) -> dict[str, list[int]]:
        """The number of kept uses of each sense in each group of the text; empty if the text has no groups."""
        if corpus.groups is None:
            return {}
        groups = corpus.groups[corpus.paragraphs_of(self.kept.sentences)]
        counts = [
            np.bincount(groups[sense.uses] + 1, minlength=len(corpus.group_names) + 1)[1:] for sense in self.senses
        ]
        return {name: [int(count[number]) for count in counts] for number, name in enumerate(corpus.group_names)}


@dataclass(frozen=True)
class SenseInContext:
    """The sense of a word in a sentence."""

    word: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    vectors: Floats = field(repr=False)
    """[senses, dim] unit vectors of the senses near this use."""
    fixed: Floats = field(repr=False)
    """[senses, dim] unit vectors of the senses, the same in every sentence."""
    use: Floats = field(repr=False)
    """[dim] unit vector of this use, as if the word had a single sense."""
    deviation: Floats = field(repr=False)
    """[width] whitened difference between this use and the mean of the word's uses."""

    @property
    def label(self) -> str:
        """The most probable sense."""
        return self.labels[self.best]

    @property
    def best(self) -> int:
        """Index of the most probable sense."""
        return int(np.argmax(self.probabilities))

    @property
    def average(self) -> Floats:
        """[dim] the senses' unit vectors, weighted by their probabilities."""
        return np.array(self.probabilities, dtype=np.float32) @ self.vectors


class Senses:
    """Senses of the words of a table with kept occurrences.

    States are mapped into the table's space by a ridge regression from the mean states of words to their rows, so that
    senses and words can be compared. A sense's vector is the word's row plus 1.5 times (``reach``) the difference
    between the mean of the sense's uses and that of all uses, where the row and the latter mean have length one. Before
    vectors are normalized, the mean over senses, weighted by their shares, is therefore the row.

    Args:
        table: A table that was distilled with ``--occurrences``.
        config: Settings for splitting uses.

    Raises:
        UsageError: The table has no occurrences.

    Example:
        >>> from wordstill import WordVectors
        >>> senses = Senses(WordVectors.load("vectors"))  # doctest: +SKIP
        >>> [sense.label for sense in senses.of("bank").senses]  # doctest: +SKIP
        ['bank|loan', 'bank|river']
    """

    def __init__(self, table: WordVectors, config: SenseConfig | None = None) -> None:
        if table.occurrences is None:
            raise UsageError(
                "The table keeps no occurrences of its words. Distill it again with --occurrences 50 (occurrences=50)."
            )
        self.table, self.config = table, config or SenseConfig()
        self.occurrences: Occurrences = table.occurrences

    @cached_property
    def map(self) -> StateProjection:
        """The map from states to the table's space."""
        self.occurrences.check()
        return StateProjection.fit(self.table, self.occurrences)

    @cached_property
    def whitening(self) -> Floats:
        """[width, width] whitens the differences between uses of the same word."""
        self.occurrences.check()
        rows = np.flatnonzero(np.diff(self.occurrences.offsets) >= ENOUGH_USES)
        total, freedom = np.zeros((self.occurrences.width,) * 2), 0
        for row in rows[:: -(-len(rows) // WHITENED_WORDS) or 1].tolist():
            states = self.occurrences.of_row(row).states.astype(np.float64)
            apart = states - states.mean(axis=0)
            total, freedom = total + apart.T @ apart, freedom + len(apart) - 1
        values, vectors = np.linalg.eigh(total / max(1, freedom))
        steady = np.maximum(values, 0) + RIDGE * max(float(values.mean()), 1e-12)
        whitening: Floats = ((vectors / np.sqrt(steady)) @ vectors.T).astype(np.float32)
        return whitening

    def of(self, word: str) -> WordSenses:
        """The senses of a word.

        Raises:
            UsageError: No occurrence of the word was kept, or it has no row.
        """
        word = self.find(word) or word
        kept, config = self.occurrences.of(word), self.config
        uses = self.map(kept.states)
        enough = len(kept) >= NEEDED * config.least
        members, strength = [np.arange(len(kept))], 0.0
        if enough:
            found = divide(uses[:MOST_USES], config.strength, config.least, config.most, config.seed)
            members, strength = found.members, found.strength
        centroids = np.stack([uses[some].mean(axis=0) for some in members])
        if len(kept) > MOST_USES:
            nearest = (uses @ unit_rows(centroids).T).argmax(axis=1)
            members = [np.flatnonzero(nearest == number) for number in range(len(members))]
            centroids = np.stack([uses[some].mean(axis=0) for some in members])
        senses = self._described(word, uses, members, centroids)
        return WordSenses(word, kept, senses, strength, enough, centroids)

    @cached_property
    def _candidates(self) -> list[str]:
        """Words that may have several senses, without punctuation. With methods that learn, some words have no row."""
        return [word for word in self.occurrences.words if word in self.table and any(map(str.isalnum, word))]

    def find(self, word: str) -> str | None:
        """The word as written in the table, in lower case if necessary; None if it has no row or no occurrence."""
        forms = (form for form in (word, word.lower()) if form in self.occurrences and form in self.table)
        return next(forms, None)

    def clearest(self, number: int, *, progress: bool = False) -> list[WordSenses]:
        """The words with several senses whose first split has the highest prediction strength."""
        found: list[tuple[float, str]] = []
        with count_bar("senses", len(self._candidates), "words", show=progress) as bar:
            for word in self._candidates:
                if len(senses := self.of(word)) > 1:
                    found.append((-senses.strength, word))
                bar.update(1)
        return [self.of(word) for _, word in sorted(found)[:number]]

    def _described(
        self, word: str, uses: Floats, members: list[NDArray[np.int64]], centroids: Floats
    ) -> tuple[Sense, ...]:
        row = self.table.take([self.table.index(word)])[0]
        length, overall = float(np.linalg.norm(row)), uses.mean(axis=0)
        scale = max(float(np.linalg.norm(overall)), 1e-9)
        moved = unit_rows(row[None]) + self.config.reach * (centroids - overall) / scale
        vectors = unit_rows(moved) * np.float32(length or 1.0)
        neighbors = self._neighbors(word, vectors)
        senses: list[Sense] = []
        for number, some in enumerate(members):
            label = word
            if len(members) > 1:
                taken = {sense.label for sense in senses}
                names = [f"{word}{SEPARATOR}{name}" for name, _ in neighbors[number] if any(map(str.isalnum, name))]
                label = next((name for name in names if name not in taken), f"{word}{SEPARATOR}{number + 1}")
            order = np.argsort(-(uses[some] @ centroids[number]), kind="stable")
            senses.append(Sense(label, len(some) / len(uses), vectors[number], some[order], neighbors[number]))
        return tuple(senses)

    def _neighbors(self, word: str, vectors: Floats) -> list[tuple[tuple[str, float], ...]]:
        """Neighbors of each sense; with several senses, those much nearer to it than to the others come first."""
        unit = unit_rows(vectors)
        found = []
        for number, near in enumerate(self.table.neighbors(vectors, CANDIDATES)):
            named = [(other, score) for other, score in near if not same_word(other, word)]
            if len(vectors) > 1 and named:
                rows = self.table.unit[[self.table.index(other) for other, _ in named]]
                rest = np.delete(rows @ unit.T, number, axis=1).max(axis=1)
                order = np.argsort([margin - 2 * score for margin, (_, score) in zip(rest, named)], kind="stable")
                named = [named[place] for place in order]
            found.append(tuple(named[:10]))
        return found

    def sentences(self, senses: WordSenses, corpus: Corpus, each: int = 1) -> list[list[Occurrence]]:
        """The most typical sentences of each sense; sentences of at most 300 characters come first.

        Raises:
            UsageError: The table was distilled from another text.
        """
        refuse_other_text(self.table, corpus)
        found = []
        for sense in senses.senses:
            places = [use_in_text(corpus, senses.kept, use) for use in sense.uses[: 8 * each].tolist()]
            places.sort(key=lambda place: len(place.text) > LONGEST)
            distinct = list({place.text: place for place in places}.values())
            found.append(distinct[:each])
        return found

    def make_table(self, words: Iterable[str] | None = None, *, progress: bool = False) -> WordVectors:
        """The table with an additional row for each sense of every word that has several.

        The rows of words do not change.

        Args:
            words: Words whose senses to add; by default all with kept occurrences, except punctuation.
            progress: Show a progress bar.
        """
        wanted = self._candidates if words is None else [self.find(word) or word for word in words]
        labels: list[str] = []
        rows: list[Floats] = []
        counts: list[int] = []
        with count_bar("senses", len(wanted), "words", show=progress) as bar:
            for word in wanted:
                found = self.of(word)
                if len(found) > 1:
                    labels += [sense.label for sense in found.senses]
                    rows += [sense.vector for sense in found.senses]
                    counts += [round(sense.share * found.kept.total) for sense in found.senses]
                bar.update(1)
        own = self.table.take(np.arange(len(self.table)))
        matrix = np.concatenate([own, *(row[None] for row in rows)]).astype(np.float32)
        known = self.table.counts
        return WordVectors(
            [*self.table.words, *labels],
            matrix,
            counts=None if known is None else np.concatenate([known, np.array(counts, dtype=np.int64)]),
            provenance={**self.table.provenance, "senses": self.facts(len(labels))},
        )

    def facts(self, rows: int) -> dict[str, Any]:
        """How senses were found, recorded in the provenance."""
        return {"rows": rows, "map_cosine": round(self.map.cosine, 4), **vars(self.config)}

    def look_up(self, word: str, states: Floats) -> list[SenseInContext]:
        r"""The senses of a word in n sentences, given its states there [n, width]; `SenseReader` takes sentences.

        For a use y that belongs to a sense with probability p, the vector of the sense, with mapped kept uses
        :math:`u_i`, is the word's unit row plus

        .. math:: \Bigl(\frac{\sum_i w_i u_i + p\,y}{1 + p} - \bar u\Bigr) / \lVert\bar u\rVert,
                  \qquad w_i \propto \exp(\text{sharpness}\;u_i \cdot y),

        where :math:`\bar u` is the mean of all kept uses of the word.

        Raises:
            UsageError: No occurrence of the word was kept, or it has no row.
        """
        senses, uses = self.of(word), self.map(states)
        kept, sharpness = self.map(senses.kept.states), self.config.sharpness
        cosines = uses @ unit_rows(senses.centroids).T
        shares = np.array([sense.share for sense in senses.senses])
        probabilities = softmax(sharpness * cosines.astype(np.float64) + np.log(shares))
        row, mean = self.table.unit[self.table.index(senses.word)], kept.mean(axis=0)
        near = sharpness * (uses @ kept.T).astype(np.float64)

        def placed(members: NDArray[np.int64], belongs: NDArray[np.float64]) -> Floats:
            around = softmax(near[:, members]) @ kept[members] + belongs[:, None] * uses
            center = around / (1 + belongs[:, None])
            return unit_rows((row + (center - mean) / max(float(np.linalg.norm(mean)), 1e-9)).astype(np.float32))

        vectors = np.stack([placed(sense.uses, p) for sense, p in zip(senses.senses, probabilities.T)], axis=1)
        fixed = unit_rows(np.stack([sense.vector for sense in senses.senses]))
        labels = tuple(sense.label for sense in senses.senses)
        single = placed(np.arange(len(kept)), np.ones(len(uses)))
        apart = (states - senses.kept.states.mean(axis=0)) @ self.whitening
        return [
            SenseInContext(senses.word, labels, tuple(each.tolist()), own, fixed, use, deviation)
            for each, own, use, deviation in zip(probabilities, vectors, single, apart)
        ]


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n, m] softmax of each row."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def use_in_text(corpus: Corpus, kept: WordUses, number: int) -> Occurrence:
    """A kept use with its sentence."""
    sentence = int(kept.sentences[number])
    (paragraph,) = corpus.paragraphs_of(kept.sentences[[number]]).tolist()
    found = corpus.paragraph(paragraph).sentences[sentence - int(corpus.paragraphs[paragraph])]
    position, size = int(kept.positions[number]), int(kept.sizes[number])
    first, last = found.words[position], found.words[position + size - 1]
    return Occurrence(found.text, first.start - found.start, last.end - found.start)


def refuse_other_text(table: WordVectors, corpus: Corpus) -> None:
    """Raise a `UsageError` if a table was not distilled from this text."""
    recorded = table.provenance.get("corpus")
    expected = recorded.get("hash") if isinstance(recorded, dict) else None
    if expected != corpus.hash:
        raise UsageError(
            f"{corpus.path} is not the text that the table was distilled from (hash {corpus.hash[:12]}, expected "
            f"{str(expected)[:12]}). Prepare that text with the same settings, and name it with --text."
        )


def same_word(other: str, word: str) -> bool:
    """Whether two words, judging by their prefix, differ only in their ending; a plural does not name a sense."""
    first, second = other.lower(), word.lower()
    common = next((place for place, pair in enumerate(zip(first, second)) if pair[0] != pair[1]), None)
    shorter = min(len(first), len(second))
    return common is None or common >= max(4, 0.6 * shorter)
