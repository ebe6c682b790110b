"""Merging shards into a store: one table of forms, and the shards' form ids translated to it.

The forms of each shard are a sorted run. All runs are cut at the same keys into parts, each of which is merged by
itself, in memory and in any process; the store is the parts end to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.tensors import read_checked, write_tensors
from wordstill.corpus.disk_arrays import CHUNK_ENTRIES, ArrayWriter, RunIndex
from wordstill.corpus.division.grouping import MOST_GROUPS, in_order
from wordstill.corpus.segment import Segmenter
from wordstill.corpus.shards import Shard
from wordstill.errors import DataError, WordstillError

PART_ENTRIES = 1 << 18
"""Forms of all shards together that are merged at once, at most, about."""
MAX_FORMS = 1 << 32
BUFFERED_IDS = 1 << 24
RunAll = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Does a piece of work for each of some ranges, here or in other processes."""


def merge_shards(
    shards: Sequence[Shard], store: Path, segmenter: Segmenter, run_all: RunAll, parts: int = 1
) -> tuple[int, int]:
    """Write the arrays of a store into the folder ``store``; return the numbers of forms and of words."""
    folder, runs = shards[0].folder, [RunIndex(shard.forms) for shard in shards]
    ranges = key_ranges(runs, parts)
    for _ in run_all(PartMaker(folder, runs, segmenter), ranges):
        pass
    maps = _IdMaps(shards)
    with _FormTable(store) as table:
        for each in ranges:
            part = _load_part(folder, each)
            maps.extend(part["ids"] + np.uint32(table.length), part["sizes"])
            table.extend(part)
    maps.flush()
    _join_text(shards, store)
    return table.length, table.words


@dataclass(frozen=True)
class KeyRange:
    """The forms from ``low`` to ``high`` (exclusive; None is the end)."""

    index: int
    low: bytes
    high: bytes | None


def key_ranges(runs: Sequence[RunIndex], parts: int = 1) -> list[KeyRange]:
    """At least about ``parts`` ranges, each with as many entries of all runs together; every form is in one."""
    keys = sorted(chain.from_iterable(run.keys for run in runs))
    cuts = sorted(set(keys[:: max(1, min(PART_ENTRIES // CHUNK_ENTRIES, len(keys) // parts))][1:]))
    bounds = [b"", *cuts, None]
    return [KeyRange(index, low or b"", high) for index, (low, high) in enumerate(pairwise(bounds))]


class PartMaker:
    """Merges the forms of all shards that lie in a range, and finds the words in them."""

    def __init__(self, folder: Path, runs: Sequence[RunIndex], segmenter: Segmenter) -> None:
        self.folder, self.runs, self.segmenter = folder, runs, segmenter

    def __call__(self, wanted: KeyRange) -> None:
        """Write the part of a range."""
        keys: list[bytes] = []
        counts: list[NDArray[np.int64]] = []
        for run in self.runs:
            found, numbers = run.between(wanted.low, wanted.high)
            keys += found
            counts.append(numbers)
        encoded = sorted(set(keys))
        number_of = dict(zip(encoded, range(len(encoded))))
        ids = np.fromiter(map(number_of.__getitem__, keys), dtype=np.uint32, count=len(keys))
        # Sums of whole numbers in float64 are exact up to 2 ** 53.
        totals = np.bincount(ids, np.concatenate(counts), minlength=len(encoded)).astype(np.int64)
        sizes = np.array([len(each) for each in counts], dtype=np.int64)
        arrays: dict[str, NDArray[Any]] = {"ids": ids, "sizes": sizes, "counts": totals, **self._words(encoded)}
        write_tensors(_part_path(self.folder, wanted), arrays, {}, checksum=True)

    def _words(self, encoded: list[bytes]) -> dict[str, NDArray[Any]]:
        try:
            forms = [form.decode() for form in encoded]
        except UnicodeDecodeError as error:
            raise DataError(f"A shard of the text is damaged ({error}). Start again with --overwrite.") from error
        spans = [self.segmenter.spans(form) for form in forms]
        sizes = np.fromiter(map(len, spans), dtype=np.int64, count=len(spans))
        flat = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
        lengths = np.fromiter(map(len, forms), dtype=np.int64, count=len(forms))
        _check_spans(forms, lengths, sizes, flat, self.segmenter.name)
        return {
            "text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "bytes": np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)),
            "lengths": lengths,
            "words": sizes,
            "starts": np.ascontiguousarray(flat[:, 0]),
            "ends": np.ascontiguousarray(flat[:, 1]),
        }


def _part_path(folder: Path, part: KeyRange) -> Path:
    return folder / f"part-{part.index:06d}.safetensors"


def _load_part(folder: Path, part: KeyRange) -> dict[str, NDArray[Any]]:
    path = _part_path(folder, part)
    arrays, _ = read_checked(path)
    path.unlink()
    return arrays


class _FormTable:
    """The forms in ascending order with their lengths, counts and words, written part by part."""

    def __init__(self, store: Path) -> None:
        self.length = 0
        self.words = 0
        self._stack = ExitStack()
        self._text = self._stack.enter_context((store / "forms.bin").open("wb"))

        def writer(name: str, dtype: type[np.generic]) -> ArrayWriter:
            return self._stack.enter_context(ArrayWriter(store / f"{name}.npy", dtype))

        self._offsets = writer("form_offsets", np.int64)
        self._lengths = writer("form_lengths", np.uint32)
        self._counts = writer("form_counts", np.int64)
        self._form_words = writer("form_words", np.int64)
        self._starts = writer("word_starts", np.uint32)
        self._ends = writer("word_ends", np.uint32)
        self._offsets.extend([0])
        self._form_words.extend([0])

    def __enter__(self) -> _FormTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def extend(self, part: dict[str, NDArray[Any]]) -> None:
        """Add the next forms."""
        self.length += len(part["counts"])
        if self.length > MAX_FORMS:
            raise DataError(f"The text has more than {MAX_FORMS} distinct forms. Prepare it in several stores.")
        position = self._text.tell()
        self._text.write(part["text"].data)
        self._offsets.extend(position + np.cumsum(part["bytes"]))
        self._lengths.extend(part["lengths"])
        self._counts.extend(part["counts"])
        self._form_words.extend(self._starts.length + np.cumsum(part["words"]))
        self._starts.extend(part["starts"])
        self._ends.extend(part["ends"])
        self.words += int(part["counts"] @ part["words"])


def _check_spans(
    forms: list[str], lengths: NDArray[np.int64], sizes: NDArray[np.int64], spans: NDArray[np.int64], segmenter: str
) -> None:
    """Check that words [N, 2] are in order, not empty, without overlap and inside their forms."""
    form_of_span = np.repeat(np.arange(len(forms)), sizes)
    earliest = np.zeros(len(spans), dtype=np.int64)
    earliest[1:] = np.where(form_of_span[1:] == form_of_span[:-1], spans[:-1, 1], 0)
    wrong = (spans[:, 0] < earliest) | (spans[:, 0] >= spans[:, 1]) | (spans[:, 1] > lengths[form_of_span])
    if wrong.any():
        form = int(form_of_span[np.argmax(wrong)])
        raise WordstillError(
            f"The segmenter {segmenter!r} gave the words {spans[form_of_span == form].tolist()} for "
            f"{forms[form]!r}: they must be in order, not empty, without overlap and inside the form. "
            "Use another segmenter."
        )


class _IdMaps:
    """Maps from local to global form ids, buffered; files are open only while buffers are written."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards, self._buffered = shards, 0
        self._buffers: list[list[NDArray[np.uint32]]] = [[] for _ in shards]
        for shard in shards:
            shard.map.write_bytes(b"")

    def extend(self, ids: NDArray[np.uint32], sizes: NDArray[np.int64]) -> None:
        """Add the next global ids of every shard, end to end, so many of each."""
        for buffer, own in zip(self._buffers, np.split(ids, np.cumsum(sizes)[:-1])):
            buffer.append(own)
        self._buffered += len(ids)
        if self._buffered >= BUFFERED_IDS:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered."""
        for shard, buffer in zip(self._shards, self._buffers):
            with shard.map.open("ab") as file:
                np.concatenate([np.empty(0, dtype=np.uint32), *buffer]).tofile(file)
            buffer.clear()
        self._buffered = 0


def _join_text(shards: Sequence[Shard], store: Path) -> None:
    with (
        ArrayWriter(store / "tokens.npy", np.uint32) as form_ids,
        ArrayWriter(store / "sentences.npy", np.int64) as sentences,
        ArrayWriter(store / "paragraphs.npy", np.int64) as paragraphs,
    ):
        sentences.extend([0])
        paragraphs.extend([0])
        for shard in shards:
            arrays, translation = shard.load(), np.fromfile(shard.map, dtype=np.uint32)
            first_sentence = sentences.length - 1
            sentences.extend(form_ids.length + np.cumsum(arrays["sentences"], dtype=np.int64))
            paragraphs.extend(first_sentence + np.cumsum(arrays["paragraphs"], dtype=np.int64))
            form_ids.extend(translation[arrays["tokens"]])


def join_origins(shards: Sequence[Shard], store: Path) -> dict[str, Any]:
    """Write the document and the group of every paragraph; return the names of groups and how many have none."""
    names = in_order({name for shard in shards for name in shard.groups()})
    if len(names) > MOST_GROUPS:
        raise DataError(
            f"The text has {len(names):,} groups ({', '.join(names[:3])}, ...), more than {MOST_GROUPS:,}. Group by "
            "something with fewer values, or put dates into bins with --bins (bins=)."
        )
    number_of = {name: number for number, name in enumerate(names)}
    n_documents, last, ungrouped = 0, None, 0
    with (
        ArrayWriter(store / "documents.npy", np.int64) as documents,
        ArrayWriter(store / "groups.npy", np.int32) as groups,
    ):
        for shard in shards:
            arrays = shard.load()
            keys, own = arrays["documents"], np.array([*map(number_of.__getitem__, shard.groups()), -1], np.int32)
            if not len(keys):
                continue
            begins = np.concatenate([[last is None or keys[0] != last], keys[1:] != keys[:-1]])
            documents.extend(n_documents - 1 + np.cumsum(begins))
            groups.extend(own[arrays["groups"]])
            n_documents, last = n_documents + int(begins.sum()), keys[-1]
            ungrouped += int((arrays["groups"] < 0).sum())
    return {"names": names, "documents": n_documents, "ungrouped": ungrouped}
