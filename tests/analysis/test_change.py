"""Change between groups, against slow counterparts and on occurrences that are made up."""

from __future__ import annotations

import copy
import dataclasses
from itertools import combinations

import numpy as np
import pytest

from wordstill.analysis.change import change, group_row, nearer_in, neighbors_in, timeline
from wordstill.analysis.group_distance import GroupDistances
from wordstill.analysis.resampling import (
    Resampler,
    interval,
    jackknife_error,
    leave_one_out,
    merged,
    sure_neighbors,
    t_quantile,
)
from wordstill.errors import UsageError
from wordstill.vectors import WordVectors
from wordstill.vectors.folds import Folds
from wordstill.vectors.search import unit

DIM = 6
NONE = np.empty((0, 12), dtype=np.bool_)


def made_up(
    occurrences: dict[str, list[list[np.ndarray]]], groups: list[int], sizes: list[int] | None = None
) -> WordVectors:
    """A table of words whose occurrences are given for each fold."""
    rows, words, folds, counts, table = [], [], [], [], []
    for number, of_fold in enumerate(occurrences.values()):
        table.append(np.mean([each for some in of_fold for each in some], axis=0))
        for fold, some in enumerate(of_fold):
            if some:
                rows.append(np.mean(some, axis=0))
                words.append(number)
                folds.append(fold)
                counts.append(len(some))
    names = tuple("abc"[: max(groups) + 1])
    totals = np.array([sum(map(len, each)) for each in occurrences.values()])
    vectors = WordVectors(list(occurrences), np.array(table, dtype=np.float32), counts=totals)
    vectors.folds = Folds(
        np.array(rows, dtype=np.float32),
        np.array(words, np.int32),
        np.array(folds, np.int32),
        np.array(counts, np.int64),
        np.array(groups, np.int32),
        np.array(sizes or [100] * len(groups), np.int64),
        names,
        ("documents",) * len(names),
    )
    return vectors


def with_other(vectors: WordVectors, folds: Folds) -> WordVectors:
    """The same table with other folds."""
    other = copy.copy(vectors)
    other.folds = folds
    return other


def draw(generator: np.random.Generator, means: list[np.ndarray], most: int = 9, noise: float = 1.0):
    """Occurrences around a mean for each fold, some without any."""
    return [
        [mean + noise * generator.standard_normal(DIM) for _ in range(int(generator.integers(0, most + 1)))]
        for mean in means
    ]


@pytest.fixture
def table() -> WordVectors:
    generator = np.random.default_rng(0)
    east, north = np.eye(DIM)[0] * 3, np.eye(DIM)[1] * 3
    groups = [0] * 6 + [1] * 6
    return made_up(
        {
            "still": draw(generator, [east] * 12),
            "moved": draw(generator, [east] * 6 + [north] * 6),
            "half": draw(generator, [east] * 6 + [east + north] * 6),
            "north": draw(generator, [north] * 12),
            "rare": [[east], *[[]] * 10, [north]],
        },
        groups,
    )


def test_words_are_ranked_by_how_far_they_moved(table: WordVectors):
    found = change(table, "a", "b")
    assert [each.word for each in found.words][:2] == ["moved", "half"]
    assert found.exact
    assert found.permutations == 924
    assert found.too_rare == 1
    assert found.folds == (6, 6)
    moved, half = found.words[:2]
    assert moved.distance.value == pytest.approx(1, abs=0.25)
    assert half.distance.value == pytest.approx(1 - 0.5**0.5, abs=0.2)
    assert moved.p is not None
    assert moved.p < 0.01
    assert moved.q is not None
    assert moved.p <= moved.q < 0.02
    still = next(each for each in found.words if each.word == "still")
    assert abs(still.distance.value) < 0.1
    assert still.p is not None
    assert still.p > 0.05
    assert neighbors_in(table, "moved", "b", 1)[0][0] == "north"
    (later,) = timeline(table, "moved")
    assert (later.group, later.count) == ("b", moved.counts[1])
    assert later.distance is not None
    assert later.distance.value == pytest.approx(moved.distance.value)
    assert later.distance.low == pytest.approx(moved.distance.low, abs=0.05)
    assert [each.word for each in change(table, "a", "b", by="distance").words][:2] == ["moved", "half"]
    before, after = nearer_in(table, "moved", "a", "b", 1)
    assert (before[0][0], after[0][0]) == ("still", "north")


def test_distances_and_p_values_are_those_of_slow_code(table: WordVectors):
    folds = table.folds
    assert folds is not None
    found = {each.word: each for each in change(table, "a", "b", ["moved", "half"]).words}

    def parts(word: str, chosen: list[int]) -> tuple[int, np.ndarray]:
        counts, sums = folds.of_word(table.index(word))
        return int(counts[chosen].sum()), sums[chosen].sum(axis=0)

    def length(word: str, chosen: list[int]) -> float:
        counts, sums = folds.of_word(table.index(word))
        pairs = [(f, g) for f in chosen for g in chosen if f != g]
        return sum(sums[f] @ sums[g] for f, g in pairs) / sum(counts[f] * counts[g] for f, g in pairs)

    def distance(word: str, first: list[int], second: list[int]) -> float:
        (n, a), (m, b) = parts(word, first), parts(word, second)
        return 1 - (a / n) @ (b / m) / (length(word, first) * length(word, second)) ** 0.5

    def between(word: str, first: list[int]) -> float:
        (n, a), (m, b) = parts(word, first), parts(word, [f for f in range(12) if f not in first])
        return n * m / (n + m) * float(((a / n - b / m) ** 2).sum()) if n and m else 0.0

    one, two = list(range(6)), list(range(6, 12))
    for word, moved in found.items():
        assert moved.distance.value == pytest.approx(distance(word, one, two), abs=1e-6)
        without = [distance(word, [f for f in one if f != gone], [f for f in two if f != gone]) for gone in range(12)]
        spread = [np.array(without[:6]), np.array(without[6:])]
        error = sum(5 / 6 * ((own - own.mean()) ** 2).sum() for own in spread) ** 0.5
        (there,) = GroupDistances.of(folds, [table.index(word)], np.arange(12), np.arange(12) < 6).estimates(NONE)[1][0]
        assert there == pytest.approx(error, rel=1e-6)
        assert 0.3 * error < moved.distance.error < 1.3 * error
        reached = [between(word, list(some)) for some in combinations(range(12), 6)]
        assert moved.p == pytest.approx(np.mean(np.array(reached) >= between(word, one) * (1 - 1e-9)), abs=1e-12)
        assert group_row(table, word, "b") == pytest.approx(parts(word, two)[1] / parts(word, two)[0])


def test_p_is_uniform_and_distance_around_zero_where_nothing_changed():
    generator = np.random.default_rng(1)
    mean = 2 * np.eye(DIM)[0]
    words = {f"w{number}": draw(generator, [mean] * 16, most=3) for number in range(400)}
    table = made_up(words, [0] * 8 + [1] * 8)
    found = change(table, "a", "b", permutations=499, least=6)
    p = np.array([each.p for each in found.words])
    assert len(p) > 350
    assert 0.02 < (p <= 0.05).mean() < 0.09
    assert p.mean() == pytest.approx(0.5, abs=0.05)
    assert abs(np.median([each.distance.value for each in found.words])) < 0.1
    assert min(each.q for each in found.words) > 0.01
    # A plain distance is never around zero.
    rows = [[unit(group_row(table, word, group)) for group in "ab"] for word in list(words)[:20]]
    assert min(1 - one @ other for one, other in rows) > 0.01


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_intervals_hold_the_value_of_another_text(shift: float):
    generator = np.random.default_rng(2)
    one = 2 * np.eye(DIM)[0]
    two = one + shift * np.eye(DIM)[1]
    texts = [
        made_up(
            {f"w{number}": draw(generator, [one] * 8 + [two] * 8, most=12) for number in range(300)}, [0] * 8 + [1] * 8
        )
        for _ in range(2)
    ]
    found = [{each.word: each for each in change(text, "a", "b", permutations=200).words} for text in texts]
    for measure in ("distance", "pairwise"):
        pairs = [(getattr(each, measure), getattr(found[1][word], measure)) for word, each in found[0].items()]
        assert 0.92 < np.mean([there.low <= other.value <= there.high for there, other in pairs]) < 0.99


def test_claims_that_cannot_be_made(table: WordVectors):
    with pytest.raises(UsageError, match="'rare' occurs too rarely for a comparison: 1 in a, 1 in b"):
        change(table, "a", "b", ["rare"])
    with pytest.raises(UsageError, match="got 'a' twice"):
        change(table, "a", "a")
    with pytest.raises(UsageError, match="Unknown group 'z'"):
        change(table, "a", "z")
    with pytest.raises(UsageError, match="keeps no groups or folds"):
        change(WordVectors(["x"], np.ones((1, 2), np.float32)), "a", "b")
    folds = table.folds
    assert folds is not None
    few = merged(folds, np.array([0, 0, 1, 1, 2, 2, *range(3, 9)]), np.array([0] * 3 + [1] * 6))
    found = change(with_other(table, few), "0", "1", least=3)
    assert found.reason is not None
    assert "'0' is too small for a p-value" in found.reason
    assert all(each.p is None for each in found.words)
    unequal = with_other(table, dataclasses.replace(folds, sizes=np.array([100] * 6 + [300] * 6)))
    assert "cannot be exchanged" in str(change(unequal, "a", "b").reason)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).standard_normal(12)
    without = (leave_one_out(12) @ values) / 11
    assert jackknife_error(without, np.zeros(12, int)) == pytest.approx(values.std(ddof=1) / 12**0.5)


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (1000, 1.962)]
)
def test_quantiles_of_t(freedom: int, expected: float):
    assert t_quantile(0.975, freedom) == pytest.approx(expected, abs=0.003)
    there = interval(1.0, 0.1, freedom)
    assert there.high - 1 == pytest.approx(expected * 0.1 * 2**0.5, abs=1e-3)


def test_rows_of_resamples_are_means_of_occurrences(table: WordVectors):
    folds = table.folds
    assert folds is not None
    resampler = Resampler(table, ["moved", "north"])
    rows = resampler.rows(np.ones((1, 12)))
    assert rows[0] == pytest.approx(table[["moved", "north"]], abs=1e-5)
    only = Resampler(table, ["moved"], ["b"])
    assert only.rows(np.ones((1, 6)))[0, 0] == pytest.approx(group_row(table, "moved", "b"))
    assert resampler.occupied().tolist() == [int((folds.of_word(row)[0] > 0).sum()) for row in (1, 3)]
    assert resampler.bootstrap(lambda rows: rows[:, :, 0], draws=5).shape == (5, 2)
    value, error = resampler.jackknife(lambda rows: np.einsum("bd,bd->b", rows[:, 0], rows[:, 1]))
    assert error > 0
    assert value == pytest.approx(table["moved"] @ table["north"], abs=1e-4)


def test_merged_folds_hold_the_same_occurrences(table: WordVectors):
    folds = table.folds
    assert folds is not None
    fewer = merged(folds, np.arange(12) // 3, np.zeros(4, int))
    for row in range(len(table)):
        counts, sums = folds.of_word(row)
        assert fewer.of_word(row)[0].tolist() == counts.reshape(4, 3).sum(axis=1).tolist()
        assert fewer.of_word(row)[1] == pytest.approx(sums.reshape(4, 3, DIM).sum(axis=1), abs=1e-4)


def test_a_word_without_rows_by_fold_says_what_to_do(table: WordVectors):
    rows = np.concatenate([table.take(np.arange(len(table))), np.ones((1, DIM), np.float32)])
    wider = WordVectors([*table.words, "untracked"], rows)
    wider.folds = table.folds
    with pytest.raises(UsageError, match=r"'untracked' has no rows by fold.*--track"):
        change(wider, "a", "b", ["untracked"])


def test_a_group_of_one_fold_hides_no_interval(table: WordVectors):
    assert table.folds is not None
    lone = dataclasses.replace(table.folds, group_of_fold=np.array([0] * 11 + [1], dtype=np.int32))
    found = {each.word: each.interval for each in sure_neighbors(with_other(table, lone), ["still"], topn=4)}
    assert found["half"] is not None
    assert found["rare"] is None


def test_sure_neighbors(table: WordVectors):
    first = next(each for each in sure_neighbors(table, ["half"], topn=3) if each.word != "rare")
    assert first.cosine == pytest.approx(table.similarity("half", first.word), abs=1e-6)
    assert first.interval is not None
    assert first.interval.low < first.cosine < first.interval.high <= 1
    shares = {each.word: each.share for each in sure_neighbors(table, ["still"], topn=2, draws=50)}
    assert next(iter(shares)) == "half"
    assert all(0 < share <= 1 for share in shares.values())
    assert shares["half"] > 0.8
    found = {each.word: each.interval for each in sure_neighbors(table, ["still"], topn=4)}
    assert found["rare"] is None
    folds = table.folds
    assert folds is not None
    few = dataclasses.replace(
        folds, **{name: getattr(folds, name)[folds.words == 1] for name in ("rows", "words", "folds", "counts")}
    )
    with pytest.raises(UsageError, match="'still' has no rows by fold"):
        sure_neighbors(with_other(table, few), ["still"])
    with pytest.raises(UsageError, match=r"'rare' occurs in 2 of 12 folds; at least 4 are needed"):
        sure_neighbors(table, ["rare"])


def test_words_that_cannot_be_compared_are_left_out_beside_others(table: WordVectors):
    found = change(table, "a", "b", ["moved", "rare", "nowhere", "moved"])
    assert [each.word for each in found.words] == ["moved"]
    assert list(found.left_out) == ["rare", "nowhere"]
    assert "'rare' occurs too rarely for a comparison" in found.left_out["rare"]
    with pytest.raises(UsageError, match="'nowhere'"):
        change(table, "a", "b", ["nowhere", "rare"])
