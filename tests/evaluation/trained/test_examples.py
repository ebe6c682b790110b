from __future__ import annotations

from collections import Counter

import pytest

from wordstill.evaluation.data.examples import (
    Examples,
    Published,
    Splits,
    class_problem,
    divide_by_class,
    divide_in_order,
    tag_problem,
)


def labelled(*sizes: int) -> Examples[str]:
    rows = [(f"{label}", number) for label, size in enumerate(sizes) for number in range(size)]
    return Examples(tuple((f"w{label}-{number}",) for label, number in rows), tuple(label for label, _ in rows))


def tagged(size: int) -> Examples[tuple[str, ...]]:
    return Examples(
        tuple((f"w{place}",) for place in range(size)), tuple(("A", "B")[place % 2 :][:1] for place in range(size))
    )


def test_without_a_split_every_class_is_divided_60_20_20():
    splits = divide_by_class(Published(labelled(100, 50, 25)), seed=0)
    assert [Counter(part.targets) for part in splits] == [
        {"0": 60, "1": 30, "2": 15},
        {"0": 20, "1": 10, "2": 5},
        {"0": 20, "1": 10, "2": 5},
    ]
    together = [sentence for part in splits for sentence in part.sentences]
    assert sorted(together) == sorted(labelled(100, 50, 25).sentences)


def test_the_draw_depends_on_the_seed_alone():
    published = Published(labelled(50, 50))
    assert divide_by_class(published, 3) == divide_by_class(published, 3)
    assert divide_by_class(published, 3) != divide_by_class(published, 4)


def test_without_a_development_part_a_quarter_of_training_is_taken():
    splits = divide_by_class(Published(labelled(80, 40), test=labelled(5, 5)), seed=0)
    assert [len(part) for part in splits] == [90, 30, 10]
    assert splits.test == labelled(5, 5)


def test_published_parts_are_kept():
    parts = labelled(9, 9), labelled(3, 3), labelled(4, 4)
    assert tuple(divide_by_class(Published(*parts), seed=0)) == parts


def test_documents_stay_whole():
    starts = tuple(range(0, 100, 5))
    splits = divide_in_order(Published(tagged(100), documents=starts))
    assert [len(part) for part in splits] == [80, 10, 10]
    assert splits.dev.sentences[0] == ("w80",)
    assert splits.test.sentences[-1] == ("w99",)


def test_the_last_tenth_is_the_development_part():
    splits = divide_in_order(Published(tagged(95), test=tagged(7)))
    assert [len(part) for part in splits] == [86, 9, 7]
    assert splits.dev.sentences[0] == ("w86",)


def test_thinned_parts_keep_their_order():
    splits = divide_by_class(Published(labelled(300, 300)), seed=0)
    thin = splits.thinned(40, seed=0)
    assert [len(part) for part in thin] == [40, 40, 40]
    places = [splits.train.sentences.index(sentence) for sentence in thin.train.sentences]
    assert places == sorted(places)
    assert splits.thinned(None, seed=0) is splits


@pytest.mark.parametrize(
    ("train", "dev", "test", "problem"),
    [
        (labelled(20, 20), labelled(10, 10), labelled(10, 10), None),
        (labelled(20, 20), labelled(10, 10), labelled(3, 3), "test part has only 6"),
        (labelled(20, 20), labelled(1, 1), labelled(10, 10), "development part has only 2"),
        (labelled(40), labelled(10), labelled(10), "only one class"),
        (labelled(40, 2), labelled(10, 10), labelled(10, 10), "'1' has only 2 of 42"),
        (labelled(20, 20), labelled(10, 10, 10), labelled(10, 10), "no training sentence has the class '2'"),
    ],
)
def test_too_few_classes_or_sentences_are_said(train, dev, test, problem):
    got = class_problem(Splits(train, dev, test))
    assert got is None if problem is None else problem in got


def test_too_few_tags_are_said():
    one = Examples(tuple(("w",) for _ in range(20)), tuple(("A",) for _ in range(20)))
    assert "only one tag (A)" in tag_problem(Splits(one, one, one))
    assert tag_problem(Splits(tagged(20), tagged(20), tagged(20))) is None
    assert "training part has only 4" in tag_problem(Splits(tagged(4), tagged(20), tagged(20)))
