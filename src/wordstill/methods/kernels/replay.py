"""CUDA graphs: steps that are recorded once and then replayed as a whole."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[], None]


def recorded(step: Step) -> Step:
    """Capture a step as a CUDA graph, without running it; the result replays it."""
    graph = torch.cuda.CUDAGraph()
    # Other threads may go on asking for memory while this one records.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    replay: Step = graph.replay
    return replay


class Replayed:
    """A CUDA graph of a function that changes tensors in place, for many calls of one size.

    Naming the dozen operations of a step takes the host ten times as long as starting them as one graph. A
    graph always reads the same addresses, so arguments are copied there first. The first call goes the usual
    way, which prepares what the operations need; the second is recorded. Calls of another size, such as the
    last of a batch, go the usual way.

    Args:
        function: Must neither wait for the GPU nor depend on anything but tensors that stay where they are.
        size: Rows of the first argument in calls that are to be recorded.
        record: Makes a step that can be started again.
    """

    def __init__(self, function: Callable[..., None], size: int, record: Callable[[Step], Step] = recorded) -> None:
        self.function, self.size, self.record = function, size, record
        self._held: tuple[Tensor, ...] = ()
        self._replay: Step | None = None

    def __call__(self, *arguments: Tensor) -> None:
        """Call the function, or replay its graph."""
        if len(arguments[0]) != self.size:
            self.function(*arguments)
            return
        first = not self._held
        if first:
            self._held = tuple(torch.empty(each.shape, dtype=each.dtype, device=each.device) for each in arguments)
        for held, given in zip(self._held, arguments, strict=True):
            held.copy_(given)
        if first:
            self.function(*self._held)
            return
        if self._replay is None:
            self._replay = self.record(lambda: self.function(*self._held))
        self._replay()
