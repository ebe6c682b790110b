"""Saving a run in the middle and going on from there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor

from wordstill.errors import DataError
from wordstill.files import atomic_file


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    stage: int = 0
    position: tuple[int, int] = (0, 0)
    words: int = 0
    """Words read in this stage."""
    cut: int = 0
    """Sentences that were longer than the teacher's limit, in all stages."""


class CheckpointFile:
    """One file with the state of every method; replaced as a whole, so that it is always a complete one.

    Args:
        path: Where it is.
        recipe: What determines the result; a checkpoint of another recipe is refused.
    """

    def __init__(self, path: Path, recipe: str) -> None:
        self.path = path
        self.recipe = recipe

    def save(self, progress: Progress, tensors: Mapping[str, Tensor]) -> None:
        """Write the state, then take the place of the last one."""
        metadata = {"progress": json.dumps(asdict(progress)), "recipe": self.recipe}
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        with atomic_file(self.path) as handle:
            handle.write(safetensors.torch.save(plain, metadata))

    def load(self) -> tuple[Progress, dict[str, Tensor]] | None:
        """The last state, or None where there is none."""
        if not self.path.exists():
            return None
        try:
            with safetensors.safe_open(str(self.path), framework="pt") as file:
                metadata = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}
            progress = json.loads(metadata["progress"])
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The checkpoint {self.path} is damaged ({error}). Start again with --overwrite."
            ) from error
        if metadata["recipe"] != self.recipe:
            raise DataError(
                f"The checkpoint {self.path} belongs to a run with other settings. {_difference(metadata['recipe'], self.recipe)} "
                "Resume with the same settings, or start again with --overwrite."
            )
        return Progress(**{**progress, "position": tuple(progress["position"])}), tensors


def _difference(old: str, new: str) -> str:
    before, now = json.loads(old), json.loads(new)
    keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    return "Different: " + "; ".join(f"{key} was {before.get(key)}, is {now.get(key)}" for key in keys) + "."
