"""Merging shards into a store: one table of forms, and the shards' form ids translated to it.

The forms of each shard are a sorted run. All runs are cut at the same keys into parts, and each part is merged on its
own, in memory, in any process. The sizes of all parts determine the offset of each in the store, and threads copy parts
and shards there in any order. The distinct words of each part are sorted runs too, merged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints, offsets_of
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.core.threads import OrderedPool
from wordstill.corpus.config import MOST_GROUPS, in_order
from wordstill.corpus.disk_arrays import CHUNK_ENTRIES, ArrayFile, ArrayWriter, RunIndex, write_counted
from wordstill.corpus.segment import Segmenter
from wordstill.corpus.shards import Shard, Tally
from wordstill.corpus.words import StoreWords, WordNumbers, sum_by
from wordstill.errors import DataError, WordstillError

PART_ENTRIES = 1 << 18
"""Approximate maximum of forms, over all shards, that are merged at once."""
PARTS_PER_WORKER = 8
"""Number of parts per process, so that all processes finish at about the same time."""
MAX_FORMS = 1 << 32
RunAll = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Calls a function on each of some ranges, in this or other processes."""


def merge_shards(
    shards: Sequence[Shard],
    tallies: Sequence[Tally],
    store: Path,
    segmenter: Segmenter,
    run_all: RunAll,
    workers: int = 1,
) -> MergedStore:
    """Write the arrays of a store into the folder ``store``."""
    folder, runs = shards[0].folder, [RunIndex(shard.forms) for shard in shards]
    ranges = key_ranges(runs, workers * PARTS_PER_WORKER)
    made = {part.index: size for part, size in run_all(PartMaker(folder, runs, segmenter), ranges)}
    sizes = [made[part.index] for part in ranges]
    # Before any threads: processes are forked.
    words = merge_words([RunIndex(part.words(folder)) for part in ranges], run_all, workers)
    table = _FormTable(store, folder, sizes, words)
    for _ in OrderedPool(table.place, workers).map(ranges):
        pass
    text = _Text(store, shards, tallies, table)
    for _ in OrderedPool(text.place, workers).map(range(len(shards))):
        pass
    found = StoreWords(words.text, words.counts, table.word_of_slot)
    return MergedStore(table.length, sum(size.running_words for size in sizes), found)


class MergedStore(NamedTuple):
    """Sizes of a store, and its words."""

    forms: int
    running_words: int
    words: StoreWords


@dataclass(frozen=True)
class KeyRange:
    """The forms from ``low`` to ``high`` (exclusive; None is the end)."""

    index: int
    low: bytes
    high: bytes | None

    def path(self, folder: Path) -> Path:
        """The file of its part, until that is copied into the store."""
        return folder / f"part-{self.index:06d}.safetensors"

    def words(self, folder: Path) -> Path:
        """The file with the distinct words of its part."""
        return folder / f"part-{self.index:06d}.words"


@dataclass(frozen=True, eq=False)
class PartSize:
    """Sizes of a part."""

    forms: int
    text_bytes: int
    words: int
    """Words of its forms, each form counted once."""
    running_words: int
    entries: Ints
    """Forms from each shard [S]."""


def key_ranges(runs: Sequence[RunIndex], parts: int = 1) -> list[KeyRange]:
    """About ``parts`` ranges or more, which cover all forms and have similar numbers of entries."""
    keys = sorted(chain.from_iterable(run.keys for run in runs))
    cuts = sorted(set(keys[:: max(1, min(PART_ENTRIES // CHUNK_ENTRIES, len(keys) // parts))][1:]))
    bounds = [b"", *cuts, None]
    return [KeyRange(index, low or b"", high) for index, (low, high) in enumerate(pairwise(bounds))]


class Merged(NamedTuple):
    """The distinct keys of several runs in a range, in ascending order. K keys, E entries, R runs."""

    keys: list[bytes]
    counts: NDArray[np.int64]
    """Sum of each key over all runs [K]."""
    ids: NDArray[np.uint32]
    """Key of each entry, run by run [E]."""
    sizes: Ints
    """Entries of each run [R]."""

    @classmethod
    def of(cls, runs: Sequence[RunIndex], wanted: KeyRange) -> Merged:
        """Merge a range, in memory."""
        found, numbers = zip(*(run.between(wanted.low, wanted.high) for run in runs))
        entries = list(chain.from_iterable(found))
        keys = sorted(set(entries))
        number_of = dict(zip(keys, range(len(keys))))
        ids = np.fromiter(map(number_of.__getitem__, entries), dtype=np.uint32, count=len(entries))
        return cls(keys, sum_by(ids, np.concatenate(numbers), len(keys)), ids, np.array([*map(len, found)]))


class PartMaker:
    """Merges the forms of all shards in a range, and finds their words."""

    def __init__(self, folder: Path, runs: Sequence[RunIndex], segmenter: Segmenter) -> None:
        self.folder, self.runs, self.segmenter = folder, runs, segmenter

    def __call__(self, wanted: KeyRange) -> PartSize:
        """Write the part of a range."""
        encoded, totals, ids, sizes = Merged.of(self.runs, wanted)
        arrays: dict[str, NDArray[Any]] = {"ids": ids, "counts": totals}
        arrays |= self._words(encoded, totals, wanted.words(self.folder))
        write_tensors(wanted.path(self.folder), arrays, {}, checksum=True)
        return PartSize(len(encoded), len(arrays["text"]), len(arrays["starts"]), int(totals @ arrays["words"]), sizes)

    def _words(self, encoded: list[bytes], counts: NDArray[np.int64], run: Path) -> dict[str, NDArray[Any]]:
        try:
            forms = [form.decode() for form in encoded]
        except UnicodeDecodeError as error:
            raise DataError(f"A shard of the text is damaged ({error}). Start again with --overwrite.") from error
        spans = [self.segmenter.spans(form) for form in forms]
        sizes = np.fromiter(map(len, spans), dtype=np.int64, count=len(spans))
        flat = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
        lengths = np.fromiter(map(len, forms), dtype=np.int64, count=len(forms))
        _check_spans(forms, lengths, sizes, flat, self.segmenter.name)
        numbering = WordNumbers()
        numbers = numbering.of([form[start:end] for form, found in zip(forms, spans) for start, end in found])
        with run.open("wb") as file:
            places = write_counted(file, [*numbering], sum_by(numbers, np.repeat(counts, sizes), len(numbering)))
        return {
            "spellings": places[numbers],
            "text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "bytes": np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)),
            "lengths": lengths,
            "words": sizes,
            "starts": np.ascontiguousarray(flat[:, 0]),
            "ends": np.ascontiguousarray(flat[:, 1]),
        }


class MergedWords(NamedTuple):
    """The distinct words of all parts in ascending order, each followed by a line feed."""

    text: NDArray[np.uint8]
    counts: NDArray[np.int64]
    of_part: list[NDArray[np.uint32]]
    """For each part, the indices of its distinct words among them."""


class WordMerger:
    """Merges the words of all parts in a range."""

    def __init__(self, runs: Sequence[RunIndex]) -> None:
        self.runs = runs

    def __call__(self, wanted: KeyRange) -> MergedWords:
        """The words of a range."""
        words, counts, ids, sizes = Merged.of(self.runs, wanted)
        text = b"".join(word + b"\n" for word in words)
        return MergedWords(np.frombuffer(text, dtype=np.uint8), counts, np.split(ids, np.cumsum(sizes)[:-1]))


def merge_words(runs: Sequence[RunIndex], run_all: RunAll, workers: int) -> MergedWords:
    """Merge runs of words."""
    ranges = key_ranges(runs, workers * PARTS_PER_WORKER)
    made = {part.index: words for part, words in run_all(WordMerger(runs), ranges)}
    parts = [made[part.index] for part in ranges]
    first = offsets_of(np.array([len(part.counts) for part in parts])).astype(np.uint32)
    shifted = ([ids + start for ids in part.of_part] for part, start in zip(parts, first))
    text, counts = (np.concatenate(pieces) for pieces in zip(*((part.text, part.counts) for part in parts)))
    return MergedWords(text, counts, [np.concatenate(pieces) for pieces in zip(*shifted)])


class _FormTable:
    """The forms in ascending order with their lengths, counts and words, and the ids of each shard's forms.

    All offsets are known from the sizes of the parts; files begin as zeros.
    """

    def __init__(self, store: Path, folder: Path, sizes: Sequence[PartSize], words_of_parts: MergedWords) -> None:
        self._folder, self._text = folder, store / "forms.bin"
        self._first = offsets_of(np.array([size.forms for size in sizes]))
        self._bytes = offsets_of(np.array([size.text_bytes for size in sizes]))
        self._words = offsets_of(np.array([size.words for size in sizes]))
        self.length, words = int(self._first[-1]), int(self._words[-1])
        if self.length > MAX_FORMS:
            raise DataError(f"The text has more than {MAX_FORMS} distinct forms. Prepare it in several stores.")
        self._text.write_bytes(b"")
        lengths: dict[str, tuple[type[np.generic], int]] = {
            "form_offsets": (np.int64, self.length + 1), "form_lengths": (np.uint32, self.length),
            "form_counts": (np.int64, self.length), "form_words": (np.int64, self.length + 1),
            "word_starts": (np.uint32, words), "word_ends": (np.uint32, words),
        }  # fmt: skip
        self._files = {name: ArrayFile(store / f"{name}.npy", *kind) for name, kind in lengths.items()}
        self._sizes = [size.entries.tolist() for size in sizes]
        entries = np.array(self._sizes)
        # Shard by shard, and in each shard part by part.
        self._places = offsets_of(entries.T.reshape(-1))[:-1].reshape(entries.T.shape)
        self.entries = entries.sum(axis=0)
        self._ids = ArrayFile(folder / "ids.npy", np.uint32, int(entries.sum()))
        self._words_of_parts = words_of_parts.of_part
        self.word_of_slot = np.empty(words, dtype=np.uint32)

    def place(self, part: KeyRange) -> None:
        """Copy a part into the store."""
        path, number = part.path(self._folder), part.index
        arrays, _ = read_checked(path)
        first, words, text = (int(known[number]) for known in (self._first, self._words, self._bytes))
        with self._text.open("r+b") as file:
            file.seek(text)
            file.write(arrays["text"].data)
        self._files["form_offsets"].write(first + 1, text + np.cumsum(arrays["bytes"]))
        self._files["form_lengths"].write(first, arrays["lengths"])
        self._files["form_counts"].write(first, arrays["counts"])
        self._files["form_words"].write(first + 1, words + np.cumsum(arrays["words"]))
        self._files["word_starts"].write(words, arrays["starts"])
        self._files["word_ends"].write(words, arrays["ends"])
        spelled = self._words_of_parts[number][arrays["spellings"]]
        self.word_of_slot[words : words + len(spelled)] = spelled
        self._ids.write_pieces(self._places[:, number].tolist(), arrays["ids"] + np.uint32(first), self._sizes[number])
        path.unlink()
        part.words(self._folder).unlink()

    def ids_of(self, shard: int) -> NDArray[np.uint32]:
        """The id of each form of a shard, once all parts are copied."""
        found: NDArray[np.uint32] = self._ids.read(int(self._places[shard, 0]), int(self.entries[shard]))
        return found


class _Text:
    """The form ids in reading order, and where sentences and paragraphs begin."""

    def __init__(self, store: Path, shards: Sequence[Shard], tallies: Sequence[Tally], table: _FormTable) -> None:
        self._shards, self._table = shards, table
        kinds = (("tokens", np.uint32, 0), ("sentences", np.int64, 1), ("paragraphs", np.int64, 1))
        self._first = {name: offsets_of(np.array([getattr(each, name) for each in tallies])) for name, _, _ in kinds}
        self._files = {
            name: ArrayFile(store / f"{name}.npy", dtype, int(self._first[name][-1]) + more)
            for name, dtype, more in kinds
        }

    def place(self, shard: int) -> None:
        """Copy the text of a shard into the store."""
        arrays, first = self._shards[shard].load(), {name: int(known[shard]) for name, known in self._first.items()}
        sentences, paragraphs = (np.cumsum(arrays[name], dtype=np.int64) for name in ("sentences", "paragraphs"))
        self._files["tokens"].write(first["tokens"], self._table.ids_of(shard)[arrays["tokens"]])
        self._files["sentences"].write(first["sentences"] + 1, first["tokens"] + sentences)
        self._files["paragraphs"].write(first["paragraphs"] + 1, first["sentences"] + paragraphs)


def _check_spans(
    forms: list[str], lengths: NDArray[np.int64], sizes: NDArray[np.int64], spans: NDArray[np.int64], segmenter: str
) -> None:
    """Check that the spans of words [N, 2] are in order, non-empty, without overlap, and inside their forms."""
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


def join_origins(shards: Sequence[Shard], store: Path) -> dict[str, Any]:
    """Write the document and group of every paragraph; returns group names and counts."""
    names = in_order({name for shard in shards for name in shard.groups()})
    if len(names) > MOST_GROUPS:
        some = ", ".join(repr(name[:30]) for name in names[:3])
        raise DataError(
            f"The text has {len(names):,} groups ({some}, ...), more than {MOST_GROUPS:,}. Group by "
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
