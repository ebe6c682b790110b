"""Blocks of triples on disk until all are made: a call that was stopped goes on where it was.

pairs.json        the settings of the blocks
000004096.jsonl   the block that begins with that target: a line of counts of dropped targets, then triples
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from wordstill.checkpoint import differences
from wordstill.errors import DataError
from wordstill.files import atomic_file, remove
from wordstill.meaning.triples import FORMAT, SCHEMA

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
