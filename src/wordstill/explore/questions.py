"""Questions about several words or two tables: analogies, the odd one out, an axis, arrows, what moved."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.comparison import absent_everywhere, agreement
from wordstill.evaluation.report.relation_points import FEWEST_PAIRS
from wordstill.explore.library import MOST_ANSWERS, MOST_WORDS, Library, bounded
from wordstill.explore.replies import Arrow, Arrows, Axis, Moved, Near, OddOne, Ranked, TablesCompared
from wordstill.vectors.analogies import Rule
from wordstill.vectors.search import unit_rows

AXIS_CANDIDATES = 5_000
"""Words among which the ends of an axis are looked for: the most frequent ones."""
AXIS_ENDS = 12
MOVED_SAMPLE, MOVED_SHOWN = 500, 100


class Questions:
    """Questions that one types in. A method is an endpoint; its parameters are those of the address."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def analogy(self, a: str, b: str, c: str, table: str = "", rule: str = "3cosadd", topn: int = 10) -> Ranked:
        """A is to b as c is to what."""
        if rule not in get_args(Rule):
            raise unknown_name("rule for analogies", rule, get_args(Rule))
        loaded = self.library.table(table)
        first, second = loaded.listed(a), loaded.listed(b)
        found = loaded.vectors.analogy(first, second, loaded.spelled(c), bounded(topn, MOST_ANSWERS), cast(Rule, rule))
        return Ranked(loaded.scored(found))

    def odd(self, words: str, table: str = "") -> OddOne:
        """The word of a list (with commas between) that does not belong to the others."""
        loaded = self.library.table(table)
        chosen = loaded.listed(words)
        if len(chosen) < 3:
            raise UsageError(f"The odd one out needs three words or more, got {len(chosen)}.")
        unit = loaded.vectors.unit[[loaded.vectors.index(word) for word in chosen]]
        likeness = unit @ unit_rows(unit.mean(axis=0, keepdims=True))[0]
        scored = sorted(zip(chosen, likeness.tolist()), key=lambda item: item[1])
        return OddOne(loaded.vectors.doesnt_match(chosen), loaded.scored(scored))

    def axis(self, low: str, high: str, words: str = "", table: str = "") -> Axis:
        """Words on an axis between two poles; each pole is one word or several with commas between."""
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
        """Pairs of words (``man:woman,king:queen``): across along their mean difference, up along what else varies."""
        loaded = self.library.table(table)
        split = [[part.strip() for part in pair.split(":")] for pair in pairs.split(",") if pair.strip()]
        if not split or any(len(pair) != 2 or not all(pair) for pair in split) or len(split) > MOST_WORDS:
            raise UsageError("Pairs are written man:woman,king:queen, three pairs or more.")
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
        """Two tables: how many neighbors they share, and which words moved most."""
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


def along_relation(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places (words, 2) of pairs, word by word: on their mean difference, and on the first component of the rest."""
    direction = unit_rows((rows[1::2] - rows[::2]).mean(axis=0)[None])[0]
    centered = rows - rows.mean(axis=0)
    across = centered @ direction
    rest = centered - across[:, None] * direction
    component = np.linalg.svd(rest, full_matrices=False)[2][0]
    up = rest @ component
    # A component has no sign of its own.
    return np.stack([across, up if up[np.abs(up).argmax()] > 0 else -up], axis=1)
