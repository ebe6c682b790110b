"""The working folder of a run, which a run that was killed leaves to the next one."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordstill.files import atomic_file, remove
from wordstill.lock import contents, locked

SETTINGS_FILE = "settings.json"


@contextmanager
def working_folder(out: Path, settings: dict[str, Any]) -> Iterator[Path]:
    """The folder ``OUT.partial``, with what an earlier run with the same settings left in it.

    It is deleted when the block succeeds, and kept when it fails. What a run with other settings left is
    thrown away with a warning.

    Raises:
        UsageError: Another run is working in it.
    """
    folder = out.with_name(out.name + ".partial")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, out):
        _forget_other_settings(folder, json.dumps(settings, sort_keys=True))
        yield folder
        shutil.rmtree(folder)


def _forget_other_settings(folder: Path, wanted: str) -> None:
    record = folder / SETTINGS_FILE
    others = contents(folder)
    if others and not (record.is_file() and record.read_text(encoding="utf-8") == wanted):
        warnings.warn(f"{folder} is from a run with other settings and is thrown away.", stacklevel=5)
        for path in others:
            remove(path)
    with atomic_file(record) as file:
        file.write(wanted.encode())
