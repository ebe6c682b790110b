"""The questions that the page asks: every public method of `Answers` is an endpoint under ``/api``."""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np

from wordstill.analysis.resampling import sure_neighbors
from wordstill.errors import UsageError, WordstillError, unknown_name
from wordstill.evaluation.comparison import absent_everywhere, agreement
from wordstill.evaluation.report.published import published_for
from wordstill.evaluation.report.relation_points import relation_points
from wordstill.evaluation.report.tables import title
from wordstill.explore.layout import available_methods, check_method
from wordstill.explore.library import Library, LoadedTable
from wordstill.explore.replies import (
    Arrow,
    Arrows,
    Axis,
    Contents,
    Found,
    ItemError,
    ItemErrors,
    MapData,
    Moved,
    Near,
    OddOne,
    PublishedScores,
    Ranked,
    Scores,
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

MOST_ANSWERS = 200
MOST_WORDS = 200
MOST_SURE = 50
AXIS_CANDIDATES = 5_000
"""Words among which the ends of an axis are looked for: the most frequent ones."""
AXIS_ENDS = 12
MOVED_SAMPLE, MOVED_SHOWN = 500, 100
DRAWS = 100
"""Resamples behind how sure a neighbor is: enough for a whole percentage, few enough for an answer at once."""
TYPICAL = 2.0
"""How many times as often as the rest of the text a group must use a word that is typical of it."""


class Answers:
    """Every question of the page. A method is an endpoint; its parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def tables(self) -> Contents:
        """What is loaded."""
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
        )

    def map(self, table: str = "", method: str = "", places_only: int = 0) -> MapData:
        """The map of a table; while it is computed, what there is so far."""
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

    def search(self, q: str, table: str = "", limit: int = 12) -> Found:
        """Words by spelling: the word itself, then beginnings, then parts; near spellings if there are none."""
        vectors = self.library.table(table).vectors
        asked, most = q.strip().lower(), _bounded(limit, MOST_ANSWERS)
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
        return Found(q, [_near(vectors.words[row], score, self._count(table, row)) for row, score in rows])

    def neighbors(self, word: str, table: str = "", topn: int = 20) -> Standing:
        """The nearest words of a word in one table, by cosine."""
        loaded = self.library.table(table)
        row = _row(loaded, word)
        vectors = loaded.vectors
        near = vectors.most_similar(vectors.words[row], topn=_bounded(topn, MOST_ANSWERS))
        count = self._count(loaded.name, row)
        return Standing(loaded.name, vectors.words[row], count, row + 1, self._scored(loaded, near))

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
        """The nearest words of a word with an interval of each, and how often it is among them in resampled text."""
        loaded = self.library.table(table)
        word = loaded.vectors.words[_row(loaded, word)]
        if loaded.vectors.folds is None:
            return Sure(loaded.name, word, [], "How sure neighbors are takes folds: wordstill distill TEXT --folds 10")
        most = _bounded(topn, MOST_SURE)
        try:
            found = sure_neighbors(loaded.vectors, [word], topn=most, draws=DRAWS, seed=self.library.seed)
        except UsageError as error:
            return Sure(loaded.name, word, [], str(error))
        # A word without rows by fold is the same in every resample, which says nothing about it.
        near = [
            SureNear(one.word, one.cosine, None, None, None)
            if one.interval is None
            else SureNear(one.word, one.cosine, one.interval.low, one.interval.high, one.share)
            for one in found
        ]
        return Sure(loaded.name, word, near, None)

    def groups(self, table: str = "") -> TypicalGroups:
        """The group of the text that each word of the map is typical of."""
        loaded = self.library.table(table)
        rows, folds = loaded.maps.rows, loaded.vectors.folds
        if folds is None or len(folds.groups) < 2:
            return TypicalGroups(loaded.name, [], [-1] * len(rows))
        tracked, counts = folds.verified().counts_by_group()
        sizes = np.maximum(1, np.bincount(folds.group_of_fold, folds.sizes, len(folds.groups)))
        # Half an occurrence for the rest, so that rare words do not stand out without end.
        others = (counts.sum(axis=1, keepdims=True) - counts + 0.5) / (sizes.sum() - sizes)
        times = counts / sizes / others
        typical = np.full(len(loaded.vectors), -1)
        typical[tracked] = np.where(times.max(axis=1) >= TYPICAL, times.argmax(axis=1), -1)
        return TypicalGroups(loaded.name, list(folds.groups), typical[rows].tolist())

    def sentences(self, word: str, other: str = "", table: str = "", limit: int = 12, offset: int = 0) -> Sentences:
        """The sentences behind a word; with another word, those behind the likeness of the two."""
        loaded = self.library.table(table)
        word = loaded.vectors.words[_row(loaded, word)]
        concordance = self.library.concordance(loaded.name)
        if concordance is None:
            note = "Sentences need the prepared text: wordstill explore TABLE --text STORE (see wordstill prepare)."
            return Sentences(word, other or None, 0, [], [], [], False, note)
        most = _bounded(limit, MOST_ANSWERS)
        total = concordance.count(word)
        if not other:
            missing = None if total else f"{word} does not occur in this text."
            return Sentences(word, None, total, concordance.lines(word, most, max(0, offset)), [], [], False, missing)
        other = loaded.vectors.words[_row(loaded, other)]
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
        first, second, third = (_words_of(loaded, part) for part in (a, b, c))
        found = loaded.vectors.analogy(first, second, third[0], _bounded(topn, MOST_ANSWERS), cast(Rule, rule))
        return Ranked(self._scored(loaded, found))

    def odd(self, words: str, table: str = "") -> OddOne:
        """The word of a list (with commas between) that does not belong to the others."""
        loaded = self.library.table(table)
        chosen = _words_of(loaded, words)
        if len(chosen) < 3:
            raise UsageError(f"The odd one out needs three words or more, got {len(chosen)}.")
        unit = loaded.vectors.unit[[loaded.vectors.index(word) for word in chosen]]
        likeness = unit @ unit_rows(unit.mean(axis=0, keepdims=True))[0]
        scored = sorted(zip(chosen, likeness.tolist()), key=lambda item: item[1])
        return OddOne(loaded.vectors.doesnt_match(chosen), self._scored(loaded, scored))

    def axis(self, low: str, high: str, words: str = "", table: str = "") -> Axis:
        """Words on an axis between two poles; each pole is one word or several with commas between."""
        loaded = self.library.table(table)
        vectors = loaded.vectors
        poles = [_words_of(loaded, pole) for pole in (low, high)]
        means = [vectors.unit[[vectors.index(word) for word in pole]].mean(axis=0) for pole in poles]
        direction = unit_rows((means[1] - means[0])[None])[0]
        if not direction.any():
            raise UsageError("The two poles have the same vector; name different words.")
        asked = _words_of(loaded, words) if words.strip() else []
        rows = loaded.maps.rows
        if vectors.counts is not None:
            rows = rows[np.argsort(-vectors.counts[rows], kind="stable")]
        rows = np.array([row for row in rows[:AXIS_CANDIDATES].tolist() if vectors.words[row].isalpha()], dtype=int)
        along = vectors.unit[rows] @ direction
        order = np.argsort(along, kind="stable")
        ends = [[(vectors.words[rows[place]], float(along[place])) for place in order[:AXIS_ENDS]]]
        ends.append([(vectors.words[rows[place]], float(along[place])) for place in order[::-1][:AXIS_ENDS]])
        placed = [(word, float(vectors.unit[vectors.index(word)] @ direction)) for word in asked]
        placed.sort(key=lambda item: item[1])
        shown = [self._scored(loaded, some) for some in (placed, *ends)]
        return Axis(poles[0], poles[1], shown[0], shown[1], shown[2])

    def compare(self, first: str, second: str, topn: int = 10) -> TablesCompared:
        """Two tables: how many neighbors they share, and which words moved most."""
        one, other = self.library.table(first), self.library.table(second)
        if one is other:
            raise UsageError(f"A comparison needs two tables, got {one.name!r} twice.")
        topn = _bounded(topn, 50)
        agreed = agreement(one.vectors, other.vectors, topn=topn, sample=MOVED_SAMPLE, seed=self.library.seed)
        moved = [
            Moved(word, round(share, 4), self._count(one.name, one.vectors.index(word)))
            for word, share in agreed.least(MOVED_SHOWN)
        ]
        return TablesCompared(
            one.name, other.name, agreed.shared, len(agreed.words), agreed.topn, agreed.overlap,
            [*agreed.interval], agreed.cosines, moved,
        )  # fmt: skip

    def arrows(self, pairs: str, table: str = "") -> Arrows:
        """Pairs of words (``man:woman,king:queen``) on the plane of their two principal components."""
        loaded = self.library.table(table)
        split = [tuple(part.strip() for part in pair.split(":")) for pair in pairs.split(",") if pair.strip()]
        if not split or any(len(pair) != 2 or not all(pair) for pair in split) or len(split) > MOST_WORDS:
            raise UsageError("Pairs are written man:woman,king:queen, three pairs or more.")
        chosen = [cast("tuple[str, str]", pair) for pair in split]
        missing = absent_everywhere({loaded.name: loaded.vectors}, [word for pair in chosen for word in pair])
        points = relation_points(loaded.vectors, chosen)
        if not points:
            raise UsageError(
                f"Arrows need three pairs or more whose words the table has; missing: {missing or 'none'}."
            )
        made = [Arrow(a.label, b.label, [a.x, a.y], [b.x, b.y]) for a, b in points]
        return Arrows(made, missing)

    def scores(self) -> Scores:
        """The evaluation that was loaded, with the rows of the papers."""
        if self.library.scores is None:
            note = "No evaluation was found. Make one: wordstill evaluate TABLE --out TABLE, then open the page again."
            return Scores(None, {}, [], note)
        evaluation = dict(self.library.scores)
        sets = list(
            dict.fromkeys(score["dataset"] for table in evaluation["tables"].values() for score in table["scores"])
        )
        rows = []
        for row in published_for(sets):
            own = {name: row.scores[name] for name in sets if name in row.scores}
            rows.append(PublishedScores(row.source, row.model, row.protocol, own))
        return Scores(evaluation, {name: title(name) for name in sets}, rows, None)

    def errors(self, dataset: str, table: str = "", limit: int = 20) -> ItemErrors:
        """The pairs of a similarity set that a table ranks most unlike people, if the set is on this machine."""
        from wordstill.evaluation.tasks.similarity import SimilarityTask

        loaded = self.library.table(table)
        try:
            task = SimilarityTask(dataset)
            pairs = task.dataset.content
        except WordstillError as error:
            return ItemErrors(dataset, [], str(error))
        cosines = task.similarities(loaded.vectors)
        known = np.flatnonzero(~np.isnan(cosines))
        ranks = [np.argsort(np.argsort(some[known])) / max(1, len(known) - 1) for some in (pairs.gold, cosines)]
        errors = ranks[1] - ranks[0]
        worst = np.argsort(-np.abs(errors), kind="stable")[: _bounded(limit, MOST_ANSWERS)].tolist()
        return ItemErrors(
            dataset,
            [
                ItemError(
                    pairs.first[known[place]],
                    pairs.second[known[place]],
                    float(pairs.gold[known[place]]),
                    float(cosines[known[place]]),
                    float(errors[place]),
                )
                for place in worst
            ],
            None,
        )

    def _count(self, table: str, row: int) -> int | None:
        counts = self.library.table(table).vectors.counts
        return None if counts is None else int(counts[row])

    def _scored(self, loaded: LoadedTable, scored: list[tuple[str, float]]) -> list[Near]:
        return [_near(word, score, self._count(loaded.name, loaded.vectors.index(word))) for word, score in scored]


def _near(word: str, score: float, count: int | None) -> Near:
    return Near(word, round(score, 4), count)


def _bounded(number: int, most: int) -> int:
    if number < 1:
        raise UsageError(f"Expected a number from 1 to {most}, got {number}.")
    return min(number, most)


def _row(loaded: LoadedTable, word: str) -> int:
    """The row of a word, in another case if need be."""
    word = word.strip()
    found = loaded.vectors.find([word])[0]
    for other in (word.lower(), word.capitalize(), word.upper()):
        if isinstance(found, int):
            return found
        found = loaded.vectors.find([other])[0]
    if isinstance(found, int):
        return found
    raise UnknownWord(word, loaded.vectors.words)


def _words_of(loaded: LoadedTable, text: str) -> list[str]:
    """The words of a list with commas between, as the table writes them."""
    words = [part.strip() for part in text.split(",") if part.strip()]
    if not words or len(words) > MOST_WORDS:
        raise UsageError(f"Expected 1 to {MOST_WORDS} words with commas between, got {len(words)}.")
    return [loaded.vectors.words[_row(loaded, word)] for word in words]


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
        groups=list(group_names(table.vectors)),
    )


def _name(fact: Any) -> str | None:
    name = fact.get("name") if isinstance(fact, dict) else fact
    return name if isinstance(name, str) else None
