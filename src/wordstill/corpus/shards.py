"""Shards: one block of raw text as form ids in reading order.

A shard has its own table of forms (a sorted run); the merge translates its ids. In its files, form ids are
called tokens.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_file, atomic_path, sha256_of
from wordstill.core.guard import reading
from wordstill.core.resume import read_record, write_record
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.disk_arrays import write_counted
from wordstill.corpus.filters import LanguageTest, Sentences, get_filter
from wordstill.corpus.paragraphs import Block, Document, Paragraph, read_documents
from wordstill.corpus.segment import Splitter
from wordstill.errors import DataError, WordstillError

log = logging.getLogger("wordstill")


@dataclass
class Tally:
    """Counts of a shard, or of all shards."""

    paragraphs: int = 0
    sentences: int = 0
    tokens: int = 0
    characters: int = 0
    glued: int = 0
    dropped_by_filter: int = 0
    dropped_by_language: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(one + two for one, two in zip(asdict(self).values(), asdict(other).values())))


@dataclass(frozen=True)
class Shard:
    """The files of one shard."""

    folder: Path
    index: int

    @property
    def forms(self) -> Path:
        """Run of forms with their counts."""
        return self.folder / f"{self.index:06d}.forms"

    @property
    def arrays(self) -> Path:
        """Local form ids, forms per sentence, sentences per paragraph."""
        return self.folder / f"{self.index:06d}.safetensors"

    @property
    def record(self) -> Path:
        """Digests of the raw block and of the forms, and the tally; written last, it marks a complete shard."""
        return self.folder / f"{self.index:06d}.json"

    def finished(self, digest: str) -> Tally | None:
        """The tally of a complete shard made from the block with this digest, otherwise None.

        Checksums of the shard's files are verified; a damaged shard counts as missing.
        """
        try:
            record = read_record(self.record)
            if record["digest"] != digest:
                return None
            self.load()
            if sha256_of(self.forms) == record["forms"]:
                return Tally(**record["tally"])
        except (OSError, KeyError, TypeError, DataError):
            pass
        if self.record.exists():
            log.warning("%s is damaged and is made again.", self.record)
        return None

    def load(self) -> dict[str, NDArray[Any]]:
        """The arrays ``tokens``, ``sentences`` and ``paragraphs``, and ``documents`` and ``groups`` if kept."""
        with reading(self.arrays, remedy=f"Delete {self.folder} and start again."):
            arrays, _ = read_checked(self.arrays)
            missing = {"tokens", "sentences", "paragraphs"} - set(arrays)
            if missing:
                raise DataError(f"{self.arrays} has no {', '.join(sorted(missing))}.")
            return arrays

    def groups(self) -> list[str]:
        """Names of the groups, in the order of their local numbers."""
        names: list[str] = read_record(self.record)["groups"]
        return names


def remove_unfinished(folder: Path) -> None:
    """Remove the files of unfinished shards, which have no record."""
    finished = {path.stem for path in folder.glob("*.json")}
    for path in folder.glob("*"):
        if path.name.partition(".")[0] not in finished:
            path.unlink(missing_ok=True)


class ShardMaker:
    """Turns blocks into shards; one instance per process."""

    def __init__(self, config: PrepareConfig, splitter: Splitter, folder: Path) -> None:
        self.config = config
        self.splitter = splitter
        self.folder = folder
        self.filter = get_filter(config.filter)
        self.in_language = LanguageTest(config.language) if config.language else None

    def __call__(self, block: Block) -> Tally:
        """Write the shard of a block."""
        encoder = _Encoder()
        origins = _Origins() if self.config.keeps_documents else None
        for document in read_documents(block, self.config):
            for lines in document.paragraphs(self.config):
                self._add_paragraph(lines, encoder)
            if origins is not None:
                origins.add(document, len(encoder.paragraph_ends))
        shard = Shard(self.folder, block.index)
        encoder.write(shard, block.digest(), origins)
        return encoder.tally

    def _add_paragraph(self, lines: Paragraph, encoder: _Encoder) -> None:
        if not in_share(lines, self.config.share):
            return
        sentences = self._sentences(lines)
        if not sentences:
            return
        if self.in_language is not None and not self.in_language("".join(sentences)):
            encoder.tally.dropped_by_language += 1
            return
        kept = self.filter(sentences)
        if not kept:
            encoder.tally.dropped_by_filter += 1
        for paragraph in kept:
            encoder.add(paragraph)

    def _sentences(self, lines: Paragraph) -> Sentences:
        """Sentences that concatenate to the paragraph's text, with single spaces and none at the ends."""
        sentences: Sentences = []
        for text in (text for line in lines if (text := " ".join(line.split()))):
            split = self.splitter.split(text)
            if "".join(split) != text:
                raise WordstillError(
                    f"The sentence splitter {self.splitter.name!r} changed the text: its sentences must "
                    f"concatenate to {text[:80]!r}, got {''.join(split)[:80]!r}. Use another splitter."
                )
            sentences += split
            sentences[-1] += " "
        if sentences:
            sentences[-1] = sentences[-1][:-1]
        return sentences


def in_share(lines: Paragraph, share: float) -> bool:
    """Whether a paragraph is in a share of the text; it is then also in all larger shares."""
    if share == 1:
        return True
    digest = hashlib.blake2b(" ".join(" ".join(lines).split()).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big") < share * 2**64


class _Ids(dict[str, int]):
    """Form ids by bare word; a new word appends its form, with the prefix, to a list that tables share."""

    def __init__(self, forms: list[str], prefix: str) -> None:
        super().__init__()
        self._forms, self._prefix = forms, prefix

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self._forms)
        self._forms.append(self._prefix + word)
        return number


@dataclass
class _Origins:
    """The document and the group of every paragraph so far."""

    documents: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)

    def add(self, document: Document, paragraphs: int) -> None:
        """Assign all paragraphs since the last document, up to a given number, to this one."""
        new = paragraphs - len(self.documents)
        group = -1 if document.group is None else self.names.setdefault(document.group, len(self.names))
        self.documents += [document.number] * new
        self.groups += [group] * new

    def arrays(self) -> dict[str, Any]:
        """[P] each."""
        return {"documents": np.array(self.documents, dtype=np.uint64), "groups": np.array(self.groups, dtype=np.int32)}


@dataclass
class _Encoder:
    """Encodes one block as form ids. Tables by bare word avoid a new string for every word."""

    tally: Tally = field(default_factory=Tally)
    forms: list[str] = field(default_factory=list)
    form_ids: list[int] = field(default_factory=list)
    sentence_ends: list[int] = field(default_factory=list)
    paragraph_ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._spaced: Callable[[str], int] = _Ids(self.forms, " ").__getitem__
        self._bare: Callable[[str], int] = _Ids(self.forms, "").__getitem__

    def add(self, sentences: Sentences) -> None:
        """Add one paragraph."""
        form_ids = self.form_ids
        first, space_before = len(form_ids), False
        for sentence in sentences:
            words = sentence.split()
            if not words:
                space_before = space_before or bool(sentence)
                continue
            if not space_before and sentence[0] != " ":
                self.tally.glued += len(form_ids) > first
                form_ids.append(self._bare(words[0]))
                del words[0]
            form_ids.extend(map(self._spaced, words))
            self.sentence_ends.append(len(form_ids))
            space_before = sentence[-1] == " "
        self.paragraph_ends.append(len(self.sentence_ends))
        self.tally.characters += sum(map(len, sentences))

    def write(self, shard: Shard, digest: str, origins: _Origins | None = None) -> None:
        """Write the shard; its record comes last."""
        tally = self.tally
        tally.tokens, tally.sentences, tally.paragraphs = map(
            len, (self.form_ids, self.sentence_ends, self.paragraph_ends)
        )
        form_ids = np.array(self.form_ids, dtype=np.uint32)
        shard.record.unlink(missing_ok=True)
        with atomic_file(shard.forms) as file:
            places = write_counted(file, self.forms, np.bincount(form_ids, minlength=len(self.forms)))
        with atomic_path(shard.arrays) as path:
            arrays: dict[str, Any] = {
                "tokens": places[form_ids],
                "sentences": np.diff(np.array(self.sentence_ends, dtype=np.uint32), prepend=np.uint32(0)),
                "paragraphs": np.diff(np.array(self.paragraph_ends, dtype=np.uint32), prepend=np.uint32(0)),
            }
            write_tensors(path, arrays | (origins.arrays() if origins else {}), {}, checksum=True)
        record = {"digest": digest, "forms": sha256_of(shard.forms), "tally": asdict(tally)}
        write_record(shard.record, record | ({"groups": list(origins.names)} if origins else {}))
