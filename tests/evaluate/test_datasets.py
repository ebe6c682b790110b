from __future__ import annotations

import hashlib
import re
from collections import Counter
from importlib.resources import files

import pytest

from wordstill.evaluate.datasets import DATASETS
from wordstill.evaluate.registry import Holder
from wordstill.evaluate.similarity import PairSet
from wordstill.evaluate.suite import EIGHT, TASKS

FOLDER_COPIES = [
    pytest.param(row, copy, id=copy.path)
    for row in DATASETS.values()
    for copy in row.copies
    if copy.holder is Holder.FOLDER
]
GENSIM_COPIES = [
    pytest.param(row, copy, id=copy.path)
    for row in DATASETS.values()
    for copy in row.copies
    if copy.holder is Holder.GENSIM
]


def triples(pairs):
    return list(zip(pairs.first, pairs.second, pairs.gold.tolist()))


@pytest.mark.parametrize("row", DATASETS.values(), ids=DATASETS)
def test_rows_are_complete(row):
    assert DATASETS[row.name] is row
    assert row.task in TASKS
    assert row.title and row.citation and row.licence and row.copies and row.size > 0
    assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/tree/[0-9a-f]{8}", row.address)
    for copy in row.copies:
        assert re.fullmatch(r"[0-9a-f]{64}", copy.sha256)


def test_no_two_files_share_a_path_or_a_checksum():
    copies = [copy for row in DATASETS.values() for copy in row.copies]
    assert len({copy.path for copy in copies}) == len({copy.sha256 for copy in copies}) == len(copies)


def test_the_eight_are_registered():
    assert len(set(EIGHT)) == 8
    assert set(EIGHT) <= set(DATASETS)


@pytest.mark.parametrize(("row", "copy"), FOLDER_COPIES)
def test_published_size(data_folder, row, copy):
    path = data_folder / copy.path
    assert hashlib.sha256(path.read_bytes()).hexdigest() == copy.sha256
    assert len(copy.reader(path)) == row.size


@pytest.mark.parametrize(("row", "copy"), GENSIM_COPIES)
def test_published_size_of_embedded_copies(row, copy):
    pytest.importorskip("gensim")
    path = files("gensim") / copy.path
    assert hashlib.sha256(path.read_bytes()).hexdigest() == copy.sha256
    assert len(copy.reader(path)) == row.size


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_all_copies_of_a_set_hold_the_same_pairs(data_folder, name):
    roots = {Holder.FOLDER: data_folder, Holder.GENSIM: files("gensim")}
    contents = [triples(copy.reader(roots[copy.holder] / copy.path)) for copy in DATASETS[name].copies]
    assert len(contents) > 1
    assert all(content == contents[0] for content in contents)


def test_wordsim_is_kept_as_published(data_folder):
    rows = triples(PairSet.load("wordsim353").pairs)
    assert [score for first, second, score in rows if (first, second) == ("money", "cash")] == [9.15, 9.08]
    assert ("tiger", "tiger", 10.0) in rows
    assert sum(first != first.lower() or second != second.lower() for first, second, _ in rows) == 18


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("rg65", 0, 4), ("mc30", 0, 4), ("men", 0, 50), ("men-dev", 0, 50), ("men-test", 0, 50)]
    + [(name, 0, 10) for name in DATASETS if not name.startswith(("rg", "mc", "men"))],
)
def test_scores_are_the_mean_ratings(data_folder, name, low, high):
    gold = PairSet.load(name).pairs.gold
    assert low <= gold.min() < (low + high) / 4
    assert high >= gold.max() > high * 0.85


def test_men_split_is_stripped_of_its_parts_of_speech(data_folder):
    pairs = [PairSet.load(name).pairs for name in ("men-dev", "men-test")]
    words = [word for part in pairs for word in (*part.first, *part.second)]
    assert len(words) == 6000
    assert not [word for word in words if "-" in word]


def test_simverb_is_its_dev_and_test_parts(data_folder):
    full, dev, test = (
        Counter(triples(PairSet.load(f"simverb3500{part}").pairs)) for part in ("", "-dev", "-test")
    )
    assert full == dev + test


def test_known_lines(data_folder):
    expected = {
        "simlex999": ("old", "new", 1.58),
        "simverb3500": ("take", "remove", 6.81),
        "rareword": ("squishing", "squirt", 5.88),
        "men": ("sun", "sunlight", 50.0),
        "men-dev": ("berry", "seed", 37.0),
        "wordsim353-relatedness": ("computer", "keyboard", 7.62),
    }
    assert {name: triples(PairSet.load(name).pairs)[0] for name in expected} == expected
