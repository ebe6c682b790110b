"""A watch for states that are not finite, which never makes a GPU wait."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import torch
from torch import Tensor

from wordstill.teacher.batch import Batch


class FiniteWatch:
    """Looks at every batch's states; on a GPU the answer is taken when it is there, a batch or two later."""

    def __init__(self) -> None:
        self._pending: deque[_Answer] = deque()

    def look(self, hidden: dict[int, Tensor], batch: Batch) -> Batch | None:
        """Take note of a batch; returns one that has states that are not finite, if one is known by now."""
        # A sum can run over although all states are finite, so the one who is told must look again.
        finite = torch.stack([torch.isfinite(states.sum()) for states in hidden.values()]).all()
        if not finite.is_cuda:
            return None if bool(finite) else batch
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(finite, non_blocking=True)
        known = torch.cuda.current_stream(finite.device).record_event()
        self._pending.append(_Answer(known, answer, batch))
        return self._first_bad(wait=False)

    def settle(self) -> Batch | None:
        """Wait for all answers; returns the first batch with states that are not finite, if there is one."""
        return self._first_bad(wait=True)

    def _first_bad(self, *, wait: bool) -> Batch | None:
        while self._pending and (wait or self._pending[0].known.query()):
            known, answer, batch = self._pending.popleft()
            known.synchronize()
            if not bool(answer):
                return batch
        return None


class _Answer(NamedTuple):
    known: Any
    finite: Tensor
    batch: Batch
