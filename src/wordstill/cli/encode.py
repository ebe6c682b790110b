"""``wordstill encode``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import TeacherName, Unknown, open_for_words
from wordstill.cli.options import Overwrite, ShowProgress, VectorsPath, argument, flag, option, shows_bar
from wordstill.cli.printing import count_text, disk_size, show_facts, time_text
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors
    from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder, SentenceMeans

EXAMPLES = """\
wordstill encode vectors sentences.txt --out sentences.npy --unit
zcat titles.gz | wordstill encode vectors - --out titles.parquet"""

FEW = 0.5
"""Share of words in the table below which the vectors of sentences are hardly worth anything."""


def command(
    vectors: VectorsPath,
    source: Annotated[
        str, argument("FILE", "Sentences, one per line, in UTF-8; may be compressed; - for standard input.")
    ],
    out: Annotated[
        Path, option("FILE", "The file to write: .npy, or .parquet with columns text and vector.", "--out", "-o")
    ],
    weighting: Annotated[
        str | None,
        option(
            "NAME",
            "mean: all words count the same; sif: frequent words count less. By default mean for tables "
            "whose row lengths are sentence weights, and sif for others.",
        ),
    ] = None,
    smoothing: Annotated[float, option("A", "The a of SIF's weights a / (a + frequency).")] = 1e-3,
    components: Annotated[
        int,
        option(
            "N",
            "With sif, remove this many directions that the sentences share. FILE is then read twice, and "
            "vectors of different files cannot be compared.",
            min=0,
        ),
    ] = 0,
    unit: Annotated[bool, flag("Scale vectors to length one, so that dot products are cosines.", "--unit")] = False,
    unknown: Unknown = None,
    teacher: TeacherName = None,
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
) -> None:
    """Write a sentence vector for each line of a text.

    Empty lines and lines without a known word become zeros.
    """
    from wordstill.core.files import refuse_existing
    from wordstill.formats.sentence_file import check_sentence_file
    from wordstill.vectors.sentences import SentenceEncoder

    check_sentence_file(out)
    refuse_existing(out, overwrite=overwrite)
    if out.is_dir():
        raise UsageError(f"{out} is a folder. Choose another output.")
    path = _text_file(source, twice=components > 0)
    table = open_for_words(vectors, unknown, teacher)
    if not unknown and table.subwords is not None:
        table = table.with_backoff("subwords")
    encoder = SentenceEncoder(table, _config(table, weighting, smoothing, components))
    lines = _Lines(path, shows_bar(progress))
    start = time.monotonic()
    counts = _encode(encoder, lines, out, unit=unit)
    _report(encoder, counts, out, time.monotonic() - start)


def _text_file(source: str, *, twice: bool) -> Path | None:
    """The path of the text, None for the standard input; refused before a table is opened."""
    path = None if source == "-" else Path(source)
    if path is not None and not path.exists():
        raise DataError(f"{path} does not exist. Give a text file, or - for standard input.")
    if path is not None and path.is_dir():
        raise DataError(f"{path} is a folder. Give a text file with one sentence on each line.")
    if twice and (path is None or not path.is_file()):
        raise UsageError("--components reads the text twice, which does not work with a pipe. Give a file.")
    return path


def _config(table: WordVectors, weighting: str | None, smoothing: float, components: int) -> SentenceConfig:
    from wordstill.vectors.sentences import SentenceConfig, has_sentence_lengths

    chosen = weighting or ("mean" if has_sentence_lengths(table) else "sif")
    if components and chosen == "mean":
        raise UsageError("--components belongs to --weighting sif; got mean.")
    return SentenceConfig(cast(Any, chosen), smoothing, components)


@dataclass(frozen=True)
class _Lines:
    """The lines of a text, each time from the start."""

    path: Path | None
    progress: bool

    def __iter__(self) -> Iterator[str]:
        from wordstill.core.text_io import numbered_lines

        return (line for _, line in numbered_lines(self.path, progress=self.progress))


@dataclass
class _Counts:
    sentences: int = 0
    empty: int = 0
    """Sentences without a known word."""
    used: int = 0
    words: int = 0

    def add(self, means: SentenceMeans) -> None:
        self.sentences += len(means.used)
        self.empty += int((means.used == 0).sum())
        self.used += int(means.used.sum())
        self.words += int(means.words.sum())


def _encode(encoder: SentenceEncoder, lines: _Lines, out: Path, *, unit: bool) -> _Counts:
    from wordstill.formats.sentence_file import sentence_file
    from wordstill.vectors.search import unit_rows

    if encoder.components:
        encoder.fit(lines)
    counts = _Counts()
    with sentence_file(out, encoder.vectors.dim) as append:
        for texts, means in encoder.blocks(lines):
            counts.add(means)
            rows = encoder.finish(means)
            append(cast("list[str]", texts), unit_rows(rows) if unit else rows)
        if not counts.sentences:
            raise DataError(f"{lines.path or 'The standard input'} has no lines. Put one sentence on each line.")
    return counts


def _report(encoder: SentenceEncoder, counts: _Counts, out: Path, seconds: float) -> None:
    share = counts.used / max(1, counts.words)
    typer.echo(f"Encoded {count_text(counts.sentences, 'sentence')} in {time_text(seconds)}.")
    weighting = encoder.config.weighting
    facts = {
        "vectors": f"{out}  {counts.sentences:,} x {encoder.vectors.dim}, {disk_size(out)}",
        "weighting": weighting if not encoder.components else f"{weighting}, less {encoder.components} directions",
        "words found": f"{share:.1%} of {counts.words:,}",
        "zero rows": f"{counts.empty:,}",
    }
    show_facts(facts)
    if share < FEW:
        warn(
            f"The table has only {share:.1%} of the words of the text. "
            "Check its language, or use --unknown for words that are not in it."
        )
