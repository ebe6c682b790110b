from __future__ import annotations

import pytest

from wordstill.errors import UsageError
from wordstill.evaluation.data.analogy_sets import Relations, read_own_questions
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.category_sets import read_own_categories
from wordstill.evaluation.data.context_sets import ContextParts
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.sentence_sets import read_own_sentences
from wordstill.evaluation.data.similarity_sets import read_own_pairs
from wordstill.evaluation.data.text_sets import read_own_labeled, read_own_tagged
from wordstill.evaluation.tasks.base import TASKS, Task, make_task

OF_TABLES = [kind for kind, task in TASKS.items() if issubclass(task, Task)]

FILES = {
    "scored pairs of words": (read_own_pairs, "a b 1\n", {"similarity"}),
    "questions": (read_own_questions, "a b c d\n", {"analogy"}),
    "words with classes": (read_own_categories, "a x\nb y\n", {"categorisation"}),
    "scored pairs of sentences": (read_own_sentences, "a b\tc\t1\n", {"sts"}),
    "labels": (read_own_labeled, "x\ta b\n", {"classification", "probe", "parent", "frozen"}),
    "tags": (read_own_tagged, "a X\nb Y\n\n", {"tagging", "ncrfpp", "states", "parent", "frozen"}),
}
MADE = {
    "relations": (Relations(()), {"relation"}),
    "words in context": (ContextParts({}), set()),
    "data for other uses": ({"happy": ("glad",)}, set()),
}


@pytest.fixture(params=[*FILES, *MADE])
def content(request, tmp_path):
    """What a set has, its content and the kinds of tasks that it fits."""
    has = request.param
    if has in MADE:
        return has, *MADE[has]
    read, text, kinds = FILES[has]
    (tmp_path / "set.txt").write_text(text)
    return has, read(tmp_path / "set.txt"), kinds


@pytest.mark.parametrize("kind", OF_TABLES)
def test_a_task_takes_the_sets_that_fit_and_no_others(content, kind):
    has, made, kinds = content
    task = TASKS[kind]
    dataset = LoadedDataset("mine", made, "test", "0" * 64)
    if kind in kinds:
        assert task(dataset).name == "mine"
        return
    with pytest.raises(UsageError) as caught:
        task(dataset)
    needed = " or ".join(task.needs)
    begin = f"The data set 'mine' has no {needed}, which the task '{kind}' needs; it has {has}. "
    assert str(caught.value).startswith(begin)
    remedy = str(caught.value).removeprefix(begin)
    assert set(remedy.split("'")[1::2]) == kinds
    assert kinds or remedy == "No task of evaluate scores that."


def test_sets_of_the_registry_fit_their_own_task(data_folder):
    for name in ("rg65", "ap", "sts13", "trec", "ptb-sample"):
        row = DATASETS[name]
        content = row.copies[0].reader(data_folder / row.copies[0].path)
        assert LoadedDataset(name, content, "test", "0" * 64).holds in TASKS[row.task].needs


@pytest.mark.parametrize(
    "name",
    [
        *(f"{base}:similarity" for base in ("trec", "ap", "semeval2012", "ppdb-xl", "wic", "sts12")),
        *("rg65:analogy", "google:sts", "google:categorisation", "trec:sts", "rg65:tagging", "paws-wiki:sts"),
    ],
)
def test_published_sets_are_refused_by_other_tasks(data_folder, name):
    base, _, kind = name.partition(":")
    with pytest.raises(UsageError, match=f"The data set '{base}' has no .* which the task '{kind}' needs"):
        make_task(name)
