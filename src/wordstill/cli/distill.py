"""``wordstill distill``."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli import options
from wordstill.cli.dry_run import show_dry_run
from wordstill.cli.failures import needs_models, warn
from wordstill.cli.options import flag, option
from wordstill.cli.printing import count_text, show_profile, show_result, time_text
from wordstill.core.object_stores import shown
from wordstill.core.progress import NullProfiler, Profiler
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.distillation.config import DistillConfig, EarlyStopping
    from wordstill.methods.occurrence_states import OccurrenceConfig
    from wordstill.scale import ScaleConfig
    from wordstill.vectors import WordVectors


EXAMPLES = """\
wordstill distill corpus.txt --out vectors
wordstill distill store --method still --method ase:layer=all --words my-words.txt --out vectors
wordstill distill store --method x2static:preset=paper --epochs 2 --out vectors
wordstill distill speeches.csv --group date --bins decade --out vectors
wordstill distill store --method ase --snapshots 1M,3M,10M --out sizes
wordstill distill store --occurrences 50 --out vectors
wordstill distill store --teacher ./my-model --out vectors --dry-run"""

LEARNING, RUN, OCCURRENCES, SCALE = "Learning", "Run", "Occurrences", "Several workers"


@dataclass(frozen=True)
class OccurrenceOptions:
    """Which occurrences are kept with the vectors."""

    occurrences: Annotated[
        int | None,
        option(
            "N",
            "Also keep N random occurrences of each word that occurs at least 20 times, for wordstill senses.",
            panel=OCCURRENCES,
            min=1,
        ),
    ] = None
    occurrences_of: Annotated[
        Path | None,
        option("FILE", "Keep occurrences of these words only, one per line, however rare.", panel=OCCURRENCES),
    ] = None
    occurrences_layer: Annotated[
        int | None, option("N", "Layer whose states to keep; by default the second to last.", panel=OCCURRENCES, min=0)
    ] = None

    def config(self) -> OccurrenceConfig | None:
        """The settings, checked by their room, with the words of the list; None if none are kept."""
        from wordstill.corpus import Vocabulary
        from wordstill.methods.occurrence_states import OccurrenceConfig

        if self.occurrences is None:
            if self.occurrences_of is not None or self.occurrences_layer is not None:
                raise UsageError("How many occurrences are kept? Add --occurrences N.")
            return None
        words = () if self.occurrences_of is None else Vocabulary.read_word_list(self.occurrences_of)
        return OccurrenceConfig(self.occurrences, words=words, layer=self.occurrences_layer)


@dataclass(frozen=True)
class ScaleOptions:
    """How the work is divided."""

    workers: Annotated[
        int | None,
        option(
            "N", "Read the text in N processes of this machine, one for each GPU or group of cores.", panel=SCALE, min=1
        ),
    ] = None
    ray: Annotated[
        str | None, option("ADDRESS", "Read the text on a Ray cluster: its address, or auto.", panel=SCALE)
    ] = None
    join: Annotated[
        bool, flag("Work on this run together with other machines that share the output folder.", "--join", panel=SCALE)
    ] = False
    keep_sums: Annotated[
        bool, flag("Keep the sums beside the table, for wordstill add, remove and merge.", "--keep-sums", panel=SCALE)
    ] = False
    skip_bad: Annotated[bool, flag("Skip shards of the text that fail three times.", "--skip-bad", panel=SCALE)] = False
    shard_words: Annotated[
        int | None, option("N", "Words per shard; by default about a minute of work.", panel=SCALE, min=1)
    ] = None

    def config(self) -> ScaleConfig:
        """The settings, checked by their room."""
        from wordstill.scale import ScaleConfig

        return ScaleConfig(**asdict(self))


def command(
    *,
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        option(
            "METHOD",
            "still (the default), sentence, ase, decontextual, token-table, principal, x2static, bert-skipgram or "
            "context-to-vec, with settings as in ase:layer=all, x2static:preset=paper or bert-skipgram:window=2|5. "
            "May be repeated: one pass makes all.",
            "--method",
            "-m",
        ),
    ] = None,
    teacher: options.TeacherOptions,
    vocabulary: options.VocabularyOptions,
    seed: options.Seed = 0,
    overwrite: options.Overwrite = False,
    dry_run: Annotated[
        bool, flag("Only show the settings and the time, memory and disk they need.", "--dry-run")
    ] = False,
    progress: options.ShowProgress = None,
    budget: Annotated[
        int | None,
        option(
            "N",
            "Subwords per batch; by default 2,048, or 131,072 on a GPU.",
            "--batch-tokens",
            "--budget",
            panel=options.TEACHER,
            min=1,
        ),
    ] = None,
    read: Annotated[
        str,
        option(
            "UNIT",
            "What the model reads at a time: sentence or paragraph.",
            "--context",
            "--read",
            panel=options.TEACHER,
        ),
    ] = "sentence",
    length: Annotated[
        str,
        option(
            "KIND",
            "Lengths of the vectors: the weight of each word in a sentence (sentence), one (unit), or as the method "
            "computes them (raw). Cosines between words are the same.",
            panel=RUN,
        ),
    ] = "sentence",
    epochs: Annotated[
        int, option("N", "Passes over the text for trained methods; the others read it once.", panel=LEARNING, min=1)
    ] = 1,
    development: Annotated[
        Path | None,
        option(
            "FILE",
            "Word pairs with human ratings: trained methods are scored on them after each epoch, and the best table "
            "is kept. Test sets are refused.",
            panel=LEARNING,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        option(
            "N", "With --development: stop after N epochs without improvement; by default 1.", panel=LEARNING, min=1
        ),
    ] = None,
    seeds: Annotated[
        int,
        option(
            "N",
            "Train N tables with consecutive seeds, starting at --seed, in one pass; wordstill evaluate shows their "
            "mean and standard deviation.",
            panel=LEARNING,
            min=1,
        ),
    ] = 1,
    score_every: Annotated[
        str | None,
        option(
            "WORDS",
            "With --development: also score after every so many words, such as 500k; wordstill plot training draws "
            "the scores.",
            panel=LEARNING,
        ),
    ] = None,
    snapshots: Annotated[
        str | None,
        option("SIZES", "Also write tables after this many words of text, in the same pass: 1M,3M,10M.", panel=RUN),
    ] = None,
    resume: Annotated[
        bool, flag("Succeed if DIR is complete and was made from the same text and settings.", "--resume")
    ] = False,
    checkpoint_minutes: Annotated[
        float,
        option("N", "Minutes between checkpoints, more for large tables; 0 saves after every batch.", panel=RUN, min=0),
    ] = 2.0,
    profile: Annotated[
        bool, flag("Show where the time went; slows a GPU down a little.", "--profile", panel=RUN)
    ] = False,
    folds: Annotated[
        int | None,
        option(
            "N",
            "Also keep rows for N folds of documents, per group on average, for error bars and tests; by default 10 if "
            "the text has groups, else 0.",
            panel=options.GROUPS,
            min=0,
        ),
    ] = None,
    enough: Annotated[
        int, option("N", "Words that occur at least N times get rows per fold.", panel=options.GROUPS, min=1)
    ] = 20,
    track: Annotated[
        Path | None,
        option("FILE", "Words, one per line: only these get rows per fold, however rare.", panel=options.GROUPS),
    ] = None,
    kept: OccurrenceOptions,
    scale: ScaleOptions,
    text: options.TextOptions,
) -> None:
    """Distill a language model over your text into word vectors.

    INPUT is a prepared store, or any text, which is then prepared first.

    With one method, DIR is the table of vectors; with several, or with snapshots, it has a folder for each. Run the
    same command again to resume an interrupted run.
    """
    start, profiler = time.monotonic(), Profiler() if profile else NullProfiler()
    with needs_models("wordstill distill"), profiler.part("importing torch"):
        from wordstill.corpus import Vocabulary
        from wordstill.distillation import DistillConfig
        from wordstill.distillation.snapshots import read_sizes
        from wordstill.teacher.device import synchronize
    profiler.synchronize = synchronize
    config = DistillConfig(
        methods=tuple(method or ["still"]),
        teacher=teacher.config(),
        vocabulary=vocabulary.config(),
        prepare=text.config(),
        budget=budget,
        read=cast("Any", read),
        length=cast("Any", length),
        epochs=epochs,
        seed=seed,
        seeds=seeds,
        snapshots=() if snapshots is None else read_sizes(snapshots),
        occurrences=kept.config(),
        checkpoint_seconds=60 * checkpoint_minutes,
        folds=folds,
        enough=enough,
        track=Vocabulary.read_word_list(track) if track is not None else (),
    )
    options.output_folder(out)
    _warn_of_idle_settings(config)
    early_stopping = _early_stopping(development, patience, score_every)
    if early_stopping is not None:
        early_stopping.validate(config)
    in_shards = scale.config()
    if profile and in_shards.is_used:
        raise UsageError("--profile is for a run in one process. Leave out --workers, --ray, --join and --keep-sums.")
    if dry_run:
        show_dry_run(inputs, out, config, early_stopping, in_shards)
        return
    if sys.stderr.isatty():
        typer.echo(f"Loading {teacher.teacher}.", err=True)
    texts = cast("list[str | Path]", inputs)
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "progress": options.wants_progress(progress)}
    tables: dict[str, WordVectors] | None
    verb = "Found" if resume and not overwrite and out.exists() else "Distilled"
    if in_shards.is_used:
        from wordstill.scale import distill_in_shards

        tables = distill_in_shards(texts, out, config, in_shards, **how)
    else:
        from wordstill.distillation import distill

        tables = distill(texts, out, config=config, early_stopping=early_stopping, profiler=profiler, **how)
    if tables is None:
        typer.echo(f"Another process of this run writes {shown(out)}, or has written it.")
        return
    seconds = time.monotonic() - start
    if profile:
        show_profile(profiler, seconds)
    _show(tables, out, seconds, verb)


def _show(tables: Mapping[str, WordVectors], out: Path, seconds: float, verb: str) -> None:
    from wordstill.methods import METHODS

    for label, table in tables.items():
        if chosen := table.provenance.get("development"):
            typer.echo(f"{label}: kept epoch {chosen['kept_epoch']}, {chosen['score']:.1f} on the development pairs.")
    purposes = {method.name: method.purpose for method in METHODS.values() if method.purpose}
    # Tables of the whole text, not snapshots.
    whole = [label for label, table in tables.items() if "of_words" not in table.provenance["corpus"]]
    made = {label: purposes.get(tables[label].provenance["method"]["name"]) for label in whole}
    done = f"{verb} {count_text(len(tables), 'table')} in {time_text(seconds)}."
    show_result(tables, out, done, {label: purpose for label, purpose in made.items() if purpose})


def _early_stopping(path: Path | None, patience: int | None, every: str | None) -> EarlyStopping | None:
    if path is None:
        for name, given in (("--patience", patience), ("--score-every", every)):
            if given is not None:
                raise UsageError(f"{name} needs --development with a file of word pairs.")
        return None
    from wordstill.distillation.config import EarlyStopping
    from wordstill.distillation.snapshots import read_sizes
    from wordstill.evaluation.development import DevelopmentPairs

    sizes = () if every is None else read_sizes(every)
    if len(sizes) > 1:
        raise UsageError(f"--score-every is one number of words, as in 500k; got {every!r}.")
    pairs = DevelopmentPairs(path)
    return EarlyStopping(pairs.score, patience or 1, pairs.source, pairs.check_words, *sizes)


def _warn_of_idle_settings(config: DistillConfig) -> None:
    if config.epochs > 1 and not any(request.kind.learns for request in config.requests):
        warn(f"--epochs does nothing: {', '.join(config.methods)} reads the text once.")
