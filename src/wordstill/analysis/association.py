"""Association tests: is one concept nearer to a pole than another, by more than chance?

With s(w) = mean over a in A of cos(w, a) - mean over b in B of cos(w, b), for attributes A and B:

- ``weat`` (Caliskan et al. 2017): targets X and Y, d = (mean s over X - mean s over Y) / deviation of s over X and Y.
- ``sc-weat`` (single category; the paper's WEFAT for a list): d = (mean c over A - mean c over B) / deviation of c over
  A and B, where c(a) is the mean cosine of an attribute word with the words of X.
- ``rnd`` (relative norm distance, Garg et al. 2018): the mean over X of |x - mean of B| - |x - mean of A|.
- ``projection``: the mean over X of the cosine of x with the axis mean of A - mean of B.

Vectors are normalized; deviations are sample standard deviations (n - 1). Positive always means nearer to A; Garg et
al. use the opposite sign, and a sum. The p-value is from permutations of target words between X and Y (``weat``), or of
attribute words between A and B (all others). The interval is a percentile bootstrap over the words of all lists. For a
table with folds of documents there is a second interval, over texts: the effect in another text of the same size, by
jackknife over the folds. Statistics are computed from cosines, so a permutation costs a few products of small matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wordstill.analysis.resampling import LEAST_FOLDS, Estimate, Resampler, interval, jackknife_error, leave_one_out
from wordstill.analysis.word_lists import AssociationTest, WordList
from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.lookup import rows_of
from wordstill.evaluation.protocol import ABSENT, resolve
from wordstill.evaluation.statistics import (
    RESAMPLES,
    Floats,
    Interval,
    all_are_made,
    checked_seed,
    holm,
    p_values,
    percentiles,
    splits,
)
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

PERMUTATIONS = 100_000
"""Maximum number; if there are no more, each is made once and the p-value is exact."""
LEAST = 4
"""Minimum words in each permuted list; with fewer there is neither a p-value nor an interval."""
ROUNDING = 1e-9
"""Tolerance in comparisons with permutations, because sums in another order differ in their last digits."""


@dataclass(frozen=True)
class Association:
    """The result of one test on one table."""

    table: str
    test: str
    statistic: str
    targets: tuple[str, ...]
    attributes: tuple[str, ...]
    effect: float | None = None
    interval: Interval | None = None
    text: Estimate | None = None
    """The effect in another text of the same size; None unless every word has rows by fold."""
    folds: int = 0
    """Folds of documents of the table."""
    p_value: float | None = None
    p_holm: float | None = None
    """P-value corrected for all tests of the table in the same run (Holm 1979)."""
    permutations: int = 0
    exact: bool = False
    """Whether every permutation was made."""
    two_sided: bool = False
    published: float | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By list: number of words used, and of words in the list."""
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By list: words without a vector, and words with the same row as an earlier one."""
    words: Mapping[str, float] = field(default_factory=dict)
    """The score of each target word: s(w), its own effect size for ``sc-weat``, or its distance or cosine."""
    problem: str | None = None
    """Why there is no effect, or no interval and no p-value."""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data for JSON."""
        plain = dict(self.__dict__)
        plain["interval"] = None if self.interval is None else list(self.interval)
        plain["text"] = None if self.text is None else asdict(self.text)
        for name in ("sizes", "missing"):
            plain[name] = {key: list(value) for key, value in plain[name].items()}
        return plain | {"targets": list(self.targets), "attributes": list(self.attributes), "words": dict(self.words)}


def associations(
    tables: Mapping[str, WordVectors],
    tests: Sequence[AssociationTest],
    statistic: str = "weat",
    *,
    two_sided: bool = False,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> list[Association]:
    """Run tests on tables.

    Words are looked up as written, then in lower case. All statistics but ``weat`` give a result for each list of
    targets.

    Args:
        tables: Tables by name.
        tests: See `published_tests` and `read_tests`.
        statistic: A name in `STATISTICS`.
        two_sided: Whether the p-value is two-sided; by default it is one-sided, as in the paper.
        permutations: Maximum number; if there are no more, each is made once and the p-value is exact.
        seed: Seed of the permutations and the bootstrap.
    """
    if statistic not in STATISTICS:
        raise unknown_name("statistic", statistic, STATISTICS)
    if permutations < 1:
        raise UsageError(f"permutations must be 1 or more; got {permutations}.")
    chosen, how = STATISTICS[statistic], (two_sided, permutations, checked_seed(seed))
    found: list[Association] = []
    for test in tests:
        if chosen.targets == 2 and len(test.targets) != 2:
            raise UsageError(
                f"{statistic} compares two lists of targets, but the test {test.name!r} has one. "
                "Use sc-weat, rnd or projection."
            )
        groups = [test.targets] if chosen.targets == 2 else [(one,) for one in test.targets]
        for name, table in tables.items():
            found += [_tested(table, name, test, targets, chosen, how) for targets in groups]
    return _adjusted(found)


def _adjusted(found: Sequence[Association]) -> list[Association]:
    """The same results with p-values corrected for the number of tests on each table."""
    adjusted = list(found)
    for name in {one.table for one in found}:
        places = [place for place, one in enumerate(found) if one.table == name and one.p_value is not None]
        for place, p_holm in zip(places, holm([found[place].p_value or 0.0 for place in places])):
            adjusted[place] = replace(found[place], p_holm=p_holm)
    return adjusted


class _Counts(NamedTuple):
    """Weights of words, (draws or 1, words): of targets in X and Y, and of attributes in A and B."""

    x: Floats
    y: Floats
    a: Floats
    b: Floats


@dataclass(frozen=True, eq=False)
class _Cosines:
    cross: Floats
    """Between targets and attributes, (targets, attributes)."""
    inner: Floats
    """Between attributes, (attributes, attributes)."""


@dataclass(frozen=True)
class Statistic:
    """An association statistic."""

    targets: int
    """Number of lists of targets."""
    least: int
    """Minimum words in each permuted list: 1 is enough for a distance, not for a deviation."""
    value: Callable[[_Cosines, _Counts], Floats]
    """(draws,)"""
    words: Callable[[_Cosines, _Counts], Floats]
    """The score of each target word, (targets,)."""


def _shares(counts: Floats) -> Floats:
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _contrast(scores: Floats, first: Floats, second: Floats) -> Floats:
    """(Mean of the first - mean of the second) / deviation of both, (draws,); NaN if all scores are equal."""
    both = first + second
    total = both.sum(axis=1, keepdims=True)
    mean = (both * scores).sum(axis=1, keepdims=True) / total
    variance = (both * (scores - mean) ** 2).sum(axis=1) / (total[:, 0] - 1)
    difference = ((_shares(first) - _shares(second)) * scores).sum(axis=1)
    spread = variance > ROUNDING**2
    quotient: Floats = np.divide(difference, np.sqrt(variance), out=np.full_like(variance, np.nan), where=spread)
    return quotient


def _gaps(cosines: _Cosines, counts: _Counts) -> Floats:
    """s(w) of each target word, (draws or 1, targets)."""
    gaps: Floats = (_shares(counts.a) - _shares(counts.b)) @ cosines.cross.T
    return gaps


def _weat(cosines: _Cosines, counts: _Counts) -> Floats:
    return _contrast(_gaps(cosines, counts), counts.x, counts.y)


def _single(cosines: _Cosines, counts: _Counts) -> Floats:
    return _contrast(_shares(counts.x) @ cosines.cross, counts.a, counts.b)


def _single_words(cosines: _Cosines, counts: _Counts) -> Floats:
    return _contrast(cosines.cross, counts.a, counts.b)


def _norm_gaps(cosines: _Cosines, counts: _Counts) -> Floats:
    """|w - mean of B| - |w - mean of A| of each target word, (draws or 1, targets)."""
    distances = []
    for shares in (_shares(counts.b), _shares(counts.a)):
        length = np.einsum("ri,ij,rj->r", shares, cosines.inner, shares, optimize=True)
        distances.append(np.sqrt(np.maximum(1 - 2 * shares @ cosines.cross.T + length[:, None], 0)))
    gaps: Floats = distances[0] - distances[1]
    return gaps


def _norm_distance(cosines: _Cosines, counts: _Counts) -> Floats:
    distance: Floats = (_norm_gaps(cosines, counts) * _shares(counts.x)).sum(axis=1)
    return distance


def _projections(cosines: _Cosines, counts: _Counts) -> Floats:
    """The cosine of each target word with the axis, (draws or 1, targets)."""
    axis = _shares(counts.a) - _shares(counts.b)
    length = np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", axis, cosines.inner, axis, optimize=True), 0))[:, None]
    gaps = _gaps(cosines, counts)
    cosine: Floats = np.divide(gaps, length, out=np.full_like(gaps, np.nan), where=length > ROUNDING)
    return cosine


def _projection(cosines: _Cosines, counts: _Counts) -> Floats:
    mean: Floats = (_projections(cosines, counts) * _shares(counts.x)).sum(axis=1)
    return mean


STATISTICS: Mapping[str, Statistic] = {
    "weat": Statistic(2, 2, _weat, lambda cosines, counts: _gaps(cosines, counts)[0]),
    "sc-weat": Statistic(1, 2, _single, _single_words),
    "rnd": Statistic(1, 1, _norm_distance, lambda cosines, counts: _norm_gaps(cosines, counts)[0]),
    "projection": Statistic(1, 1, _projection, lambda cosines, counts: _projections(cosines, counts)[0]),
}


@dataclass(frozen=True, eq=False)
class _Known:
    """The words of a list with their rows in a table."""

    words: tuple[str, ...]
    rows: tuple[int, ...]
    units: Floats
    missing: tuple[str, ...]


def _known(table: WordVectors, chosen: WordList) -> _Known:
    rows = resolve("default").rows(chosen.words, table)
    _, first = np.unique(rows, return_index=True)
    used = [number for number in sorted(first.tolist()) if rows[number] != ABSENT]
    units = unit(rows_of(table, rows[used]))
    used = [number for number, length in zip(used, np.linalg.norm(units, axis=1)) if length]
    units = unit(rows_of(table, rows[used]))
    missing = tuple(word for number, word in enumerate(chosen.words) if number not in used)
    return _Known(tuple(chosen.words[number] for number in used), tuple(rows[used].tolist()), units, missing)


def _tested(
    table: WordVectors,
    name: str,
    test: AssociationTest,
    targets: tuple[WordList, ...],
    statistic: Statistic,
    how: tuple[bool, int, int],
) -> Association:
    two_sided, permutations, seed = how
    label = next(key for key, value in STATISTICS.items() if value is statistic)
    lists = (*targets, *test.attributes)
    known = [_known(table, chosen) for chosen in lists]
    about: dict[str, Any] = {
        "table": name,
        "test": test.name,
        "statistic": label,
        "targets": tuple(one.name for one in targets),
        "attributes": tuple(one.name for one in test.attributes),
        "two_sided": two_sided,
        "published": test.published if label == "weat" else None,
        "sizes": {one.name: (len(part.words), len(one.words)) for one, part in zip(lists, known)},
        "missing": {one.name: part.missing for one, part in zip(lists, known) if part.missing},
    }
    if problem := _too_few(lists, known, statistic, statistic.least):
        return Association(**about, problem=problem)
    *of_targets, a, b = known
    words, attributes = (np.concatenate([part.units for part in side]) for side in (of_targets, (a, b)))
    cosines = _Cosines(words @ attributes.T, attributes @ attributes.T)
    first = len(of_targets[0].words)
    sizes = (first, len(words) - first, len(a.words), len(b.words))
    counts = _Counts(*_members(*sizes[:2]), *_members(*sizes[2:]))
    effect = float(statistic.value(cosines, counts)[0])
    if math.isnan(effect):
        return Association(**about, problem="all associations are equal")
    spelled = [word for part in of_targets for word in part.words]
    about |= {"effect": effect, "words": dict(zip(spelled, statistic.words(cosines, counts).tolist()))}
    about |= {"text": _over_texts(table, known, statistic, counts, effect), "folds": len(table.folds or ())}
    if problem := _too_few(lists, known, statistic, LEAST):
        return Association(**about, problem=f"no p-value: {problem}")
    random = np.random.default_rng(seed)
    p_value, made, exact = _permuted(statistic, cosines, counts, effect, two_sided, permutations, random)
    interval = percentiles(statistic.value(cosines, _resampled(sizes, random)))
    return Association(**about, interval=interval, p_value=p_value, permutations=made, exact=exact)


def _over_texts(
    table: WordVectors, known: Sequence[_Known], statistic: Statistic, counts: _Counts, effect: float
) -> Estimate | None:
    """The effect in another text of the same size; None without enough folds, or if a word has no rows by fold."""
    rows = [row for part in known for row in part.rows]
    if table.folds is None or len(table.folds) < LEAST_FOLDS or any(row not in table.folds for row in rows):
        return None
    resampler = Resampler(table, [table.words[row] for row in rows])
    first = counts.x.shape[1]
    effects = []
    for drawn in resampler.rows(leave_one_out(len(resampler))):
        # Words that do not occur in a resample are left out there.
        there = np.isfinite(drawn).all(axis=1).astype(np.float64)
        units = unit(np.nan_to_num(drawn))
        cosines = _Cosines(units[:first] @ units[first:].T, units[first:] @ units[first:].T)
        left = _Counts(*(side * there[:first] for side in counts[:2]), *(side * there[first:] for side in counts[2:]))
        enough = all(before.sum() == 0 or now.sum() > 0 for before, now in zip(counts, left))
        effects.append(statistic.value(cosines, left)[0] if enough else np.nan)
    error = float(jackknife_error(np.array(effects), resampler.group_of_fold))
    return interval(effect, error, len(resampler) - 1) if math.isfinite(error) else None


def difference(before: Association, after: Association) -> Estimate | None:
    """How much larger an effect is in a second group of documents, with its interval over texts, if there is one."""
    if before.text is None or after.text is None:
        return None
    error = math.hypot(before.text.error, after.text.error)
    return interval(after.text.value - before.text.value, error, min(before.folds, after.folds) - 1)


def _too_few(lists: Sequence[WordList], known: Sequence[_Known], statistic: Statistic, least: int) -> str | None:
    """Describes a list with too few words with vectors: fewer than ``least`` if it is permuted, else none."""
    for number, (chosen, part) in enumerate(zip(lists, known)):
        permuted = (number < len(lists) - 2) == (statistic.targets == 2)
        needed = least if permuted else 1
        if len(part.words) < needed:
            return (
                f"{len(part.words)} of the {len(chosen.words)} words of {chosen.name!r} have vectors, {needed} needed"
            )
    return None


def _members(first: int, second: int) -> tuple[Floats, Floats]:
    """Which words are in the first and in the second list, both (1, words)."""
    inside = (np.arange(first + second) < first)[None].astype(np.float64)
    return inside, 1 - inside


def _resampled(sizes: tuple[int, int, int, int], random: np.random.Generator) -> _Counts:
    """Bootstrap weights: words of each list drawn with replacement."""

    def drawn(first: int, second: int) -> Iterator[Floats]:
        for before, size, after in ((0, first, second), (first, second, 0)):
            counts = np.zeros((RESAMPLES, before + size + after))
            if size:
                counts[:, before : before + size] = random.multinomial(size, np.full(size, 1 / size), RESAMPLES)
            yield counts

    return _Counts(*drawn(*sizes[:2]), *drawn(*sizes[2:]))


def _permuted(
    statistic: Statistic,
    cosines: _Cosines,
    counts: _Counts,
    effect: float,
    two_sided: bool,
    most: int,
    random: np.random.Generator,
) -> tuple[float, int, bool]:
    """The p-value, the number of permutations made, and whether these are all."""
    moved = counts.x if statistic.targets == 2 else counts.a
    reached = made = 0
    size = moved.shape[1], int(moved.sum())
    for chosen in splits(*size, most, random):
        first = chosen.astype(np.float64)
        second = 1 - first
        changed = counts._replace(x=first, y=second) if statistic.targets == 2 else counts._replace(a=first, b=second)
        values = statistic.value(cosines, changed)
        least = (abs(effect) if two_sided else effect) - ROUNDING
        reached += int(((np.abs(values) if two_sided else values) >= least).sum())
        made += len(first)
    exact = all_are_made(*size, most)
    return float(p_values(reached, made, exact=exact)), made, exact
