"""Running C++ libraries on untrusted files in a child process, so that a crash becomes an error.

A function yields messages as bytes, which the parent gets in order. The child's memory is limited, and it is ended if
it sends nothing for too long. Whatever happens to it, the parent raises one clear error. A child that is done waits for
more work, since starting one takes a third of a second; it ends with its parent.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

from wordstill import errors
from wordstill.core.guard import Limits
from wordstill.errors import DataError, WordstillError, in_one_line

START = "import sys; sys.path[:] = sys.argv[1].split(chr(10)); from wordstill.core import contained; contained.child()"
DATA, FAILED, DONE = b"D", b"E", b"Z"
LENGTH_BYTES = 8
LARGEST_MESSAGE = 1 << 32
MOST_REQUESTS = 500
LIBRARIES = 1 << 30
"""Address space that libraries reserve without using it."""


class _Child:
    """A process that runs one function after another."""

    def __init__(self, memory: int) -> None:
        self.memory, self.requests = memory, 0
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START, "\n".join(sys.path), str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A buffer could hold a message that the wait for the next one does not see.
            bufsize=0,
            # Ctrl-C goes to the parent, which ends its child.
            start_new_session=True,
        )

    def request(self, function: Callable[..., Iterator[bytes]], arguments: dict[str, Any]) -> None:
        """Ask for the messages of a function."""
        self.requests += 1
        text = json.dumps([f"{function.__module__}:{function.__name__}", arguments]).encode() + b"\n"
        try:
            _pipe(self._process.stdin).write(text)
        except BrokenPipeError:
            # The child is dead, which shows when its answer is read.
            return

    def message(self, seconds: float) -> bytes | None:
        """The next message after its kind; empty if the process is dead, None after a timeout."""
        pipe = _pipe(self._process.stdout)
        if not select.select([pipe], [], [], seconds)[0]:
            return None
        # A message that has begun is read to its end.
        length = int.from_bytes(_exactly(pipe, LENGTH_BYTES), "little")
        return _exactly(pipe, length) if length < LARGEST_MESSAGE else b""

    def end(self) -> str:
        """Stop the process, and say how it ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()
        try:
            # A process that ended by itself has an exit code.
            code = self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"status {code}"


_idle: list[_Child] = []
_guard = threading.Lock()
if hasattr(os, "register_at_fork"):
    # A forked process has the pipes of its parent's children, which are not its own.
    os.register_at_fork(after_in_child=_idle.clear)


def contained(
    function: Callable[..., Iterator[bytes]],
    arguments: dict[str, Any],
    what: object,
    limits: Limits,
    error: type[DataError] = DataError,
) -> Iterator[bytes]:
    """The messages of a function that runs in a child process.

    Args:
        function: At the top level of a module, which the child imports.
        arguments: Its arguments; plain data.
        what: What it reads, for errors.
        limits: Memory and time.
        error: Raised if the process dies; the function's own `WordstillError` is raised here unchanged.
    """
    process, answered, kept = _take(limits.child_bytes), False, False
    process.request(function, arguments)
    try:
        while True:
            message = process.message(limits.seconds)
            if message is None:
                limits.refuse("seconds", limits.seconds + 1, f"{what}: nothing was read for", "seconds", error)
            elif message[:1] == DATA:
                answered = True
                yield message[1:]
            elif message:
                kept = _keep(process)
                if message[:1] == FAILED:
                    raise _failure(message[1:], what, error)
                return
            elif process.requests > 1 and not answered:
                # An earlier file may have corrupted this process: try again in a new one.
                process.end()
                process = _Child(limits.child_bytes)
                process.request(function, arguments)
            else:
                raise error(f"{what} is damaged: its reader ended with {process.end()}. Get the file again.")
    finally:
        if not kept:
            process.end()


def _take(memory: int) -> _Child:
    with _guard:
        if _idle and _idle[0].memory == memory:
            return _idle.pop()
    return _Child(memory)


def _keep(process: _Child) -> bool:
    """Keep a process for the next request, in place of the last one, unless it has served many."""
    if process.requests >= MOST_REQUESTS:
        return False
    with _guard:
        before, _idle[:] = _idle[:], [process]
    for other in before:
        other.end()
    return True


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


def _failure(message: bytes, what: object, error: type[DataError]) -> Exception:
    kind, text = json.loads(message)
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, WordstillError) and kind != "MissingExtra":
        return known(text)
    return error(f"{what} is damaged ({text}). Get the file again.")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    parts, missing = [], size
    while missing and (part := pipe.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"" if missing else b"".join(parts)


def child() -> None:
    """Main loop of the child: run functions and write their messages to the pipe, which nothing else may use."""
    memory = int(sys.argv[2])
    out, requests = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _limit_memory(memory)

    def send(kind: bytes, data: bytes = b"") -> None:
        out.write((len(data) + 1).to_bytes(LENGTH_BYTES, "little") + kind + data)
        out.flush()

    for request in requests:
        name, arguments = json.loads(request)
        module, _, function = name.partition(":")
        try:
            for message in getattr(importlib.import_module(module), function)(**arguments):
                send(DATA, message)
        except BrokenPipeError:
            break
        except MemoryError:
            advice = Limits.advice("child_bytes")
            send(FAILED, json.dumps(["DataError", f"{arguments.get('path')} needs too much memory; {advice}"]).encode())
        except Exception as error:
            text = str(error) if isinstance(error, WordstillError) else in_one_line(error)
            send(FAILED, json.dumps([type(error).__name__, text]).encode())
        else:
            send(DONE)
    # Without the interpreter's cleanup, which could crash if damaged data have corrupted a library's memory.
    os._exit(0)


def _limit_memory(most: int) -> None:
    if sys.platform == "linux":
        import resource
        from pathlib import Path

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = used + most + LIBRARIES
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
