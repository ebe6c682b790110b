"""Merging shards into a store: one table of forms, and the shards' form ids translated to it, as streams."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.disk_arrays import ArrayWriter, merge_runs
from wordstill.corpus.segment import Segmenter
from wordstill.corpus.shards import Shard
from wordstill.errors import DataError, WordstillError

MAP_BUFFER = 1 << 12
FORM_BATCH = 1 << 14
MAX_FORMS = 1 << 32


def merge_shards(shards: Sequence[Shard], store: Path, segmenter: Segmenter) -> tuple[int, int]:
    """Write the arrays of a store into the folder ``store``; return the numbers of forms and of words."""
    maps = _IdMaps(shards)
    with _FormTable(store, segmenter) as table:
        entries = merge_runs([shard.forms for shard in shards])
        for form, occurrences in groupby(entries, key=itemgetter(0)):
            total = 0
            for _, shard, count in occurrences:
                total += count
                maps.append(shard, table.length)
            table.add(form, total)
    maps.flush()
    _join_text(shards, store)
    return table.length, table.words


class _FormTable:
    """The forms in ascending order with their lengths, counts and words, written batch by batch."""

    def __init__(self, store: Path, segmenter: Segmenter) -> None:
        self.length = 0
        self.words = 0
        self._segmenter = segmenter
        self._batch: list[tuple[bytes, int]] = []
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if kind is None:
                self._flush()

    def add(self, form: bytes, count: int) -> None:
        """Add the next form."""
        if self.length == MAX_FORMS:
            raise DataError(f"The text has more than {MAX_FORMS} distinct forms. Prepare it in several stores.")
        self._batch.append((form, count))
        self.length += 1
        if len(self._batch) == FORM_BATCH:
            self._flush()

    def _flush(self) -> None:
        encoded = [form for form, _ in self._batch]
        try:
            forms = [form.decode() for form in encoded]
        except UnicodeDecodeError as error:
            raise DataError(f"A shard of the text is damaged ({error}). Start again with --overwrite.") from error
        counts = np.array([count for _, count in self._batch], dtype=np.int64)
        spans = [self._segmenter.spans(form) for form in forms]
        sizes = np.fromiter(map(len, spans), dtype=np.int64, count=len(spans))
        flat = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
        _check_spans(forms, sizes, flat, self._segmenter.name)
        position = self._text.tell()
        self._text.write(b"".join(encoded))
        self._offsets.extend(position + np.cumsum([len(form) for form in encoded], dtype=np.int64))
        self._lengths.extend([len(form) for form in forms])
        self._counts.extend(counts)
        self._form_words.extend(self._starts.length + np.cumsum(sizes))
        self._starts.extend(flat[:, 0])
        self._ends.extend(flat[:, 1])
        self.words += int(counts @ sizes)
        self._batch.clear()


def _check_spans(forms: list[str], sizes: NDArray[np.int64], spans: NDArray[np.int64], segmenter: str) -> None:
    """Check that words [N, 2] are in order, not empty, without overlap and inside their forms."""
    form_of_span = np.repeat(np.arange(len(forms)), sizes)
    lengths = np.array([len(form) for form in forms], dtype=np.int64)
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
    """Maps from local to global form ids, buffered; files are open only while a buffer is written."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._buffers = [array("I") for _ in shards]
        for shard in shards:
            shard.map.write_bytes(b"")

    def append(self, shard: int, global_id: int) -> None:
        buffer = self._buffers[shard]
        buffer.append(global_id)
        if len(buffer) >= MAP_BUFFER:
            self._flush(shard)

    def flush(self) -> None:
        for shard in range(len(self._shards)):
            self._flush(shard)

    def _flush(self, shard: int) -> None:
        with self._shards[shard].map.open("ab") as file:
            self._buffers[shard].tofile(file)
        self._buffers[shard] = array("I")


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
