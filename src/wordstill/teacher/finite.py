"""A watch for numbers that are not finite, which never makes a GPU wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

Subject = TypeVar("Subject")


class FiniteWatch(Generic[Subject]):
    """Looks at numbers of every batch; on a GPU the answer is taken when it is there, some batches later."""

    def __init__(self) -> None:
        self._pending: deque[tuple[Any, Tensor, Subject]] = deque()

    def look(self, numbers: Iterable[Tensor], subject: Subject) -> Subject | None:
        """Take note of what some numbers are about; returns whose are known by now not to be finite."""
        # A sum can run over although all numbers are finite, so the one who is told must look again.
        finite = torch.stack([torch.isfinite(each.sum()) for each in numbers]).all()
        if not finite.is_cuda:
            return None if bool(finite) else subject
        answer = torch.empty((), dtype=torch.bool, pin_memory=True)
        answer.copy_(finite, non_blocking=True)
        known = torch.cuda.current_stream(finite.device).record_event()
        self._pending.append((known, answer, subject))
        return self._first_bad(wait=False)

    def settle(self) -> Subject | None:
        """Wait for all answers; returns the first whose numbers are not finite, if there is one."""
        return self._first_bad(wait=True)

    def _first_bad(self, *, wait: bool) -> Subject | None:
        while self._pending and (wait or self._pending[0][0].query()):
            known, answer, subject = self._pending.popleft()
            known.synchronize()
            if not bool(answer):
                return subject
        return None
