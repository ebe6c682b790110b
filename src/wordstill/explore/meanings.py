"""Endpoints for meaning: senses of a word, its uses by group, and change between groups."""

from __future__ import annotations

from wordstill.analysis.change import Moved, change, neighbors_in, timeline
from wordstill.errors import UsageError
from wordstill.explore.library import MOST_ANSWERS, Library, LoadedTable, bounded
from wordstill.explore.replies import Changed, ChangedWord, InGroup, Sense, Timeline, Use, WordSenses
from wordstill.vectors.folds import with_folds

NEIGHBORS = 8
USES = 3
PERMUTATIONS = 999
"""Enough for a false discovery rate, few enough for a quick answer."""
NO_GROUPS = "Groups come from the text: wordstill prepare TEXT --group FIELD, then wordstill distill."


class Meanings:
    """Endpoints for senses and change; a method's parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def senses(self, word: str, table: str = "") -> WordSenses:
        """The senses of a word: shares, nearest words, typical sentences, and counts by group."""
        loaded = self.library.table(table)
        word = loaded.spelled(word)
        senses = loaded.senses
        if senses is None:
            why = "Senses need kept occurrences: wordstill distill TEXT --occurrences 50"
            return WordSenses(loaded.name, word, 0, 0, 0.0, [], [], why)
        if senses.find(word) is None:
            why = f"No occurrences of {word!r} were kept: it is too rare, or was not asked for."
            return WordSenses(loaded.name, word, 0, 0, 0.0, [], [], why)
        found = senses.of(word)
        concordance = self.library.concordance(loaded.name)
        # Kept uses refer to the text of the table only.
        corpus = None if concordance is None or concordance.states is None else concordance.corpus
        uses = [[] for _ in found.senses] if corpus is None else senses.sentences(found, corpus, USES)
        by_group = {} if corpus is None else found.by_group(corpus)
        shown = [
            Sense(
                sense.label,
                round(sense.share, 4),
                loaded.scored(sense.neighbors[:NEIGHBORS]),
                [Use(use.text[: use.start], use.word, use.text[use.end :]) for use in some],
                [counts[number] for counts in by_group.values()],
            )
            for number, (sense, some) in enumerate(zip(found.senses, uses))
        ]
        note = None if found.enough else f"{len(found.kept)} kept uses are too few to tell senses apart."
        kept, total = len(found.kept), found.kept.total
        return WordSenses(loaded.name, word, kept, total, round(found.strength, 4), list(by_group), shown, note)

    def timeline(self, word: str, table: str = "") -> Timeline:
        """A word in each group of the text: frequency, distance from the first group, and nearest words."""
        loaded = self.library.table(table)
        word = loaded.spelled(word)
        vectors = loaded.vectors
        if len(vectors.groups) < 2:
            return Timeline(loaded.name, word, [], NO_GROUPS)
        folds = with_folds(vectors)
        row = vectors.index(word)
        if row not in folds:
            note = f"{word!r} has no rows by group: it is too rare (--enough of wordstill distill), or was not tracked."
            return Timeline(loaded.name, word, [], note)
        counts, _ = folds.of_word(row)
        distances = {point.group: point.distance for point in timeline(vectors, word, seed=self.library.seed)}
        groups = []
        for number, name in enumerate(folds.groups):
            own = folds.group_of_fold == number
            count, size = int(counts[own].sum()), int(folds.sizes[own].sum())
            there = distances.get(name)
            near = loaded.scored(neighbors_in(vectors, word, name, NEIGHBORS)) if count else []
            groups.append(
                InGroup(
                    name,
                    count,
                    round(1e6 * count / max(1, size), 2),
                    None if there is None else round(there.value, 4),
                    None if there is None else round(there.low, 4),
                    None if there is None else round(there.high, 4),
                    near,
                )
            )
        return Timeline(loaded.name, word, groups, None)

    def changed(self, before: str = "", after: str = "", table: str = "", topn: int = 60) -> Changed:
        """The words that changed most between two groups of a table's text, by default the first and the last."""
        loaded = self.library.table(table)
        groups = loaded.vectors.groups
        if len(groups) < 2:
            raise UsageError(f"{loaded.name} has no groups to compare. {NO_GROUPS}")
        pair = before or groups[0], after or groups[-1]
        found = change(loaded.vectors, *pair, permutations=PERMUTATIONS, seed=self.library.seed)
        # Without punctuation and numbers, which change too.
        worded = [each for each in found.words if any(map(str.isalpha, each.word))]
        words = [_changed(loaded, each, pair) for each in worded[: bounded(topn, MOST_ANSWERS)]]
        return Changed(loaded.name, *pair, len(found.words), found.too_rare, words, found.reason)


def _changed(loaded: LoadedTable, moved: Moved, pair: tuple[str, str]) -> ChangedWord:
    near = [[word for word, _ in neighbors_in(loaded.vectors, moved.word, group, NEIGHBORS)] for group in pair]
    there = moved.pairwise
    difference, low, high = (round(number, 4) for number in (there.value, there.low, there.high))
    return ChangedWord(moved.word, difference, low, high, moved.q, list(moved.counts), *near)
