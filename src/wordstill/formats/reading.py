"""How a file is read: strictly or with repairs, silently or with a bar."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from wordstill.errors import FormatError, MissingExtra


class Reading:
    """One reading of one file.

    Args:
        repair: Leave out what is wrong and warn of it, where the rest of the file can be told from it.
        progress: Show a bar of the bytes that were read.
        first: Stop after so many rows, in formats without counts that are read from the start.
    """

    def __init__(self, *, repair: bool = False, progress: bool = False, first: int | None = None) -> None:
        self.repair = repair
        self.progress = progress
        self.first = first
        self._repairs: dict[str, tuple[int, FormatError]] = {}

    def enough(self, rows: int) -> bool:
        """Whether so many rows are all that are wanted."""
        return self.first is not None and rows >= self.first

    def fault(self, repaired: str, error: FormatError) -> None:
        """Raise the error; or, with repairs, note it under the words that tell what was done about it."""
        if not self.repair:
            raise error
        count, first = self._repairs.get(repaired, (0, error))
        self._repairs[repaired] = count + 1, first

    def report(self) -> None:
        """Warn of each kind of repair, with its number and the first error that it stands for."""
        for repaired, (count, error) in self._repairs.items():
            warnings.warn(f"Repaired, {repaired} ({count:,}): {error}", UserWarning, stacklevel=3)

    def bar(self, path: Path) -> Any | None:
        """A bar over the bytes of a file, or None."""
        if not self.progress:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise MissingExtra("tqdm", "distill", "A progress bar") from None
        return tqdm(total=path.stat().st_size, unit="B", unit_scale=True, desc=path.name)


STRICT = Reading()
"""Every fault is an error."""
