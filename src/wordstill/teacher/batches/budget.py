"""How many sub-words a teacher reads at one time."""

from __future__ import annotations

import warnings

import torch

ON_CPU, ON_GPU = 2_048, 131_072
BYTES_FOR_EACH_NUMBER = 64
"""Memory of one sub-word, its words and their use by methods, for each number of its state."""
SHARE_OF_MEMORY = 0.5


def usual_budget(device: torch.device, width: int) -> int:
    """What suits a device; less on a GPU with little free memory, with a warning.

    Args:
        device: Where the teacher is.
        width: Size of a state.
    """
    if device.type != "cuda":
        return ON_CPU
    free = torch.cuda.mem_get_info(device)[0]
    fits = int(SHARE_OF_MEMORY * free / (BYTES_FOR_EACH_NUMBER * width))
    if fits >= ON_GPU:
        return ON_GPU
    # A power of two, so that a run can be resumed although a little more or less is free.
    fits = 1 << max(fits, 1).bit_length() - 1
    warnings.warn(
        f"Only {free / 2**30:.1f} GiB of the GPU's memory are free, so {fits} sub-words are read at one time "
        f"instead of {ON_GPU}; that can take longer.",
        stacklevel=3,
    )
    return fits
