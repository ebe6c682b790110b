"""A teacher that reads words, each alone: what a `TeacherBackoff` asks for words that a table lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from wordstill.teacher import Teacher

BUDGET = 2048


class WordsAlone:
    """Gives words the mean state of their sub-words; the model is loaded when the first are asked for.

    Args:
        teacher: A teacher, or its folder or name.
        layer: Which layer's states; None takes the last.
    """

    def __init__(self, teacher: str | Teacher, layer: int | None = None) -> None:
        self._given, self._layer = teacher, layer

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher."""
        if not isinstance(self._given, str):
            return self._given
        from wordstill.teacher import Teacher

        return Teacher.from_pretrained(self._given)

    def __call__(self, words: Sequence[str]) -> NDArray[np.float32]:
        """The states (words, width), zeros for words without sub-words."""
        from wordstill.teacher import BatchConfig, WordListBatches

        teacher = self.teacher
        layer = teacher.depth if self._layer is None else self._layer
        ids = np.arange(len(words), dtype=np.int64)
        batches = WordListBatches(words, ids, teacher.subwords, BatchConfig(BUDGET, teacher.limit))
        read = np.zeros((len(words), teacher.width), dtype=np.float32)
        for _, batch in batches.since((0, 0)):
            states = teacher.encode(batch, (layer,))
            read[states.word_ids.cpu().numpy()] = states.words(layer).cpu().numpy()
        return read
