from __future__ import annotations

import gzip

import pytest

from wordstill.errors import DataError
from wordstill.evaluation.data.examples import divide_in_order
from wordstill.evaluation.data.text_sets import Columns, Treebank, read_own_tagged
from wordstill.evaluation.tasks.base import make_task
from wordstill.evaluation.trained.tagging import TaggingTask

SIZES = {
    "conll2000": (((8936, 211727), (2012, 47377)), 22),
    "ud-ewt": (((12544, 204577), (2001, 25147), (2077, 25094)), 17),
    "wnut17": (((3394, 62730), (1009, 15733), (1287, 23394)), 13),
    "ptb-sample": (((3939, 94200),), 45),
}


@pytest.mark.parametrize("name", SIZES)
def test_published_sets(data_folder, name):
    published = TaggingTask(name).dataset.content
    sizes, tags = SIZES[name]
    parts = [part for part in (published.train, published.dev, published.test) if part is not None]
    assert tuple((len(part), sum(map(len, part.sentences))) for part in parts) == sizes
    assert len({tag for row in published.train.targets for tag in row}) == tags
    assert all(map(len, divide_in_order(published)))


def test_columns(tmp_path):
    (tmp_path / "train").write_text("The DT B-NP\ncat NN I-NP\n\n\nsat VBD B-VP\n\ufeff\n. . O")
    (tmp_path / "test").write_text("x y z\n")
    published = Columns("train", test="test", separator=" ", tag=2)(tmp_path)
    assert published.train.sentences == (("The", "cat"), ("sat",), (".",))
    assert published.train.targets == (("B-NP", "I-NP"), ("B-VP",), ("O",))
    assert published.dev is None
    assert published.test.targets == (("z",),)


def test_conllu(tmp_path):
    lines = ["# text = don't", "1-2\tdon't\t_\t_", "1\tdo\tdo\tAUX", "2\tn't\tnot\tPART", "2.1\tx\tx\tVERB", "", ""]
    with gzip.open(tmp_path / "train.gz", "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines))
    published = Columns("train.gz", word=1, tag=3, conllu=True)(tmp_path)
    assert published.train.sentences == (("do", "n't"),)
    assert published.train.targets == (("AUX", "PART"),)


def test_treebank(tmp_path):
    folder = tmp_path / "tagged"
    folder.mkdir()
    (folder / "b.pos").write_text("[ Second/JJ article/NN ]\n./. ''/'' \n\n[ Next/JJ ]\n")
    (folder / "a.pos").write_text(
        "\n[ 1\\/2/CD targeting/VBG|NN ]\n\n,/, \nwhich/WDT\n\n./. \n======\n[ A/DT ]\n=====\nB/NN ./.\n"
    )
    published = Treebank("tagged")(tmp_path)
    assert published.train.sentences == (
        ("1/2", "targeting", ",", "which", "."),
        ("A",),
        ("B", "."),
        ("Second", "article", ".", "''"),
        ("Next",),
    )
    assert published.train.targets[0] == ("CD", "VBG", ",", "WDT", ".")
    assert published.documents == (0, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [("a\tX\nb\n", "own:2: expected at least 2 columns but got 1: 'b'"), ("\n\n", "own holds no sentences")],
)
def test_bad_lines_are_named(tmp_path, content, message):
    path = tmp_path / "own"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_own_tagged(path)


def test_an_empty_tag_is_named(tmp_path):
    (tmp_path / "train").write_text("a\tX\nb\t \n")
    with pytest.raises(DataError, match="train:2: the tag is empty"):
        Columns("train")(tmp_path)


def test_an_own_file_has_its_tag_last(tmp_path):
    path = tmp_path / "own"
    path.write_text("the DT O\ncat NN B-X\n\nran V\n")
    assert read_own_tagged(path).train.targets == (("O", "B-X"), ("V",))


def test_bad_treebank_tokens_are_named(tmp_path):
    (tmp_path / "a.pos").write_text("word\n")
    with pytest.raises(DataError, match=r"a\.pos:1: expected 'word/TAG' but got 'word'"):
        Treebank(".")(tmp_path)
    with pytest.raises(DataError, match=r"holds no \.pos files"):
        Treebank("nowhere")(tmp_path)


class TestOwnFolders:
    """A folder with three parts, for those who own data that is not public."""

    @pytest.fixture
    def folder(self, tmp_path):
        for number, name in enumerate(("train.txt", "dev.txt", "test.txt")):
            (tmp_path / name).write_text(f"word{number} NN\n. .\n\n")
        return tmp_path

    @pytest.mark.parametrize("kind", ["tagging", "ncrfpp"])
    def test_tags(self, folder, kind):
        task = make_task(f"{kind}:{folder}")
        splits = divide_in_order(task.dataset.content)
        assert [part.sentences[0][0] for part in splits] == ["word0", "word1", "word2"]
        first = task.dataset.sha256
        (folder / "test.txt").write_text("other NN\n")
        assert make_task(f"{kind}:{folder}").dataset.sha256 != first

    def test_labels(self, folder):
        (folder / "dev.txt").rename(folder / "valid.tsv")
        task = make_task(f"classification:{folder}")
        assert task.dataset.content.dev.targets == ("word1", ".")

    def test_a_part_that_is_missing_or_there_twice(self, folder):
        (folder / "dev.txt").rename(folder / "held-out.txt")
        with pytest.raises(DataError, match=r"one file for the dev part.* it has none. All .*held-out.txt, test.txt"):
            make_task(f"tagging:{folder}")
        (folder / "valid.txt").write_text("a b")
        (folder / "dev.conll").write_text("a b")
        with pytest.raises(DataError, match=r"dev part.* it has dev.conll, valid.txt"):
            make_task(f"tagging:{folder}")

    def test_pairs_have_no_parts(self, folder):
        with pytest.raises(DataError, match="There is no file"):
            make_task(folder)
