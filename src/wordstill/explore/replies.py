"""The replies of the page's server: one frozen dataclass each, as it is sent in JSON."""

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
    """How many of its words the map shows, the most frequent ones."""
    method: str | None
    teacher: str | None
    corpus_words: int | None
    has_folds: bool
    """Whether it can be said how sure its neighbors are."""
    has_senses: bool
    """Whether occurrences were kept to find senses in."""
    groups: list[str]
    """Of its text, where it was distilled by group."""


@dataclass(frozen=True)
class Contents:
    """What the page is about."""

    tables: list[TableCard]
    layouts: list[str]
    """Maps that can be drawn; the first is the default."""
    lists: dict[str, list[str]]
    """Lists of words to color the map by."""
    has_text: bool
    text_words: int | None
    has_scores: bool
    seed: int
    examples: list[str]
    """Words to begin with."""


@dataclass(frozen=True)
class MapData:
    """A map: the arrays belong together, one entry per word."""

    table: str
    method: str
    done: bool
    """False while it is computed; ask again for a later state."""
    progress: float
    problem: str | None
    words: list[str]
    """Empty where the caller has them (``places_only=1``)."""
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
    """The score is 2 for the word itself, 1 for a beginning, 0 for a part; -1 for a near spelling."""


@dataclass(frozen=True)
class Standing:
    """A word in one table."""

    table: str
    word: str
    """As the table writes it."""
    count: int | None
    rank: int
    """1 is the first row."""
    neighbors: list[Near]


@dataclass(frozen=True)
class SureNear:
    """A neighbor with what its cosine could be in another text of the same size, if it occurs in enough folds."""

    word: str
    score: float
    low: float | None
    high: float | None
    share: float | None
    """Of resamples of the text in which it is among the nearest."""


@dataclass(frozen=True)
class Sure:
    """How sure the nearest words of a word are."""

    table: str
    word: str
    neighbors: list[SureNear]
    note: str | None
    """Why it cannot be said, and what to do."""


@dataclass(frozen=True)
class TypicalGroups:
    """For each word of the map the group that uses it most for its size, or -1 where none stands out."""

    table: str
    groups: list[str]
    words: list[int]


@dataclass(frozen=True)
class WordReport:
    """A word in every loaded table; None where a table lacks it."""

    word: str
    tables: dict[str, Standing | None]
    shared: dict[str, int]
    """In how many of these tables each neighbor is among the nearest."""


@dataclass(frozen=True)
class Sentences:
    """Sentences behind a word, or behind the likeness of two."""

    word: str
    other: str | None
    total: int
    """Occurrences of the word in the text."""
    lines: list[Line]
    together: list[Line]
    """Sentences with both words."""
    alike: list[LinePair]
    """Pairs of sentences, one with each word, that are most alike."""
    by_states: bool
    """Whether the teacher's states of the two words were compared, or only the other words of the sentences."""
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
    """``bank|river``, by a near word; the word itself if it has one sense."""
    share: float
    """Of the kept uses."""
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
    """Uses that the senses were found in."""
    total: int
    """Occurrences in the text."""
    strength: float
    """Prediction strength of the first split in two: how well half of the uses predict the senses of the others."""
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
    """From the first group; 0 is no change. None for the first, and where the word is too rare."""
    low: float | None
    high: float | None
    neighbors: list[Near]


@dataclass(frozen=True)
class Timeline:
    """A word in all groups of the text, in their order."""

    table: str
    word: str
    groups: list[InGroup]
    note: str | None


@dataclass(frozen=True)
class ChangedWord:
    """How far a word moved between two groups of the text."""

    word: str
    difference: float
    """How much farther apart two of its uses are if they are of different groups; 0 is no change."""
    low: float
    high: float
    rate: float | None
    """False discovery rate (q), where the groups have enough folds."""
    counts: list[int]
    """In both groups."""
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
    """Why there are no false discovery rates."""


@dataclass(frozen=True)
class Ranked:
    """Answers, best first."""

    answers: list[Near]


@dataclass(frozen=True)
class OddOne:
    """The word that is least like the mean of all, and how like it each one is."""

    odd: str
    words: list[Near]


@dataclass(frozen=True)
class Axis:
    """Words between two poles: the position is the cosine with (mean of high - mean of low)."""

    low: list[str]
    high: list[str]
    words: list[Near]
    low_end: list[Near]
    """The frequent words that lie farthest towards the low pole."""
    high_end: list[Near]


@dataclass(frozen=True)
class Moved:
    """A word whose neighbors two tables do not share."""

    word: str
    overlap: float
    """Share of its nearest words that both tables give it."""
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
    """A pair of words on a plane: across along the mean difference of all pairs, up along what else varies most."""

    first: str
    second: str
    start: list[float]
    end: list[float]


@dataclass(frozen=True)
class Arrows:
    """Pairs as arrows."""

    pairs: list[Arrow]
    missing: list[str]
    """Words that the table lacks."""


@dataclass(frozen=True)
class PublishedScores:
    """A row of a table of a paper."""

    source: str
    model: str
    protocol: str | None
    scores: dict[str, float]


@dataclass(frozen=True)
class Scores:
    """An evaluation, as `wordstill evaluate --out` wrote it, with the papers' rows of its sets."""

    evaluation: dict[str, Any] | None
    titles: dict[str, str]
    published: list[PublishedScores]
    note: str | None


@dataclass(frozen=True)
class ItemError:
    """A pair of a similarity set: the human rank, the table's rank (0 to 1), and their difference."""

    first: str
    second: str
    human: float
    cosine: float
    error: float


@dataclass(frozen=True)
class WrongAnswer:
    """A question of a set of analogies: a is to b as c is to expected, but the table says given."""

    a: str
    b: str
    c: str
    expected: str
    given: str


@dataclass(frozen=True)
class ItemErrors:
    """The items of a set that a table gets most wrong."""

    dataset: str
    pairs: list[ItemError]
    """Ranked most unlike people."""
    answers: list[WrongAnswer]
    note: str | None
