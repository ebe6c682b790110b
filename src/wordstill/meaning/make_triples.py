"""Training triples from targets: made in blocks, which are joined into one file at the end.

A block in the working folder is a file named after its first target: a line of counts of dropped targets, then
triples.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from wordstill import __version__
from wordstill.core.files import atomic_file, remove
from wordstill.core.guard import reading
from wordstill.core.resume import START_ANEW, signed, unsigned, working_folder
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.translation import Paraphraser, RoundTrip, open_translator
from wordstill.meaning.triple_builder import BuildConfig, TripleBuilder, WordCosines
from wordstill.meaning.triples import FORMAT, SCHEMA, Triples, triple_lines
from wordstill.meaning.work_blocks import ANY_BLOCK, Block, Workers, begin_work, blocks_of, divide, made_blocks
from wordstill.scale.work import Report, refuse_other
from wordstill.vectors import WordVectors

DOING, UNIT = "making triples", "targets"
SUM = "sha256 of the triples"
"""Key of the number of targets in the first line of a block."""
BLOCK, GPU_BLOCK = 2048, 16384
"""Targets in a block; a GPU needs many sentences of similar length."""


class Mode(StrEnum):
    """Where positives come from."""

    ROUND_TRIP = "round-trip"
    GIVEN = "given"
    SUBSTITUTED = "substituted"


@dataclass(frozen=True)
class PairConfig:
    """All settings of making triples."""

    count: int = 100_000
    """How many targets to choose; some give no triple."""
    targets: TargetConfig = field(default_factory=TargetConfig)
    build: BuildConfig = field(default_factory=BuildConfig)


def make_triples(
    sources: Sources,
    masked: MaskedModel,
    vectors: WordVectors,
    out: str | Path,
    config: PairConfig | None = None,
    *,
    paraphraser: Paraphraser | None = None,
    overwrite: bool = False,
    progress: bool = False,
    block: int | None = None,
    enough: int | None = None,
    seconds: float | None = None,
    by: TripleWorkers | None = None,
) -> Triples:
    """Make triples and write them to a file; an interrupted run resumes with the same call.

    Without given paraphrases or a paraphraser, positives are made by substitution only.

    Args:
        sources: Targets.
        masked: The masked language model that predicts substitutes.
        vectors: Static vectors for cosines; any table.
        out: The file to write; ``OUT.partial`` has the finished blocks.
        config: Settings; None uses the paper's.
        paraphraser: Paraphrases sentences, for example by round-trip translation.
        overwrite: Whether to replace a file, and to discard the progress of an interrupted run.
        progress: Show a progress bar.
        block: Targets in a block; None means 2,048 on a CPU and 16,384 on a GPU.
        enough: Stop after this many triples.
        seconds: Stop after this much time.
        by: Workers that make the triples; None makes them in this process.

    Raises:
        UsageError: The file exists, another run is writing it, or the translators are for another language.
        DataError: The interrupted run had other settings, or no target gave a triple.
        Interrupted: Ctrl-C or SIGTERM; finished blocks are kept.
    """
    config, path = config or PairConfig(), Path(out)
    if sources.paraphrases is not None and paraphraser is not None:
        raise UsageError("Paraphrases are already supplied; omit the translators.")
    if by is not None and (enough, seconds) != (None, None):
        raise UsageError("Workers make triples of all targets; omit enough and seconds.")
    given = Mode.GIVEN if sources.paraphrases is not None else Mode.SUBSTITUTED
    mode = given if paraphraser is None else Mode.ROUND_TRIP
    maker = TripleMaker(masked, TripleBuilder(WordCosines(vectors), config.build), paraphraser, mode)
    size = block or (BLOCK if masked.device.type == "cpu" else GPU_BLOCK)
    models = {**maker.facts(), "vectors": vectors_digest(vectors)}
    facts = {
        "mode": str(mode),
        "text": sources.hash,
        "targets": len(sources.targets),
        **maker.facts(),
        "config": asdict(config),
        "vectors": models["vectors"],
        "block": size,
    }
    paraphrases: Iterable[str | None] = repeat(None) if sources.paraphrases is None else sources.paraphrases
    blocks = blocks_of(list(zip(sources.targets, paraphrases)), size, UNIT)
    done, triples, started = 0, 0, time.monotonic()
    with working_folder(path, "meaning pairs", facts, overwrite=overwrite, worth=ANY_BLOCK) as work:
        if by is not None:
            order = TripleWork.of(by, masked, config.build, mode, models)
            divide(blocks, work.path, order, by.workers, _read, DOING, progress=progress)
        try:
            for made, file in made_blocks(blocks, work.path, maker, DOING, progress=progress and by is None):
                triples += len(_read(file)[0])
                done += made.words
                if _reached(triples, enough) or _reached(time.monotonic() - started, seconds):
                    break
        except KeyboardInterrupt:
            raise Interrupted(DOING, done, len(sources.targets), UNIT) from None
        _join([made.file(work.path) for made in blocks if made.start < done], path, facts, done)
    return Triples.read(path)


@dataclass(frozen=True)
class TripleMaker:
    """Makes the triples of blocks of targets, each with a given paraphrase or None."""

    masked: MaskedModel
    builder: TripleBuilder
    paraphraser: Paraphraser | None
    mode: Mode

    def facts(self) -> dict[str, Any]:
        """Names and fingerprints of models and vectors, for the header."""
        return {
            "masked_model": {"name": self.masked.name, "fingerprint": self.masked.fingerprint},
            "paraphraser": None if self.paraphraser is None else self.paraphraser.name,
        }

    def read(self, block: Block, report: Report = lambda targets: None) -> MadeTriples:
        """The triples of some targets."""
        source, config = str(self.mode), self.builder.config
        # Before predicting and translating, which is nearly all of the work.
        reasons = [self.builder.ruled_out(target, source=source) for target, _ in block.items]
        kept = [item for item, reason in zip(block.items, reasons) if reason is None]
        dropped = Counter(reason for reason in reasons if reason is not None)
        report(block.words - len(kept))
        if not kept:
            return MadeTriples([], dropped)
        predicted = self.masked.predict([target for target, _ in kept], config.candidates, config.probability)
        built = [
            self.builder.build(target, words, paraphrase, source=source)
            for (target, _), words, paraphrase in zip(kept, predicted, self._paraphrases(kept))
        ]
        report(len(kept))
        dropped.update(one for one in built if isinstance(one, str))
        return MadeTriples(list(triple_lines(one for one in built if not isinstance(one, str))), dropped)

    def _paraphrases(self, items: Sequence[tuple[Occurrence, str | None]]) -> Sequence[str | None]:
        if self.paraphraser is not None:
            return self.paraphraser.paraphrase([target.text for target, _ in items])
        return [paraphrase for _, paraphrase in items]


@dataclass(frozen=True)
class MadeTriples:
    """Lines of triples, and the numbers of targets that gave none, by reason."""

    lines: list[str]
    dropped: Mapping[str, int]

    def write(self, path: Path) -> None:
        """Make the file of a block."""
        body = _encoded(self.lines)
        facts = signed({**self.dropped, SUM: hashlib.sha256(body).hexdigest()})
        with atomic_file(path) as handle:
            handle.write(_encoded([json.dumps(facts)]) + body)


@dataclass(frozen=True)
class TripleWorkers:
    """Workers that make triples, and the locations of what they have to load."""

    workers: Workers
    vectors: str
    """Path of the table."""
    translators: tuple[str, str] | None = None
    """The translators there and back."""


@dataclass(frozen=True)
class TripleWork:
    """What a worker must know to make triples; targets come with each block."""

    place: TripleWorkers
    masked: str
    device: str
    dtype: str
    build: BuildConfig
    mode: Mode
    models: Mapping[str, Any]
    """Names and fingerprints of what triples are made with; a worker that finds others is refused."""
    version: str = __version__

    @classmethod
    def of(
        cls, place: TripleWorkers, masked: MaskedModel, build: BuildConfig, mode: Mode, models: Mapping[str, Any]
    ) -> TripleWork:
        """As in this process."""
        dtype = str(masked.model.dtype).removeprefix("torch.")
        return cls(place, masked.name, str(masked.device), dtype, build, mode, models)

    def on(self, device: str) -> TripleWork:
        """The same on another device."""
        return replace(self, device=device)

    def open(self, cores: int) -> TripleMaker:
        """Load models and table."""
        begin_work(self.version)
        vectors = WordVectors.load(self.place.vectors)
        masked = MaskedModel.from_pretrained(self.masked, device=self.device, dtype=self.dtype)
        trip = None
        if self.place.translators is not None:
            open_one = partial(open_translator, device=self.device, dtype=self.dtype)
            trip = RoundTrip(*map(open_one, self.place.translators))
        maker = TripleMaker(masked, TripleBuilder(WordCosines(vectors), self.build), trip, self.mode)
        refuse_other(self.models, {**maker.facts(), "vectors": vectors_digest(vectors)})
        return maker


def _join(blocks: Sequence[Path], out: Path, facts: Mapping[str, Any], targets: int) -> None:
    """Join the blocks of the first targets into one file, with counts in its header.

    Raises:
        DataError: No target gave a triple.
    """
    dropped: Counter[str] = Counter()
    positives: Counter[str] = Counter()
    for lines, counts in map(_read, blocks):
        dropped.update(counts)
        positives.update(json.loads(line)["how"] for line in lines)
    if not positives:
        remove(blocks[0].parent)
        reasons = "; ".join(f"{reason}: {number:,}" for reason, number in dropped.most_common())
        raise DataError(f"None of {targets:,} targets gave a triple ({reasons}). Lower the thresholds.")
    header = {
        "format": FORMAT,
        "schema": SCHEMA,
        "triples": positives.total(),
        **facts,
        "targets": targets,
        "positives": dict(positives),
        "dropped": dict(dropped.most_common()),
    }
    with atomic_file(out) as handle:
        handle.write(_encoded([json.dumps(header, ensure_ascii=False)]))
        for lines, _ in map(_read, blocks):
            handle.write(_encoded(lines))


def _read(path: Path) -> tuple[list[str], dict[str, Any]]:
    with reading(path, remedy=f"{START_ANEW.capitalize()}."):
        text = path.read_bytes()
        first, *lines = text.decode().split("\n")
        dropped = unsigned(json.loads(first))
        if dropped.pop(SUM) != hashlib.sha256(text.partition(b"\n")[2]).hexdigest():
            raise DataError(f"{path} is damaged: its SHA-256 is not the recorded one. {START_ANEW.capitalize()}.")
        return [line for line in lines if line], dropped


def _encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _reached(value: float, limit: float | None) -> bool:
    return limit is not None and value >= limit


def vectors_digest(vectors: WordVectors) -> str:
    """A hash of a table that does not read all of a large one."""
    digest = hashlib.sha256("\n".join(vectors.words).encode())
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), 256)).astype(np.int64)
    digest.update(np.ascontiguousarray(vectors.matrix[rows]).tobytes())
    return digest.hexdigest()
