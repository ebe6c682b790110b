"""Association tests against plain references: every statistic by its formula, every p-value by enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.analysis.association import LEAST, STATISTICS, associations
from wordstill.analysis.word_lists import AssociationTest, WordList
from wordstill.errors import UsageError
from wordstill.vectors.folds import Folds

SIZES = {"x": 5, "y": 4, "a": 6, "b": 4}


def make_table(seed=0, sizes=SIZES, dim=7, pull=0.0):
    """Random vectors for words x0, x1, ..., b3; ``pull`` moves x and a together."""
    words = [f"{name}{number}" for name, size in sizes.items() for number in range(size)]
    matrix = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32)
    matrix[[word[0] in "xa" for word in words], 0] += pull
    return WordVectors(words, matrix)


def make_test(sizes=SIZES, **more):
    lists = {name: WordList(name, tuple(f"{name}{i}" for i in range(size))) for name, size in sizes.items()}
    targets = tuple(lists[name] for name in ("x", "y") if name in lists)
    return AssociationTest("planted", targets, (lists["a"], lists["b"]), **more)


def run(table, statistic="weat", test=None, **options):
    return associations({"table": table}, [test or make_test()], statistic, **options)


def cosine(table, one, other):
    u, v = (table[word].astype(np.float64) for word in (one, other))
    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)


def units(table, words):
    matrix = np.array([table[word] for word in words], dtype=np.float64)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def gap(table, word, a, b):
    return np.mean([cosine(table, word, one) for one in a]) - np.mean([cosine(table, word, one) for one in b])


def plain_weat(table, x, y, a, b):
    scores = {word: gap(table, word, a, b) for word in (*x, *y)}
    difference = np.mean([scores[word] for word in x]) - np.mean([scores[word] for word in y])
    return difference / np.std(list(scores.values()), ddof=1)


def plain_single(table, x, a, b):
    scores = {word: np.mean([cosine(table, one, word) for one in x]) for word in (*a, *b)}
    difference = np.mean([scores[word] for word in a]) - np.mean([scores[word] for word in b])
    return difference / np.std(list(scores.values()), ddof=1)


def plain_norm_distance(table, x, a, b):
    first, second = units(table, a).mean(axis=0), units(table, b).mean(axis=0)
    return np.mean([np.linalg.norm(w - second) - np.linalg.norm(w - first) for w in units(table, x)])


def plain_projection(table, x, a, b):
    axis = units(table, a).mean(axis=0) - units(table, b).mean(axis=0)
    return np.mean([w @ axis / np.linalg.norm(axis) for w in units(table, x)])


SINGLE = {"sc-weat": plain_single, "rnd": plain_norm_distance, "projection": plain_projection}


def words(name):
    return [f"{name}{number}" for number in range(SIZES[name])]


def test_weat_is_its_formula_and_its_p_value_that_of_every_partition():
    table = make_table(pull=1.0)
    x, y, a, b = map(words, "xyab")
    (found,) = run(table)
    expected = plain_weat(table, x, y, a, b)
    assert found.effect == pytest.approx(expected)
    values = [
        plain_weat(table, first, [word for word in (*x, *y) if word not in first], a, b)
        for first in combinations((*x, *y), len(x))
    ]
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= expected - 1e-9))
    assert (found.permutations, found.exact) == (len(values), True)
    both = run(table, two_sided=True)[0]
    assert both.p_value == pytest.approx(np.mean(np.abs(values) >= abs(expected) - 1e-9))
    assert found.words["x0"] == pytest.approx(gap(table, "x0", a, b))


@pytest.mark.parametrize("statistic", SINGLE)
def test_single_statistics_are_their_formulas_and_permute_the_attributes(statistic):
    table, plain = make_table(seed=3, pull=0.7), SINGLE[statistic]
    a, b = words("a"), words("b")
    for found, name in zip(run(table, statistic), "xy", strict=True):
        expected = plain(table, words(name), a, b)
        assert found.effect == pytest.approx(expected, abs=1e-12)
        values = [
            plain(table, words(name), first, [word for word in (*a, *b) if word not in first])
            for first in combinations((*a, *b), len(a))
        ]
        assert found.p_value == pytest.approx(np.mean(np.array(values) >= expected - 1e-9))
        assert found.targets == (name,)
        if statistic != "sc-weat":
            assert np.mean(list(found.words.values())) == pytest.approx(expected)


def test_the_effect_of_a_word_is_that_of_a_list_of_it():
    table = make_table(seed=4)
    of_list = run(table, "sc-weat")[0]
    alone = run(table, "sc-weat", make_test({"x": 1, "a": 6, "b": 4}))[0]
    assert of_list.words["x0"] == pytest.approx(alone.effect)


def test_sampled_p_values_are_near_the_exact_ones_and_never_zero():
    table = make_table(seed=1, pull=0.4)
    exact = run(table)[0].p_value
    sampled = run(table, permutations=100)[0]
    assert not sampled.exact and sampled.permutations == 100
    assert run(make_table(pull=50.0), permutations=50)[0].p_value == pytest.approx(1 / 51)
    means = [run(table, permutations=100, seed=seed)[0].p_value for seed in range(40)]
    assert np.mean(means) == pytest.approx(exact, abs=0.03)


def test_the_same_seed_gives_the_same_result():
    table = make_table(seed=2)
    assert run(table, permutations=100, seed=5) == run(table, permutations=100, seed=5)


def test_p_values_of_random_words_are_uniform():
    found = [run(make_table(seed=seed), permutations=200)[0].p_value for seed in range(200)]
    assert 0.02 <= np.mean(np.array(found) <= 0.05) <= 0.09
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_intervals_hold_the_effect_of_fresh_words():
    """Lists are samples of words: the interval should mostly hold the effect of long lists of the same kind."""
    sizes = dict.fromkeys("xyab", 12)
    long = dict.fromkeys("xyab", 400)
    truth = run(make_table(99, long, pull=1.0), test=make_test(long), permutations=1)[0].effect
    inside = 0
    for seed in range(60):
        low, high = run(make_table(seed, sizes, pull=1.0), test=make_test(sizes), permutations=10)[0].interval
        inside += low <= truth <= high
    assert inside >= 51


@pytest.mark.parametrize("statistic", STATISTICS)
def test_swapping_the_attributes_changes_the_sign(statistic):
    table, test = make_table(seed=6), make_test()
    swapped = AssociationTest("swapped", test.targets, test.attributes[::-1])
    for one, other in zip(run(table, statistic), run(table, statistic, swapped), strict=True):
        assert one.effect == pytest.approx(-other.effect)


def test_missing_repeated_and_zero_words_are_left_out_and_named():
    table = make_table()
    more = WordVectors([*table.words, "zero"], np.vstack([table.matrix, np.zeros((1, 7), np.float32)]))
    test = make_test()
    x = WordList("x", (*test.targets[0].words, "X1", "nowhere", "zero"))
    (found,) = run(more, test=AssociationTest("t", (x, test.targets[1]), test.attributes))
    assert found.missing == {"x": ("X1", "nowhere", "zero")}
    assert found.sizes == {"x": (5, 8), "y": (4, 4), "a": (6, 6), "b": (4, 4)}
    assert found.effect == pytest.approx(run(table)[0].effect)


def test_few_words_have_an_effect_without_a_claim_and_none_have_nothing():
    sizes = {"x": LEAST - 1, "y": 4, "a": 6, "b": 4}
    (few,) = run(make_table(sizes=sizes), test=make_test(sizes))
    assert few.effect is not None
    assert (few.p_value, few.interval) == (None, None)
    assert few.problem == "no p-value: 3 of the 3 words of 'x' have vectors, 4 needed"
    test = AssociationTest("t", (WordList("none", ("q", "r")), make_test().targets[1]), make_test().attributes)
    (none,) = run(make_table(), test=test)
    assert (none.effect, none.problem) == (None, "0 of the 2 words of 'none' have vectors, 2 needed")


def test_equal_vectors_have_no_effect():
    table = make_table()
    same = WordVectors(table.words, np.ones((len(table), 7), dtype=np.float32))
    assert run(same)[0].problem == "all associations are equal"


def test_p_values_allow_for_the_number_of_tests_of_each_table():
    tables = {"one": make_table(seed=1), "other": make_table(seed=2)}
    found = associations(tables, [make_test()], "rnd") + associations(tables, [make_test()], "weat")
    assert [one.p_holm == one.p_value for one in found[4:]] == [True, True]
    for name in tables:
        small, large = sorted(one.p_value for one in found[:4] if one.table == name)
        adjusted = sorted(one.p_holm for one in found[:4] if one.table == name)
        assert adjusted == pytest.approx([min(1, 2 * small), max(min(1, 2 * small), large)])


def test_wrong_settings():
    with pytest.raises(UsageError, match=r"Unknown statistic 'weet'\. Did you mean 'weat'"):
        run(make_table(), "weet")
    with pytest.raises(UsageError, match="weat compares two lists of targets"):
        run(make_table(), "weat", make_test({"x": 5, "a": 6, "b": 4}))
    with pytest.raises(UsageError, match="permutations must be 1 or more"):
        run(make_table(), permutations=0)


def with_folds(table, folds=6, seed=0):
    """The table with rows by fold whose means are its rows; the last word occurs in the first fold only."""
    random, size = np.random.default_rng(seed), len(table)
    noise = random.standard_normal((size, folds, table.dim)).astype(np.float32)
    rows = table.matrix[:, None] + 0.3 * (noise - noise.mean(axis=1, keepdims=True))
    rows[-1, 0] = table.matrix[-1]
    kept = np.ones((size, folds), dtype=bool)
    kept[-1, 1:] = False
    words, fold = np.nonzero(kept)
    cells = (words.astype(np.int32), fold.astype(np.int32), np.full(len(words), 3))
    of_group = (np.zeros(folds, np.int32), np.full(folds, 100), ("all",), ("documents",))
    table.folds = Folds(rows[kept], *cells, *of_group)
    return table


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_interval_over_texts_is_a_jackknife_of_whole_tests(statistic):
    """A text without the one fold of a word is tested without the word."""
    table = with_folds(make_table())
    found = run(table, statistic)[0]
    effects = []
    for left_out in range(6):
        kept = table.folds.folds != left_out
        words = np.unique(table.folds.words[kept])
        rows = [table.folds.rows[kept & (table.folds.words == word)].mean(axis=0) for word in words]
        smaller = WordVectors([table.words[word] for word in words], np.array(rows))
        effects.append(run(smaller, statistic)[0].effect)
    error = np.sqrt(5 / 6 * np.sum((effects - np.mean(effects)) ** 2))
    assert (found.text.value, found.folds) == (found.effect, 6)
    assert found.text.error == pytest.approx(error, rel=1e-4)
    assert found.text.high - found.effect == pytest.approx(2.5706 * 2**0.5 * error, rel=1e-3)


def test_there_is_no_interval_over_texts_without_enough_folds_or_rows():
    assert run(make_table())[0].text is None
    assert run(with_folds(make_table(), folds=3))[0].text is None
    table = with_folds(make_table())
    named = {name: getattr(table.folds, name)[table.folds.words > 0] for name in ("rows", "words", "folds", "counts")}
    table.folds = replace(table.folds, **named)
    assert run(table)[0].text is None


def test_a_group_keeps_its_folds():
    table = with_folds(make_table())
    group = np.array([0, 1, 0, 1, 1, 0], np.int32)
    table.folds = replace(table.folds, group_of_fold=group, groups=("a", "b"), dealt=("documents",) * 2)
    found = table.group("b")
    assert (found.groups, len(found.folds), table.words[-1] in found) == (("b",), 3, False)
    for word in found.words:
        counts, sums = found.folds.of_word(found.index(word))
        assert sums.sum(axis=0) / counts.sum() == pytest.approx(found[word], abs=1e-5)
        assert sums == pytest.approx(table.folds.of_word(table.index(word))[1][group == 1])
