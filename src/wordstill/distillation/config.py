"""Settings of a distillation and of early stopping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from wordstill.core.settings import SEEDS, Config, Configured, Range, Spec, configure, field_kinds
from wordstill.corpus import PrepareConfig, VocabularyConfig
from wordstill.errors import UsageError
from wordstill.methods import LAYER, METHODS, Method, MethodRequest, MethodSpec, parse_specs, resolve_specs
from wordstill.methods.base import Length
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.batch import Unit
from wordstill.vectors import WordVectors


@dataclass(frozen=True)
class DistillConfig(Config):
    """Settings of a distillation: methods, teacher, vocabulary, and how text is prepared and read.

    Raises:
        UsageError: A setting is wrong, whatever the teacher.
    """

    methods: tuple[str, ...] = ("still",)
    """Methods with settings, for example ``still`` or ``ase:layer=all``."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How to prepare text that is not a store."""
    budget: Annotated[int | None, Range(1)] = None
    """Subwords in a batch; None takes 2,048 on a CPU and 131,072 on a GPU, or what its memory holds."""
    read: Unit = "sentence"
    """What the teacher reads at a time: a sentence, or a whole paragraph."""
    length: Length = "sentence"
    """Lengths of the vectors: the weight of each word in a sentence, one (``unit``), or as the method computes them
    (``raw``). Cosines between words do not depend on it."""
    window: Annotated[int | None, Range(1)] = None
    """Words of text among which batches of similar length are formed; None takes a default for the budget."""
    epochs: Annotated[int, Range(1)] = 1
    """How often trained methods read the text; the others read it once."""
    seed: Annotated[int, SEEDS] = 0
    seeds: Annotated[int, Range(1, 100)] = 1
    """Number of tables for each method that learns, made in one pass with seeds from ``seed`` on. They differ in the
    method's random choices; all read the text in the order of the first seed."""
    snapshots: tuple[int, ...] = ()
    """Numbers of words of text after which to make a table of every method too, ascending."""
    occurrences: OccurrenceConfig | None = None
    """Which occurrences to keep with the tables, for senses; None keeps none."""
    checkpoint_seconds: float = 120.0
    folds: Annotated[int | None, Range(0, 1000)] = None
    """Folds of documents, per group on average, for which to keep rows too; 0 keeps none. None takes 10 if the text has
    groups, 20 if there are words to track, else none."""
    enough: Annotated[int, Range(1)] = 20
    """Words that occur at least this often get rows by fold."""
    track: tuple[str, ...] = ()
    """Only these words get rows by fold, however rare; empty takes all that occur often enough."""

    def __post_init__(self) -> None:
        super().__post_init__()
        requests = self.requests
        if self.seeds > 1 and not any(request.kind.learns for request in requests):
            raise UsageError(f"{', '.join(self.methods)} is deterministic, so all seeds give the same table.")
        if self.folds or self.track:
            refuse_without_folds(requests)
        if self.track and self.folds == 0:
            raise UsageError("Words to track need folds; got folds=0.")
        if not self.snapshots:
            return
        if self.epochs > 1:
            raise UsageError(f"Snapshots are taken while the text is read once; got epochs={self.epochs}.")
        if not any(request.kind.reads_text for request in requests):
            raise UsageError(f"Snapshots are of text that is read, and {', '.join(self.methods)} reads none.")

    @cached_property
    def requests(self) -> list[MethodRequest]:
        """The methods as parsed, before the teacher's layers are known."""
        return parse_specs(self.methods, METHODS)

    def seeded(self, specs: Sequence[MethodSpec]) -> list[tuple[MethodSpec, int]]:
        """Each method with its seed; methods that learn are there once per seed, with the seed in their labels."""
        if self.seeds == 1:
            return [(spec, self.seed) for spec in specs]
        every = range(self.seed, self.seed + self.seeds)
        return [
            (replace(spec, label=f"{spec.label}-seed-{seed}") if spec.kind.learns else spec, seed)
            for spec in specs
            for seed in (every if spec.kind.learns else (self.seed,))
        ]

    def specs(self, teacher: Teacher) -> list[MethodSpec]:
        """The methods with all their settings for a teacher, one for each layer.

        Raises:
            UsageError: The teacher lacks a layer, a size or a mask token that a method needs.
        """
        specs = [_with_own_pooling(spec, teacher) for spec in resolve_specs(self.requests, METHODS, teacher.depth)]
        for spec in specs:
            spec.kind.check(spec.config, teacher.width)
            if getattr(spec.config, "masked", 0) and teacher.tokenizer.mask_id is None:
                raise UsageError(
                    f"{spec.label}: the teacher {teacher.config.name} has no mask token for the masked words. "
                    "Set masked=0, or choose a masked language model with --teacher (teacher=)."
                )
        if self.occurrences is not None:
            self.occurrences.at_depth(teacher.depth)
        return specs


def _with_own_pooling(spec: MethodSpec, teacher: Teacher) -> MethodSpec:
    """The method with the teacher's own pooling in place of ``target=own``."""
    if getattr(spec.config, "target", None) != "own":
        return spec
    return replace(spec, config=replace(spec.config, target=teacher.pooling))


def refuse_without_folds(specs: Sequence[Configured[Method]]) -> None:
    """Refuse methods that cannot make rows for parts of a text."""
    for spec in specs:
        if not spec.kind.has_folds(spec.config):
            able = [name for name, kind in METHODS.items() if kind.has_folds(_usual(kind))]
            raise UsageError(
                f"{spec.label} keeps no sums that could be divided by group or fold; {', '.join(able)} do. Use one of "
                "them, or --folds 0 (folds=0)."
            )


def _usual(kind: type[Method]) -> object:
    return configure(Spec(kind.name, {}), kind, **({LAYER: 0} if LAYER in field_kinds(kind.config_type) else {})).config


PARTS: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "teacher": (TeacherConfig, {"teacher": "name", "device": "device", "dtype": "dtype"}),
    "vocabulary": (
        VocabularyConfig,
        {"min_count": "min_count", "max_vocab": "max_size", "words": "words", "key": "key"},
    ),
    "prepare": (PrepareConfig, {name: name for name in ("format", "field", "language", "segmenter", "group", "bins")}),
}
"""Arguments of `distill` by part of the config, with the name of each field there."""


def one_config(config: DistillConfig | None, **settings: Any) -> DistillConfig:
    """All settings, either from a config or from single settings."""
    given = {name: value for name, value in settings.items() if value is not None}
    if config is not None:
        if given:
            raise UsageError(
                f"{' and '.join(f'{name}=' for name in given)} cannot be combined with config=, which has its own. "
                "Set it in the DistillConfig, or omit config=."
            )
        return config
    for name in ("methods", "words"):
        if isinstance(given.get(name), str):
            given[name] = (given[name],)
        elif name in given:
            given[name] = tuple(given[name])
    if "teacher" in given:
        given["teacher"] = str(given["teacher"])
    parts: dict[str, Any] = {
        part: kind(**{inner: given.pop(name) for name, inner in names.items() if name in given})
        for part, (kind, names) in PARTS.items()
    }
    return DistillConfig(**parts | given)


@dataclass(frozen=True)
class EarlyStopping:
    """Early stopping by a score on development data; the best table of each method is its result."""

    score: Callable[[WordVectors], float]
    """Scores a table, higher is better; never on a test set."""
    patience: int = 1
    """Epochs without improvement after which a method stops."""
    source: Mapping[str, str] = field(default_factory=dict)
    """The origin of the score, such as the name and checksum of a file; recorded with the result."""
    check_words: Callable[[Sequence[str]], object] = lambda words: None
    """Called with the vocabulary before the first batch; raises if a table of these words cannot be scored."""
    every: int | None = None
    """Also score every so many words, for a training curve; only tables after an epoch can be kept."""

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise UsageError(f"patience must be at least 1 epoch; got {self.patience}.")
        if self.every is not None and self.every < 1:
            raise UsageError(f"every must be at least 1 word; got {self.every}.")

    @property
    def facts(self) -> dict[str, Any]:
        """Its settings as plain data, for the recipe."""
        every = {} if self.every is None else {"every": self.every}
        return {**self.source, "patience": self.patience, **every}

    def times(self, words: int, epochs: int) -> int:
        """The maximum number of scores of a method in a run over a text of so many words."""
        return epochs + (0 if self.every is None else words * epochs // self.every)

    def validate(self, config: DistillConfig) -> None:
        """Raise a `UsageError` if there is nothing to choose: no method that learns, or a single epoch."""
        if not any(request.kind.learns for request in config.requests):
            raise UsageError(
                "A development set chooses among the epochs of trained methods, but "
                f"{', '.join(config.methods)} reads the text once. Omit --development (early_stopping=), or "
                "add a method such as x2static."
            )
        if config.epochs < 2 and self.every is None:
            raise UsageError(
                "A development set chooses among epochs, and there is only one. Set --epochs (epochs=) to 2 "
                "or more, score during the epoch with --score-every (every=), or omit --development "
                "(early_stopping=)."
            )

    def score_during(self, methods: Sequence[Method], before: int, after: int) -> None:
        """Score every method if a batch crossed a multiple of ``every`` words, counted over all epochs."""
        if self.every is not None and after // self.every > before // self.every:
            for method in methods:
                method.score_now(self.score)

    def should_stop(self, methods: Sequence[Method], epoch: int) -> bool:
        """Score every method after an epoch, counted from 1; returns whether all have run out of patience."""
        # A list, not a generator, because every method must be scored.
        stopped = [method.score_epoch(epoch, self.score, self.patience) for method in methods]
        return all(stopped)
