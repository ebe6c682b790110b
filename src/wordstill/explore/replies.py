"""The replies of the page's server, as they are sent in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordstill.analysis.concordance import Line, LinePair


@dataclass(frozen=True)
class TableCard:
    """A loaded table."""

    name: str
    words: int
    dimensions: int
    has_counts: bool
    on_map: int
    """Number of its words on the map, the most frequent ones."""
    method: str | None
    teacher: str | None
    corpus_words: int | None
    has_folds: bool
    """Whether the certainty of its neighbors can be computed."""
    has_senses: bool
    """Whether it has occurrences, to find senses in."""
    groups: list[str]
    """Groups of its text, if it was distilled by group."""


@dataclass(frozen=True)
class Contents:
    """The content of the page."""

    tables: list[TableCard]
    layouts: list[str]
    """Available layouts of the map; the first is the default."""
    lists: dict[str, list[str]]
    """Lists of words to color the map by."""
    has_text: bool
    text_words: int | None
    has_scores: bool
    seed: int
    examples: list[str]
    """Words to start with."""


@dataclass(frozen=True)
class MapData:
    """A map, as parallel arrays with one entry per word."""

    table: str
    method: str
    done: bool
    """False while it is being computed; ask again for a later state."""
    progress: float
    problem: str | None
    words: list[str]
    """Empty with ``places_only=1``."""
    counts: list[int] | None
    x: list[float]
    y: list[float]
    clusters: list[int] | None
    cluster_names: list[str]


@dataclass(frozen=True)
class Near:
    """A word with its cosine, or other score, and its count."""

    word: str
    score: float
    count: int | None


@dataclass(frozen=True)
class Found:
    """Words whose spelling matches."""

    query: str
    words: list[Near]
    """The score is 2 for the word itself, 1 for a prefix, 0 for a substring, -1 for a similar spelling."""


@dataclass(frozen=True)
class Standing:
    """A word in one table."""

    table: str
    word: str
    """As spelled in the table."""
    count: int | None
    rank: int
    """Row of the table, counted from 1."""
    neighbors: list[Near]


@dataclass(frozen=True)
class SureNear:
    """A neighbor with the interval of its cosine in another text of the same size, if it occurs in enough folds."""

    word: str
    score: float
    low: float | None
    high: float | None
    share: float | None
    """Share of resampled texts in which it is among the nearest."""


@dataclass(frozen=True)
class Sure:
    """The nearest neighbors of a word, with their certainty."""

    table: str
    word: str
    neighbors: list[SureNear]
    note: str | None
    """Why it is unknown, and what to do."""


@dataclass(frozen=True)
class TypicalGroups:
    """For each word on the map, the group that it is typical of, or -1."""

    table: str
    groups: list[str]
    words: list[int]


@dataclass(frozen=True)
class WordReport:
    """A word in every loaded table; None if a table lacks it."""

    word: str
    tables: dict[str, Standing | None]
    shared: dict[str, int]
    """For each neighbor, the number of tables in which it is among the nearest."""


@dataclass(frozen=True)
class Sentences:
    """Sentences with a word, or sentences that show why two words are similar."""

    word: str
    other: str | None
    total: int
    """Occurrences of the word in the text."""
    lines: list[Line]
    together: list[Line]
    """Sentences with both words."""
    alike: list[LinePair]
    """The most similar pairs of sentences, one with each word."""
    by_states: bool
    """Whether they were compared by the teacher's states of the two words, or by the other words of the sentences."""
    note: str | None
    """What is missing, and how to get it."""


@dataclass(frozen=True)
class Use:
    """A word in a sentence."""

    before: str
    word: str
    after: str


@dataclass(frozen=True)
class Sense:
    """One sense of a word."""

    label: str
    """``bank|river``, with a nearby word; the word itself if it has one sense."""
    share: float
    """Share of the kept uses."""
    neighbors: list[Near]
    uses: list[Use]
    """The most typical sentences."""
    by_group: list[int]
    """Kept uses in each group of the text."""


@dataclass(frozen=True)
class WordSenses:
    """The senses of a word, the most frequent first."""

    table: str
    word: str
    kept: int
    """Number of kept uses."""
    total: int
    """Occurrences in the text."""
    strength: float
    """Prediction strength of the first split into two senses."""
    groups: list[str]
    senses: list[Sense]
    note: str | None


@dataclass(frozen=True)
class InGroup:
    """A word in one group of the text."""

    group: str
    count: int
    per_million: float
    """Occurrences in a million words of the group."""
    distance: float | None
    """From the first group; 0 is no change. None for the first group, and if the word is too rare."""
    low: float | None
    high: float | None
    neighbors: list[Near]


@dataclass(frozen=True)
class Timeline:
    """A word in all groups of the text, in order."""

    table: str
    word: str
    groups: list[InGroup]
    note: str | None


@dataclass(frozen=True)
class ChangedWord:
    """How far a word moved between two groups of the text."""

    word: str
    difference: float
    """How much farther apart two uses are if they come from different groups; 0 is no change."""
    low: float
    high: float
    rate: float | None
    """False discovery rate (q); None if the groups have too few folds."""
    counts: list[int]
    """Occurrences in both groups."""
    before: list[str]
    """Its nearest words in the first group."""
    after: list[str]


@dataclass(frozen=True)
class Changed:
    """Words by how far they moved between two groups of the text."""

    table: str
    before: str
    after: str
    compared: int
    too_rare: int
    words: list[ChangedWord]
    note: str | None
    """Why there are no false discovery rates, if so."""


@dataclass(frozen=True)
class Ranked:
    """Answers, best first."""

    answers: list[Near]


@dataclass(frozen=True)
class OddOne:
    """The word least similar to the mean of all, and the similarity of each."""

    odd: str
    words: list[Near]


@dataclass(frozen=True)
class Axis:
    """Words between two poles: the position is the cosine with (mean of high - mean of low)."""

    low: list[str]
    high: list[str]
    words: list[Near]
    low_end: list[Near]
    """The frequent words farthest towards the low pole."""
    high_end: list[Near]


@dataclass(frozen=True)
class Moved:
    """A word with different neighbors in two tables."""

    word: str
    overlap: float
    """Share of its nearest neighbors that both tables have."""
    count: int | None


@dataclass(frozen=True)
class TablesCompared:
    """Two tables side by side."""

    first: str
    second: str
    shared_words: int
    compared_words: int
    topn: int
    overlap: float
    interval: list[float]
    """95 %"""
    cosines: float
    """Rank correlation of the cosines of random pairs."""
    moved: list[Moved]
    """The words that the tables agree least on."""


@dataclass(frozen=True)
class Arrow:
    """A word pair in 2D: along the mean difference of all pairs, and along the main direction of the rest."""

    first: str
    second: str
    start: list[float]
    end: list[float]


@dataclass(frozen=True)
class Arrows:
    """Pairs as arrows."""

    pairs: list[Arrow]
    missing: list[str]
    """Words that are not in the table."""


@dataclass(frozen=True)
class PublishedScores:
    """A row of a paper's table."""

    source: str
    model: str
    protocol: str | None
    scores: dict[str, float]


@dataclass(frozen=True)
class Scores:
    """An evaluation, as written by `wordstill evaluate --out`, with published scores."""

    evaluation: dict[str, Any] | None
    titles: dict[str, str]
    published: list[PublishedScores]
    note: str | None


@dataclass(frozen=True)
class ItemError:
    """A pair of a similarity set: the human score, the cosine, and the difference of their ranks (0 to 1)."""

    first: str
    second: str
    human: float
    cosine: float
    error: float


@dataclass(frozen=True)
class WrongAnswer:
    """An analogy question: a is to b as c is to ``expected``, but the table answers ``given``."""

    a: str
    b: str
    c: str
    expected: str
    given: str


@dataclass(frozen=True)
class ItemErrors:
    """The items of a set on which a table is most wrong."""

    dataset: str
    pairs: list[ItemError]
    """By the size of the error."""
    answers: list[WrongAnswer]
    note: str | None
