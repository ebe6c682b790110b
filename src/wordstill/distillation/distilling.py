"""From text and a teacher to word vectors: `distill` loads both, `distill_from_teacher` runs the methods."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wordstill.core.files import refuse_existing, refuse_foreign
from wordstill.core.object_stores import Output
from wordstill.core.progress import NullProfiler, Profiler
from wordstill.core.resume import CHECKPOINT, SETTINGS, read_record, temporary_folder, working_folder, write_record
from wordstill.corpus import Corpus
from wordstill.corpus.preparation import Inputs, as_list, check_inputs
from wordstill.corpus.vocabulary import KeyRule
from wordstill.distillation.config import DistillConfig, EarlyStopping, one_config
from wordstill.distillation.plan import make_plan, with_tables
from wordstill.distillation.text_in_advance import preparing
from wordstill.errors import UsageError, WordstillError
from wordstill.formats.artifact import ARTIFACT, REPLACEABLE, place_of, read_artifacts, write_artifacts
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.batch import Unit
from wordstill.teacher.device import to_arrays
from wordstill.vectors import WordVectors

log = logging.getLogger("wordstill")


def distill(
    inputs: Inputs,
    out: str | Path | None = None,
    *,
    methods: str | Sequence[str] | None = None,
    teacher: str | Path | None = None,
    device: str | None = None,
    dtype: str | None = None,
    min_count: int | None = None,
    max_vocab: int | None = None,
    words: Sequence[str] | None = None,
    key: KeyRule | None = None,
    format: str | None = None,
    field: str | None = None,
    language: str | None = None,
    segmenter: str | None = None,
    group: str | None = None,
    bins: str | None = None,
    folds: int | None = None,
    read: Unit | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    occurrences: int | OccurrenceConfig | None = None,
    config: DistillConfig | None = None,
    resume: bool | None = None,
    overwrite: bool = False,
    progress: bool = False,
    early_stopping: EarlyStopping | None = None,
    profiler: Profiler | None = None,
) -> dict[str, WordVectors]:
    """Distill a teacher over text into word vectors, one table for each method.

    Args:
        inputs: A prepared store, or text files, folders and globs of them, which are prepared first.
        out: Folder or address for the result; None keeps it in memory. With one method, it is the table; with several,
            or with snapshots, it has a folder for each table. Until it is complete, the work is in ``OUT.partial``, and
            a stopped run resumes from there.
        methods: Methods with settings, by default ``still``.
        teacher: A model's name or folder, by default the embedded one.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        min_count: Rarer words get no vector, by default 5.
        max_vocab: Keep only this many of the most frequent words.
        words: Words or phrases that get a vector however rare they are.
        key: ``lower`` (the default) merges case variants of a word, ``none`` keeps them apart.
        format: Format of the files, by default detected by their names and first bytes.
        field: JSONL field, or CSV or Parquet column, with the text, by default ``text``.
        language: Keep only paragraphs in this language, such as ``en``.
        segmenter: How text is split into words: ``words``, ``possessives``, ``chinese``, ``japanese`` or ``thai``.
        group: What to group documents by: a JSONL field or a column, ``folder`` or ``file:REGEX``.
        bins: Bins for groups that are dates: ``month``, ``year``, ``decade``, ``century`` or a number of years.
        folds: Folds of documents per group, for intervals and tests; by default 10 if there are groups.
        read: What the teacher reads at a time: ``sentence`` (the default) or ``paragraph``.
        epochs: Passes over the text for trained methods; the others read it once.
        seed: Random seed.
        occurrences: Keep this many occurrences of each word with the tables, for `wordstill.analysis.senses`; or an
            `OccurrenceConfig`, which can also choose words and layer.
        config: All settings, including those without an argument here; the arguments above are then refused.
        resume: Return a complete result if it was made from the same text and settings, instead of raising; with
            ``overwrite``, replace it, but resume a stopped run. (Stopped runs are always resumed without
            ``overwrite``.)
        overwrite: Replace an existing result, and discard a stopped run.
        progress: Show progress bars.
        early_stopping: Scores trained methods after each epoch: they stop when the score no longer improves, and the
            best table is the result.
        profiler: Measures where the time goes.

    Returns:
        The tables by label: the method's name, with the given settings.

    Raises:
        UsageError: A setting is invalid or given twice, the output exists, or another run is writing it.
        DataError: The text, a store or a checkpoint cannot be read, a stopped run had other settings, or the
            disk is full.
        TeacherError: The model cannot be loaded, or gives non-finite numbers.
        TrainingError: A method diverged; the last good checkpoint is kept.
        Interrupted: Ctrl-C or SIGTERM; the run can be resumed.

    Example:
        >>> from wordstill import distill
        >>> vectors = distill("corpus.txt", "vectors")["still"]  # doctest: +SKIP
    """
    settings = one_config(
        config,
        methods=methods,
        teacher=teacher,
        device=device,
        dtype=dtype,
        min_count=min_count,
        max_vocab=max_vocab,
        words=words,
        key=key,
        format=format,
        field=field,
        language=language,
        segmenter=segmenter,
        group=group,
        bins=bins,
        folds=folds,
        read=read,
        epochs=epochs,
        seed=seed,
        occurrences=OccurrenceConfig(occurrences) if isinstance(occurrences, int) else occurrences,
    )
    output = None if out is None else Output.at(out, overwrite=overwrite)
    target = None if output is None else output.path
    if resume and not overwrite and target is not None and is_finished(target):
        return finished(inputs, target, settings, progress=progress, early_stopping=early_stopping)
    if target is not None:
        refuse_foreign(target, REPLACEABLE)
        restart = overwrite and not resume
        place = working_folder(target, "distill", overwrite=overwrite, restart=restart, worth=CHECKPOINT)
    elif resume:
        raise UsageError("A run without an output saves nothing, so it cannot be resumed. Pass out=.")
    else:
        place = temporary_folder()
    with place as work:
        loaded, corpus = load(
            inputs, settings, work.path, progress=progress, early_stopping=early_stopping, profiler=profiler
        )
        plan = make_plan(loaded, corpus, settings, None if target is None else work.path, early_stopping, profiler)
        tables = plan.run(resume=True, progress=progress)
        if output is not None and target is not None:
            with plan.engine.save_on_failure(), plan.engine.profiler.part("writing the tables"):
                methods_of = with_tables(plan.engine.methods)
                attention = {label: to_arrays(method.attention()) for label, method in methods_of.items()}
                write_artifacts(tables, target, attention, overwrite=work.overwrite)
                result = output.publish()
            for label in tables if settings.snapshots else ():
                # Snapshots were loaded from the working folder, which is removed.
                tables[label] = WordVectors.load(place_of(label, tables, result), ARTIFACT.name)
    return tables


def is_finished(out: Path) -> bool:
    """Whether there is an output, and no stopped run that would replace it."""
    return out.exists() and not out.with_name(f"{out.name}.partial").exists()


def finished(
    inputs: Inputs,
    out: Path,
    config: DistillConfig,
    *,
    progress: bool = False,
    early_stopping: EarlyStopping | None = None,
) -> dict[str, WordVectors]:
    """The tables of a complete output.

    Raises:
        UsageError: It was made from other text or with other settings, or is not a result of `distill`.
    """
    try:
        found = read_artifacts(out)
    except WordstillError:
        found = {}
    if not found:
        refuse_existing(out, overwrite=False)
    with temporary_folder() as work:
        teacher, corpus = load(inputs, config, work.path, progress=progress, early_stopping=early_stopping)
        recipe = make_plan(teacher, corpus, config, None, early_stopping).recipe
    tables = {label: found.get(place_of(label, found, out).name) for label in recipe.methods}
    for label, table in tables.items():
        different = "it is not there" if table is None else recipe.changes(label, table.provenance)
        if different:
            raise UsageError(
                f"{out} exists already, and is not the result of these settings and this text: {label}: {different}. "
                "Choose another output, or add --overwrite (overwrite=True)."
            )
    log.info("%s is complete already: it was made from this text with these settings.", out)
    return {label: table for label, table in tables.items() if table is not None}


def distill_from_teacher(
    teacher: Teacher,
    corpus: Corpus,
    methods: str | Sequence[str] | None = None,
    *,
    config: DistillConfig | None = None,
    work: Path | None = None,
    resume: bool = False,
    progress: bool = False,
    early_stopping: EarlyStopping | None = None,
    profiler: Profiler | None = None,
) -> dict[str, WordVectors]:
    """Distill a loaded teacher over prepared text: what `distill` does after loading both.

    Args:
        teacher: The model.
        corpus: The text.
        methods: Methods with settings, by default ``still``.
        config: All settings, including the methods; those for preparing text have no effect.
        work: Folder for checkpoints; None saves none.
        resume: Continue from the checkpoint in ``work``, if there is one.
        progress: Show progress bars.
        early_stopping: Scores methods that learn after each epoch; None reads all epochs.
        profiler: Measures where the time goes.

    Returns:
        The tables by label, as from `distill`.

    Raises:
        UsageError: A setting is invalid or given twice.

    Example:
        >>> from wordstill import distill_from_teacher, prepare
        >>> from wordstill.teacher import Teacher
        >>> teacher = Teacher.from_pretrained("bert-base-uncased")  # doctest: +SKIP
        >>> tables = distill_from_teacher(teacher, prepare("corpus.txt", "store"), "ase")  # doctest: +SKIP
    """
    settings = one_config(config, methods=methods)
    if settings.teacher not in (teacher.config, TeacherConfig()):
        raise UsageError(
            f"The teacher is {teacher.config}, but config names {settings.teacher}. Remove teacher= from the "
            "DistillConfig."
        )
    plan = make_plan(teacher, corpus, settings, work, early_stopping, profiler)
    return plan.run(resume=resume, progress=progress)


def load(
    inputs: Inputs,
    config: DistillConfig,
    work: Path,
    *,
    progress: bool = False,
    early_stopping: EarlyStopping | None = None,
    profiler: Profiler | None = None,
) -> tuple[Teacher, Corpus]:
    """Check the settings, then load the teacher while another process prepares the text, or open the store."""
    if early_stopping is not None:
        early_stopping.validate(config)
    paths = as_list(inputs)
    check_inputs(paths, config.prepare)
    profiler = profiler or NullProfiler()
    # Folds need documents.
    prepare = replace(config.prepare, documents=True) if config.folds or config.track else config.prepare
    with preparing(paths, prepare, work, progress=progress) as text:
        with profiler.part("loading the teacher"):
            teacher = load_teacher(config.teacher, work)
        profiler.notes["precision"] = f"{teacher.choice.name}, {teacher.choice.reason}"
        steps = ", ".join(f"{name} {spent:.1f} s" for name, spent in teacher.loading.seconds.items())
        profiler.notes["loading"] = steps
        config.specs(teacher)
        with profiler.part("preparing the text"):
            corpus = text.wait()
    if text.seconds is not None:
        profiler.notes["text"] = f"prepared in {text.seconds:.1f} s, beginning before the teacher was loaded"
    return teacher, corpus


def load_teacher(config: TeacherConfig, work: Path) -> Teacher:
    """The teacher of a run; a resumed run keeps its precision and kernels."""
    path = work / SETTINGS
    record = read_record(path) if path.exists() else {}
    teacher = Teacher.from_config(config, record.get("precision"))
    # Not overwritten: a run that is refused later must not change the precision of those that share the folder.
    if "precision" not in record:
        write_record(path, {**record, "precision": teacher.choice.name})
    return teacher
