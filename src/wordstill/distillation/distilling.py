"""From text and a teacher to word vectors: the library call behind ``wordstill distill``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from wordstill.core.files import atomic_folder, refuse_existing, refuse_foreign
from wordstill.core.progress import Stopwatch
from wordstill.core.resume import working_folder
from wordstill.distillation.early_stopping import Development
from wordstill.distillation.run import DistillConfig, Run
from wordstill.errors import UsageError
from wordstill.formats.artifact import ARTIFACT, CARD, CONFIG, SUBWORDS, TENSORS, WORDS
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

REPLACEABLE = {TENSORS, WORDS, CONFIG, CARD, SUBWORDS, "evaluation.json"}
"""Files of a result; a folder with any other file is never overwritten."""


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
    development: Development | None = None,
    watch: Stopwatch | None = None,
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
        development: Judges methods that learn step by step after each epoch: they stop when it finds nothing
            better, and the best table is the result.
        watch: Measures where the time goes.

    Returns:
        The tables by label: the method's name, with the settings that were given.

    Raises:
        UsageError: A setting is wrong, the output exists, or another run is writing it.
        DataError: The text, a store or a checkpoint cannot be read, or the disk is full.
        TeacherError: The model cannot be loaded or gives numbers that are not finite.
        TrainingError: A method's numbers have run away; the last good state is kept.
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
            run = Run.load(
                inputs,
                config,
                Path(folder),
                progress=progress,
                checkpoints=False,
                development=development,
                watch=watch,
            )
            return run.tables(progress=progress)
    target = Path(out)
    refuse_existing(target, overwrite=overwrite)
    refuse_foreign(target, REPLACEABLE)
    with working_folder(target, resume=resume, overwrite=overwrite) as work:
        run = Run.load(inputs, config, work, progress=progress, development=development, watch=watch)
        tables = run.tables(resume=resume, progress=progress)
        write_artifacts(tables, target, overwrite=overwrite)
    return tables


def write_artifacts(tables: Mapping[str, WordVectors], out: Path, *, overwrite: bool = False) -> None:
    """Write one table as ``out``, or several into folders of it; all of them or none."""
    with atomic_folder(out, overwrite=overwrite) as folder:
        for label, table in tables.items():
            place = folder if len(tables) == 1 else folder / label
            # The format is named, because the suffix of an output such as vectors.v2 could name another one.
            table.save(place, ARTIFACT.name, overwrite=True)
