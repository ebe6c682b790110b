"""The corpus store: a memory-mapped table of distinct surface forms, and the text as form ids.

In the files, and in the counts of ``meta.json``, form ids are called tokens.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import sha256_of
from wordstill.core.guard import reading
from wordstill.core.resume import CHECKSUM, signed, unsigned
from wordstill.core.threads import OrderedPool
from wordstill.corpus.disk_arrays import read_array
from wordstill.corpus.words import StoreWords
from wordstill.errors import DataError

SCHEMA = 2
"""Of the files; 2 added the checksum of ``meta.json``."""
READ_SCHEMAS = (1, 2)
CONTENT_SCHEMA = 1
"""Part of a store's hash, which is the same for the same text whatever the schema of the files."""
META_FILE = "meta.json"
FILES = (
    "forms.bin", "tokens.npy", "sentences.npy", "paragraphs.npy", "form_offsets.npy", "form_lengths.npy",
    "form_counts.npy", "form_words.npy", "word_starts.npy", "word_ends.npy",
)  # fmt: skip
ORIGIN_FILES = ("documents.npy", "groups.npy")
"""The document and the group of each paragraph, if they were asked for; not part of the hash, which is of the text."""
COUNTS = ("paragraphs", "sentences", "tokens", "forms", "words")
FORM_CACHE, FORM_CHUNK = 1 << 17, 1 << 15
HASHING_THREADS = 4


@dataclass(frozen=True)
class Word:
    """A word with its character offsets into the paragraph's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """A sentence without the spaces around it; ``start`` is its offset into the paragraph's text."""

    text: str
    start: int
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with single spaces between its forms."""

    text: str
    sentences: tuple[Sentence, ...]


class Corpus:
    """A prepared text.

    Attributes:
        path: Folder of the store.
        hash: Of content and settings; the same wherever the text was prepared.
        meta: Settings, counts and files.
        form_ids: The text in reading order [T].
        sentences: Offsets into ``form_ids`` [S + 1].
        paragraphs: Offsets into ``sentences`` [P + 1].
        forms: The table of forms.
        n_words: Running words, punctuation included.
        n_unspaced: Occurrences of forms inside a paragraph without a space before them.
        documents: The document of every paragraph, in ascending order [P]; None if they were not kept.
        groups: The group of every paragraph, a number of ``group_names`` or -1 [P]; None if they were not kept.
        group_names: Names of the groups; in order of time, where they are times.
    """

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        self.path = path
        self.meta = meta
        self.hash: str = meta["hash"]
        self.n_words: int = meta["counts"]["words"]
        self.n_unspaced: int = meta["glued"]
        self.form_ids: NDArray[np.uint32] = read_array(path / "tokens.npy")
        self.sentences: NDArray[np.int64] = read_array(path / "sentences.npy")
        self.paragraphs: NDArray[np.int64] = read_array(path / "paragraphs.npy")
        self.forms = Forms(path)
        self.documents: NDArray[np.int64] | None = None
        self.groups: NDArray[np.int32] | None = None
        self.group_names: tuple[str, ...] = ()
        if "origins" in meta:
            self.documents, groups = (read_array(path / name) for name in ORIGIN_FILES)
            self.group_names = tuple(meta["origins"]["names"])
            self.groups = groups if self.group_names else None

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = False) -> Corpus:
        """Open a store; ``verify`` reads all files and compares their SHA-256 with the recorded ones."""
        folder = Path(path)
        with reading(f"The corpus store {folder}", remedy="Prepare the text again."):
            meta = _read_meta(folder)
            for name in (*FILES, *(ORIGIN_FILES if "origins" in meta else ())):
                _check_file(folder / name, meta["files"][name], verify=verify)
            try:
                corpus = cls(folder, meta)
            except (DataError, ValueError) as error:
                raise _broken(folder, str(error)) from error
            corpus._check_lengths()
            return corpus

    def __reduce__(self) -> tuple[Any, ...]:
        return Corpus.open, (self.path,)

    def __len__(self) -> int:
        return len(self.paragraphs) - 1

    def __iter__(self) -> Iterator[Paragraph]:
        return map(self.paragraph, range(len(self)))

    def text(self, paragraph: int) -> str:
        """The text of a paragraph."""
        start, end = self._sentence_range(paragraph)
        ids = self.form_ids[self.sentences[start] : self.sentences[end]]
        return "".join(map(self.forms.__getitem__, ids.tolist()))

    def paragraph(self, index: int) -> Paragraph:
        """A paragraph with its sentences and words."""
        first, last = self._sentence_range(index)
        sentences: list[Sentence] = []
        text, position = "", 0
        for number in range(first, last):
            ids = self.form_ids[self.sentences[number] : self.sentences[number + 1]].tolist()
            forms = [self.forms[form] for form in ids]
            sentence = "".join(forms)
            bare = sentence.lstrip(" ")
            start = position + len(sentence) - len(bare)
            sentences.append(Sentence(bare, start, tuple(self._words(ids, forms, position))))
            text += sentence
            position += len(sentence)
        return Paragraph(text, tuple(sentences))

    @cached_property
    def words(self) -> StoreWords:
        """The distinct words, as `prepare` found them; those of an older store are counted and kept."""
        found = StoreWords.load(self.path, self.hash, len(self.forms.word_starts))
        if found is None:
            counts = np.repeat(self.forms.counts, np.diff(self.forms.word_offsets))
            found = StoreWords.counted(self.forms.word_chunks(), counts)
            found.save(self.path, self.hash)
        return found

    def paragraphs_of(self, sentences: NDArray[np.integer]) -> NDArray[np.int64]:
        """The paragraph of each sentence."""
        return np.searchsorted(self.paragraphs, sentences, side="right") - 1

    def words_of_paragraphs(self) -> NDArray[np.int64]:
        """[P] running words of every paragraph."""
        words = np.diff(self.forms.word_offsets)
        before = np.zeros(len(self.form_ids) + 1, dtype=np.int64)
        np.cumsum(words[self.form_ids], out=before[1:])
        counted: NDArray[np.int64] = np.diff(before[self.sentences[self.paragraphs]])
        return counted

    def words_by_group(self) -> list[int]:
        """Running words of every group."""
        if self.groups is None:
            return []
        grouped, words = self.groups >= 0, self.words_of_paragraphs()
        totals = np.bincount(self.groups[grouped], words[grouped], minlength=len(self.group_names))
        return [round(total) for total in totals.tolist()]

    def word_slots(self, start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of the sentences from ``start`` up to ``end``, in reading order.

        Returns:
            The index of every word in ``forms.word_starts``, and its sentence, both [W].
        """
        bounds = self.sentences[start : end + 1]
        ids = self.form_ids[bounds[0] : bounds[-1]]
        starts = self.forms.word_offsets[ids]
        sizes = self.forms.word_offsets[ids + np.int64(1)] - starts
        before = np.cumsum(sizes) - sizes
        slots = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        sentence_of_form = np.repeat(np.arange(start, end), np.diff(bounds))
        return slots, np.repeat(sentence_of_form, sizes)

    def _sentence_range(self, paragraph: int) -> tuple[int, int]:
        if not 0 <= paragraph < len(self):
            raise IndexError(f"paragraph {paragraph} of {len(self)}")
        return int(self.paragraphs[paragraph]), int(self.paragraphs[paragraph + 1])

    def _words(self, ids: list[int], forms: list[str], position: int) -> Iterator[Word]:
        table = self.forms
        for number, form in zip(ids, forms):
            spans = slice(int(table.word_offsets[number]), int(table.word_offsets[number + 1]))
            for start, end in zip(table.word_starts[spans].tolist(), table.word_ends[spans].tolist()):
                yield Word(form[start:end], position + start, position + end)
            position += len(form)

    def _check_lengths(self) -> None:
        counts, forms = self.meta["counts"], self.forms
        found = {
            "tokens": len(self.form_ids), "sentences": len(self.sentences) - 1, "paragraphs": len(self),
            "forms": len(forms),
        }  # fmt: skip
        ends = {
            "sentences.npy": (self.sentences[-1], len(self.form_ids)),
            "paragraphs.npy": (self.paragraphs[-1], len(self.sentences) - 1),
            "form_words.npy": (forms.word_offsets[-1], len(forms.word_starts)),
        }
        for name, length in found.items():
            if length != counts[name]:
                raise _broken(self.path, f"{length} {name}, expected {counts[name]}")
        for origins in (self.documents, self.groups):
            if origins is not None and len(origins) != len(self):
                raise _broken(self.path, f"documents or groups of {len(origins)} paragraphs, expected {len(self)}")
        for name, (end, expected) in ends.items():
            if end != expected:
                raise _broken(self.path / name, f"its last offset is {end}, expected {expected}")


class Forms:
    """The distinct surface forms with their words, in ascending order of their UTF-8 bytes.

    Attributes:
        counts: Occurrences of every form [F].
        lengths: Length of every form in characters [F].
        word_offsets: Words of form ``i`` are ``word_offsets[i]`` to ``word_offsets[i + 1]`` [F + 1].
        word_starts: First character of every word in its form, whose leading space counts [N].
        word_ends: End of every word in its form, exclusive [N].
    """

    def __init__(self, path: Path) -> None:
        self.counts: NDArray[np.int64] = read_array(path / "form_counts.npy")
        self.lengths: NDArray[np.uint32] = read_array(path / "form_lengths.npy")
        self.word_offsets: NDArray[np.int64] = read_array(path / "form_words.npy")
        self.word_starts: NDArray[np.uint32] = read_array(path / "word_starts.npy")
        self.word_ends: NDArray[np.uint32] = read_array(path / "word_ends.npy")
        self._offsets: NDArray[np.int64] = read_array(path / "form_offsets.npy")
        with (path / "forms.bin").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._read = lru_cache(FORM_CACHE)(self._read_uncached)

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"form {index} of {len(self)}")
        return self._read(int(index))

    def slice(self, start: int, end: int) -> list[str]:
        """The forms from ``start`` up to ``end``, faster than one by one."""
        text = self._bytes[int(self._offsets[start]) : int(self._offsets[end])].decode()
        ends = np.cumsum(self.lengths[start:end], dtype=np.int64).tolist()
        return [text[start:end] for start, end in zip([0, *ends], ends)]

    def word_chunks(self) -> Iterator[list[str]]:
        """The words of all forms in order, those of some forms at a time."""
        for start in range(0, len(self), FORM_CHUNK):
            forms = self.slice(start, min(start + FORM_CHUNK, len(self)))
            offsets = self.word_offsets[start : start + len(forms) + 1]
            spans = slice(int(offsets[0]), int(offsets[-1]))
            form_of_word = np.repeat(np.arange(len(forms)), np.diff(offsets)).tolist()
            places = zip(form_of_word, self.word_starts[spans].tolist(), self.word_ends[spans].tolist())
            yield [forms[form][begin:end] for form, begin, end in places]

    def _read_uncached(self, index: int) -> str:
        return self._bytes[int(self._offsets[index]) : int(self._offsets[index + 1])].decode()


def is_store(path: str | Path) -> bool:
    """Whether a path is the folder of a prepared corpus."""
    # A spaCy pipeline has a file of that name too.
    return (Path(path) / META_FILE).is_file() and any((Path(path) / name).is_file() for name in FILES)


def write_meta(
    store: Path,
    *,
    settings: dict[str, Any],
    counts: dict[str, int],
    glued: int,
    sources: list[str],
    origins: dict[str, Any] | None = None,
) -> str:
    """Complete a store with ``meta.json``: settings, counts, and the hashes of all files; return that of the store."""
    names = (*FILES, *(ORIGIN_FILES if origins is not None else ()))
    sums = OrderedPool(sha256_of, HASHING_THREADS).map(store / name for name in names)
    files = {name: {"sha256": total, "bytes": (store / name).stat().st_size} for name, total in zip(names, sums)}
    meta = {
        "schema": SCHEMA,
        "hash": _content_hash(settings, files),
        "settings": settings,
        "counts": counts,
        "glued": glued,
        "files": files,
        "sources": sources,
        **({} if origins is None else {"origins": origins}),
    }
    (store / META_FILE).write_text(json.dumps(signed(meta), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return str(meta["hash"])


def _content_hash(settings: dict[str, Any], files: dict[str, Any]) -> str:
    sums = sorted(str(files[name]["sha256"]) for name in FILES)
    content = {"schema": CONTENT_SCHEMA, "settings": settings, "files": sums}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read_meta(folder: Path) -> dict[str, Any]:
    path = folder / META_FILE
    if not path.is_file():
        raise DataError(f"{folder} is not a prepared corpus: it has no {META_FILE}. Make one with wordstill prepare.")
    try:
        meta: dict[str, Any] = json.loads(path.read_bytes())
        schema, has_checksum = meta["schema"], CHECKSUM in meta
        needed = {*FILES, *(ORIGIN_FILES if "origins" in meta else ())}
        complete = needed <= set(meta["files"]) and {"hash", "counts", "glued", "settings"} <= set(meta)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _broken(path, f"{type(error).__name__}: {error}") from error
    if schema not in READ_SCHEMAS:
        raise DataError(f"{path} has schema {schema!r}, this version reads {SCHEMA}. Prepare the text again.")
    if not complete or has_checksum != (schema == SCHEMA):
        raise _broken(path, "entries are missing")
    try:
        meta = unsigned(meta) if has_checksum else meta
    except DataError as error:
        raise _broken(path, str(error)) from None
    if meta["hash"] != _content_hash(meta["settings"], meta["files"]):
        raise _broken(path, "its hash is not that of its settings and files")
    counts = (*meta["counts"].values(), meta["glued"])
    if not all(type(count) is int and count >= 0 for count in counts) or set(COUNTS) - set(meta["counts"]):
        raise _broken(path, "its counts are not whole numbers from 0 on")
    return meta


def _check_file(path: Path, record: dict[str, Any], *, verify: bool) -> None:
    if not path.is_file():
        raise _broken(path, "it is missing")
    size = path.stat().st_size
    if size != record["bytes"]:
        raise _broken(path, f"it has {size} bytes, expected {record['bytes']}")
    if verify and sha256_of(path) != record["sha256"]:
        raise _broken(path, "its SHA-256 is not the recorded one")


def _broken(path: Path, reason: str) -> DataError:
    return DataError(f"The corpus store is damaged at {path}: {reason.rstrip('.')}. Prepare the text again.")
