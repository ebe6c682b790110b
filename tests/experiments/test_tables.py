"""The one command that makes every generated block of every page."""

import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from experiments import tables
from experiments.record import RENAMED, ROOT, current_command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository of two pages and a picture, with one generated block that says `new`."""
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "BLOCKS", {"one": lambda: "new"})
    monkeypatch.setattr(tables, "PICTURES", {"images/size.svg": lambda: "<svg/>"})
    (tmp_path / "README.md").write_text("Before.\n<!-- one: begin -->\nold\n<!-- one: end -->\nAfter.\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plain.md").write_text("No block.\n")
    return tmp_path


def run(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["tables", *options])
    tables.main()


def test_only_what_is_between_the_markers_is_written(folder, monkeypatch):
    run(monkeypatch)
    assert (folder / "README.md").read_text() == ("Before.\n<!-- one: begin -->\nnew\n<!-- one: end -->\nAfter.\n")
    assert (folder / "docs" / "plain.md").read_text() == "No block.\n"
    assert (folder / "images" / "size.svg").read_text() == "<svg/>"
    run(monkeypatch, "--check")


def test_a_stale_page_fails_the_check_and_is_left_alone(folder, monkeypatch):
    with pytest.raises(SystemExit, match=r"README\.md, images/size\.svg; run python -m experiments\.tables"):
        run(monkeypatch, "--check")
    assert "old" in (folder / "README.md").read_text()


def test_every_page_and_picture_is_up_to_date():
    assert tables.stale_files() == {}


def test_every_block_stands_on_some_page():
    texts = [path.read_text() for path, _ in tables.pages()]
    assert all(any(f"<!-- {name}: begin -->" in text for text in texts) for name in tables.BLOCKS)


@pytest.mark.parametrize("old", RENAMED)
def test_recorded_commands_lead_to_modules_that_exist(old):
    module = current_command(f"python {old}{'memory' if old.endswith('.') else ''} --x").split()[2]
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()
