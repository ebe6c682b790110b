from __future__ import annotations

from functools import cache

import pytest

from wordstill.errors import DataError, UsageError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.tasks.base import TASKS, make_task, words_of

# Reading takes longer than scoring, and the sets do not change.
loaded = cache(make_task)


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {
        "pairs.tsv": "a\tb\t1\nb\tc\t2\na\tc\t3\na\td\t4\nb\td\t5\nc\td\t6\n",
        "questions.txt": "a b c d\nb a d c\n",
        "classes.txt": "a x\nb x\nc y\nd y\n",
        "sentences.tsv": "a b\tc\t1\nb\tc d\t2\na\td\t3\na\tb\t4\nc\td\t5\nb\td\t6\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return tmp_path


OWN = {"similarity": "pairs.tsv", "analogy": "questions.txt", "categorisation": "classes.txt", "sts": "sentences.tsv"}


@pytest.mark.parametrize("kind", TASKS)
def test_every_row_names_a_class(kind):
    assert TASKS[kind].kind == kind


@pytest.mark.parametrize("kind", OWN)
def test_own_files_of_every_kind(own_files, random_vectors, kind):
    score = make_task(f"{kind}:{OWN[kind]}").run(random_vectors("abcd"))
    assert score.task == kind and score.value is not None
    assert score.source.startswith("file:")


@pytest.mark.parametrize("file", ["pairs.tsv", "12:30.tsv"])
def test_a_file_without_a_kind_is_of_pairs(own_files, random_vectors, file):
    (own_files / file).write_text((own_files / "pairs.tsv").read_text())
    assert make_task(file).run(random_vectors("abc")).task == "similarity"


@pytest.mark.parametrize("name", ["similarity:nowhere.tsv", "nowhere.tsv"])
def test_an_own_file_that_is_not_there(own_files, name):
    with pytest.raises(DataError, match=r"no file .*nowhere\.tsv"):
        make_task(name)


def test_another_kind_for_a_set(data_folder):
    with pytest.raises(UsageError, match="Unknown kind of task 'cluster'"):
        make_task("simlex999:cluster")


def test_sets_without_a_task():
    with pytest.raises(UsageError, match="No task of evaluate scores the data set 'ppdb-xl'"):
        make_task("ppdb-xl")


def test_every_kind_of_the_registry_has_a_task():
    kinds = {row.task for row in DATASETS.values()} - {None}
    assert kinds <= set(TASKS)


ODD_ONE_OUT = """
from wordstill.evaluation import SimilarityTask


class OddOneOutTask(SimilarityTask):
    kind = "odd-one-out"
"""


def test_a_task_of_another_package(own_files, random_vectors, monkeypatch):
    (own_files / "odd_tasks.py").write_text(ODD_ONE_OUT)
    record = own_files / "odd_tasks-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-tasks\nVersion: 1\n")
    (record / "entry_points.txt").write_text("[wordstill.tasks]\nodd-one-out = odd_tasks:OddOneOutTask\n")
    monkeypatch.syspath_prepend(own_files)
    monkeypatch.delitem(TASKS.__dict__, "plugins", raising=False)
    try:
        score = make_task("odd-one-out:pairs.tsv").run(random_vectors("abc"))
        assert (score.task, score.coverage) == ("odd-one-out", (3, 6))
    finally:
        TASKS.__dict__.pop("plugins", None)


def test_words_of_a_set(own_files):
    assert words_of("pairs.tsv") == (*"abaabc", *"bccddd")
    assert words_of("analogy:questions.txt") == ("a", "b", "c", "d")
    assert words_of("sts:sentences.tsv") == ("a", "b", "c", "d")


@pytest.mark.parametrize("name", ["google", "semeval2012", "ap", "battig82", "esslli-1a", "esslli-2c", "sts13"])
@pytest.mark.parametrize("protocol", ["default", "muse", "web", "official"])
def test_published_sets_under_every_protocol(data_folder, random_vectors, name, protocol):
    task = loaded(name)
    words = dict.fromkeys(word.lower() for word in task.words())
    score = task.run(random_vectors(list(words)[: 3 * len(words) // 4]), protocol)
    assert score.value is not None
    assert 0 < score.coverage.used <= score.coverage.total
    assert name == "sts13" or score.coverage.used < score.coverage.total
    assert score.protocol.name == protocol
