"""Preparing text: it is read block by block in several processes, and written as one memory-mapped store."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from wordstill.core.files import disk_errors, path_text, remove, replace_folder
from wordstill.core.object_stores import Output, local_input
from wordstill.core.processes import in_processes
from wordstill.core.progress import byte_bar
from wordstill.core.resume import SETTINGS, START_ANEW, keep_record, refuse_output, working_folder
from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.merge import join_origins, merge_shards
from wordstill.corpus.paragraphs import Block, group_parts
from wordstill.corpus.readers import read_parts
from wordstill.corpus.segment import SEGMENTERS, LineSplitter, Segmenter, SentencexSplitter, Splitter, warn_if_unspaced
from wordstill.corpus.shards import Shard, ShardMaker, Tally, remove_unfinished
from wordstill.corpus.sources import STANDARD_INPUT, Source, find_sources
from wordstill.corpus.store import SCHEMA, Corpus, is_store, write_meta
from wordstill.errors import DataError, UsageError

LEAST_BLOCK, BLOCK_BYTES = 1 << 20, 16 << 20
BLOCKS = 64
"""Approximate number of blocks, if they are neither too small nor too large: enough to keep many processes busy to the
end, and few enough that each has much of the vocabulary."""
STORE = "store"
MANY_DOCUMENTS = 20
"""With fewer documents, small groups are not warned of."""

Inputs = str | Path | Sequence[str | Path]
MadeShards = Generator[tuple[Block, Tally], None, None]
ShardRunner = Callable[[ShardMaker, Iterable[Block]], MadeShards]
"""Makes the shards of blocks, in order of completion."""


def prepare(
    inputs: Inputs,
    out: str | Path,
    config: PrepareConfig | None = None,
    *,
    splitter: Splitter | None = None,
    segmenter: Segmenter | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    block_bytes: int | None = None,
    progress: bool = False,
    run: ShardRunner | None = None,
) -> Corpus:
    """Read text and write it as a memory-mapped store.

    The result depends only on the text and the settings, not on ``workers`` or ``block_bytes``. Until it is complete,
    the work is in the folder ``OUT.partial``, and an interrupted run resumes from there.

    Args:
        inputs: Files, folders, glob patterns, or ``-`` for the standard input.
        out: Folder of the store, or its address in an object store.
        config: How to read the input, and what to keep; None takes the defaults.
        splitter: Sentence splitter; None takes the rules for ``config.splitter_language``, or lines if each is a
            sentence.
        segmenter: Word segmenter; None takes the one named by ``config.segmenter``.
        workers: Number of processes; None takes one per core.
        overwrite: Replace ``out`` if it exists, and discard unfinished work.
        block_bytes: Text that a process handles at a time; it needs about fifteen times as much memory. None takes 1 to
            16 MB, depending on the size of the text.
        progress: Show a bar with the rate and the time left.
        run: Processes blocks elsewhere, such as `wordstill.scale.cluster.shards_on_cluster`; None uses this machine.

    Raises:
        UsageError: ``out`` exists, another run is writing it, or a setting is invalid.
        DataError: Input is missing or broken, or no text is kept; a stopped run had other settings; the disk is full.
    """
    output = Output.at(out, overwrite=overwrite)
    out = output.path
    refuse_output(out, overwrite=overwrite)
    _refuse_foreign(out)
    if (block_bytes is not None and block_bytes < 1) or (workers is not None and workers < 1):
        raise UsageError(f"workers and block_bytes must be at least 1; got {workers} and {block_bytes}.")
    config = config or PrepareConfig()
    refuse_stores(as_list(inputs))
    sources = find_sources(inputs)
    block_bytes = block_bytes or usual_block(sources)
    workers = workers or os.cpu_count() or 1
    if splitter is None:
        splitter = LineSplitter() if config.sentences_per_line else SentencexSplitter(config.splitter_language)
    segmenter = segmenter or SEGMENTERS[config.segmenter]()
    settings = _content_settings(config, splitter, segmenter)
    reading = {"schema": SCHEMA, **asdict(config), **settings, "block_bytes": block_bytes}
    with working_folder(out, "prepare", reading, overwrite=overwrite) as work, disk_errors(out):
        folder = work.path
        make = ShardMaker(config, splitter, folder / "shards")
        blocks = group_parts(read_parts(sources, config, block_bytes), block_bytes)
        # Input that fits into one block is not worth a process.
        several = sum(source.size or BLOCK_BYTES for source in sources) > block_bytes
        run = run or partial(_in_processes, workers=workers if several else 1)
        tallies = _make_all(make, blocks, run, _bar(sources, enabled=progress))
        _check_text(sum(tallies, Tally()), sources, folder, config.share)
        store = _write_store(folder, tallies, segmenter, settings, sources, workers, config)
        replace_folder(store, out)
        place = output.publish()
    corpus = Corpus.open(place)
    warn_if_unspaced(corpus)
    return corpus


def open_or_prepare(
    inputs: Inputs, config: PrepareConfig, work: Path, *, progress: bool, remedy: str = START_ANEW
) -> Corpus:
    """The text of a run: a store, which is verified, or other text, which is prepared into a store in ``work``.

    A resumed run must have the same text and settings, and cannot reread standard input; ``remedy`` is the advice in
    these errors.
    """
    paths = as_list(inputs)
    if is_one_store(paths):
        return Corpus.open(paths[0], verify=True)
    store = work / STORE
    note_text(paths, config, work, remedy)
    if not store.exists():
        return prepare(paths, store, config, progress=progress)
    if STANDARD_INPUT in map(str, paths):
        raise UsageError(
            f"The standard input cannot be read again. Its text is already prepared: use {store} instead of "
            f"-, or {remedy}."
        )
    return Corpus.open(store, verify=True)


def check_inputs(inputs: Inputs, config: PrepareConfig) -> None:
    """Check the text of a run and its settings before anything is loaded.

    Raises:
        UsageError: One of several inputs is a store, or the only one was prepared with other settings.
        DataError: Input is missing.
    """
    paths = as_list(inputs)
    if is_one_store(paths):
        _refuse_other_settings(Corpus.open(paths[0]), config)
        return
    refuse_stores(paths)
    find_sources(paths)


def _refuse_other_settings(corpus: Corpus, config: PrepareConfig) -> None:
    """Refuse settings that a prepared text does not have, because it is not prepared again."""
    there, usual = _recorded_settings(corpus.meta), asdict(PrepareConfig())
    asked = {name: value for name, value in asdict(config).items() if value != usual[name]}
    other = {name: value for name, value in asked.items() if there.get(name) != value}
    if "group" in asked and there["bins"] != config.bins:
        other["bins"] = config.bins
    if not other:
        return
    options = " ".join(_option(name, value) for name, value in asked.items())
    had = ", ".join(f"{name} {there[name]!r}" if there[name] else f"no {name}" for name in other if name in there)
    raise UsageError(
        f"{corpus.path} is already prepared{had and f', with {had}'}, and {options} cannot change that. Omit what "
        f"differs, or prepare the text again: wordstill prepare TEXT {options} --out STORE"
    )


def _recorded_settings(meta: dict[str, Any]) -> dict[str, Any]:
    """The settings of a prepared text; how its files were read is not recorded."""
    settings, origins = meta["settings"], meta.get("origins")
    return {
        "share": 1.0,
        **settings,
        "splitter_language": settings["splitter"].removeprefix("sentencex:"),
        "segmenter": settings["segmenter"].removesuffix(".v1"),
        **{name: (origins or {}).get(name) for name in ("group", "bins")},
        "documents": origins is not None,
    }


def _option(name: str, value: Any) -> str:
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag} {shlex.quote(str(value))}"


def note_text(paths: Sequence[str | Path], config: PrepareConfig, work: Path, remedy: str = START_ANEW) -> None:
    """Record the text and settings of a run; raise if a stopped run had others."""
    facts = {"text": _text_facts(paths, config)}
    work.mkdir(parents=True, exist_ok=True)
    keep_record(work / SETTINGS, facts, remedy)


def as_list(inputs: Inputs) -> list[str | Path]:
    """One or several inputs as a list, with local copies of stores from object stores."""
    return [local_input(place) for place in ([inputs] if isinstance(inputs, str | Path) else inputs)]


def is_one_store(paths: Sequence[str | Path]) -> bool:
    """Whether the input is a single prepared store."""
    return len(paths) == 1 and is_store(paths[0])


def refuse_stores(paths: Sequence[str | Path]) -> None:
    """Refuse stores among text files, because their files would be read as text."""
    if stores := [str(path) for path in paths if is_store(path)]:
        raise UsageError(
            f"{stores[0]} is a prepared text, which is used alone and is not prepared again. Prepare all your files "
            "into one: wordstill prepare FILE FILE --out STORE"
        )


def _text_facts(paths: Sequence[str | Path], config: PrepareConfig) -> dict[str, Any]:
    """The files and settings of a run, to compare with those of a stopped one."""
    contents = {
        source.name if source.path is None else path_text(source.path.resolve()): source.sha256()
        for source in find_sources(paths)
    }
    return {"files": contents, "settings": asdict(config)}


def _refuse_foreign(out: Path) -> None:
    """Refuse to overwrite a folder that is not a store."""
    with disk_errors(out):
        empty = out.is_dir() and not any(out.iterdir())
    if out.exists() and not empty and not is_store(out):
        raise UsageError(f"{out} exists and is not a prepared corpus; it is not overwritten. Choose another output.")


def _content_settings(config: PrepareConfig, splitter: Splitter, segmenter: Segmenter) -> dict[str, Any]:
    """The settings that determine the content and are part of its hash, whatever the file format."""
    return {
        "splitter": splitter.name,
        "segmenter": segmenter.name,
        "sentences_per_line": config.sentences_per_line,
        "filter": config.filter,
        "language": config.language,
        **({} if config.share == 1 else {"share": config.share}),
    }


def _in_processes(make: ShardMaker, blocks: Iterable[Block], workers: int) -> MadeShards:
    return in_processes(make, blocks, workers, partial(remove_unfinished, make.folder))


def _make_all(make: ShardMaker, blocks: Iterator[Block], run: ShardRunner, bar: Any) -> list[Tally]:
    """Make missing shards; returns the tallies of all shards, in the order of the blocks."""
    tallies: dict[int, Tally] = {}

    def unfinished() -> Iterable[Block]:
        for block in blocks:
            shard = Shard(make.folder, block.index)
            tally = shard.finished(block.digest()) if shard.record.exists() else None
            if tally is None:
                yield block
            else:
                tallies[block.index] = tally

    made = run(make, unfinished())
    # Closed at once when the run is stopped, so that its processes end before the folder is cleaned up.
    with closing(made):
        for block, tally in made:
            tallies[block.index] = tally
            if bar is not None:
                bar.update(max(0, block.consumed - bar.n))
    if bar is not None:
        bar.update(max(0, (bar.total or 0) - bar.n))
        bar.close()
    return [tallies[index] for index in sorted(tallies)]


def _bar(sources: Sequence[Source], *, enabled: bool) -> Any:
    if not enabled:
        return None
    sizes = [source.size for source in sources if source.size is not None]
    total = sum(sizes) if len(sizes) == len(sources) else None
    return byte_bar(total, "prepare")


def _check_text(total: Tally, sources: Sequence[Source], folder: Path, share: float) -> None:
    if total.paragraphs:
        return
    remove(folder)
    names = ", ".join(source.name for source in sources[:3]) + (", ..." if len(sources) > 3 else "")
    dropped = total.dropped_by_filter + total.dropped_by_language
    if not dropped and share < 1:
        raise DataError(f"No text is left of {names}: a share of {share:g} has none of its paragraphs. Raise it.")
    if not dropped:
        raise DataError(f"No text in {names}: there are no paragraphs, only whitespace or nothing.")
    raise DataError(
        f"All {dropped} paragraphs of {names} were dropped, {total.dropped_by_language} by the language "
        f"filter and {total.dropped_by_filter} by the paragraph filter. Choose another filter, or none."
    )


def usual_block(sources: Sequence[Source]) -> int:
    """The default size of a block, which depends only on the sources, so that a resumed run has the same."""
    sizes = [source.size or BLOCKS * BLOCK_BYTES for source in sources]
    return min(BLOCK_BYTES, max(LEAST_BLOCK, sum(sizes) // BLOCKS))


def _write_store(
    folder: Path,
    tallies: list[Tally],
    segmenter: Segmenter,
    settings: dict[str, Any],
    sources: Sequence[Source],
    workers: int,
    config: PrepareConfig,
) -> Path:
    store = folder / "store"
    remove(store)
    store.mkdir()
    shards = [Shard(folder / "shards", index) for index in range(len(tallies))]

    def run_all(work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        return in_processes(work, tasks, min(workers, len(tasks)), partial(remove_unfinished, folder / "shards"))

    merged = merge_shards(shards, tallies, store, segmenter, run_all, workers)
    total = asdict(sum(tallies, Tally()))
    glued = total.pop("glued")
    counts = {**total, "forms": merged.forms, "words": merged.running_words}
    origins = None
    if config.keeps_documents:
        try:
            origins = {"group": config.group, "bins": config.bins, **join_origins(shards, store)}
            _check_groups(origins, total["paragraphs"])
        except DataError:
            # With another --group, no shard could be reused: nothing here is worth resuming.
            remove(folder / "shards")
            remove(store)
            raise
    names = [source.name for source in sources]
    content = write_meta(store, settings=settings, counts=counts, glued=glued, sources=names, origins=origins)
    merged.words.write(store, content)
    return store


def _check_groups(origins: dict[str, Any], paragraphs: int) -> None:
    """Raise if no paragraph has a group, and warn if there is only one group."""
    if origins["group"] is not None and not origins["names"]:
        bins = f" with a date for bins of {origins['bins']}" if origins["bins"] else ""
        raise DataError(
            f"None of the {paragraphs:,} paragraphs has a group: '{origins['group']}' has no value{bins}. "
            "Choose another with --group (group=); plain text has only 'folder' and 'file:REGEX'."
        )
    groups, documents = len(origins["names"]), origins["documents"]
    if groups == 1:
        warnings.warn(f"All paragraphs are in one group, {origins['names'][0]!r}.", stacklevel=4)
    elif 2 * groups > documents >= MANY_DOCUMENTS:
        warnings.warn(
            f"The {documents:,} documents are in {groups:,} groups of '{origins['group']}', too small to compare. "
            "Choose a field with fewer values, or put dates in bins: --bins year (bins=).",
            stacklevel=4,
        )
