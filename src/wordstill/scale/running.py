"""Runs in shards: `distill_in_shards` is `distill` with several workers, or with kept sums."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from wordstill.core.files import disk_errors, refuse_foreign
from wordstill.core.object_stores import Output, address_of, is_made
from wordstill.core.resume import SETTINGS, WorkingFolder, keep_record, locked, working_folder
from wordstill.core.settings import Config, Range
from wordstill.corpus import Corpus
from wordstill.corpus.preparation import Inputs, as_list, is_one_store
from wordstill.distillation import DistillConfig
from wordstill.distillation.distilling import finished, is_finished, load
from wordstill.distillation.plan import Plan, make_plan, with_tables
from wordstill.errors import DataError, UsageError
from wordstill.formats.artifact import REPLACEABLE, SUMS, write_artifacts
from wordstill.scale.driver import Driver, Totals
from wordstill.scale.kept_sums import KeptSums
from wordstill.scale.ledger import SHARDS, Ledger
from wordstill.scale.partition import Job, Shard, ShardReader, make_shards, shard_records, with_shard_words
from wordstill.scale.pools import InlinePool, Pool, on_cluster, open_pool, refuse_too_many, usable_cores
from wordstill.scale.shared_folder import LocalFolder, ObjectFolder, SharedFolder
from wordstill.vectors import WordVectors

LEDGER, COMMAND, LEFT_OUT = "shards", "distill in shards", "left_out_shards"


@dataclass(frozen=True)
class ScaleConfig(Config):
    """Workers of a run, which do not change its result, and kept sums."""

    workers: Annotated[int | None, Range(1)] = None
    """Number of processes on this machine; None reads in this process."""
    ray: str | None = None
    """Address of a Ray cluster, or ``auto``."""
    join: bool = False
    """Work on a run together with other processes that share its folder."""
    keep_sums: bool = False
    """Keep the sums beside the table."""
    skip_bad: bool = False
    """Leave out shards that fail three times."""
    shard_words: Annotated[int | None, Range(1)] = None
    """Words of a shard; None means about a minute's work."""

    @property
    def is_used(self) -> bool:
        """Whether a run is to be read in shards."""
        return self != ScaleConfig()


def distill_in_shards(
    inputs: Inputs,
    out: str | Path,
    config: DistillConfig,
    scale: ScaleConfig,
    *,
    overwrite: bool = False,
    resume: bool = False,
    progress: bool = False,
) -> dict[str, WordVectors] | None:
    """Distill a teacher over text, shard by shard.

    On machines of one kind, the table has the same bytes for any number of workers: batches are formed inside shards,
    and sums are added in the order of the plan, in float64.

    Args:
        inputs: As for `distill`.
        out: Folder or URL for the result; unfinished work is in ``OUT.partial``, from which an interrupted run
            resumes.
        config: All settings of the run.
        scale: The workers.
        overwrite: Replace an existing result, and discard an interrupted run.
        resume: As for `distill`, but a result with kept sums is not accepted.
        progress: Show a progress bar over all workers.

    Returns:
        The tables by label; None if another process writes them.

    Raises:
        UsageError: As for `distill`, or a method is trained with gradient steps.
        DataError: As for `distill`, or a shard failed three times.
    """
    config = settings_in_shards(inputs, config, scale, overwrite=overwrite)
    if scale.join and is_made(out):
        return None
    if (
        resume
        and not overwrite
        and not scale.join
        and not scale.keep_sums
        and address_of(out) is None
        and is_finished(Path(out))
    ):
        return finished(inputs, Path(out), config, progress=progress)
    place = _joined(out) if scale.join else _alone(out, overwrite, resume)
    # With several processes, the claim to add up is held until the folder is deleted, so that only one adds up.
    with ExitStack() as locks, on_cluster(scale.ray), place as (output, work, folder):
        teacher, corpus = load(inputs, config, work.path, progress=progress)
        if scale.join and is_made(out):
            # Other processes finished the run while this one was starting.
            folder.remove_all()
            return None
        _warn_of_groups(corpus, scale)
        plan = make_plan(teacher, corpus, config)
        try:
            totals = run_shards(plan, config, scale, work.path, locks, folder, _address(inputs), progress=progress)
        except DataError:
            if scale.join and is_made(out):
                return None
            raise
        if totals is None:
            return None
        tables = _write(plan, totals, scale, output, work)
        if scale.join:
            folder.remove_all()
        return tables


def _write(
    plan: Plan, totals: Totals, scale: ScaleConfig, output: Output, work: WorkingFolder
) -> dict[str, WordVectors]:
    left_out = totals.ledger.left_out()
    kept = _sums_of(plan, totals, left_out) if scale.keep_sums else {}
    with TemporaryDirectory(dir=work.path) as spare:
        for label, sums in kept.items():
            sums.write(Path(spare) / label)
        tables = _finished(plan, totals, left_out)

        def beside(label: str, place: Path) -> None:
            if label in kept:
                (Path(spare) / label).rename(place / SUMS)

        write_artifacts(tables, output.path, overwrite=work.overwrite, beside=beside)
        output.publish()
    return tables


def run_shards(
    plan: Plan,
    config: DistillConfig,
    scale: ScaleConfig,
    work: Path,
    locks: ExitStack,
    folder: SharedFolder | None = None,
    store: str | None = None,
    *,
    text_only: bool = False,
    progress: bool = False,
) -> Totals | None:
    """Read all shards of a run, or only those of running text; returns None if another process adds them up.

    Args:
        plan: The run.
        config: Its settings.
        scale: The workers.
        work: Folder of this process.
        locks: Exit stack that holds the right to add up.
        folder: Folder of the ledger; None uses one in ``work``.
        store: URL of the prepared text, if it is in an object store.
        text_only: Leave out isolated words.
        progress: Show a progress bar.
    """
    shards = make_shards(plan, scale.shard_words, text_only=text_only)
    _warn_of_few_shards(sum(not shard.isolated for shard in shards), scale)
    ledger = Ledger(folder or LocalFolder(work / LEDGER))
    if scale.join:
        ledger.remedy = "choose another --out"
    ledger.open_plan(_description(plan, shards))

    def open_totals() -> Totals | None:
        if scale.join:
            local = isinstance(ledger.folder, LocalFolder)
            if not locks.enter_context(_locked(work) if local else ledger.adding_up()):
                return None
        return Totals(plan, shards, ledger, work)

    if scale.join:
        ledger.forgive()
    else:
        ledger.forget_attempts()
    pool = _pool(plan, config, scale, ledger, store or str(plan.corpus.path.resolve()))
    driver = Driver(shards, ledger, pool, open_totals, skip_bad=scale.skip_bad)
    try:
        return driver.run(show_progress=progress)
    except DataError:
        if driver.totals is None and ledger.is_gone():
            return None
        raise


def settings_in_shards(
    inputs: Inputs, config: DistillConfig, scale: ScaleConfig, *, overwrite: bool = False
) -> DistillConfig:
    """The settings of a run in shards, after refusing unsupported ones; nothing is loaded.

    Raises:
        UsageError: A setting needs a single process, or settings are incompatible.
    """
    _refuse_ordered(config, scale)
    if scale.workers is not None and scale.ray is None:
        refuse_too_many(scale.workers, usable_cores())
    if scale.join:
        _refuse_joining(inputs, overwrite)
    return replace(with_shard_words(config, scale.shard_words), folds=0 if scale.keep_sums else config.folds)


def _refuse_ordered(config: DistillConfig, scale: ScaleConfig) -> None:
    if config.snapshots:
        raise UsageError(
            "--snapshots needs a single process that reads the text in order. Leave out --workers, --ray, --join and "
            "--keep-sums."
        )
    if scale.keep_sums and (config.folds or config.track):
        raise UsageError("Sums that are kept have no folds, because text is added to them. Leave out --keep-sums.")
    if learners := [request.label for request in config.requests if request.kind.learns]:
        raise UsageError(
            f"--method {', '.join(learners)}: a trained method needs all steps on a single device, so its text cannot "
            "be divided. Leave out --workers, --ray, --join and --keep-sums, or use still, sentence or ase."
        )


def _warn_of_groups(corpus: Corpus, scale: ScaleConfig) -> None:
    if corpus.groups is not None and scale.keep_sums:
        warnings.warn("Kept sums do not distinguish the groups of the text.", stacklevel=3)


def _warn_of_few_shards(shards: int, scale: ScaleConfig) -> None:
    if scale.workers is not None and shards < scale.workers:
        warnings.warn(
            f"The text has {shards} shard{'' if shards == 1 else 's'} for {scale.workers} workers, so some have "
            "nothing to do. wordstill distill makes more of them with --shard-words (shard_words=).",
            stacklevel=3,
        )


def _refuse_joining(inputs: Inputs, overwrite: bool) -> None:
    if overwrite:
        raise UsageError("--join cannot replace a result that others may be writing. Leave out --overwrite.")
    if not is_one_store(as_list(inputs)):
        raise UsageError("--join needs a prepared text that all machines share: wordstill prepare FILE --out STORE")


def _address(inputs: Inputs) -> str | None:
    """The URL of a prepared text; None if it is on this machine, or prepared here."""
    (only, *more) = [inputs] if isinstance(inputs, str | Path) else inputs
    address = None if more else address_of(only)
    return address if address is not None and is_made(address) else None


def _pool(plan: Plan, config: DistillConfig, scale: ScaleConfig, ledger: Ledger, store: str) -> Pool:
    if scale.ray is None and scale.workers is None:
        return InlinePool(ShardReader.of(plan), ledger.folder)
    job = Job(store, config, plan.engine.teacher.choice.name, plan.recipe.to_json())
    return open_pool(job, ledger.folder, scale.workers, scale.ray)


def _description(plan: Plan, shards: list[Shard]) -> dict[str, Any]:
    return {**asdict(plan.recipe), SHARDS: {str(record["number"]): record for record in shard_records(shards)}}


def _sums_of(plan: Plan, totals: Totals, left_out: list[int]) -> dict[str, KeptSums]:
    methods = with_tables(totals.methods)
    noted = {LEFT_OUT: left_out} if left_out else {}
    return {
        label: KeptSums(plan.recipe.provenance(label) | noted, method, totals.cut) for label, method in methods.items()
    }


def _finished(plan: Plan, totals: Totals, left_out: list[int]) -> dict[str, WordVectors]:
    tables = plan.finish(totals.finished(), totals.cut)
    for table in tables.values() if left_out else ():
        table.provenance = {**table.provenance, LEFT_OUT: left_out}
    return tables


Place = tuple[Output, WorkingFolder, SharedFolder]
"""The location of the result, the working folder of this process, and the folder of the ledger."""


@contextmanager
def _alone(out: str | Path, overwrite: bool, resume: bool) -> Iterator[Place]:
    output, restart = Output.at(out, overwrite=overwrite), overwrite and not resume
    refuse_foreign(output.path, REPLACEABLE)
    done = f"{LEDGER}/done/*"
    with working_folder(output.path, COMMAND, overwrite=overwrite, restart=restart, worth=done) as work:
        yield output, work, LocalFolder(work.path / LEDGER)


@contextmanager
def _joined(out: str | Path) -> Iterator[Place]:
    """The locations of a run that several processes share; the one that adds up deletes the ledger."""
    address = address_of(out)
    if address is not None:
        folder = ObjectFolder(f"{address.rstrip('/')}.partial/{LEDGER}")
        folder.refuse_unable()
        with TemporaryDirectory(prefix="wordstill-") as own:
            name = address.rstrip("/").rpartition("/")[2]
            yield Output(Path(own) / "result" / name, address), WorkingFolder(Path(own), overwrite=False), folder
        return
    target = Path(out)
    refuse_foreign(target, REPLACEABLE)
    shared = target.with_name(f"{target.name}.partial")
    with disk_errors(shared):
        shared.mkdir(parents=True, exist_ok=True)
    keep_record(shared / SETTINGS, {"command": COMMAND})
    yield Output(target), WorkingFolder(shared, overwrite=False), LocalFolder(shared / LEDGER)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder; yields False if another process has locked or removed it."""
    with ExitStack() as lock:
        try:
            lock.enter_context(locked(folder, folder))
            held = True
        except (UsageError, DataError):
            held = False
        yield held
