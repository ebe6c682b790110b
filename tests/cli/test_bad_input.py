"""Whatever is wrong with the input: one clear message, the right exit code, nothing left behind."""

from __future__ import annotations

import resource
import shutil

import numpy as np
import pytest

from wordstill import WordVectors


@pytest.fixture
def here(tmp_path, monkeypatch, text, store, vectors):
    """The working folder, with good input and with bad."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    shutil.copy(text, "good.txt")
    shutil.copytree(store, "store")
    shutil.copytree(vectors / "ase", "ase")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "pairs.tsv").write_text("babar\tbador\t1\nbador\tbafir\t2\n")
    (tmp_path / "blank.txt").write_text(" \n\n \n")
    (tmp_path / "binary.dat").write_bytes(b"\x7fELF\x00\x00\x01" * 50)
    (tmp_path / "latin.txt").write_bytes("gut\ngut\nschön\n".encode("latin-1"))
    (tmp_path / "broken.jsonl").write_text('{"text": "gut"}\n{"text": \n')
    (tmp_path / "cut.txt.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00")
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.md").touch()
    (tmp_path / "file").write_text("")
    return tmp_path


@pytest.fixture
def fails(cli, here):
    """Runs a command that must fail and leave the folder as it was; gives the message."""

    def run(code: int, *arguments: object) -> str:
        before = {path: path.stat().st_mtime_ns for path in here.rglob("*")}
        ended = cli(*arguments)
        assert (ended.code, ended.out) == (code, "")
        assert ended.err.startswith("error: ") and ended.err.count("\n") == 1, ended.err
        assert {path: path.stat().st_mtime_ns for path in here.rglob("*")} == before
        return ended.err

    return run


TEXT = {
    "missing": ("nowhere.txt", "nowhere.txt does not exist"),
    "empty": ("empty.txt", "No text in empty.txt"),
    "blank": ("blank.txt", "No text in blank.txt"),
    "binary": ("binary.dat", "looks binary"),
    "undecodable": ("latin.txt", "latin.txt:3: byte 4 of the line, 0xf6, is not UTF-8"),
    "broken JSON": ("broken.jsonl", "broken.jsonl:2: not a line of JSON"),
    "broken gzip": ("cut.txt.gz", "cut.txt.gz: the gzip data are broken or cut short"),
    "folder without files": ("folder", "The folder folder holds no files"),
    "glob without files": ("*.nothing", "No file matches '*.nothing'"),
}


@pytest.mark.parametrize(("source", "message"), TEXT.values(), ids=TEXT)
@pytest.mark.parametrize("command", ["prepare", "distill"])
def test_bad_text(fails, teacher, command, source, message):
    more = ("--teacher", teacher) if command == "distill" else ()
    assert message in fails(1, command, source, "--out", "out", *more)


SETTINGS = {
    "filter": (("--filter", "x2sttic"), "Did you mean 'x2static'"),
    "format": (("--format", "jsnol"), "Did you mean 'jsonl'"),
    "errors": (("--errors", "ignore"), "Known: replace, strict"),
    "encoding": (("--encoding", "utf-9"), "Unknown encoding 'utf-9'"),
    "language": (("--language", "xx"), "Unknown language 'xx'"),
    "output exists": (("--out", "taken"), "Choose another output"),
    "output without a name": (("--out", ".."), "is not a new folder"),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("command", ["prepare", "distill"])
def test_bad_text_settings(fails, teacher, command, settings, message):
    more = ("--teacher", teacher) if command == "distill" else ()
    assert message in fails(2, command, "good.txt", "--out", "out", *more, *settings)


DISTILL = {
    "method": (2, ("--method", "sill"), "Unknown method 'sill'. Did you mean 'still'"),
    "setting": (2, ("--method", "ase:leyer=all"), "Did you mean 'layer'"),
    "value": (2, ("--method", "ase:subword=median"), "Known: max, mean, min"),
    "layer": (2, ("--method", "ase:layer=9"), "outside 0 to 3"),
    "no size": (2, ("--method", "bert-skipgram:dim=0"), "bert-skipgram: dim must be from 1 to 16,384; got 0"),
    "negative size": (2, ("--method", "context-to-vec:dim=-3"), "dim must be from 1 to 16,384; got -3"),
    "no number": (2, ("--method", "x2static:rate=nan"), "x2static:rate must be a finite number; got nan"),
    "huge number": (2, ("--method", f"x2static:batch={10**30}"), "up to 2,147,483,647; got one of 31 digits"),
    "seed": (2, ("--seed", str(2**40)), "seed must be from 0 to 4,294,967,295"),
    "nothing to choose": (2, ("--development", "pairs.tsv"), "still reads the text once"),
    "no development set": (1, ("--development", "nowhere.tsv"), "There is no file nowhere.tsv"),
    "patience for nothing": (2, ("--patience", "2"), "--patience needs --development"),
    "method twice": (2, ("-m", "ase", "-m", "ase"), "named twice"),
    "device": (2, ("--device", "tpu"), "cannot be used here"),
    "dtype": (2, ("--dtype", "float8"), "float32"),
    "key": (2, ("--key", "upper"), "Known: lower, none"),
    "empty vocabulary": (1, ("--min-count", "100000"), "occurs 100,000 times"),
    "no word list": (1, ("--words", "nowhere.txt"), "Cannot read nowhere.txt"),
    "empty word list": (1, ("--words", "empty.txt"), "empty.txt is empty"),
    "no teacher": (1, ("--teacher", "all-MiniLM-L6-v3"), "Did you mean 'all-MiniLM-L6-v2'"),
    "folder without teacher": (1, ("--teacher", "taken"), "holds no model"),
    "output below a file": (1, ("--out", "file/vectors"), "Not a directory"),
}


@pytest.mark.parametrize(("code", "settings", "message"), DISTILL.values(), ids=DISTILL)
def test_bad_distillation(fails, teacher, code, settings, message):
    defaults = ("distill", "good.txt", "--out", "out", "--teacher", teacher)
    assert message in fails(code, *defaults, *settings)


def test_corrupt_store(fails, here, teacher):
    tokens = here / "store" / "tokens.npy"
    tokens.write_bytes(tokens.read_bytes()[:-1] + b"\x99")
    assert "damaged at store/tokens.npy" in fails(1, "distill", "store", "--out", "out", "--teacher", teacher)
    assert "SHA-256" in fails(1, "info", "store", "--verify")
    tokens.write_bytes(b"")
    assert "has 0 bytes, expected" in fails(1, "info", "store")


def test_corrupt_artifact(fails, here):
    (here / "ase" / "vectors.safetensors").write_bytes(b"\x00" * 100)
    for command in (("info", "ase"), ("similar", "ase", "babar"), ("evaluate", "ase", "--set", "wordsim353")):
        assert "vectors.safetensors" in fails(1, *command)
    (here / "ase" / "config.json").unlink()
    assert "config.json is missing" in fails(1, "info", "ase")


LOOKING = {
    "word": (2, ("similar", "ase", "babarr"), "Near it in spelling: 'babar'"),
    "no word at all": (2, ("similar", "ase", "babarr", "bbabar"), "'babarr' is not among"),
    "word of an analogy": (2, ("analogy", "ase", "babar", "bador", "bafirr"), "Near it in spelling: 'bafir'"),
    "no vectors": (1, ("similar", "nowhere", "babar"), "nowhere"),
    "text for vectors": (2, ("similar", "store", "babar"), "wordstill distill store --out vectors"),
    "folder for vectors": (1, ("info", "taken"), "holds no vectors"),
    "set": (2, ("evaluate", "ase", "--set", "simlex99"), "Did you mean 'simlex999'"),
    "file of pairs": (1, ("evaluate", "ase", "--set", "nowhere.tsv"), "There is no file 'nowhere.tsv'"),
    "protocol": (2, ("evaluate", "ase", "--protocol", "defalt"), "Did you mean 'default'"),
    "nothing to evaluate": (2, ("evaluate",), "No vectors were named"),
    "output of evaluate": (2, ("evaluate", "ase", "--out", "good.txt"), "good.txt exists already"),
}


@pytest.mark.parametrize(("code", "arguments", "message"), LOOKING.values(), ids=LOOKING)
def test_bad_look(fails, code, arguments, message):
    assert message in fails(code, *arguments)


def test_one_of_several_tables_must_be_named(cli, vectors):
    ended = cli("similar", vectors, "babar")
    assert ended.code == 2
    assert f"name one of them: {vectors / 'ase'}, {vectors / 'decontextual'}" in ended.err


def test_a_stopped_run_is_not_lost_by_accident(fails, cli, here, teacher):
    (here / "out.partial" / "store").mkdir(parents=True)
    (here / "out.partial" / "lock").touch()
    message = fails(2, "distill", "good.txt", "--out", "out", "--teacher", teacher, "-m", "ase")
    assert "left by another version" in message and "--overwrite" in message
    again = cli("distill", "good.txt", "--out", "out", "--teacher", teacher, "-m", "ase", "--overwrite")
    assert again.code == 0
    assert not (here / "out.partial").exists()


def test_a_failing_overwrite_keeps_the_old_result(fails, cli, here, teacher):
    assert cli("distill", "store", "--out", "out", "--teacher", teacher, "-m", "ase").code == 0
    fails(1, "distill", "nowhere.txt", "--out", "out", "--teacher", teacher, "--overwrite")
    assert len(WordVectors.load(here / "out"))


def all_memory_of_torch() -> None:
    import torch

    torch.empty(1 << 55)


def all_memory_of_numpy() -> None:
    np.empty(1 << 55)


@pytest.mark.parametrize("allocate", [all_memory_of_torch, all_memory_of_numpy])
def test_too_little_memory(fails, monkeypatch, teacher, allocate):
    monkeypatch.setattr("wordstill.teacher.Teacher.from_config", lambda *_: allocate())
    message = fails(1, "distill", "good.txt", "--out", "out", "--teacher", teacher)
    assert "There is not enough memory. Fewer words (--max-vocab)" in message


def test_other_failures_of_the_program_keep_their_traceback(cli, monkeypatch, here, teacher):
    def fail(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("wordstill.teacher.Teacher.from_config", fail)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        cli("distill", "good.txt", "--out", "out", "--teacher", teacher)


@pytest.fixture
def full_disk():
    """No file can grow beyond a size, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "arguments",
    [
        ("prepare", "good.txt"),
        ("distill", "good.txt", "-m", "ase"),
        ("distill", "store", "-m", "ase"),
        ("distill", "store", "-m", "ase", "--checkpoint-minutes", "0"),
    ],
    ids=["store", "store of distill", "artefact", "checkpoint"],
)
def test_full_disk(fails, full_disk, teacher, arguments):
    more = ("--teacher", teacher) if arguments[0] == "distill" else ()
    full_disk(4_000)
    assert "File too large" in fails(1, *arguments, "--out", "out", *more)
