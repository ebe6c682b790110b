"""What a target of fuzzing is, and the table and the text from which seeds are made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordstill import WordVectors

WORDS = ["king", "queen", "river", "house", "naïve", "section 5", "好"]
TABLE = WordVectors(
    WORDS,
    np.random.default_rng(0).standard_normal((7, 4)).astype(np.float32),
    counts=np.arange(7, 0, -1),
    provenance={"teacher": {"name": "tiny", "max_length": 8}, "seed": 0, "transforms": [{"name": "unit.v1"}]},
)
TEXT = "The old house stands by the river. Nobody moved it.\n\nA queen, a king; and 3.5 others.\n" * 3


@dataclass(frozen=True)
class Target:
    """A reader."""

    name: str
    make: Callable[[Path], object]
    """Writes the seed, a file or a folder, to a path."""
    read: Callable[[Path], Any]
    """Reads a path; what it gives is compared for a checked target."""
    file: str = "seed"
    checked: tuple[str, ...] = ()
    """Files of which no change may go unnoticed: the result must be an error or what it was."""
    seconds: int = 5
    """Of work that an input may take."""


def digest(*parts: Any) -> str:
    """What was read, as a short text."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
