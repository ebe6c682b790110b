from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wordstill.corpus import PrepareConfig
from wordstill.corpus import paragraphs as paragraphs_module
from wordstill.corpus import readers as readers_module
from wordstill.corpus.paragraphs import group_parts, read_paragraphs
from wordstill.corpus.readers import detect_kind, read_column, read_parts
from wordstill.corpus.sources import find_sources
from wordstill.errors import DataError

arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")


def paragraphs(path: Path, block_bytes: int = 1 << 20, **settings: object) -> list[list[str]]:
    config = PrepareConfig(**settings)
    blocks = group_parts(read_parts(find_sources([path]), config, block_bytes), block_bytes)
    found = (paragraph for block in blocks for paragraph in read_paragraphs(block, config))
    return [lines for paragraph in found if (lines := [line.strip() for line in paragraph if line.strip()])]


def write_parquet(path: Path, **columns: list[object]) -> Path:
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow.table(columns), path, row_group_size=3)
    return path


KINDS = [
    ("a.txt", b'{"text": "x"}\n', "text"),
    ("a.jsonl", b"anything", "jsonl"),
    ("a.ndjson", b"", "jsonl"),
    ("a", b'\xef\xbb\xbf {"text": "x"}\nmore', "jsonl"),
    ("a.json", b'{"text": \n', "text"),
    ("a", b"{not json}\n", "text"),
    ("a", b"PAR1....", "parquet"),
    ("a.xml", b"<mediawiki xmlns=", "mediawiki"),
    ("a.csv", b"anything", "csv"),
    ("a.tsv", b"", "csv"),
    ("a", b"<b>not a page", "text"),
    ("a", b"", "text"),
]


@pytest.mark.parametrize(("name", "content", "kind"), KINDS)
def test_kinds_of_files(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    with find_sources([tmp_path / name])[0].open() as stream:
        assert detect_kind(stream) == kind


MARKUP = [
    ("a", b" \n<!DOCTYPE html><p>x", "HTML"),
    ("a.txt", b"<html lang=en>", "HTML"),
    ("a.htm", b"<p>x", "HTML"),
    ("a.txt", b"%PDF-1.7\n", "PDF"),
    ("a", b"{\\rtf1 x", "RTF"),
    ("a", b"\xef\xbb\xbf<?xml version='1.0'?><a>", "XML"),
]


@pytest.mark.parametrize(("name", "content", "kind"), MARKUP)
def test_markup_is_not_taken_for_text_unless_asked_for(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name} is {kind}.*--format text"):
        paragraphs(tmp_path / name)
    assert paragraphs(tmp_path / name, format="text")


CSV_TEXTS = ["one, two", 'a "quoted"\nline', "Übung; ende", "last"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_csv(tmp_path: Path, delimiter: str, block_bytes: int) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(["label", "text", "id"])
        rows.writerows(["spam", text, number] for number, text in enumerate([CSV_TEXTS[0], "", *CSV_TEXTS[1:]]))
        file.write("\n")
    lines = [[line] for text in CSV_TEXTS for line in text.split("\n")]
    assert paragraphs(path, block_bytes) == lines
    assert paragraphs(path, block_bytes, field="label") == [["spam"]] * 5


def test_csv_with_long_fields_and_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"text,n\n{'ü' * 200_000},1\n".encode("latin-1"))
    assert paragraphs(path, encoding="latin-1") == [["ü" * 200_000]]


BAD_CSV = [
    (b"body,label\nx,y\n", r"no column 'text'. The first line names: 'body', 'label'.*--field"),
    (b"", "no column 'text'. The first line names: nothing"),
    (b"text,label\nx,y\none, two, three\n", r"a\.csv:3: 3 fields, expected 2"),
    (b'text,label\n"x,y\n', "not well-formed CSV"),
    (b"text,label\n\xff,y\n", "not UTF-8.*--encoding"),
]


@pytest.mark.parametrize(("content", "message"), BAD_CSV)
def test_bad_csv(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        paragraphs(path)


ENCODED = [
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-8-sig", b""),
    ("latin-1", b""),
    ("utf-16", b""),
    ("utf-16-be", b""),
    ("utf-32", b""),
]


@pytest.mark.parametrize(("encoding", "mark"), ENCODED)
@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_encodings(tmp_path: Path, encoding: str, mark: bytes, block_bytes: int) -> None:
    lines = ["Übergröße", "", "naïve café", "third"]
    path = tmp_path / "a.txt"
    path.write_bytes(mark + "\r\n".join(lines).encode(encoding))
    assert paragraphs(path, block_bytes, encoding=encoding) == [[line] for line in lines if line]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"body": "one\ntwo"}, {"body": None}, {"body": ""}, {"id": 1, "body": "\x00 three 😀"}]
    path.write_text("\n\n".join(map(json.dumps, records)))
    assert paragraphs(path, field="body") == [["one"], ["two"], ["\x00 three 😀"]]
    assert paragraphs(path, field="body", sentences_per_line=True) == [["one", "two"], ["\x00 three 😀"]]


def test_row_groups_are_read_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"row {number}" if number % 5 else None for number in range(40)]
    path = write_parquet(tmp_path / "a.parquet", body=texts)
    expected = [text for text in texts if text]
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for task, ahead in ((1, 1 << 20), (200, 1 << 20), (1, 1)):
        with find_sources([path])[0].open() as stream:
            found = list(read_column(stream, "body", task_bytes=task, ahead_bytes=ahead))
        assert [json.loads(text) for text in found] == expected


def test_parquet(tmp_path: Path) -> None:
    texts = ["one\ntwo", None, "", *(f"text {number}" for number in range(10))]
    path = write_parquet(tmp_path / "a.parquet", body=texts, id=list(range(13)))
    expected = [["one"], ["two"], *([f"text {number}"] for number in range(10))]
    for block_bytes in (1, 50, 1 << 20):
        assert paragraphs(path, block_bytes, field="body") == expected


LINES = st.lists(st.sampled_from(["", " \t", "\u00a0", "a", "b c", "d" * 9]), max_size=30)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.integers(1, 40), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_paragraphs_do_not_depend_on_the_block_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], size: int, sentences: bool, end: str, last: bool
) -> None:
    for module in (paragraphs_module, readers_module):
        monkeypatch.setattr(module, "MAX_PARAGRAPH_LINES", 4)
    path = tmp_path / "a.txt"
    path.write_bytes((end.join(lines) + end * last).encode())
    expected: list[list[str]] = [[]]
    for line in lines:
        if line in ("", " \t"):
            expected.append([])
        else:
            if not sentences or len(expected[-1]) == 4:
                expected.append([])
            expected[-1].append(line)
    kept = [kept for paragraph in expected if (kept := [line for line in paragraph if line.strip()])]
    assert paragraphs(path, size, sentences_per_line=sentences) == kept


BROKEN = [
    ("a.txt", b"fine\nnot \xff fine\n", {}, r"a\.txt:2: byte 5 of the line, 0xff"),
    ("a.txt", b"fine\n" * 10 + b"\xc3", {}, r"a\.txt:11: byte 1 of the line, 0xc3"),
    (
        "a.txt",
        "ü".encode("utf-16") + b"\x00",
        {"encoding": "utf-16"},
        r"a\.txt: the bytes near offset \d+ are not utf-16",
    ),
    ("a.bin", b"abc\x00def", {}, r"a\.bin looks binary: it has a zero byte at offset 3.*--format text"),
    ("a.txt", "text".encode("utf-16"), {}, r"begins like UTF-16"),
    ("a.jsonl", b'{"text": "x"}\n{"text": \n', {}, r"a\.jsonl:2: not a line of JSON"),
    ("a.jsonl", b"[" * 100_000, {}, r"a\.jsonl:1: not a line of JSON"),
    ("a.jsonl", b'{"text": "x"}\n\n{"body": "y", "id": 3}\n', {}, r"a\.jsonl:3: no field 'text'.*'body', 'id'"),
    ("a.jsonl", b'["text"]\n', {}, r"a\.jsonl:1: expected a JSON object.*got list"),
    ("a.jsonl", b'{"text": 3}\n', {}, r"a\.jsonl:1: the field 'text' holds int"),
    ("a.jsonl", b'{"text": "\\ud83d"}\n', {}, r"a\.jsonl:1: character 0 .* surrogate .*\\ud83d"),
    ("a.jsonl", b'{"text": "\xff"}\n', {}, r"a\.jsonl:1: byte 11"),
    ("a.json", b' [{"text": "x"}]', {}, r"a\.json is one JSON array"),
    ("a.parquet", b"PAR1 and nothing else", {}, r"a\.parquet: broken Parquet data"),
    ("a.xml", b"<mediawiki><page>", {}, r"a\.xml:1: broken XML"),
]


@pytest.mark.parametrize(("name", "content", "settings", "message"), BROKEN)
@pytest.mark.parametrize("block_bytes", [3, 1 << 20])
def test_broken_files(
    tmp_path: Path, name: str, content: bytes, settings: dict[str, object], message: str, block_bytes: int
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        paragraphs(tmp_path / name, block_bytes, **settings)


REPLACED = [
    ("a.txt", b"not \xff fine\n", "not \ufffd fine"),
    ("a.jsonl", b'{"text": "a\\ud83d b \\ud83d\\ude00"}\n', "a\ufffd b 😀"),
    ("a.jsonl", b'{"text": "\xff"}\n', "\ufffd"),
]


@pytest.mark.parametrize(("name", "content", "text"), REPLACED)
def test_undecodable_bytes_can_be_replaced(tmp_path: Path, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert paragraphs(tmp_path / name, errors="replace") == [[text]]


def test_a_forced_format_overrules_name_and_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": \x00}\n')
    assert paragraphs(path, format="text") == [['{"text": \x00}']]


@pytest.mark.parametrize(
    ("column", "message"), [("text", r"no column 'text'.*'body', 'number'"), ("number", "column 'number' holds int64")]
)
def test_wrong_parquet_columns(tmp_path: Path, column: str, message: str) -> None:
    path = write_parquet(tmp_path / "a.parquet", body=["x"], number=[1])
    with pytest.raises(DataError, match=message):
        paragraphs(path, field=column)
