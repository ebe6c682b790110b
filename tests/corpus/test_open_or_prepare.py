"""The text of a run: prepared once, found again, and refused if it is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordstill.corpus import PrepareConfig, preparation, prepare
from wordstill.corpus.preparation import STORE, as_list, check_inputs, is_one_store, open_or_prepare
from wordstill.distillation.config import DistillConfig
from wordstill.distillation.distilling import distill
from wordstill.errors import DataError, UsageError
from wordstill.teacher import TeacherConfig

PLAIN = PrepareConfig()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("One line of text.\nAnd another one.\n", encoding="utf-8")
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_text_is_prepared_once(text, work, monkeypatch):
    first = open_or_prepare(text, PLAIN, work, progress=False)
    assert first.path == work / STORE
    monkeypatch.setattr(preparation, "prepare", lambda *_, **__: pytest.fail("the text was prepared again"))
    assert open_or_prepare([str(text)], PLAIN, work, progress=False).hash == first.hash


def test_a_store_is_used_where_it_is(text, work, tmp_path):
    store = prepare(text, tmp_path / "store", workers=1)
    assert open_or_prepare(store.path, PLAIN, work, progress=False).path == store.path
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"filter": "x2static"}, "with filter 'lower', and --filter x2static cannot change that"),
        ({"language": "en"}, "with no language, and --language en "),
        ({"segmenter": "thai"}, "with segmenter 'possessives', "),
        ({"splitter_language": "fr"}, "with splitter_language 'de', "),
        ({"share": 0.5}, "with share 1.0, and --share 0.5 "),
        ({"sentences_per_line": True, "filter": "lower"}, "no sentences_per_line, and --sentences-per-line --filter"),
        ({"documents": True}, "with no documents, "),
        ({"field": "two words"}, "is already prepared, and --field 'two words' cannot .*prepare TEXT --field 'two"),
    ],
)
def test_settings_that_a_store_does_not_have_are_refused(text, tmp_path, asked, message):
    own = PrepareConfig(filter="lower", segmenter="possessives", splitter_language="de")
    store = prepare(text, tmp_path / "store", own, workers=1).path
    for settings in (PLAIN, own):
        check_inputs(store, settings)
    with pytest.raises(UsageError, match=message):
        check_inputs(store, PrepareConfig(**asked))
    with pytest.raises(UsageError, match=message):
        # Before the model, which does not exist, is loaded.
        distill(store, config=DistillConfig(prepare=PrepareConfig(**asked), teacher=TeacherConfig("no-such-model")))


def test_one_input_or_several(text, tmp_path):
    assert as_list("a.txt") == ["a.txt"]
    assert as_list(text) == [text]
    assert as_list(("a.txt", text)) == ["a.txt", text]
    store = prepare(text, tmp_path / "store", workers=1).path
    assert is_one_store([store])
    assert not is_one_store([store, store])
    assert not is_one_store([text])


def test_other_text_is_refused(text, work):
    open_or_prepare(text, PLAIN, work, progress=False)
    longer = text.with_name("longer.txt")
    longer.write_text(text.read_text() + "More.")
    with pytest.raises(DataError, match=r"other settings: .*text\.txt is missing now.*longer"):
        open_or_prepare(longer, PLAIN, work, progress=False)
    with pytest.raises(DataError, match=r"settings\.filter was 'none', now 'x2static'"):
        open_or_prepare(text, PrepareConfig(filter="x2static"), work, progress=False)
    # D4: of the same size, so that only the content tells.
    text.write_text(text.read_text().swapcase())
    with pytest.raises(DataError, match=r"text\.txt was '[0-9a-f]+', now '[0-9a-f]+'"):
        open_or_prepare(text, PLAIN, work, progress=False)


def test_a_damaged_store_is_told(text, work):
    open_or_prepare(text, PLAIN, work, progress=False)
    (work / STORE / "tokens.npy").write_bytes(b"broken")
    with pytest.raises(DataError, match=r"store is damaged at .*tokens\.npy"):
        open_or_prepare(text, PLAIN, work, progress=False)


def test_ctrl_c_while_preparing_can_be_resumed(short_text, saved_teacher, tmp_path, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    config = DistillConfig(("ase",), TeacherConfig(str(saved_teacher), device="cpu"))
    with monkeypatch.context() as patch:
        patch.setattr(preparation, "merge_shards", interrupted)
        with pytest.raises(KeyboardInterrupt):
            distill(short_text, tmp_path / "out", config=config)
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    resumed = distill(short_text, tmp_path / "out", config=config)["ase"]
    assert (resumed.matrix == distill(short_text, config=config)["ase"].matrix).all()


@pytest.mark.parametrize("others", [1, 0])
def test_a_store_is_not_prepared_again(make_corpus, tmp_path, others):
    store = make_corpus("Some text.").path
    text = tmp_path / "more.txt"
    text.write_text("More.")
    with pytest.raises(UsageError, match=r"is a prepared text, which is used alone"):
        prepare([store, *[text] * others], tmp_path / "new", workers=1)
