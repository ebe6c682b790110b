"""Blocks of triples on disk until all are made: a call that was stopped goes on where it was.

pairs.json        the settings of the blocks
000004096.jsonl   the block that begins with that target: a line of counts of dropped targets, then triples
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordstill.core.files import atomic_file, refuse_existing, remove
from wordstill.core.resume import differences
from wordstill.errors import DataError, UsageError
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.translation import Paraphraser
from wordstill.meaning.triple_builder import BuildConfig, TripleBuilder, WordCosines
from wordstill.meaning.triples import FORMAT, SCHEMA, Triples, triple_lines
from wordstill.vectors import WordVectors

RECORD = "pairs.json"

Block = tuple[list[str], Mapping[str, int]]
"""Lines of triples, and how many targets gave none, by reason."""


class PairBlocks:
    """The folder of blocks.

    Args:
        folder: Where it is; it is made where there is none.
        facts: The settings, for the record and for the header of the joined file.
        overwrite: Whether to throw away blocks of other settings.

    Raises:
        DataError: The blocks that are there are of other settings.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.folder, self.facts = folder, facts
        different = self._difference()
        if different and not overwrite:
            raise DataError(
                f"{folder} holds pairs that were begun with other settings: {different}. Use the same ones "
                "to go on, or --overwrite (overwrite=True) to begin again."
            )
        if different:
            remove(folder)
        if not self._record.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _write(self._record, [json.dumps(facts, ensure_ascii=False)])

    @property
    def _record(self) -> Path:
        return self.folder / RECORD

    def _difference(self) -> str:
        """In what the settings of the blocks that are there differ; nothing where there are none."""
        if not self._record.exists():
            return ""
        try:
            return differences(json.loads(self._record.read_bytes()), self.facts)
        except (OSError, ValueError, AttributeError) as error:
            return f"it is damaged ({error})"

    def add(self, first: int, make: Callable[[], Block]) -> int:
        """How many triples the block from a target on has; it is made if it is not there."""
        path = self.folder / f"{first:09d}.jsonl"
        if not path.exists():
            lines, dropped = make()
            _write(path, [json.dumps(dropped), *lines])
        return len(_read(path)[0])

    def join(self, out: Path, targets: int) -> None:
        """Write all blocks into one file, with a header that counts, and remove them.

        Args:
            out: The file to make.
            targets: How many targets were looked at.

        Raises:
            DataError: No target gave a triple.
        """
        blocks = sorted(self.folder.glob("*.jsonl"))
        dropped: Counter[str] = Counter()
        positives: Counter[str] = Counter()
        for lines, counts in map(_read, blocks):
            dropped.update(counts)
            positives.update(json.loads(line)["how"] for line in lines)
        if not positives:
            reasons = "; ".join(f"{reason}: {number:,}" for reason, number in dropped.most_common())
            raise DataError(f"None of {targets:,} targets gave a triple ({reasons}). Lower the thresholds.")
        header = {
            "format": FORMAT,
            "schema": SCHEMA,
            "triples": positives.total(),
            **self.facts,
            "targets": targets,
            "positives": dict(positives),
            "dropped": dict(dropped.most_common()),
        }
        with atomic_file(out) as handle:
            handle.write(_encoded([json.dumps(header, ensure_ascii=False)]))
            for lines, _ in map(_read, blocks):
                handle.write(_encoded(lines))
        remove(self.folder)


def _read(path: Path) -> Block:
    first, *lines = path.read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line], json.loads(first)


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path) as handle:
        handle.write(_encoded(lines))


def _encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


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
    report: Callable[[int, int], None] | None = None,
    enough: int | None = None,
    seconds: float | None = None,
) -> Triples:
    """Make triples and write them to a file; a call that was stopped goes on where it was.

    Without ready-made paraphrases and without a paraphraser, positives are made by substitution alone.

    Args:
        sources: Targets.
        masked: Predicts what fits a place.
        vectors: Static vectors for the cosine tests; any table.
        out: The file to make; ``OUT.partial`` holds the blocks that are done.
        config: Settings; None takes the paper's.
        paraphraser: Says sentences in other words, such as a round trip.
        overwrite: Whether to replace a file, and to throw away what a call with other settings has done.
        report: Told after each block how many targets are done, and of how many.
        enough: No more targets are taken once there are so many triples.
        seconds: No more targets are taken once so much time has passed.

    Raises:
        UsageError: The file exists, or the translators are for another language.
        DataError: What is done belongs to other settings, or no triple came of all targets.
    """
    config, path = config or PairConfig(), Path(out)
    refuse_existing(path, overwrite=overwrite)
    if sources.paraphrases is not None and paraphraser is not None:
        raise UsageError("Paraphrases are given already; leave the translators out.")
    maker = _Maker(sources, masked, TripleBuilder(WordCosines(vectors), config.build), paraphraser)
    size = BLOCK if masked.device.type == "cpu" else GPU_BLOCK
    facts = {**maker.facts(), "config": asdict(config), "vectors": _digest(vectors), "block": size}
    blocks = PairBlocks(path.with_name(f"{path.name}.partial"), facts, overwrite=overwrite)
    total, done, triples, started = len(sources.targets), 0, 0, time.monotonic()
    while done < total:
        first, done = done, min(done + size, total)
        triples += blocks.add(first, partial(maker.block, first, done))
        if report is not None:
            report(done, total)
        if _reached(triples, enough) or _reached(time.monotonic() - started, seconds):
            break
    blocks.join(path, done)
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

    def block(self, first: int, last: int) -> Block:
        """The triples of some targets."""
        source, config = str(self.mode), self.builder.config
        # Before anything is predicted or translated: that is nearly all of the work.
        reasons = [
            self.builder.ruled_out(target, source=source) for target in self.sources.targets[first:last]
        ]
        rows = [row for row, reason in enumerate(reasons, first) if reason is None]
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


def _reached(value: float, limit: float | None) -> bool:
    return limit is not None and value >= limit


def _digest(vectors: WordVectors) -> str:
    """Tells tables apart without reading all of a large one."""
    digest = hashlib.sha256("\n".join(vectors.words).encode())
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), 256)).astype(np.int64)
    digest.update(np.ascontiguousarray(vectors.matrix[rows]).tobytes())
    return digest.hexdigest()
