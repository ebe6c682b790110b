from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.corpus.config import Grouping, in_order
from wordstill.corpus.preparation import check_inputs, open_or_prepare
from wordstill.errors import DataError, UsageError

ROWS = [
    {"text": f"Row {number} says something about stones.\nAnd more of row {number}.", "year": year, "party": party}
    for number, (year, party) in enumerate([(1987, "a"), (1993, "b"), (1989, "a"), (None, "b"), (1999, "")] * 8)
]
PARAGRAPHS = 2
DECADES = [None if row["year"] is None else f"{row['year'] // 10 * 10}s" for row in ROWS]


def write_rows(path: Path) -> Path:
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(ROWS), path)
    elif path.suffix == ".csv":
        lines = [f'"{row["text"]}",{row["year"] or ""},{row["party"]}' for row in ROWS]
        path.write_text("\n".join(["text,year,party", *lines]))
    else:
        path.write_text("\n".join(map(json.dumps, ROWS)))
    return path


def groups_of(corpus: Corpus) -> list[str | None]:
    assert corpus.groups is not None
    return [None if number < 0 else corpus.group_names[number] for number in corpus.groups.tolist()]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("block", [1 << 20, 200])
def test_rows_have_the_group_of_their_field_and_are_documents(tmp_path: Path, name: str, block: int) -> None:
    path = write_rows(tmp_path / name)
    config = PrepareConfig(group="year", bins="decade")
    corpus = prepare([path], tmp_path / "store", config, workers=1, block_bytes=block)
    assert corpus.group_names == ("1980s", "1990s")
    assert groups_of(corpus) == [decade for decade in DECADES for _ in range(PARAGRAPHS)]
    assert corpus.documents is not None
    assert corpus.documents.tolist() == [number for number in range(len(ROWS)) for _ in range(PARAGRAPHS)]
    assert corpus.meta["origins"]["ungrouped"] == 8 * PARAGRAPHS
    by_hand = [
        sum(len(list(s.words)) for p, g in zip(corpus, groups_of(corpus)) if g == name for s in p.sentences)
        for name in corpus.group_names
    ]
    assert corpus.words_by_group() == by_hand


def test_a_store_with_groups_has_the_same_text_and_hash(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl")
    plain = prepare([path], tmp_path / "plain", workers=1)
    grouped = prepare([path], tmp_path / "grouped", PrepareConfig(group="party"), workers=1)
    assert plain.hash == grouped.hash
    assert "origins" not in plain.meta
    assert plain.groups is None
    assert plain.documents is None
    for file in plain.path.iterdir():
        if file.name != "meta.json":
            assert file.read_bytes() == (grouped.path / file.name).read_bytes()
    # An empty value is no group.
    assert groups_of(grouped)[8:10] == [None, None]
    reopened = Corpus.open(grouped.path, verify=True)
    assert reopened.group_names == ("a", "b")


def test_files_are_documents_and_their_folder_or_name_is_the_group(tmp_path: Path) -> None:
    for year in (1801, 1850, 1902):
        folder = tmp_path / "text" / f"{year // 100 * 100}s"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"novel-{year}.txt").write_text("One line.\n" * 30)
    settings = {
        "folder": PrepareConfig(group="folder"),
        "file": PrepareConfig(group=r"file:novel-(\d+)"),
        "bins": PrepareConfig(group=r"file:\d{4}\.txt", bins="50"),
    }
    for block in (1 << 20, 100):
        stores = {
            spec: prepare([tmp_path / "text"], tmp_path / f"{spec}{block}", config, workers=1, block_bytes=block)
            for spec, config in settings.items()
        }
        names = {spec: corpus.group_names for spec, corpus in stores.items()}
        assert names["folder"] == ("1800s", "1900s")
        assert names["file"] == ("1801", "1850", "1902")
        assert names["bins"] == ("1800-1849", "1850-1899", "1900-1949")
        documents = stores["folder"].documents
        assert documents is not None
        assert np.array_equal(documents, np.repeat([0, 1, 2], 30))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [1, 30, 77, 1 << 20])
def test_empty_lines_separate_documents_of_plain_text(tmp_path: Path, block: int, end: str) -> None:
    lines = ["", "One.", "One still.", " \t", "", "Two.", "", "Three.", "\u00a0", "Three still.", "Three again."]
    (tmp_path / "a.txt").write_bytes(end.join(lines).encode())
    (tmp_path / "b.txt").write_bytes(end.join(lines[:3]).encode())

    def documents(**settings: bool) -> list[int] | None:
        config = PrepareConfig(**settings)
        corpus = prepare([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "store", config, workers=1,
                         block_bytes=block, overwrite=True)  # fmt: skip
        hashes.add((corpus.hash, config.sentences_per_line))
        return None if corpus.documents is None else corpus.documents.tolist()

    hashes: set[tuple[str, bool]] = set()
    assert documents(documents=True) == [0, 0, 1, 2, 2, 2, 3, 3]
    assert documents() is None
    assert len(hashes) == 1
    # Here an empty line ends a paragraph.
    assert documents(documents=True, sentences_per_line=True) == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("value", "bins", "label"),
    [
        ("1987-05-03", "decade", "1980s"),
        ("May 3, 1987", "year", "1987"),
        (1987, "century", "1900-1999"),
        (1987.0, "25", "1975-1999"),
        (datetime.date(1987, 5, 3), "month", "1987-05"),
        ("undated", "year", None),
        (123456789, "year", None),
        ("", None, None),
        (None, None, None),
        (["a"], None, None),
        (True, None, "true"),
        ("  Two   words ", None, "Two words"),
    ],
)
def test_values_become_labels(value: object, bins: str | None, label: str | None) -> None:
    assert Grouping("field", "x", bins).label(value) == label


def test_numbers_in_names_are_sorted_by_value() -> None:
    assert in_order({"10", "9", "b", "a2", "a10", "1900s", "1890s"}) == ["9", "10", "1890s", "1900s", "a2", "a10", "b"]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("a.jsonl", {"group": "yaer"}, "no field 'yaer' to group by. Available fields: 'text', 'year', 'party'"),
        ("a.csv", {"group": "yaer"}, "no column 'yaer'"),
        ("a.parquet", {"group": "yaer"}, "no column 'yaer'"),
        ("a.jsonl", {"group": "party", "bins": "year"}, "None of the 80 paragraphs has a group"),
        ("a.jsonl", {"group": "file:zzz"}, "None of the 80 paragraphs has a group"),
    ],
)
def test_groups_that_are_not_there_are_refused(
    tmp_path: Path, name: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        prepare([write_rows(tmp_path / name)], tmp_path / "store", PrepareConfig(**settings), workers=1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_one_group_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="All paragraphs are in one group"):
        prepare([write_rows(tmp_path / "a.jsonl")], tmp_path / "store", PrepareConfig(group="folder"), workers=1)


def test_a_prepared_text_keeps_its_groups(tmp_path: Path) -> None:
    store = prepare([write_rows(tmp_path / "a.jsonl")], tmp_path / "s", PrepareConfig(group="year"), workers=1).path
    for group in (None, "year"):
        assert open_or_prepare(store, PrepareConfig(group=group), tmp_path, progress=False).groups is not None
    check_inputs(store, PrepareConfig(group="year"))
    with pytest.raises(UsageError, match=r"prepared, with no bins, .* --group year --bins decade --out"):
        check_inputs(store, PrepareConfig(group="year", bins="decade"))
    binned = prepare(tmp_path / "a.jsonl", tmp_path / "b", PrepareConfig(group="year", bins="decade"), workers=1).path
    with pytest.raises(UsageError, match="prepared, with bins 'decade', and --group year cannot"):
        check_inputs(binned, PrepareConfig(group="year"))


def test_as_many_groups_as_documents_are_warned_of(tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"Text {number}.", "id": number}) for number in range(30)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.warns(UserWarning, match="The 30 documents are in 30 groups of 'id', too small to compare"):
        prepare([tmp_path / "a.jsonl"], tmp_path / "store", PrepareConfig(group="id"), workers=1)


def test_too_many_groups_are_refused(tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"Text {number}.", "id": f"{number:04} {'long ' * 99}"}) for number in range(1001)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(DataError, match=r"1,001 groups \('0000 .{25}', .{66}, \.\.\.\), more than 1,000"):
        prepare([tmp_path / "a.jsonl"], tmp_path / "store", PrepareConfig(group="id"), workers=1)


@pytest.mark.parametrize(
    "settings",
    [{"group": ""}, {"group": "file:("}, {"group": "x", "bins": "week"}, {"bins": "year"}, {"bins": "0", "group": "x"}],
)
def test_wrong_settings_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        PrepareConfig(**settings)
