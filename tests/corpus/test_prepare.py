from __future__ import annotations

import bz2
import errno
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

import wordstill
from wordstill.core.resume import read_record
from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.corpus.disk_arrays import ArrayFile
from wordstill.corpus.shards import Shard, ShardMaker
from wordstill.errors import DataError, UsageError, WordstillError

SOURCE = str(Path(wordstill.__path__[0]).parent)
RANDOM = random.Random(0)
WORDS = [
    f"{stem}{end}"
    for stem in ("wing", "Leaf", "stone", "river", "über", "好")
    for end in ("", "s", ".", "!", "ed,", "y")
]
LINES = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randint(0, 20))) for _ in range(120)]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


def contents(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(store.iterdir())}


@pytest.mark.parametrize("settings", [{}, {"sentences_per_line": True}, {"filter": "sentences-10-40"}])
def test_workers_and_block_size_do_not_matter(tmp_path: Path, text: Path, settings: dict[str, object]) -> None:
    config = PrepareConfig(**settings)
    stores = [
        prepare([text], tmp_path / f"store{workers}-{size}", config, workers=workers, block_bytes=size).path
        for workers, size in [(1, 16 << 20), (1, 1000), (1, 50), (3, 1000)]
    ]
    for store in stores[1:]:
        assert contents(store) == contents(stores[0])
    assert not list(tmp_path.glob("*.partial"))


def test_the_kind_of_file_does_not_matter(tmp_path: Path, text: Path) -> None:
    """Each is read in many blocks by two processes; compressed ones have many streams."""
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"body": line}) for line in LINES))
    parquet.write_table(pyarrow.table({"body": LINES}), tmp_path / "a.parquet", row_group_size=7)
    raw = text.read_bytes()
    pieces = [raw[start : start + 500] for start in range(0, len(raw), 500)]
    for suffix, compress in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd)):
        (tmp_path / f"text.{suffix}").write_bytes(b"".join(map(compress, pieces)))
    (tmp_path / "folder").mkdir()
    for number, line in enumerate(LINES):
        (tmp_path / "folder" / f"{number:03d}.txt").write_text(line, encoding="utf-8")
    config, names = PrepareConfig(field="body"), ("text.gz", "text.bz2", "text.xz", "text.zst", "a.parquet", "folder")
    hashes = {
        prepare([tmp_path / name], tmp_path / f"{name}.store", config, workers=2, block_bytes=900).hash
        for name in ("text.txt", "a.jsonl", *names)
    }
    assert hashes == {prepare([text], tmp_path / "store", workers=1).hash}


def test_many_small_files_make_few_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("Some text.")
    made: list[int] = []
    original = ShardMaker.__call__
    monkeypatch.setattr(ShardMaker, "__call__", lambda self, block: made.append(block.index) or original(self, block))
    prepare([f"{tmp_path}/*.txt"], tmp_path / "store", block_bytes=100, workers=1)
    assert made == list(range(5))


SLOW_RUN = """
    import sys, time
    from wordstill.corpus import prepare

    class Splitter:
        name = "whole"
        def split(self, text):
            time.sleep(0.01)
            return [text]

    prepare([sys.argv[1]], sys.argv[2], splitter=Splitter(), workers=int(sys.argv[3]), block_bytes=500)
"""


class CountingSplitter:
    name = "whole"

    def __init__(self) -> None:
        self.calls = 0

    def split(self, text: str) -> list[str]:
        self.calls += 1
        return [text]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, text: Path, workers: int) -> None:
    clean = CountingSplitter()
    expected = prepare([text], tmp_path / "expected", splitter=clean, workers=1, block_bytes=500)
    store = tmp_path / "store"
    command = [sys.executable, "-c", textwrap.dedent(SLOW_RUN), str(text), str(store), str(workers)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": SOURCE})
    deadline = time.monotonic() + 30
    while len(list((tmp_path / "store.partial").glob("shards/*.json"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert bool(children) == (workers > 1)
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "worker processes outlive the run"
        time.sleep(0.05)
    finished = len(list((tmp_path / "store.partial").glob("shards/*.json")))
    assert finished >= 4
    assert not store.exists()
    again = CountingSplitter()
    prepare([text], store, splitter=again, workers=1, block_bytes=500)
    assert 0 < again.calls < clean.calls
    assert contents(store) == contents(expected.path)
    assert not (tmp_path / "store.partial").exists()


STOPPED_RUN = """
    import sys, time
    from pathlib import Path
    from wordstill.corpus import prepare

    class Splitter:
        name = "whole"
        def split(self, text):
            if "slow" in text:
                Path(sys.argv[3]).touch()
                time.sleep(60)
            return [text]

    prepare([sys.argv[1]], sys.argv[2], splitter=Splitter(), workers=int(sys.argv[4]), block_bytes=500)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopped_run_ends_at_once_and_goes_on_later(tmp_path: Path, workers: int) -> None:
    lines = [*LINES[:60], "slow", *LINES[60:]]
    text, store, begun = tmp_path / "text.txt", tmp_path / "store", tmp_path / "begun"
    text.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-c", textwrap.dedent(STOPPED_RUN), str(text), str(store), str(begun)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen([*command, str(workers)], env=environment, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        # The block that sleeps is under way, and others are finished.
        time.sleep(0.2)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=90)
        assert time.monotonic() - asked < 5
    assert err.strip().endswith(b"KeyboardInterrupt")
    shards = tmp_path / "store.partial" / "shards"
    finished = list(shards.glob("*.json"))
    assert finished and not list(shards.glob(".*"))
    again = CountingSplitter()
    corpus = prepare([text], store, splitter=again, workers=1, block_bytes=500)
    assert 0 < again.calls < len([line for line in lines if line])
    assert contents(corpus.path) == contents(
        prepare([text], tmp_path / "expected", splitter=CountingSplitter(), workers=1).path
    )


def test_messages_name_the_options_of_the_command_line(tmp_path: Path) -> None:
    cases = [
        ("latin.txt", "sch\xf6n".encode("latin-1"), {}, r"--encoding \(encoding=\).*--errors replace"),
        ("bad.txt", b"\x81", {"encoding": "cp1252"}, r"--encoding .*--errors replace \(errors='replace'\)"),
        ("half.jsonl", b'{"text": "\\ud800"}', {}, r"--errors replace \(errors='replace'\)"),
        ("field.jsonl", b'{"body": "a"}', {}, r"with --field \(field=\)"),
        ("zero.dat", b"a\x00b", {}, r"--format text \(format='text'\)"),
        ("wide.txt", "text".encode("utf-16"), {}, r"--encoding utf-16 \(encoding='utf-16'\)"),
    ]
    for name, content, settings, message in cases:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            prepare([tmp_path / name], tmp_path / f"{name}.store", PrepareConfig(**settings), workers=1)


def interrupt(text: Path, out: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> None:
    """A run that leaves its working folder behind."""
    with monkeypatch.context() as patch:
        # The name wordstill.corpus.prepare is the function, not the module.
        patch.setattr(sys.modules["wordstill.corpus.preparation"], "merge_shards", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepare([text], out, workers=1, block_bytes=500, **options)


def test_changed_text_is_read_again(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(text, tmp_path / "store", monkeypatch)
    text.write_text("\n".join([*LINES[:60], "A new line", *LINES[90:]]), encoding="utf-8")
    corpus = prepare([text], tmp_path / "store", workers=1, block_bytes=500)
    assert corpus.hash == prepare([text], tmp_path / "expected", workers=1).hash


def test_a_run_with_other_settings_is_refused_and_thrown_away_when_asked(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(text, tmp_path / "store", monkeypatch)
    config = PrepareConfig(filter="sentences-10-40")
    with pytest.raises(DataError, match=r"other settings: filter was 'none', now .*--overwrite"):
        prepare([text], tmp_path / "store", config, workers=1, block_bytes=500)
    assert list((tmp_path / "store.partial").glob("shards/*.json"))
    corpus = prepare([text], tmp_path / "store", config, workers=1, block_bytes=500, overwrite=True)
    assert corpus.hash == prepare([text], tmp_path / "expected", config, workers=1).hash


def test_a_damaged_shard(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D3: flipped bits of the forms became words of the store."""
    interrupt(text, tmp_path / "store", monkeypatch)
    folder = tmp_path / "store.partial" / "shards"
    digest = read_record(folder / "000001.json")["digest"]
    assert Shard(folder, 1).finished(digest)
    for ending in ("forms", "safetensors", "json"):
        path = folder / f"000001.{ending}"
        whole = path.read_bytes()
        for place in range(0, len(whole), 7):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            assert Shard(folder, 1).finished(digest) is None or b"sha256" not in damaged
        path.write_bytes(whole[:-1])
    corpus = prepare([text], tmp_path / "store", workers=1, block_bytes=500)
    assert corpus.hash == prepare([text], tmp_path / "expected", workers=1).hash


def test_two_runs_at_once_are_refused(tmp_path: Path, text: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SLOW_RUN), str(text), str(tmp_path / "store"), "1"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": SOURCE}) as process:
        try:
            while not list((tmp_path / "store.partial").glob("shards/*.json")):
                time.sleep(0.01)
            with pytest.raises(UsageError, match="Another run"):
                prepare([text], tmp_path / "store", workers=1)
        finally:
            process.kill()


def test_an_output_that_exists_is_refused_before_any_work(tmp_path: Path, text: Path) -> None:
    first = prepare([text], tmp_path / "store", workers=1)
    with pytest.raises(UsageError, match="exists already"):
        prepare([tmp_path / "missing.txt"], tmp_path / "store")
    text.write_text("Other text.")
    assert prepare([text], tmp_path / "store", workers=1, overwrite=True).hash != first.hash


def test_only_a_store_is_overwritten(tmp_path: Path, text: Path) -> None:
    (tmp_path / "empty").mkdir()
    prepare([text], tmp_path / "empty", workers=1, overwrite=True)
    for path in (tmp_path, text):
        with pytest.raises(UsageError, match="is not a prepared corpus"):
            prepare([text], path, overwrite=True)
    assert text.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_named_pipe(tmp_path: Path, text: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_bytes(text.read_bytes()), daemon=True).start()
    corpus = prepare(pipe, tmp_path / "store", workers=1)
    assert corpus.hash == prepare(str(text), tmp_path / "expected", workers=1).hash


def test_a_run_killed_while_the_old_store_is_deleted_leaves_the_new_one(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D1: the old store was deleted before the new one had its name."""
    prepare([text], tmp_path / "store", workers=1)
    old = contents(tmp_path / "store")
    text.write_text("Another text.\n", encoding="utf-8")

    def killed(folder: Path) -> None:
        (folder / "meta.json").unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wordstill.core.files.remove", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare([text], tmp_path / "store", workers=1, overwrite=True)
    assert Corpus.open(tmp_path / "store", verify=True).text(0) == "Another text."
    assert contents(tmp_path / "store") != old
    prepare([text], tmp_path / "store", workers=1, overwrite=True)
    assert [path.name for path in tmp_path.iterdir() if "store" in path.name] == ["store"]


def test_a_failed_run_leaves_the_old_store(tmp_path: Path, text: Path) -> None:
    first = prepare([text], tmp_path / "store", workers=1)
    text.write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"text\.txt:1: byte 1"):
        prepare([text], tmp_path / "store", overwrite=True)
    assert Corpus.open(tmp_path / "store", verify=True).hash == first.hash


NOTHING = [
    (b"", {}, "No text in .*text.txt"),
    (b" \n\xc2\xa0\n", {}, "No text"),
    (b"Short.\nShort.\n", {"filter": "x2static"}, "All 2 paragraphs of .* 2 by the paragraph filter"),
]


@pytest.mark.parametrize(("content", "settings", "message"), NOTHING)
def test_no_text_at_all(tmp_path: Path, content: bytes, settings: dict[str, object], message: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        prepare([path], tmp_path / "store", PrepareConfig(**settings))
    assert [file.name for file in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_input_is_named_from_every_process(tmp_path: Path, text: Path, workers: int) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(text.read_bytes() + b"\nbad \xff byte\n" + text.read_bytes())
    with pytest.raises(DataError, match=rf"bad\.txt:{len(LINES) + 1}: byte 5"):
        prepare([path], tmp_path / "store", workers=workers, block_bytes=1000)
    assert not (tmp_path / "store").exists()


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_at_the_end(tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ArrayFile, "write", full_disk)
        with pytest.raises(DataError, match=r"Cannot write .*store: No space left"):
            prepare([text], tmp_path / "store", workers=1)
    assert not (tmp_path / "store").exists()
    assert len(prepare([text], tmp_path / "store", workers=1)) == len([line for line in LINES if line])


LIMITED_RUN = """
    import resource, sys
    from wordstill.corpus import prepare
    from wordstill.errors import DataError

    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    try:
        prepare([sys.argv[1]], sys.argv[2], workers=int(sys.argv[3]), block_bytes=10_000)
    except DataError as error:
        sys.exit(f"refused: {error}")
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_disk_that_takes_no_more(tmp_path: Path, text: Path, workers: int) -> None:
    command = [sys.executable, "-c", textwrap.dedent(LIMITED_RUN), str(text), str(tmp_path / "store"), str(workers)]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("refused: Cannot write"), run.stderr
    assert not (tmp_path / "store").exists()


class BadSplitter:
    name = "bad"

    def split(self, text: str) -> list[str]:
        return text.split()


class BadSegmenter:
    name = "bad"

    def spans(self, form: str) -> list[tuple[int, int]]:
        return [(0, 1), (0, 2)] if len(form) > 2 else [(0, 1)]


def test_splitters_and_segmenters_are_checked(tmp_path: Path, text: Path) -> None:
    with pytest.raises(WordstillError, match="splitter 'bad' changed the text"):
        prepare([text], tmp_path / "store", splitter=BadSplitter(), workers=1)
    with pytest.raises(WordstillError, match=r"segmenter 'bad'.*\[\[0, 1\], \[0, 2\]\]"):
        prepare([text], tmp_path / "other", segmenter=BadSegmenter(), workers=1)


def test_lines_far_longer_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a" * 1_000_000 + "\n" + "One two three. " * 50_000 + "\nlast")
    corpus = prepare([path], tmp_path / "store", workers=1, block_bytes=50_000)
    assert [len(corpus.text(number)) for number in range(3)] == [1_000_000, 15 * 50_000 - 1, 4]
    assert len(corpus.sentences) - 1 == 50_002


def test_progress(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    prepare([text], tmp_path / "store", workers=1, block_bytes=1000, progress=True)
    assert "prepare: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"block_bytes": 0}])
def test_wrong_options(tmp_path: Path, text: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        prepare([text], tmp_path / "store", **wrong)


def test_a_share_of_the_text_is_part_of_a_larger_one(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"Paragraph number {number} of many." for number in range(400)))
    texts = {}
    for share in (0.1, 0.4, 1.0):
        corpus = prepare(path, tmp_path / str(share), PrepareConfig(share=share), workers=1)
        texts[share] = [corpus.text(number) for number in range(len(corpus))]
        assert corpus.meta["settings"].get("share", 1.0) == share
    assert len(texts[1.0]) == 400 and 20 < len(texts[0.1]) < 60 and 120 < len(texts[0.4]) < 200
    assert set(texts[0.1]) < set(texts[0.4]) < set(texts[1.0])
    assert texts[0.4] == [text for text in texts[1.0] if text in set(texts[0.4])]
    with pytest.raises(DataError, match=r"No text is left of .*text\.txt: a share of 1e-09 has none"):
        prepare(path, tmp_path / "none", PrepareConfig(share=1e-9), workers=1)
    for wrong in (0.0, 1.1, -1.0):
        with pytest.raises(UsageError, match="share must be above 0 and at most 1"):
            PrepareConfig(share=wrong)
