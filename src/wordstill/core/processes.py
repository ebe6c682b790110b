"""A pool of worker processes that end when this process does."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from wordstill.errors import WordstillError

PARENT_POLL_SECONDS = 1.0
Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def in_processes(
    work: Callable[[Task], Outcome], tasks: Iterable[Task], workers: int, on_stop: Callable[[], None]
) -> Generator[tuple[Task, Outcome]]:
    """Run ``work`` on all tasks and give each task with its outcome, in order of completion.

    When the run is stopped, tasks in progress are abandoned at once, and ``on_stop`` removes what they left; after an
    error, they are finished first. Tasks and outcomes are pickled; ``work`` is not if processes are forked.
    """
    if workers <= 1:
        for task in tasks:
            yield task, work(task)
        return
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(work, os.getpid(), *lifeline))
    try:
        # All processes are forked here, before reading starts threads of its own.
        pool.submit(int)
        yield from _bounded(pool, tasks, workers + 1)
    except (KeyboardInterrupt, GeneratorExit):
        lifeline[1].close()
        pool.shutdown(cancel_futures=True)
        on_stop()
        raise
    except BrokenProcessPool as error:
        raise WordstillError(
            "A worker process was killed, perhaps for lack of memory. Finished work is kept: start again "
            f"with fewer workers than {workers} or smaller blocks."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        for end in lifeline:
            end.close()


_worker: Callable[[Any], Any]


def _bounded(pool: ProcessPoolExecutor, tasks: Iterable[Task], limit: int) -> Iterator[tuple[Task, Any]]:
    under_way: dict[Future[Any], Task] = {}
    for task in tasks:
        under_way[pool.submit(_work, task)] = task
        if len(under_way) >= limit:
            yield from _finished(under_way)
    while under_way:
        yield from _finished(under_way)


def _finished(under_way: dict[Future[Any], Task]) -> Iterator[tuple[Task, Any]]:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        yield under_way.pop(future), future.result()


def _start_worker(
    work: Callable[[Any], Any], parent: int, lifeline: Connection[Any, Any], far_end: Connection[Any, Any]
) -> None:
    global _worker
    _worker = work
    # A forked process also has the parent's end, which would keep its lifeline open.
    far_end.close()
    # Without this, garbage collection would go through the parent's objects, such as all of torch: a sixth of the time.
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=(parent, lifeline), daemon=True).start()


def end_with(parent: int, lifeline: Connection[Any, Any]) -> None:
    """End this process when its parent stops or is killed; otherwise it would wait for work forever."""
    while os.getppid() == parent and not lifeline.poll(PARENT_POLL_SECONDS):
        pass
    os._exit(1)


def _work(task: Any) -> Any:
    return _worker(task)
