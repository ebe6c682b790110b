"""Training triples from targets: made block by block, and joined into one file when all are made.

A block in the working folder is a file such as ``000004096.jsonl``, named after its first target: a line of
counts of dropped targets, then triples.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from wordstill.core.files import atomic_file, remove
from wordstill.core.guard import reading
from wordstill.core.progress import count_bar
from wordstill.core.resume import START_ANEW, signed, unsigned, working_folder
from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.translation import Paraphraser
from wordstill.meaning.triple_builder import BuildConfig, TripleBuilder, WordCosines
from wordstill.meaning.triples import FORMAT, SCHEMA, Triples, triple_lines
from wordstill.vectors import WordVectors

Block = tuple[list[str], Mapping[str, int]]
"""Lines of triples, and how many targets gave none, by reason."""
SUM = "sha256 of the triples"
"""Beside the counts in the first line of a block."""
BLOCK, GPU_BLOCK = 2048, 16384
"""Targets in a block. A GPU wants many sentences of one length at once."""


class Mode(StrEnum):
    """Where positives come from."""

    ROUND_TRIP = "round-trip"
    GIVEN = "given"
    SUBSTITUTED = "substituted"


@dataclass(frozen=True)
class PairConfig:
    """All settings of making triples."""

    count: int = 100_000
    """How many targets to choose; fewer triples come of them."""
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
) -> Triples:
    """Make triples and write them to a file; the same call resumes one that was stopped.

    Without ready-made paraphrases and without a paraphraser, positives are made by substitution alone.

    Args:
        sources: Targets.
        masked: Predicts what fits a place.
        vectors: Static vectors for the cosine tests; any table.
        out: The file to make; ``OUT.partial`` holds the blocks that are done.
        config: Settings; None takes the paper's.
        paraphraser: Says sentences in other words, such as a round trip.
        overwrite: Whether to replace a file, and to throw away what a stopped call has done.
        progress: Show a progress bar.
        block: Targets in a block; None takes 2,048 on a CPU and 16,384 on a GPU.
        enough: No more targets are taken once there are so many triples.
        seconds: No more targets are taken once so much time has passed.

    Raises:
        UsageError: The file exists, another run is writing it, or the translators are for another language.
        DataError: A stopped call had other settings, or no triple came of all targets.
        Interrupted: Ctrl-C or SIGTERM came; the blocks that are done are kept.
    """
    config, path = config or PairConfig(), Path(out)
    if sources.paraphrases is not None and paraphraser is not None:
        raise UsageError("Paraphrases are already supplied; omit the translators.")
    maker = _Maker(sources, masked, TripleBuilder(WordCosines(vectors), config.build), paraphraser)
    size = block or (BLOCK if masked.device.type == "cpu" else GPU_BLOCK)
    facts = {**maker.facts(), "config": asdict(config), "vectors": _digest(vectors), "block": size}
    total, done, triples, started = len(sources.targets), 0, 0, time.monotonic()
    with working_folder(path, "meaning pairs", facts, overwrite=overwrite) as work:
        try:
            with count_bar("triples", total, "targets", show=progress) as bar:
                while done < total:
                    end = min(done + size, total)
                    triples += _block(work.path, maker, done, end)
                    bar.update(end - done)
                    done = end
                    if _reached(triples, enough) or _reached(time.monotonic() - started, seconds):
                        break
        except KeyboardInterrupt:
            raise Interrupted("making triples", done, total, "targets") from None
        _join(work.path, path, facts, done)
    return Triples.read(path)


class _Maker:
    def __init__(
        self, sources: Sources, masked: MaskedModel, builder: TripleBuilder, paraphraser: Paraphraser | None
    ) -> None:
        self.sources, self.masked, self.builder, self.paraphraser = sources, masked, builder, paraphraser
        given = Mode.GIVEN if sources.paraphrases is not None else Mode.SUBSTITUTED
        self.mode = given if paraphraser is None else Mode.ROUND_TRIP

    def facts(self) -> dict[str, Any]:
        return {
            "mode": str(self.mode),
            "text": self.sources.hash,
            "targets": len(self.sources.targets),
            "masked_model": {"name": self.masked.name, "fingerprint": self.masked.fingerprint},
            "paraphraser": None if self.paraphraser is None else self.paraphraser.name,
        }

    def block(self, start: int, end: int) -> Block:
        """The triples of some targets."""
        source, config = str(self.mode), self.builder.config
        # Before anything is predicted or translated: that is nearly all of the work.
        reasons = [self.builder.ruled_out(target, source=source) for target in self.sources.targets[start:end]]
        rows = [row for row, reason in enumerate(reasons, start) if reason is None]
        dropped = Counter(reason for reason in reasons if reason is not None)
        if not rows:
            return [], dropped
        targets = [self.sources.targets[row] for row in rows]
        predicted = self.masked.predict(targets, config.candidates, config.probability)
        built = [
            self.builder.build(target, words, paraphrase, source=source)
            for target, words, paraphrase in zip(targets, predicted, self._paraphrases(rows))
        ]
        dropped.update(one for one in built if isinstance(one, str))
        return list(triple_lines(one for one in built if not isinstance(one, str))), dropped

    def _paraphrases(self, rows: Sequence[int]) -> Sequence[str | None]:
        if self.paraphraser is not None:
            return self.paraphraser.paraphrase([self.sources.targets[row].text for row in rows])
        if self.sources.paraphrases is not None:
            return [self.sources.paraphrases[row] for row in rows]
        return [None] * len(rows)


def _block(folder: Path, maker: _Maker, start: int, end: int) -> int:
    """How many triples a block has; it is made if it is not there."""
    path = folder / f"{start:09d}.jsonl"
    if not path.exists():
        lines, dropped = maker.block(start, end)
        with atomic_file(path) as handle:
            body = _encoded(lines)
            facts = signed({**dropped, SUM: hashlib.sha256(body).hexdigest()})
            handle.write(_encoded([json.dumps(facts)]) + body)
    return len(_read(path)[0])


def _join(folder: Path, out: Path, facts: Mapping[str, Any], targets: int) -> None:
    """Write the blocks of the first targets into one file, with a header that counts.

    Raises:
        DataError: No target gave a triple.
    """
    blocks = [path for path in sorted(folder.glob("*.jsonl")) if int(path.stem) < targets]
    dropped: Counter[str] = Counter()
    positives: Counter[str] = Counter()
    for lines, counts in map(_read, blocks):
        dropped.update(counts)
        positives.update(json.loads(line)["how"] for line in lines)
    if not positives:
        remove(folder)
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


def _read(path: Path) -> Block:
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


def _digest(vectors: WordVectors) -> str:
    """Tells tables apart without reading all of a large one."""
    digest = hashlib.sha256("\n".join(vectors.words).encode())
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), 256)).astype(np.int64)
    digest.update(np.ascontiguousarray(vectors.matrix[rows]).tobytes())
    return digest.hexdigest()
