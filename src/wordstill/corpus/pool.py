"""Work on blocks in several processes, with a bounded number of blocks under way."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from wordstill.corpus.blocks import Block
from wordstill.corpus.shards import ShardMaker, Tally
from wordstill.errors import WordstillError

PARENT_POLL_SECONDS = 1.0

Result = tuple[Block, Tally]


def make_shards(make: ShardMaker, blocks: Iterable[Block], workers: int) -> Generator[Result]:
    """Make the shards of all blocks, in no particular order of completion.

    When the run is stopped, blocks under way are given up at once; after an error they are finished first.

    Raises:
        WordstillError: A block cannot be read, or a process died.
    """
    if workers == 1:
        for block in blocks:
            yield block, make(block)
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, context, initializer=_start_worker, initargs=(make, os.getpid(), *lifeline)
    )
    try:
        yield from _bounded(pool, blocks, workers + 1)
    except (KeyboardInterrupt, GeneratorExit):
        lifeline[1].close()
        pool.shutdown(cancel_futures=True)
        _remove_unfinished(make.folder)
        raise
    except BrokenProcessPool as error:
        raise WordstillError(
            "A worker process was ended from outside, perhaps for want of memory. What is finished is kept: "
            f"start again with fewer workers than {workers} or smaller blocks."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        for end in lifeline:
            end.close()


_worker: Callable[[Block], Tally]


def _bounded(pool: ProcessPoolExecutor, blocks: Iterable[Block], limit: int) -> Iterator[Result]:
    under_way: dict[Future[Tally], Block] = {}
    for block in blocks:
        under_way[pool.submit(_work, block)] = block
        if len(under_way) >= limit:
            yield from _finished(under_way)
    while under_way:
        yield from _finished(under_way)


def _finished(under_way: dict[Future[Tally], Block]) -> Iterator[Result]:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        yield under_way.pop(future), future.result()


def _start_worker(
    make: ShardMaker, parent: int, lifeline: Connection[Any, Any], far_end: Connection[Any, Any]
) -> None:
    global _worker
    _worker = make
    # A forked process has the parent's end, too, and would keep its own lifeline open.
    far_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent, lifeline), daemon=True).start()


def _end_with(parent: int, lifeline: Connection[Any, Any]) -> None:
    """End this process when the parent gives the work up or was killed: it would wait for work for ever."""
    while os.getppid() == parent and not lifeline.poll(PARENT_POLL_SECONDS):
        pass
    os._exit(1)


def _remove_unfinished(folder: Path) -> None:
    """Delete what processes were writing when they were ended."""
    for path in folder.glob(".*.tmp-*"):
        path.unlink(missing_ok=True)


def _work(block: Block) -> Tally:
    return _worker(block)
