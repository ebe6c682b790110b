"""The text of a run: a store that is opened, or files that are prepared into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordstill.core.resume import refuse_change
from wordstill.corpus import Corpus, PrepareConfig, is_store, prepare
from wordstill.corpus.sources import find_sources

STORE = "store"
TEXT = "text.json"


def open_or_prepare(
    inputs: str | Path | Sequence[str | Path], config: PrepareConfig, work: Path, *, progress: bool
) -> Corpus:
    """A store is opened and checked; anything else is prepared into one, which a resumed run finds again.

    Raises:
        DataError: The run that is resumed was started with other text or settings of it.
    """
    paths = as_list(inputs)
    if is_one_store(paths):
        return Corpus.open(paths[0], verify=True)
    refuse_change(work / TEXT, _text_facts(paths, config))
    store = work / STORE
    if store.exists():
        return Corpus.open(store, verify=True)
    return prepare(paths, store, config, progress=progress)


def as_list(inputs: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One input or several, as a list."""
    return [inputs] if isinstance(inputs, str | Path) else list(inputs)


def is_one_store(paths: Sequence[str | Path]) -> bool:
    """Whether the input is a single prepared store."""
    return len(paths) == 1 and is_store(paths[0])


def _text_facts(paths: Sequence[str | Path], config: PrepareConfig) -> dict[str, Any]:
    """What text is prepared and how, to tell whether a resumed run is about the same."""
    sizes = {
        source.name if source.path is None else str(source.path.resolve()): source.size
        for source in find_sources(paths)
    }
    return {"bytes of": sizes, "settings": asdict(config)}
