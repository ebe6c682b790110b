"""Settings of a distillation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from wordstill.core.settings import SEEDS, Config, Range
from wordstill.corpus import PrepareConfig, VocabularyConfig
from wordstill.methods import METHODS
from wordstill.methods.base import Length
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.methods.specification import MethodRequest, MethodSpec, parse_specs, resolve_specs
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.batch import Unit
from wordstill.teacher.batches import Place


@dataclass(frozen=True)
class DistillConfig(Config):
    """Settings of a whole distillation; each part has the defaults of its room.

    Raises:
        UsageError: A setting is wrong, whatever the teacher.
    """

    methods: tuple[str, ...] = ("still",)
    """What to make, for example ``still`` or ``ase:layer=all``."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How text that is not a store yet is prepared."""
    budget: Annotated[int | None, Range(1)] = None
    """Subwords in a batch; None takes 2,048 on a CPU and 131,072 on a GPU, or what its memory holds."""
    read: Unit = "sentence"
    """What the teacher reads as one text: each sentence by itself, or whole paragraphs."""
    length: Length = "sentence"
    """What the lengths of vectors say: how much a word counts in a sentence, nothing (``unit``), or whatever the
    method gives (``raw``). Cosines between words do not depend on it."""
    batches: Place = "auto"
    """Where batches are made, with the same result: by threads of the host, or by a GPU, which is faster."""
    window: Annotated[int | None, Range(1)] = None
    """Words that are planned together, to put texts of like length into one batch; None suits the budget."""
    epochs: Annotated[int, Range(1)] = 1
    """How often methods that learn step by step read the text; those that keep sums read it once."""
    seed: Annotated[int, SEEDS] = 0
    occurrences: OccurrenceConfig | None = None
    """Which occurrences are kept beside the tables, for senses; None keeps none."""
    checkpoint_seconds: float = 120.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.requests

    @cached_property
    def requests(self) -> list[MethodRequest]:
        """The methods as parsed, before the teacher's layers are known."""
        return parse_specs(self.methods, METHODS)

    def specs(self, teacher: Teacher) -> list[MethodSpec]:
        """The methods with all their settings for a teacher, one for each layer.

        Raises:
            UsageError: A layer or a size does not suit the teacher.
        """
        specs = resolve_specs(self.requests, METHODS, teacher.depth)
        for spec in specs:
            spec.kind.check(spec.config, teacher.width)
        if self.occurrences is not None:
            self.occurrences.at_depth(teacher.depth)
        return specs
