from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.corpus.disk_arrays import CHUNK_ENTRIES, RunIndex, write_counted, write_run
from wordstill.errors import DataError


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 1 << 40), max_size=50))
def test_texts_are_written_in_the_order_of_their_bytes(counts: dict[str, int]) -> None:
    counts = {text: count for text, count in counts.items() if text.isprintable()}
    file = io.BytesIO()
    places = write_counted(file, list(counts), np.array(list(counts.values()), dtype=np.int64))
    expected = sorted((text.encode(), count) for text, count in counts.items())
    assert [expected[place][0].decode() for place in places] == list(counts)
    with tempfile.NamedTemporaryFile() as kept:
        Path(kept.name).write_bytes(file.getvalue())
        keys, numbers = RunIndex(Path(kept.name)).between(b"", None)
    assert list(zip(keys, numbers.tolist())) == expected


def test_a_range_of_a_run_is_read_by_itself(tmp_path: Path) -> None:
    entries = [(b"%05d" % key, key) for key in range(3 * CHUNK_ENTRIES + 5)]
    path = tmp_path / "run"
    with path.open("wb") as file:
        write_run(file, entries)
    run = RunIndex(path)
    assert run.keys == [key for key, _ in entries[::CHUNK_ENTRIES]]
    bounds = [b"", b"00000", b"00001", b"000011", b"01023", b"01024", b"02500", b"03076", b"9", None]
    for low in bounds[:-1]:
        for high in bounds:
            keys, counts = run.between(low, high)
            assert list(zip(keys, counts.tolist())) == [
                (key, count) for key, count in entries if low <= key and (high is None or key < high)
            ]


def test_a_run_without_entries(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")
    keys, counts = RunIndex(tmp_path / "run").between(b"", None)
    assert (keys, counts.tolist()) == ([], [])


@pytest.mark.parametrize("size", [3, 20, 60])
def test_a_run_that_is_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "run"
    with path.open("wb") as file:
        write_run(file, [(b"key%d" % number, 1) for number in range(9)])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match="cut short"):
        RunIndex(path)
