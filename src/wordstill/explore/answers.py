"""Endpoints for words: the map, search, neighbors, sentences, analogies, axes, arrows, and comparing tables.

Every public method of the classes in `wordstill.explore.server.ANSWERS` is an endpoint under ``/api``.
"""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.resampling import sure_neighbors
from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.comparison import absent_everywhere, agreement
from wordstill.evaluation.report.relation_points import FEWEST_PAIRS, read_pairs
from wordstill.explore.layout import available_methods, check_method
from wordstill.explore.library import MOST_ANSWERS, MOST_WORDS, Library, LoadedTable, bounded
from wordstill.explore.replies import (
    Arrow,
    Arrows,
    Axis,
    Contents,
    Found,
    MapData,
    Moved,
    Near,
    OddOne,
    Ranked,
    Sentences,
    Standing,
    Sure,
    SureNear,
    TableCard,
    TablesCompared,
    TypicalGroups,
    WordReport,
)
from wordstill.vectors.analogies import Rule
from wordstill.vectors.folds import group_names
from wordstill.vectors.oov import UnknownWord, near_in_spelling
from wordstill.vectors.search import unit_rows

MOST_SURE = 50
DRAWS = 100
"""Resamples for the certainty of neighbors: enough for whole percentages, few enough for a quick answer."""
TYPICAL = 2.0
"""A group uses its typical words at least this many times as often as the rest of the text."""
AXIS_CANDIDATES = 5_000
"""The ends of an axis are among so many of the most frequent words."""
AXIS_ENDS = 12
MOVED_SAMPLE, MOVED_SHOWN = 500, 100
EXAMPLES, EXAMPLE_LETTERS = 6, range(5, 16)
FREQUENT, MIDDLING = 0.02, 0.12
"""Examples are between these quantiles of the words by frequency."""


class Answers:
    """Endpoints for words; a method's parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def tables(self) -> Contents:
        """The loaded tables, text, lists and scores."""
        corpus = self.library.corpus
        layouts = available_methods()
        layouts.sort(key=lambda name: name != self.library.method)
        return Contents(
            tables=[_card(table) for table in self.library.tables.values()],
            layouts=list(layouts),
            lists=self.library.lists,
            has_text=corpus is not None,
            text_words=None if corpus is None else corpus.n_words,
            has_scores=self.library.scores is not None,
            seed=self.library.seed,
            examples=_examples(self.library.table("")),
        )

    def map(self, table: str = "", method: str = "", places_only: int = 0) -> MapData:
        """The map of a table, as far as it is computed."""
        loaded = self.library.table(table)
        look = loaded.maps.look(check_method(method or self.library.method))
        rows, vectors = look.map.rows, loaded.vectors
        counts = None if vectors.counts is None else vectors.counts[rows].tolist()
        places = np.round(look.map.places.astype(np.float64), 4)
        return MapData(
            table=loaded.name,
            method=look.map.method,
            done=look.done,
            progress=round(look.progress, 3),
            problem=look.problem,
            words=[] if places_only else [vectors.words[row] for row in rows.tolist()],
            counts=None if places_only else counts,
            x=places[:, 0].tolist(),
            y=places[:, 1].tolist(),
            clusters=None if look.map.clusters is None else look.map.clusters.tolist(),
            cluster_names=list(look.map.cluster_names),
        )

    def groups(self, table: str = "") -> TypicalGroups:
        """The group of the text that each word of the map is typical of."""
        loaded = self.library.table(table)
        rows, folds = loaded.maps.rows, loaded.vectors.folds
        if folds is None or len(folds.groups) < 2:
            return TypicalGroups(loaded.name, [], [-1] * len(rows))
        tracked, counts = folds.verified().counts_by_group()
        sizes = np.maximum(1, np.bincount(folds.group_of_fold, folds.sizes, len(folds.groups)))
        # The rest of the text counts half an occurrence more, so that ratios of rare words stay finite.
        others = (counts.sum(axis=1, keepdims=True) - counts + 0.5) / (sizes.sum() - sizes)
        times = counts / sizes / others
        typical = np.full(len(loaded.vectors), -1)
        typical[tracked] = np.where(times.max(axis=1) >= TYPICAL, times.argmax(axis=1), -1)
        return TypicalGroups(loaded.name, list(folds.groups), typical[rows].tolist())

    def search(self, q: str, table: str = "", limit: int = 12) -> Found:
        """Words by spelling: the word itself, then beginnings, then parts; near spellings if there are none."""
        loaded = self.library.table(table)
        vectors = loaded.vectors
        asked, most = q.strip().lower(), bounded(limit, MOST_ANSWERS)
        groups: tuple[list[int], list[int], list[int]] = ([], [], [])
        if asked:
            for row, word in enumerate(vectors.words):
                if (place := word.lower().find(asked)) >= 0:
                    kind = 2 if place else 1
                    kind = 0 if len(word) == len(asked) else kind
                    if len(groups[kind]) < most:
                        groups[kind].append(row)
                    elif len(groups[1]) >= most:
                        break
        rows = [(row, 2.0 - kind) for kind, group in enumerate(groups) for row in group][:most]
        if not rows and asked:
            rows = [(vectors.index(word), -1.0) for word in near_in_spelling(q.strip(), vectors.words)]
        return Found(q, [loaded.near(row, score) for row, score in rows])

    def neighbors(self, word: str, table: str = "", topn: int = 20) -> Standing:
        """The nearest neighbors of a word in one table."""
        loaded = self.library.table(table)
        row = loaded.row(word)
        vectors = loaded.vectors
        near = vectors.most_similar(vectors.words[row], topn=bounded(topn, MOST_ANSWERS))
        count = loaded.count(row)
        return Standing(loaded.name, vectors.words[row], count, row + 1, loaded.scored(near))

    def word(self, word: str, topn: int = 10) -> WordReport:
        """A word in every loaded table."""
        found: dict[str, Standing | None] = {}
        shared: dict[str, int] = {}
        for name in self.library.tables:
            try:
                found[name] = standing = self.neighbors(word, name, topn)
            except UnknownWord:
                found[name] = None
                continue
            for near in standing.neighbors:
                shared[near.word] = shared.get(near.word, 0) + 1
        if not any(found.values()):
            raise UnknownWord(word, self.library.table("").vectors.words)
        return WordReport(word, found, shared)

    def sure(self, word: str, table: str = "", topn: int = 15) -> Sure:
        """The nearest neighbors of a word, each with an interval and how often it is among them in resampled text."""
        loaded = self.library.table(table)
        word = loaded.spelled(word)
        if loaded.vectors.folds is None:
            return Sure(
                loaded.name, word, [], "The certainty of neighbors needs folds: wordstill distill TEXT --folds 10"
            )
        most = bounded(topn, MOST_SURE)
        try:
            found = sure_neighbors(loaded.vectors, [word], topn=most, draws=DRAWS, seed=self.library.seed)
        except UsageError as error:
            return Sure(loaded.name, word, [], str(error))
        # A word without rows by fold is the same in every resample, so its share means nothing.
        near = [
            SureNear(one.word, one.cosine, None, None, None)
            if one.interval is None
            else SureNear(one.word, one.cosine, one.interval.low, one.interval.high, one.share)
            for one in found
        ]
        return Sure(loaded.name, word, near, None)

    def sentences(self, word: str, other: str = "", table: str = "", limit: int = 12, offset: int = 0) -> Sentences:
        """Sentences with a word; with another word, sentences that show why the two are similar."""
        loaded = self.library.table(table)
        word = loaded.spelled(word)
        concordance = self.library.concordance(loaded.name)
        if concordance is None:
            note = "Sentences need the prepared text: wordstill explore TABLE --text STORE (see wordstill prepare)."
            return Sentences(word, other or None, 0, [], [], [], False, note)
        most = bounded(limit, MOST_ANSWERS)
        total = concordance.count(word)
        if not other:
            missing = None if total else f"{word} does not occur in this text."
            return Sentences(word, None, total, concordance.lines(word, most, max(0, offset)), [], [], False, missing)
        other = loaded.spelled(other)
        absent = [each for each in (word, other) if not concordance.count(each)]
        missing = (
            f"{' and '.join(absent)} {'do' if len(absent) > 1 else 'does'} not occur in this text." if absent else None
        )
        together = concordance.together(word, other, most)
        alike = concordance.alike_by_states(word, other, most)
        by_states = alike is not None
        pairs = concordance.alike(word, other, most) if alike is None else alike
        return Sentences(word, other, total, [], together, pairs, by_states, missing)

    def analogy(self, a: str, b: str, c: str, table: str = "", rule: str = "3cosadd", topn: int = 10) -> Ranked:
        """A is to b as c is to what."""
        if rule not in get_args(Rule):
            raise unknown_name("rule for analogies", rule, get_args(Rule))
        loaded = self.library.table(table)
        first, second = loaded.listed(a), loaded.listed(b)
        found = loaded.vectors.analogy(first, second, loaded.spelled(c), bounded(topn, MOST_ANSWERS), cast(Rule, rule))
        return Ranked(loaded.scored(found))

    def odd(self, words: str, table: str = "") -> OddOne:
        """The word of a comma-separated list that does not fit with the others."""
        loaded = self.library.table(table)
        chosen = loaded.listed(words)
        if len(chosen) < 3:
            raise UsageError(f"The odd one out needs three words or more, got {len(chosen)}.")
        unit = loaded.vectors.unit[[loaded.vectors.index(word) for word in chosen]]
        likeness = unit @ unit_rows(unit.mean(axis=0, keepdims=True))[0]
        scored = sorted(zip(chosen, likeness.tolist()), key=lambda item: item[1])
        return OddOne(loaded.vectors.doesnt_match(chosen), loaded.scored(scored))

    def axis(self, low: str, high: str, words: str = "", table: str = "") -> Axis:
        """Words on an axis between two poles; each pole is one word or several, comma-separated."""
        loaded = self.library.table(table)
        vectors = loaded.vectors
        poles = loaded.listed(low), loaded.listed(high)
        means = [vectors.unit[[vectors.index(word) for word in pole]].mean(axis=0) for pole in poles]
        direction = unit_rows((means[1] - means[0])[None])[0]
        if not direction.any():
            raise UsageError("The two poles have the same vector; name different words.")
        asked = loaded.listed(words) if words.strip() else []

        def placed(rows: list[int]) -> list[Near]:
            along = (vectors.unit[rows] @ direction).tolist()
            return [loaded.near(row, score) for row, score in sorted(zip(rows, along), key=lambda pair: pair[1])]

        frequent = [row for row in loaded.frequent[:AXIS_CANDIDATES].tolist() if vectors.words[row].isalpha()]
        low_end, high_end = placed(frequent)[:AXIS_ENDS], placed(frequent)[::-1][:AXIS_ENDS]
        return Axis(*poles, placed([vectors.index(word) for word in asked]), low_end, high_end)

    def arrows(self, pairs: str, table: str = "") -> Arrows:
        """Word pairs (``man:woman,king:queen``) in 2D: their mean difference, and the main direction of the rest."""
        loaded = self.library.table(table)
        split = read_pairs(pairs)
        if len(split) > MOST_WORDS:
            raise UsageError(f"Expected {FEWEST_PAIRS} to {MOST_WORDS} pairs, got {len(split)}.")
        missing = absent_everywhere({loaded.name: loaded.vectors}, [word for pair in split for word in pair])
        known = [pair for pair in split if not set(pair) & set(missing)]
        if len(known) < FEWEST_PAIRS:
            raise UsageError(
                f"Arrows need three pairs or more whose words the table has; missing: {', '.join(missing) or 'none'}."
            )
        rows = np.stack([loaded.vectors.unit[loaded.row(word)] for pair in known for word in pair])
        places = along_relation(rows.astype(np.float64)).round(4).tolist()
        made = [Arrow(a, b, places[2 * number], places[2 * number + 1]) for number, (a, b) in enumerate(known)]
        return Arrows(made, missing)

    def compare(self, first: str, second: str, topn: int = 10) -> TablesCompared:
        """Two tables: shared neighbors, and the words that moved most."""
        one, other = self.library.table(first), self.library.table(second)
        if one is other:
            raise UsageError(f"A comparison needs two tables, got {one.name!r} twice.")
        topn = bounded(topn, 50)
        agreed = agreement(one.vectors, other.vectors, topn=topn, sample=MOVED_SAMPLE, seed=self.library.seed)
        moved = [
            Moved(word, round(share, 4), one.count(one.vectors.index(word)))
            for word, share in agreed.least(MOVED_SHOWN)
        ]
        return TablesCompared(
            one.name, other.name, agreed.shared, len(agreed.words), agreed.topn, agreed.overlap,
            [*agreed.interval], agreed.cosines, moved,
        )  # fmt: skip


def _card(table: LoadedTable) -> TableCard:
    provenance = table.vectors.provenance
    method, teacher, corpus = (provenance.get(part) for part in ("method", "teacher", "corpus"))
    running = corpus.get("words") if isinstance(corpus, dict) else None
    return TableCard(
        name=table.name,
        words=len(table.vectors),
        dimensions=table.vectors.dim,
        has_counts=table.vectors.counts is not None,
        on_map=len(table.maps.rows),
        method=_name(method),
        teacher=_name(teacher),
        corpus_words=running if isinstance(running, int) else None,
        has_folds=table.vectors.folds is not None,
        has_senses=table.vectors.occurrences is not None,
        groups=list(group_names(table.vectors)),
    )


def _examples(table: LoadedTable) -> list[str]:
    """Example words to start with: neither function words nor rare ones."""
    rows = table.frequent
    first, last = int(FREQUENT * len(rows)), int(MIDDLING * len(rows)) + EXAMPLES
    words = [table.vectors.words[row] for row in rows[first:last].tolist()]
    telling = [word for word in words if word.isalpha() and len(word) in EXAMPLE_LETTERS]
    return telling[:: max(1, len(telling) // EXAMPLES)][:EXAMPLES]


def _name(fact: Any) -> str | None:
    name = fact.get("name") if isinstance(fact, dict) else fact
    return name if isinstance(name, str) else None


def along_relation(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates (words, 2) of pairs, word by word: mean difference, and first component of the rest."""
    direction = unit_rows((rows[1::2] - rows[::2]).mean(axis=0)[None])[0]
    centered = rows - rows.mean(axis=0)
    across = centered @ direction
    rest = centered - across[:, None] * direction
    component = np.linalg.svd(rest, full_matrices=False)[2][0]
    up = rest @ component
    # The sign of a component is arbitrary.
    return np.stack([across, up if up[np.abs(up).argmax()] > 0 else -up], axis=1)
