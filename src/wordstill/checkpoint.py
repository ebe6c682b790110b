"""Saving a run in the middle and going on from there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.errors import DataError
from wordstill.files import atomic_file, atomic_path
from wordstill.formats.tensors import map_tensors, write_tensors

CHECKPOINT = "checkpoint.safetensors"
ABSENT = "absent"


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    stage: int = 0
    """Number of the stage that is being read; the number of stages when all is read."""
    position: tuple[int, int] = (0, 0)
    words: int = 0
    """Words read in this stage."""
    cut: int = 0
    """Sentences that were longer than the teacher's limit, in all stages."""


class CheckpointFile:
    """One file with the state of every method; replaced as a whole, so that it is always a complete one.

    Args:
        path: Where it is.
        recipe: What determines the result, as JSON; a checkpoint of another recipe is refused.
    """

    def __init__(self, path: Path, recipe: str) -> None:
        self.path = path
        self.recipe = recipe

    def save(self, progress: Progress, tensors: Mapping[str, Tensor]) -> None:
        """Write the state, then take the place of the last one."""
        metadata = {"progress": json.dumps(asdict(progress)), "recipe": self.recipe}
        arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
        with atomic_path(self.path) as temporary:
            write_tensors(temporary, arrays, metadata)

    def load(self) -> tuple[Progress, dict[str, Tensor]] | None:
        """The last state, or None where there is none.

        Raises:
            DataError: It is damaged, or belongs to a run with other settings.
        """
        if not self.path.exists():
            return None
        try:
            arrays, metadata = map_tensors(self.path)
            different = differences(json.loads(metadata["recipe"]), json.loads(self.recipe))
            progress = _progress(json.loads(metadata["progress"]))
        except (DataError, OSError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The checkpoint {self.path} is damaged ({error}). Start again with --overwrite."
            ) from error
        if different:
            raise DataError(
                f"The checkpoint {self.path} belongs to a run with other settings: {different}. "
                "Resume with the same settings, or start again with --overwrite."
            )
        # The mapped arrays are read-only, which tensors cannot be.
        return progress, {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def refuse_change(record: Path, facts: Mapping[str, Any]) -> None:
    """Note facts in a file, or compare them with those that the run that is resumed has noted there.

    Raises:
        DataError: They are not the same, or the file is damaged.
    """
    if not record.exists():
        with atomic_file(record) as handle:
            handle.write(json.dumps(facts, ensure_ascii=False, indent=2).encode())
        return
    try:
        different = differences(json.loads(record.read_bytes()), facts)
    except (OSError, TypeError, ValueError) as error:
        raise DataError(f"{record} is damaged ({error}). Start again with --overwrite.") from error
    if different:
        raise DataError(
            f"The run in {record.parent} was started with another text: {different}. "
            "Resume with the same, or start again with --overwrite."
        )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The fields of nested plain data that are not the same, with both values; empty if all are the same.

    >>> differences({"teacher": {"width": 8, "depth": 2}}, {"teacher": {"width": 9, "depth": 2}})
    'teacher.width was 8, now 9'
    """
    return "; ".join(_changes(before, now))


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in {**before, **now}:
        old, new = before.get(key, ABSENT), now.get(key, ABSENT)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changes(old, new, f"{prefix}{key}.")
        elif old != new:
            yield f"{prefix}{key} was {old!r}, now {new!r}"


def _progress(saved: dict[str, Any]) -> Progress:
    window, done = saved["position"]
    return Progress(**{**saved, "position": (window, done)})
