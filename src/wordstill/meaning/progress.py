"""Saving a training in the middle, with everything that the next step depends on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wordstill.checkpoint import differences
from wordstill.errors import DataError
from wordstill.files import atomic_path
from wordstill.formats.tensors import map_tensors, write_tensors
from wordstill.meaning.distiller import Distillers

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """How far a training has come."""

    step: int = 0
    best: float = float("inf")
    waited: int = 0
    """Checks since the last improvement."""
    history: list[tuple[int, float]] = field(default_factory=list)


class TrainingCheckpoint:
    """One file with weights, the best weights, the optimiser's moments and the random generators.

    Args:
        path: Where it is.
        recipe: What determines the result, as JSON; a training with another one is refused.
    """

    def __init__(self, path: Path, recipe: str) -> None:
        self.path, self.recipe = path, recipe

    def save(
        self,
        progress: Progress,
        distillers: Distillers,
        optimizer: torch.optim.Optimizer,
        best: dict[str, Tensor],
    ) -> None:
        """Write the state, then take the place of the last one."""
        tensors = {f"weights/{name}": weight for name, weight in distillers.state_dict().items()}
        tensors |= {f"best/{name}": weight for name, weight in best.items()}
        for name, parameter in distillers.named_parameters():
            tensors |= {f"{moment}/{name}": optimizer.state[parameter][moment] for moment in MOMENTS}
        tensors["random/cpu"] = torch.get_rng_state()
        if next(distillers.parameters()).is_cuda:
            tensors["random/cuda"] = torch.cuda.get_rng_state()
        arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
        metadata = {"progress": json.dumps(asdict(progress)), "recipe": self.recipe}
        with atomic_path(self.path) as temporary:
            write_tensors(temporary, arrays, metadata)

    def restore(
        self, distillers: Distillers, optimizer: torch.optim.Optimizer, best: dict[str, Tensor]
    ) -> Progress | None:
        """Put everything back as it was saved; None where nothing was.

        Raises:
            DataError: The file is damaged, or of another training.
        """
        if not self.path.exists():
            return None
        try:
            arrays, metadata = map_tensors(self.path)
            different = differences(json.loads(metadata["recipe"]), json.loads(self.recipe))
            progress = Progress(**json.loads(metadata["progress"]))
        except (DataError, OSError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"The checkpoint {self.path} is damaged ({error}). Delete it.") from error
        if different:
            raise DataError(
                f"The checkpoint {self.path} belongs to another training: {different}. "
                "Resume with the same settings and triples, or start again with --overwrite."
            )
        progress.history = [(step, value) for step, value in progress.history]
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        device = next(distillers.parameters()).device
        distillers.load_state_dict(_below(tensors, "weights/"))
        best.update({name: weight.to(device) for name, weight in _below(tensors, "best/").items()})
        for name, parameter in distillers.named_parameters():
            moments = {moment: tensors[f"{moment}/{name}"].to(device) for moment in MOMENTS}
            # The fused optimiser of GPUs counts its steps there.
            step = torch.tensor(float(progress.step), device=device)
            optimizer.state[parameter] = {"step": step, **moments}
        torch.set_rng_state(tensors["random/cpu"])
        if "random/cuda" in tensors and device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random/cuda"])
        return progress


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
