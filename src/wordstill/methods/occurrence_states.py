"""States of chosen occurrences, kept while the teacher reads for other methods."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.core.settings import Config, Range
from wordstill.corpus import Vocabulary
from wordstill.corpus.dealing import ChosenOccurrences, place_code, places
from wordstill.errors import DataError, UsageError
from wordstill.methods.base import Observer, RunContext
from wordstill.methods.sums import Accumulator
from wordstill.teacher.states import WordStates
from wordstill.vectors import WordVectors
from wordstill.vectors.occurrences import Occurrences


@dataclass(frozen=True)
class OccurrenceConfig(Config):
    """Which occurrences to keep with the tables of a run."""

    number: Annotated[int, Range(1, 100_000)] = 50
    """Maximum occurrences of each word, chosen at random."""
    min_count: Annotated[int, Range(1)] = 20
    """Only words that occur at least this often."""
    words: tuple[str, ...] = ()
    """Only these words, however rare; empty takes all that are frequent enough."""
    layer: Annotated[int | None, Range(0, 1_000)] = None
    """The layer of the states; None takes the second to last, which distinguishes uses best."""

    def at_depth(self, depth: int) -> OccurrenceConfig:
        """The same settings with a layer for a teacher whose last layer has the number ``depth``.

        Raises:
            UsageError: It has no such layer.
        """
        layer = max(1, depth - 1) if self.layer is None else self.layer
        if layer > depth:
            raise UsageError(f"Occurrences are to be kept of layer {layer}, but the teacher's last layer is {depth}.")
        return replace(self, layer=layer)

    def facts(self) -> dict[str, Any]:
        """The settings as plain data, with a hash of the words."""
        listed = hashlib.sha256("\n".join(self.words).encode()).hexdigest() if self.words else None
        return {**asdict(self), "words": len(self.words), "words_sha256": listed}

    def word_ids(self, vocabulary: Vocabulary) -> Ints:
        """Ids of the words whose occurrences to keep.

        Raises:
            UsageError: There are none.
        """
        if not self.words:
            found = np.flatnonzero(vocabulary.counts >= self.min_count)
            if not len(found):
                most = int(vocabulary.counts.max(initial=0))
                raise UsageError(
                    f"No word occurs {self.min_count} times, the most frequent one {most} times, so no occurrence "
                    "would be kept. Name words with --occurrences-of FILE."
                )
            return found
        known = [word for word in self.words if word in vocabulary]
        if missing := [word for word in self.words if word not in vocabulary]:
            shown = ", ".join(map(repr, missing[:3])) + (", ..." if len(missing) > 3 else "")
            what = f"{len(missing)} of {len(self.words)} words whose occurrences are to be kept get no vector ({shown})"
            if not known:
                raise UsageError(f"{what}. Add them with --words, or lower --min-count.")
            warnings.warn(f"{what}; none of theirs is kept.", stacklevel=2)
        return np.array([vocabulary.id(word) for word in known], dtype=np.int64)


class KeptStates:
    """A float16 state for each of a fixed number of slots. Memory: slots x width x 2 bytes, on the host."""

    def __init__(self, slots: int, width: int) -> None:
        self.states = torch.zeros(slots, width, dtype=torch.float16)
        # Not bool, which checkpoints do not support.
        self.filled = torch.zeros(slots, dtype=torch.uint8)

    def put(self, slots: Tensor, states: Tensor) -> None:
        """Fill slots [n] with states [n, width]."""
        self.states[slots] = states.to("cpu", torch.float16)
        self.filled[slots] = 1

    def state_dict(self) -> dict[str, Tensor]:
        """States [slots, width], and which slots are filled."""
        return {"states": self.states, "filled": self.filled}

    def merge(self, other: Accumulator) -> None:
        """Copy the filled slots of another one."""
        theirs = other.state_dict()
        filled = theirs["filled"] > 0
        self.states[filled] = theirs["states"][filled]
        self.filled |= theirs["filled"]


class OccurrenceStates(Observer):
    """States of a sample of each word's occurrences, which is chosen before anything is read.

    It makes no table; the states are saved with the tables of a run, for ``wordstill senses``.

    Inputs: running text, and the chosen occurrences (`choose_occurrences`).
    Cost: one binary search and one copy per batch; memory slots x (2 width + 9) bytes, and as much on disk.
    """

    name: ClassVar[str] = "occurrences.v1"
    label: ClassVar[str] = "occurrences"
    config_type: ClassVar[type[OccurrenceConfig]] = OccurrenceConfig
    config: OccurrenceConfig

    def __init__(self, config: OccurrenceConfig, run: RunContext, chosen: ChosenOccurrences) -> None:
        super().__init__(config, run)
        settled = config.at_depth(run.depth).layer
        assert settled is not None
        self.chosen, self.layer = chosen, settled
        self.kept = KeptStates(len(chosen), run.width)
        self.parts = {"occurrences": self.kept}
        order = np.argsort(chosen.codes, kind="stable")
        self._codes = torch.from_numpy(chosen.codes[order]).to(run.device)
        self._slots = torch.from_numpy(order).to(run.device)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layer in the settings, or the second to last."""
        return (self.layer,)

    def observe(self, states: WordStates) -> None:
        """Keep the states of the chosen words of a batch."""
        if not len(self._codes):
            return
        codes = place_code(*states.places(states.known))
        found = torch.searchsorted(self._codes, codes).clamp(max=len(self._codes) - 1)
        hits = torch.nonzero(self._codes[found] == codes).flatten()
        self.kept.put(self._slots[found[hits]].cpu(), states.words(self.layer)[states.known[hits]])

    def merge(self, other: Observer) -> None:
        """Copy the states that another run over the same text has kept."""
        if isinstance(other, OccurrenceStates) and not np.array_equal(self.chosen.codes, other.chosen.codes):
            raise UsageError("Occurrences of different texts cannot be merged. Distill the texts together.")
        super().merge(other)

    def attach(self, tables: Iterable[WordVectors]) -> None:
        """Attach the sample to tables."""
        sample = self.sample()
        for table in tables:
            table.occurrences = sample

    def sample(self) -> Occurrences:
        """The occurrences with a state, without words that have none."""
        states, filled = self.kept.states.numpy(), self.kept.filled.numpy() > 0
        if not np.isfinite(states[filled]).all():
            raise DataError(
                f"A state of layer {self.layer} is too large for float16. Keep occurrences of another layer."
            )
        chosen = self.chosen
        owner = np.repeat(np.arange(len(chosen.words)), np.diff(chosen.offsets))[filled]
        there, counts = np.unique(owner, return_counts=True)
        sentences, positions, sizes = places(chosen.codes[filled])
        return Occurrences(
            words=[self.run.vocabulary.keys[word] for word in chosen.words[there].tolist()],
            counts=self.run.vocabulary.counts[chosen.words[there]],
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            states=states if filled.all() else states[filled],
            sentences=sentences,
            positions=positions.astype(np.int32),
            sizes=sizes.astype(np.uint8),
            layer=self.layer,
        )
