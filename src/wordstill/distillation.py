"""From text and a teacher to word vectors: the library call behind ``wordstill distill``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np

from wordstill.checkpoint import CHECKPOINT as CHECKPOINT
from wordstill.checkpoint import CheckpointFile, Progress, refuse_change, working_folder
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig, is_store, prepare
from wordstill.corpus.sources import find_sources
from wordstill.engine import Engine, Stage
from wordstill.errors import DataError, UsageError, unknown_name
from wordstill.files import atomic_folder, disk_errors, refuse_existing, refuse_foreign
from wordstill.formats.artefact import ARTEFACT, CARD, CONFIG, TENSORS, WORDS
from wordstill.methods import METHODS, Method, Setup, check_specs, read_specs
from wordstill.recipe import Recipe
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, TextBatches, WordListBatches, piece_source
from wordstill.teacher.batches import Unit
from wordstill.vectors import WordVectors

SENTENCE_ENDS = (".", "?", "!")
EPOCH_STRIDE = 1_000_003
STORE = "store"
TEXT = "text.json"
REPLACEABLE = {TENSORS, WORDS, CONFIG, CARD, "evaluation.json"}
"""Files of a result; a folder with any other file is never overwritten."""


@dataclass(frozen=True)
class DistillConfig:
    """Settings of a whole distillation; each part has the defaults of its room."""

    methods: tuple[str, ...] = ("still",)
    """What to make, for example ``still`` or ``ase:layer=all``."""
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How text that is not a store yet is prepared."""
    budget: int | None = None
    """Sub-words in a batch; None takes 2,048 on a CPU and 131,072 on a GPU."""
    read: Unit = "paragraph"
    """What the teacher reads as one text: whole paragraphs, or each sentence by itself."""
    epochs: int = 1
    """How often methods that learn step by step read the text; those that keep sums read it once."""
    seed: int = 0
    checkpoint_seconds: float = 120.0

    def __post_init__(self) -> None:
        check_specs(self.methods, METHODS)
        if self.budget is not None and self.budget < 1:
            raise UsageError(f"A batch must have at least 1 sub-word; got a budget of {self.budget}.")
        if self.read not in get_args(Unit):
            raise unknown_name("unit to read", self.read, get_args(Unit))
        if self.epochs < 1:
            raise UsageError(f"The text must be read at least once; got {self.epochs} epochs.")


def distill(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    methods: str | Sequence[str] = ("still",),
    teacher: str | Path = TeacherConfig.name,
    config: DistillConfig | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> dict[str, WordVectors]:
    """Distil a teacher over text into word vectors, one table for each method.

    Args:
        inputs: A prepared store, or text files, folders and globs of them, which are prepared first.
        out: Folder for the result; None keeps it in memory. With one method it is the artefact itself, with
            several it has a folder for each. While the run goes on, its work is in ``OUT.partial``.
        methods: What to make; ignored if ``config`` is given, like ``teacher``.
        teacher: A model's name or folder.
        config: All settings.
        resume: Go on with a run that was stopped; one that was not started yet is started.
        overwrite: Replace an existing result, or throw away a stopped run.
        progress: Show progress bars.

    Returns:
        The tables by label: the method's name, with the settings that were given.

    Raises:
        UsageError: A setting is wrong, or the output exists.
        DataError: The text, a store or a checkpoint cannot be read, or the disk is full.
        TeacherError: The model cannot be loaded or gives numbers that are not finite.
        Interrupted: Ctrl-C or SIGTERM came; the run can be resumed.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", "vectors")["still"]  # doctest: +SKIP
    """
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    config = config or DistillConfig(methods=names, teacher=TeacherConfig(str(teacher)))
    if out is None:
        if resume:
            raise UsageError("A run without an output saves nothing, so it cannot be resumed. Give out=.")
        with TemporaryDirectory(prefix="wordstill-") as folder:
            run = Run.load(inputs, config, Path(folder), progress=progress, checkpoints=False)
            return run.tables(progress=progress)
    target = Path(out)
    refuse_existing(target, overwrite=overwrite)
    refuse_foreign(target, REPLACEABLE)
    with working_folder(target, resume=resume, overwrite=overwrite) as work:
        run = Run.load(inputs, config, work, progress=progress)
        tables = run.tables(resume=resume, progress=progress)
        write_artefacts(tables, target, overwrite=overwrite)
    return tables


class Run:
    """A distillation that is ready to start.

    Args:
        teacher: The model.
        corpus: The text.
        config: All settings; the teacher's and the text's own are not looked at.
        work: Folder for checkpoints; None saves none.
    """

    def __init__(
        self, teacher: Teacher, corpus: Corpus, config: DistillConfig, work: Path | None = None
    ) -> None:
        self.teacher, self.corpus = teacher, corpus
        specs = read_specs(config.methods, METHODS, teacher.depth)
        self.vocabulary = Vocabulary.build(corpus, config.vocabulary)
        usual = 131_072 if teacher.device.type == "cuda" else 2_048
        budget = usual if config.budget is None else config.budget
        self.batches = BatchConfig(budget, teacher.limit, config.read)
        self.config = config
        self.recipe = Recipe.resolve(
            corpus, teacher, self.vocabulary, specs, self.batches, config.seed, config.epochs
        )
        setup = Setup(
            self.vocabulary,
            teacher.width,
            teacher.depth,
            teacher.device,
            seed=config.seed,
            words=corpus.n_words,
            epochs=config.epochs,
            sentence_ends=teacher.subwords.ids_of(SENTENCE_ENDS),
        )
        self.methods: dict[str, Method] = {spec.label: spec.build(setup) for spec in specs}
        checkpoint = CheckpointFile(work / CHECKPOINT, self.recipe.to_json()) if work is not None else None
        self.engine = Engine(teacher, self.methods, self._stages(), checkpoint, config.checkpoint_seconds)

    @classmethod
    def load(
        cls,
        inputs: str | Path | Sequence[str | Path],
        config: DistillConfig,
        work: Path,
        *,
        progress: bool,
        checkpoints: bool = True,
    ) -> Run:
        """Load the teacher, open or prepare the text, and build the run.

        Args:
            inputs: A store, or text to prepare.
            config: All settings.
            work: Folder for the prepared text and the checkpoints; made if it is not there.
            progress: Show a progress bar while the text is prepared.
            checkpoints: Whether the run saves its state there.
        """
        paths = _as_list(inputs)
        if not _is_one_store(paths):
            # Missing files are found here, before the teacher is loaded.
            find_sources(paths)
        teacher = Teacher.from_config(config.teacher)
        for spec in read_specs(config.methods, METHODS, teacher.depth):
            spec.method.check(spec.config, teacher.width)
        with disk_errors(work):
            work.mkdir(parents=True, exist_ok=True)
        corpus = open_or_prepare(paths, config.prepare, work, progress=progress)
        return cls(teacher, corpus, config, work if checkpoints else None)

    def tables(self, *, resume: bool = False, progress: bool = False) -> dict[str, WordVectors]:
        """Read everything and finish every method."""
        done = self.engine.run(resume=resume, show_progress=progress)
        return {label: self._finish(label, method, done) for label, method in self.methods.items()}

    def _finish(self, label: str, method: Method, done: Progress) -> WordVectors:
        table = method.finish()
        if not len(table):
            raise DataError(
                f"{label}: none of the {len(self.vocabulary)} words of the vocabulary got a vector; the "
                f"tokenizer of {self.teacher.config.name} gives no sub-words for them."
            )
        provenance = self.recipe.provenance(label) | {"cut_sentences": done.cut}
        return WordVectors(table.words, table.matrix, counts=table.counts, provenance=provenance)

    def _stages(self) -> list[Stage]:
        subwords = self.teacher.subwords
        stages = []
        alone = [method for method in self.methods.values() if len(method.words_alone())]
        if alone:
            ids = np.unique(np.concatenate([method.words_alone() for method in alone]))
            words = [self.vocabulary.surfaces[number] for number in ids]
            batches = WordListBatches(words, ids, subwords, self.batches)
            stages.append(Stage("words alone", batches, alone, alone=True, words=len(words)))
        readers = [method for method in self.methods.values() if method.reads_text]
        return stages + (self._text_stages(readers) if readers else [])

    def _text_stages(self, readers: list[Method]) -> list[Stage]:
        """The text once for everyone, and again for those that learn from reading it again."""
        learners = [method for method in readers if method.learns]
        source = piece_source(self.corpus, self.teacher.subwords)
        stages: list[Stage] = []
        for epoch in range(self.config.epochs if learners else 1):
            order = (self.config.seed + 1) * EPOCH_STRIDE + epoch if learners else None
            text = TextBatches(
                self.corpus, self.vocabulary, source, self.teacher.subwords, self.batches, order
            )
            title = f"text, epoch {epoch + 1}" if len(stages) or self.config.epochs > 1 else "text"
            methods = learners if epoch else readers
            stages.append(Stage(title, text, methods, alone=False, words=self.corpus.n_words))
        return stages


def open_or_prepare(
    inputs: str | Path | Sequence[str | Path], config: PrepareConfig, work: Path, *, progress: bool
) -> Corpus:
    """A store is opened and checked; anything else is prepared into one, which a resumed run finds again.

    Raises:
        DataError: The run that is resumed was started with other text or settings of it.
    """
    paths = _as_list(inputs)
    if _is_one_store(paths):
        return Corpus.open(paths[0], verify=True)
    refuse_change(work / TEXT, _text_facts(paths, config))
    store = work / STORE
    if store.exists():
        return Corpus.open(store, verify=True)
    return prepare(paths, store, config, progress=progress)


def write_artefacts(tables: Mapping[str, WordVectors], out: Path, *, overwrite: bool = False) -> None:
    """Write one table as ``out``, or several into folders of it; all of them or none."""
    with atomic_folder(out, overwrite=overwrite) as folder:
        for label, table in tables.items():
            place = folder if len(tables) == 1 else folder / label
            # The format is named, because the suffix of an output such as vectors.v2 could name another one.
            table.save(place, ARTEFACT.name, overwrite=True)


def _text_facts(paths: Sequence[str | Path], config: PrepareConfig) -> dict[str, Any]:
    """What text is prepared and how, to tell whether a resumed run is about the same."""
    sizes = {
        source.name if source.path is None else str(source.path.resolve()): source.size
        for source in find_sources(paths)
    }
    return {"bytes of": sizes, "settings": asdict(config)}


def _as_list(inputs: str | Path | Sequence[str | Path]) -> list[str | Path]:
    return [inputs] if isinstance(inputs, str | Path) else list(inputs)


def _is_one_store(paths: Sequence[str | Path]) -> bool:
    return len(paths) == 1 and is_store(paths[0])
