from __future__ import annotations

import hashlib
import re
from collections import Counter
from importlib.resources import files

import pytest

from wordstill.evaluation.data.catalog import DATASETS, EIGHT
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.data.registry import Location
from wordstill.evaluation.tasks.base import TASKS

SIMILARITY = [name for name, row in DATASETS.items() if row.task == "similarity"]
FOLDER_COPIES = [
    pytest.param(row, copy, id=f"{row.name}-{copy.path}")
    for row in DATASETS.values()
    for copy in row.copies
    if copy.location is Location.FOLDER and not copy.path.endswith("EWT")
]
GENSIM_COPIES = [
    pytest.param(row, copy, id=copy.path)
    for row in DATASETS.values()
    for copy in row.copies
    if copy.location is Location.GENSIM
]


def size_of(content) -> int:
    if hasattr(content, "sentences"):
        return len(content.sentences())
    if isinstance(content, dict) and set(content) == {"dev", "test"}:
        return sum(map(len, content.values()))
    return len(content)


def triples(pairs):
    return list(zip(pairs.first, pairs.second, pairs.gold.tolist()))


@pytest.mark.parametrize("row", DATASETS.values(), ids=DATASETS)
def test_rows_are_complete(row):
    assert DATASETS[row.name] is row
    assert row.task is None or row.task in TASKS
    assert row.title and row.citation and row.license and row.copies and row.size > 0
    assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/tree/[0-9a-f]{8}", row.address)
    assert row.home is None or row.home.startswith("http")
    for copy in row.copies:
        assert re.fullmatch(r"[0-9a-f]{64}", copy.sha256)
        assert copy.files
        assert all(re.fullmatch(r"[0-9a-f]{64}", checksum) for checksum in copy.files.values())


def test_every_listed_file_belongs_to_a_set():
    listed = (files("wordstill.evaluation.data") / "SHA256SUMS").read_text().split()[1::2]
    copies = [copy for row in DATASETS.values() for copy in row.copies if copy.location is Location.FOLDER]
    assert {path for copy in copies for path in copy.files} == set(listed)
    assert len(listed) == len(set(listed))


def test_the_eight_are_registered():
    assert len(set(EIGHT)) == 8
    assert set(EIGHT) <= set(DATASETS)


@pytest.mark.parametrize(("row", "copy"), FOLDER_COPIES)
def test_published_size(data_folder, row, copy):
    for path, checksum in copy.files.items():
        assert hashlib.sha256((data_folder / path).read_bytes()).hexdigest() == checksum
    assert size_of(copy.reader(data_folder / copy.path)) == row.size


@pytest.mark.parametrize(("row", "copy"), GENSIM_COPIES)
def test_published_size_of_embedded_copies(row, copy):
    pytest.importorskip("gensim")
    path = files("gensim") / copy.path
    assert hashlib.sha256(path.read_bytes()).hexdigest() == copy.sha256
    assert len(copy.reader(path)) == row.size


@pytest.mark.parametrize("name", ["wordsim353", "simlex999"])
def test_all_copies_of_a_set_hold_the_same_pairs(data_folder, name):
    roots = {Location.FOLDER: data_folder, Location.GENSIM: files("gensim")}
    contents = [triples(copy.reader(roots[copy.location] / copy.path)) for copy in DATASETS[name].copies]
    assert len(contents) > 1
    assert all(content == contents[0] for content in contents)


def test_wordsim_is_kept_as_published(data_folder):
    rows = triples(read("wordsim353"))
    assert [score for first, second, score in rows if (first, second) == ("money", "cash")] == [9.15, 9.08]
    assert ("tiger", "tiger", 10.0) in rows
    assert sum(first != first.lower() or second != second.lower() for first, second, _ in rows) == 18


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("rg65", 0, 4), ("mc30", 0, 4), ("men", 0, 50), ("men-dev", 0, 50), ("men-test", 0, 50)]
    + [(name, 0, 10) for name in SIMILARITY if not name.startswith(("rg", "mc", "men"))],
)
def test_scores_are_the_mean_ratings(data_folder, name, low, high):
    gold = read(name).gold
    assert low <= gold.min() < (low + high) / 4
    assert high >= gold.max() > high * 0.85


def test_simlex_is_its_parts_of_speech(data_folder):
    full, *parts = (Counter(triples(read(f"simlex999{part}"))) for part in ("", "-nouns", "-verbs", "-adjectives"))
    assert full == sum(parts, Counter())
    assert not Counter(triples(read("simlex999-associated"))) - full


def test_wordsim_is_its_two_sets(data_folder):
    full, *halves = (Counter(triples(read(f"wordsim353{part}"))) for part in ("", "-set1", "-set2"))
    assert full == sum(halves, Counter())


def read(name):
    found = locate(name)
    return found.reader(found.path)


def test_google_has_its_sections(data_folder):
    questions = read("google")
    assert len(questions.sections) == 14
    counts = Counter(questions.section.tolist())
    assert sum(counts[number] for number in range(5)) == 8869
    assert questions.words[0] == ("Athens", "Greece", "Baghdad", "Iraq")


def test_both_files_of_msr_hold_the_same_questions(data_folder):
    typed, plain = (copy.reader(data_folder / copy.path) for copy in DATASETS["msr"].copies)
    assert typed.words == plain.words
    assert (len(typed.sections), len(plain.sections)) == (16, 1)


def test_semeval_parts(data_folder):
    relations = read("semeval2012").relations
    assert [len(relation.prototypes) for relation in relations].count(3) > 60
    assert sum(len(relation.pairs) for relation in relations) == 3218
    assert relations[0].prototypes == (("flower", "tulip"), ("emotion", "rage"), ("poem", "sonnet"))
    assert all(set(choice.pairs) >= {choice.least, choice.most} for choice in relations[0].choices)


@pytest.mark.parametrize(
    ("name", "classes", "coarser"),
    [
        ("ap", 21, {}),
        ("battig", 56, {}),
        ("battig82", 10, {}),
        ("esslli-1a", 6, {"3 classes": 3, "2 classes": 2}),
        ("esslli-2c", 9, {"5 classes": 5}),
    ],
)
def test_classes(data_folder, name, classes, coarser):
    categories = read(name)
    assert len(set(categories.labels)) == classes
    assert {division: len(set(labels)) for division, labels in categories.coarser.items()} == coarser
    assert all(word and not word.endswith("_N") for word in categories.words)


def test_battig_repeats_words_of_several_classes(data_folder):
    assert len(set(read("battig").words)) == 4668


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sts12", {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "OnWN": 750, "SMTnews": 399}),
        ("sts13", {"FNWN": 189, "OnWN": 561, "headlines": 750}),
        ("sts15", {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750}),
        (
            "sts16",
            {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
        ),
    ],
)
def test_sub_corpora_hold_the_scored_pairs(data_folder, name, sizes):
    pairs = read(name)
    counts = Counter(pairs.corpus.tolist())
    assert {corpus: counts[number] for number, corpus in enumerate(pairs.corpora)} == sizes


def test_sets_in_context(data_folder):
    wic = read("wic").parts
    assert {part: len(pairs) for part, pairs in wic.items()} == {"train": 5428, "dev": 638, "test": 1400}
    assert sum(pair.gold for pair in wic["test"]) == 700
    assert (wic["dev"][0].first.word, wic["dev"][0].second.word) == ("board", "boards")
    assert read("usim").parts["all"][0].second.word == "brighter"
    scws = read("scws").parts["all"][0]
    assert (scws.first.word, scws.second.word) == ("Brazil", "nut")
    assert "<b>" not in scws.first.text
    first, second = (read("cosimlex").parts[part][0] for part in ("context1", "context2"))
    assert (first.gold, second.gold) == (2.27, 1.37)
    assert "<strong>" not in first.first.text


def test_paraphrases_have_no_header(data_folder):
    parts = read("paws-wiki")
    assert [int(part.gold.sum()) for part in parts.parts.values()] == [3539, 3536]


def test_lexicons_keep_all_lines_of_a_word(data_folder):
    lexicon = read("framenet")
    assert any(not neighbours for neighbours in lexicon.values())
    assert all(len(set(neighbours)) == len(neighbours) for neighbours in lexicon.values())


def test_men_split_is_stripped_of_its_parts_of_speech(data_folder):
    pairs = [read(name) for name in ("men-dev", "men-test")]
    words = [word for part in pairs for word in (*part.first, *part.second)]
    assert len(words) == 6000
    assert not [word for word in words if "-" in word]


def test_simverb_is_its_dev_and_test_parts(data_folder):
    full, dev, test = (Counter(triples(read(f"simverb3500{part}"))) for part in ("", "-dev", "-test"))
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
    assert {name: triples(read(name))[0] for name in expected} == expected
