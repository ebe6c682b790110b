"""From text and a teacher to word vectors: the library call behind ``wordstill distill``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from wordstill.checkpoint import CheckpointFile, Progress
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig, is_store, prepare
from wordstill.engine import Engine, Stage, distinct_words
from wordstill.errors import UsageError
from wordstill.files import atomic_folder, refuse_existing, remove
from wordstill.methods import METHODS, Method, Setup, read_specs
from wordstill.recipe import Recipe
from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, TextBatches, WordListBatches, piece_source
from wordstill.vectors import WordVectors

CHECKPOINT = "checkpoint.safetensors"
STORE = "store"


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
    """Sub-words in a batch; None takes 8,192 on a CPU and 131,072 on a GPU."""
    seed: int = 0
    checkpoint_seconds: float = 120.0


def distill(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    methods: Sequence[str] = ("still",),
    teacher: str | Path = TeacherConfig.name,
    config: DistillConfig | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> dict[str, WordVectors]:
    """Distil a teacher over text into word vectors, one table for each method.

    Args:
        inputs: A prepared store, or text files, folders and globs of them, which are prepared first.
        out: Folder for the result; None keeps it in memory. With one method it is the artefact itself, with several
            it has a folder for each.
        methods: What to make; ignored if ``config`` is given, like ``teacher``.
        teacher: A model's name or folder.
        config: All settings.
        resume: Go on with a run that was stopped.
        overwrite: Replace an existing result, or throw away a stopped run.
        progress: Show progress bars.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", "vectors")["still"]  # doctest: +SKIP
    """
    config = config or DistillConfig(methods=tuple(methods), teacher=TeacherConfig(str(teacher)))
    if out is None:
        with TemporaryDirectory(prefix="wordstill-") as folder:
            return Run.load(inputs, config, Path(folder), progress=progress).tables(progress=progress)
    target = Path(out)
    work = _working_folder(target, resume=resume, overwrite=overwrite)
    tables = Run.load(inputs, config, work, progress=progress).tables(resume=resume, progress=progress)
    write_artefacts(tables, target, overwrite=overwrite)
    remove(work)
    return tables


class Run:
    """A distillation that is ready to start.

    Args:
        teacher: The model.
        corpus: The text.
        config: All settings; the teacher's and the text's own are not looked at.
        work: Folder for checkpoints; None saves none.
    """

    def __init__(self, teacher: Teacher, corpus: Corpus, config: DistillConfig, work: Path | None = None) -> None:
        self.teacher, self.corpus = teacher, corpus
        specs = read_specs(config.methods, METHODS, teacher.depth)
        self.vocabulary = Vocabulary.build(corpus, config.vocabulary)
        usual = 131_072 if teacher.device.type == "cuda" else 8_192
        self.batches = BatchConfig(config.budget or usual, teacher.limit)
        self.recipe = Recipe.resolve(corpus, teacher, self.vocabulary, specs, self.batches, config.seed)
        setup = Setup(self.vocabulary, teacher.width, teacher.depth, teacher.device, config.seed)
        self.methods: dict[str, Method] = {spec.label: spec.build(setup) for spec in specs}
        checkpoint = CheckpointFile(work / CHECKPOINT, self.recipe.to_json()) if work is not None else None
        self.engine = Engine(teacher, self.methods, self._stages(), checkpoint, config.checkpoint_seconds)

    @classmethod
    def load(
        cls, inputs: str | Path | Sequence[str | Path], config: DistillConfig, work: Path, *, progress: bool
    ) -> Run:
        """Load the teacher, open or prepare the text, and build the run."""
        teacher = Teacher.from_config(config.teacher)
        corpus = open_or_prepare(inputs, config.prepare, work, progress=progress)
        return cls(teacher, corpus, config, work)

    def tables(self, *, resume: bool = False, progress: bool = False) -> dict[str, WordVectors]:
        """Read everything and finish every method."""
        done = self.engine.run(resume=resume, show_progress=progress)
        return {label: self._finish(label, method, done) for label, method in self.methods.items()}

    def _finish(self, label: str, method: Method, done: Progress) -> WordVectors:
        table = method.finish()
        provenance = self.recipe.provenance(label) | {"cut_sentences": done.cut}
        return WordVectors(table.words, table.matrix, counts=table.counts, provenance=provenance)

    def _stages(self) -> list[Stage]:
        subwords = self.teacher.subwords
        stages = []
        alone = [method for method in self.methods.values() if len(method.words_alone())]
        if alone:
            ids = distinct_words(alone)
            words = [self.vocabulary.surfaces[number] for number in ids]
            batches = WordListBatches(words, ids, subwords, self.batches)
            stages.append(Stage("words alone", batches, alone, alone=True, words=len(words)))
        readers = [method for method in self.methods.values() if method.reads_text]
        if readers:
            source = piece_source(self.corpus, subwords)
            text = TextBatches(self.corpus, self.vocabulary, source, subwords, self.batches)
            stages.append(Stage("text", text, readers, alone=False, words=self.corpus.n_words))
        return stages


def open_or_prepare(
    inputs: str | Path | Sequence[str | Path], config: PrepareConfig, work: Path, *, progress: bool
) -> Corpus:
    """A store is opened and checked; anything else is prepared into one."""
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    if len(paths) == 1 and is_store(paths[0]):
        return Corpus.open(paths[0], verify=True)
    store = work / STORE
    return Corpus.open(store, verify=True) if store.exists() else prepare(paths, store, config, progress=progress)


def write_artefacts(tables: Mapping[str, WordVectors], out: Path, *, overwrite: bool = False) -> None:
    """Write one table as ``out``, or several into folders of it; all of them or none."""
    if len(tables) == 1:
        next(iter(tables.values())).save(out, overwrite=overwrite)
        return
    with atomic_folder(out, overwrite=overwrite) as folder:
        for label, table in tables.items():
            table.save(folder / label)


def _working_folder(out: Path, *, resume: bool, overwrite: bool) -> Path:
    refuse_existing(out, overwrite=overwrite)
    work = out.with_name(f"{out.name}.partial")
    if work.exists() and not resume:
        if not overwrite:
            raise UsageError(
                f"{work} holds a run that was stopped. Go on with it by --resume, or throw it away by --overwrite."
            )
        remove(work)
    work.mkdir(parents=True, exist_ok=True)
    return work
