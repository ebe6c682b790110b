"""Long work in blocks: each becomes a file of the working folder, made here one by one or by several workers.

A file is named after the first item of its block, such as ``000004096``. Batches are formed inside blocks, and workers
compute on one core each, so files do not depend on their number; a run resumes with the blocks that are not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch

from wordstill import __version__
from wordstill.core.progress import count_bar
from wordstill.core.settings import Config, Range
from wordstill.errors import DataError, in_one_line
from wordstill.scale.driver import Driver
from wordstill.scale.ledger import Ledger
from wordstill.scale.pools import on_cluster, open_pool, refuse_too_many, usable_cores
from wordstill.scale.shared_folder import LocalFolder
from wordstill.scale.work import Reader, Work, refuse_version

LEDGER, ANY_BLOCK = "shards", "[0-9]*"


@dataclass(frozen=True)
class Workers(Config):
    """The workers of a run; by default, this process does the work."""

    workers: Annotated[int | None, Range(1)] = None
    """Number of processes on this machine, or maximum number of actors on a cluster."""
    ray: str | None = None
    """Address of a Ray cluster, or ``auto``."""

    def __bool__(self) -> bool:
        return self != Workers()

    @contextmanager
    def engaged(self) -> Iterator[None]:
        """Refuse more workers than cores, and connect to the cluster, before anything is loaded."""
        if self.ray is None:
            refuse_too_many(self.workers or 1, usable_cores())
        with on_cluster(self.ray):
            yield


@dataclass(frozen=True)
class Block:
    """Consecutive items that are processed together."""

    number: int
    start: int
    items: Sequence[Any]
    unit: str

    @property
    def words(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def place(self) -> str:
        """The range of items, for messages."""
        return f"shard {self.number} ({self.unit} {self.start + 1:,} to {self.start + self.words:,})"

    def file(self, folder: Path) -> Path:
        """The file of the finished block."""
        return folder / f"{self.start:09d}"


def blocks_of(items: Sequence[Any], size: int, unit: str, before: Sequence[Block] = ()) -> list[Block]:
    """Divide items into blocks, numbered after other blocks."""
    done = before[-1].start + before[-1].words if before else 0
    starts = range(0, len(items), size)
    return [*before, *(Block(len(before) + n, done + at, items[at : at + size], unit) for n, at in enumerate(starts))]


def made_blocks(
    blocks: Sequence[Block], folder: Path, reader: Reader, doing: str, *, progress: bool = False
) -> Iterator[tuple[Block, Path]]:
    """Blocks with their files, in order; missing files are made."""
    unit, total = blocks[0].unit if blocks else "", sum(block.words for block in blocks)
    with count_bar(doing.rpartition(" ")[2], total, unit, show=progress) as bar:
        for block in blocks:
            path = block.file(folder)
            if not path.exists():
                reader.read(block).write(path)
            bar.update(block.words)
            yield block, path


def divide(
    blocks: Sequence[Block],
    folder: Path,
    work: Work,
    workers: Workers,
    check: Callable[[Path], object],
    doing: str,
    *,
    progress: bool = False,
) -> None:
    """Make the missing blocks with several workers.

    Args:
        blocks: All blocks.
        folder: The working folder.
        work: The work.
        workers: The workers.
        check: Reads a file, and raises if it is damaged.
        doing: Description for messages, such as ``making triples``.
        progress: Show a progress bar over all workers.

    Raises:
        DataError: A block failed three times, or a worker has another version or model.
        Interrupted: Ctrl-C or SIGTERM; finished blocks are kept.
    """
    ledger = Ledger(LocalFolder(folder / LEDGER))
    ledger.open_plan({"version": __version__, "blocks": [block.start for block in blocks]})
    ledger.forget_attempts()
    ledger.refresh()
    gathered = _Gathered(blocks, folder, ledger, check)
    for block in blocks:
        if block.number not in gathered.left and block.number not in ledger.done:
            ledger.leave_out(block.number, "made before")
    if gathered.complete:
        return
    with workers.engaged():
        pool = open_pool(work, ledger.folder, workers.workers, workers.ray)
        driver = Driver(blocks, ledger, pool, lambda: gathered, skip_bad=None, doing=doing, unit=blocks[0].unit)
        driver.run(show_progress=progress)


class _Gathered:
    """Moves committed parts to the files of blocks."""

    def __init__(self, blocks: Sequence[Block], folder: Path, ledger: Ledger, check: Callable[[Path], object]) -> None:
        self.folder, self.ledger, self.check = folder, ledger, check
        self.left = {block.number: block for block in blocks if not block.file(folder).exists()}

    @property
    def complete(self) -> bool:
        return not self.left

    def fold(self) -> None:
        for number in self.left.keys() & self.ledger.done.keys():
            part = self.ledger.part(number, self.folder)
            try:
                self.check(part)
                part.rename(self.left[number].file(self.folder))
            except (DataError, OSError) as error:
                self.ledger.reopen(number, in_one_line(error))
            else:
                del self.left[number]


def begin_work(version: str) -> None:
    """In a worker, before anything is loaded: refuse another version, and compute on one core.

    With several threads, sums could be added in another order.
    """
    refuse_version(version)
    torch.set_num_threads(1)
