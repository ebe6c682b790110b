"""A text for an estimate: the whole of it, or of a large one a share that stands for the whole."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wordstill.corpus import Corpus, PrepareConfig, is_store, prepare
from wordstill.corpus.blocks import Block
from wordstill.corpus.paragraphs import read_paragraphs
from wordstill.corpus.readers import read_parts
from wordstill.corpus.sources import Source, find_sources

LARGE_BYTES = 32 << 20
"""Input files that are larger than this in all are not prepared whole for an estimate."""
SAMPLE_BYTES = 8 << 20
SAMPLE_FILES = 4


@dataclass(frozen=True)
class TextSample:
    """A text, or a share of it that stands for the whole; seconds to prepare and bytes are of the whole."""

    corpus: Corpus
    share: float = 1.0
    seconds: float = 0.0
    store: int = 0
    """Bytes of the prepared text; 0 where the input is one already."""


def open_sample(inputs: Sequence[str | Path], config: PrepareConfig, folder: Path) -> TextSample:
    """Open a store as it is, prepare text of up to `LARGE_BYTES` whole, and of more text a sample.

    Args:
        inputs: A store, or text to prepare.
        config: How text is prepared.
        folder: Where to put what is prepared.
    """
    if len(inputs) == 1 and is_store(inputs[0]):
        return TextSample(Corpus.open(inputs[0]))
    sources = find_sources(inputs)
    total = sum(source.size or 0 for source in sources)
    start = time.monotonic()
    if total <= LARGE_BYTES or any(source.size is None for source in sources):
        corpus, share, cores = prepare(inputs, folder / "store", config), 1.0, 1
    else:
        share = _write_sample(sources, config, folder / "sample.txt") / total
        plain = replace(config, format="text", encoding="utf-8")
        corpus = prepare([folder / "sample.txt"], folder / "store", plain, workers=1)
        cores = os.cpu_count() or 1
    size = sum(file["bytes"] for file in corpus.meta["files"].values())
    return TextSample(corpus, share, (time.monotonic() - start) / share / cores, round(size / share))


def _write_sample(sources: Sequence[Source], config: PrepareConfig, path: Path) -> int:
    """Write the beginnings of some files as plain text; returns how many bytes of the files these are."""
    places = np.unique(np.linspace(0, len(sources) - 1, SAMPLE_FILES).astype(int))
    quota = SAMPLE_BYTES // len(places)
    end = "\n\n" if config.sentences_per_line else "\n"
    total = 0
    with path.open("w", encoding="utf-8") as file:
        for source in (sources[place] for place in places):
            read, consumed = 0, source.size or 0
            for part in read_parts([source], config, quota // 4):
                file.writelines(
                    "\n".join(lines) + end for lines in read_paragraphs(Block(0, (part,)), config)
                )
                read += len(part.payload)
                if read >= quota:
                    consumed = part.consumed
                    break
            total += consumed
    return total
