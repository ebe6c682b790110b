"""Text prepared by another process: the same store, errors and warnings, and nothing left behind when it is stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from wordstill.corpus import PrepareConfig, prepare
from wordstill.corpus.preparation import STORE
from wordstill.distillation.text_in_advance import preparing
from wordstill.errors import DataError, WordstillError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux prepares meanwhile")
PLAIN = PrepareConfig()
TEXT = "One sentence is here. Another one follows it.\n" * 20


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_the_store_is_the_same_and_is_opened_the_second_time(text, work, tmp_path):
    with preparing(text, PLAIN, work, progress=False) as begun:
        corpus = begun.wait()
    assert corpus.hash == prepare([text], tmp_path / "plain").hash
    assert begun.seconds is not None
    with preparing([text], PLAIN, work, progress=False) as again:
        assert again.wait().hash == corpus.hash
    assert again.seconds is None
    with preparing(corpus.path, PLAIN, work, progress=False) as store:
        assert store.wait().path == corpus.path


def test_errors_and_warnings_of_the_other_process_arrive(work, tmp_path):
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"fine\nnot \xff utf-8\n")
    with pytest.raises(DataError, match=r"broken\.txt:2"), preparing(broken, PLAIN, work, progress=False) as begun:
        begun.wait()
    unspaced = tmp_path / "unspaced.txt"
    unspaced.write_text("这是没有空格的中文文本。" * 200, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with preparing(unspaced, PLAIN, elsewhere, progress=False) as begun, pytest.warns(UserWarning, match="spaces"):
        begun.wait()


def test_a_failing_block_stops_the_process_and_the_next_run_goes_on(work, tmp_path):
    text = tmp_path / "long.txt"
    text.write_text(TEXT * 4000)
    with pytest.raises(ValueError, match="no model"), preparing(text, PLAIN, work, progress=False):
        while not list(work.glob(f"{STORE}.partial/shards/*.json")):
            time.sleep(0.01)
        raise ValueError("no model")
    assert multiprocessing.active_children() == []
    assert not (work / STORE).exists()
    with preparing(text, PLAIN, work, progress=False) as begun:
        corpus = begun.wait()
    assert corpus.hash == prepare([text], tmp_path / "plain").hash


def test_a_process_that_was_killed_is_an_error(work, tmp_path):
    text = tmp_path / "long.txt"
    text.write_text(TEXT * 4000)
    with pytest.raises(WordstillError, match="was ended"), preparing(text, PLAIN, work, progress=False) as begun:
        (child,) = multiprocessing.active_children()
        os.kill(child.pid, signal.SIGKILL)
        begun.wait()
