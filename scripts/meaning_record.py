"""What a measurement has found so far, and how long each step took; written after every step."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordstill.files import atomic_file


class Record:
    """The JSON file of a measurement, so that a run that is cut off leaves what it has.

    Args:
        path: Where it is written.
        times: File that keeps the times of what is made, for a run that does not make it again.

    Attributes:
        facts: Everything but times, by name.
        seconds: How long steps took, by name.
    """

    def __init__(self, path: Path, times: Path) -> None:
        self.path, self.times = path, times
        self.facts: dict[str, Any] = {}
        self.seconds: dict[str, float] = json.loads(times.read_bytes()) if times.exists() else {}

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note how long a step takes."""
        start = time.monotonic()
        yield
        self.seconds[step] = time.monotonic() - start

    def write(self) -> None:
        """Write what is known so far, and print the times."""
        seconds = {name: round(value, 2) for name, value in self.seconds.items()}
        print(json.dumps({"seconds": seconds}), flush=True)
        for path, content in ((self.times, seconds), (self.path, {"seconds": seconds, **self.facts})):
            with atomic_file(path) as handle:
                handle.write(f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())
