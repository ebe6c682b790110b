"""Uses of words in lines of text, encoded in blocks by this process or several workers, and saved for search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill import __version__
from wordstill.core.files import atomic_path, refuse_foreign
from wordstill.core.guard import reading
from wordstill.core.resume import START_ANEW, working_folder
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.errors import Interrupted, UsageError
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.meaning.occurrence import OWN_FILES, Occurrence, OccurrenceStore
from wordstill.meaning.work_blocks import ANY_BLOCK, Block, Workers, begin_work, blocks_of, divide, made_blocks
from wordstill.scale.work import Report, refuse_other
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.spans import TEXTS_AT_ONCE

DOING, UNIT = "encoding lines", "lines"
BLOCK = 1024
"""Lines in a block; every word of each may be encoded."""


def encode_uses(
    encoder: MeaningEncoder,
    lines: Sequence[str | Occurrence],
    out: str | Path,
    words: Sequence[str] | None = None,
    *,
    workers: Workers | None = None,
    overwrite: bool = False,
    progress: bool = False,
    block: int = BLOCK,
) -> OccurrenceStore:
    """Encode words in lines and save them; an interrupted run resumes with the same call.

    Args:
        encoder: The meaning encoder.
        lines: Occurrences, which come first in the result, and texts, whose words are all encoded.
        out: Output folder; ``OUT.partial`` has the finished blocks.
        words: Encode only these words of texts, in any case.
        workers: Workers that encode; by default this process.
        overwrite: Whether to replace a folder, and to discard the progress of an interrupted run.
        progress: Show a progress bar.
        block: Number of texts in a block.

    Raises:
        UsageError: The folder exists, another run is writing it, or the tokenizer drops an occurrence.
        DataError: The interrupted run had other lines or settings.
        Interrupted: Ctrl-C or SIGTERM; finished blocks are kept.
    """
    path, reader = Path(out), UseReader(encoder, words)
    refuse_foreign(path, OWN_FILES)
    blocks = blocks_of([line for line in lines if isinstance(line, Occurrence)], TEXTS_AT_ONCE, UNIT)
    blocks = blocks_of([line for line in lines if isinstance(line, str)], block, UNIT, blocks)
    facts = {"encoder": encoder.fingerprint, "words": words, "lines": _digest(blocks)}
    done, found = 0, []
    with working_folder(path, "meaning encode", facts, overwrite=overwrite, worth=ANY_BLOCK) as work:
        if workers:
            divide(blocks, work.path, UseWork.of(encoder, words), workers, _read, DOING, progress=progress)
        try:
            for one, file in made_blocks(blocks, work.path, reader, DOING, progress=progress and not workers):
                found.append(_read(file))
                done += one.words
        except KeyboardInterrupt:
            raise Interrupted(DOING, done, len(lines), UNIT) from None
        empty = np.zeros((0, encoder.dim), dtype=np.float32)
        vectors = np.concatenate([empty, *(matrix for _, matrix in found)])
        store = OccurrenceStore([use for uses, _ in found for use in uses], vectors, encoder.fingerprint)
        store.save(path, overwrite=work.overwrite)
        # The blocks are memory-mapped, so the folder is removed only when they are no longer needed.
        del found
    return store


@dataclass(frozen=True)
class UseReader:
    """Encodes blocks of occurrences, or of texts."""

    encoder: MeaningEncoder
    words: Sequence[str] | None

    def read(self, block: Block, report: Report = lambda lines: None) -> Uses:
        """The uses of a block."""
        if isinstance(block.items[0], Occurrence):
            store = OccurrenceStore.build(self.encoder, block.items)
        else:
            store = OccurrenceStore.from_texts(self.encoder, block.items, self.words)
        report(block.words)
        return Uses(store.occurrences, store.vectors)


@dataclass(frozen=True)
class Uses:
    """Occurrences and their vectors."""

    occurrences: Sequence[Occurrence]
    vectors: NDArray[np.float32]

    def write(self, path: Path) -> None:
        """Make the file of a block."""
        text = json.dumps([astuple(one) for one in self.occurrences]).encode()
        arrays: dict[str, NDArray[Any]] = {"vectors": self.vectors, "uses": np.frombuffer(text, dtype=np.uint8)}
        with atomic_path(path) as temporary:
            write_tensors(temporary, arrays, {}, checksum=True)


@dataclass(frozen=True)
class UseWork:
    """The information that a worker needs to encode; lines come with each block."""

    encoder: str
    """Folder of the encoder."""
    teacher: TeacherConfig
    precision: str
    kind: str
    words: Sequence[str] | None
    fingerprint: str
    version: str = __version__

    @classmethod
    def of(cls, encoder: MeaningEncoder, words: Sequence[str] | None) -> UseWork:
        """As in this process."""
        if encoder.path is None:
            raise UsageError("Workers load the encoder from its folder. Save it, and load it from there.")
        teacher = encoder.teacher
        path = str(encoder.path.resolve())
        return cls(path, teacher.config, teacher.choice.name, encoder.kind, words, encoder.fingerprint)

    @property
    def device(self) -> str:
        """Where the teacher runs, as the user has named it."""
        return self.teacher.device

    def on(self, device: str) -> UseWork:
        """The same on another device."""
        return replace(self, teacher=replace(self.teacher, device=device))

    def open(self, cores: int) -> UseReader:
        """Load the encoder with its teacher."""
        begin_work(self.version)
        teacher = Teacher.from_config(self.teacher, self.precision)
        encoder = MeaningEncoder.load(self.encoder, kind=self.kind, teacher=teacher)
        refuse_other({"encoder": self.fingerprint}, {"encoder": encoder.fingerprint})
        return UseReader(encoder, self.words)


def _read(path: Path) -> tuple[list[Occurrence], NDArray[np.float32]]:
    with reading(path, remedy=f"{START_ANEW.capitalize()}."):
        arrays, _ = read_checked(path)
        return [Occurrence.read(*one) for one in json.loads(arrays["uses"].tobytes())], arrays["vectors"]


def _digest(blocks: Sequence[Block]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        plain = [one if isinstance(one, str) else astuple(one) for one in block.items]
        digest.update(json.dumps(plain).encode())
    return digest.hexdigest()
