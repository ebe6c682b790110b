from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path

import pytest
import zstandard

from wordstill.corpus import prepare
from wordstill.corpus.sources import Source, find_sources
from wordstill.errors import DataError

CODECS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.ZstdCompressor().compress}
DATA = b"".join(b"line %d of the text\n" % number for number in range(20_000))


def read_all(source: Source, size: int = 10_000) -> bytes:
    with source.open() as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


@pytest.mark.parametrize("suffix", CODECS)
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    compress = CODECS[suffix]
    two_frames = compress(DATA) + compress(DATA[:100])
    for name, content, expected in [
        (f"a.txt{suffix}", compress(DATA), DATA),
        ("no-suffix", compress(DATA), DATA),
        (f"two.txt{suffix}", two_frames, DATA + DATA[:100]),
        (f"empty.txt{suffix}", compress(b""), b""),
    ]:
        (tmp_path / name).write_bytes(content)
        assert read_all(find_sources([tmp_path / name])[0]) == expected


@pytest.mark.parametrize("suffix", CODECS)
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.999])
def test_truncated_compressed_files(tmp_path: Path, suffix: str, keep: float) -> None:
    path = tmp_path / f"a.txt{suffix}"
    content = CODECS[suffix](DATA)
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(DataError, match=r"a\.txt.*(cut short|named like)"):
        read_all(find_sources([path])[0])


@pytest.mark.parametrize("suffix", CODECS)
def test_damaged_compressed_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    content = bytearray(CODECS[suffix](DATA))
    content[20:60] = b"\xa5" * 40
    path.write_bytes(content)
    with pytest.raises(DataError, match="broken"):
        read_all(find_sources([path])[0])


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(b"plain text")
    with pytest.raises(DataError, match="named like gzip data but begins with 70 6c"):
        read_all(find_sources([path])[0])


def test_folders_patterns_and_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "sub/c.txt", ".hidden", ".git/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def names(given: object) -> list[str]:
        return [Path(source.name).relative_to(tmp_path).as_posix() for source in find_sources([given])]

    assert names(tmp_path) == ["a.txt", "b.txt", "sub/c.txt"]
    assert names(f"{tmp_path}/*.txt") == ["a.txt", "b.txt"]
    assert names(f"{tmp_path}/**/*.txt") == ["a.txt", "b.txt", "sub/c.txt"]
    (tmp_path / "odd[1].txt").write_text("x")
    assert names(tmp_path / "odd[1].txt") == ["odd[1].txt"]


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given, message in [
        ([tmp_path / "missing.txt"], r"missing\.txt does not exist"),
        ([tmp_path / "empty"], "holds no files"),
        ([f"{tmp_path}/*.nothing"], "No file matches"),
        ([], "No input"),
    ]:
        with pytest.raises(DataError, match=message):
            find_sources(given)


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BufferedReader(io.BytesIO(gzip.compress(DATA)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    assert read_all(find_sources(["-"])[0]) == DATA


def test_names_that_are_not_utf_8_are_shown_and_stored(tmp_path: Path) -> None:
    name = os.fsdecode(b"b\xe4r.txt")
    (tmp_path / name).write_text("A text.")
    assert [Path(source.name).name for source in find_sources(tmp_path)] == ["b\\xe4r.txt"]
    corpus = prepare([tmp_path / name], tmp_path / "store", workers=1)
    assert corpus.meta["sources"] == [f"{tmp_path}/b\\xe4r.txt"]


def test_broken_links_in_a_folder_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A text.")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone")
    with pytest.warns(UserWarning, match=r"lead nowhere: the links .*b\.txt"):
        assert len(find_sources(tmp_path)) == 1
