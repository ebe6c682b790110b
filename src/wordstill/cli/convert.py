"""``wordstill convert``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.analysis.synonym_export import SYNONYMS, SynonymOptions
from wordstill.cli.options import Overwrite, ShowProgress, argument, flag, option, shows_bar
from wordstill.cli.printing import disk_size, show_facts, show_next, time_text
from wordstill.core.object_stores import shown

if TYPE_CHECKING:
    from wordstill.formats.base import Format
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill convert glove.840B.300d.txt vectors --top 400000 --dtype f16
wordstill convert cc.de.300.bin oov.txt --words words.txt
wordstill convert vectors vectors.kv --to gensim
wordstill convert vectors synonyms.txt --to synonyms --lexicon ppdb-xl"""


def command(
    *,
    source: Annotated[Path, argument("IN", "A file or folder of word vectors.")],
    target: Annotated[Path, argument("OUT", "Output file or folder.")],
    source_format: Annotated[str | None, option("NAME", "The format of IN; by default detected.", "--from")] = None,
    target_format: Annotated[
        str | None,
        option(
            "NAME",
            "The format of OUT; by default chosen by the suffix; without one, a wordstill folder. Text "
            "and word2vec binary files are compressed if the name ends in .gz, .xz, .zst or .bz2. synonyms writes "
            "synonym rules for Lucene, Solr and Elasticsearch instead of vectors.",
            "--format",
            "--to",
        ),
    ] = None,
    top: Annotated[
        int | None,
        option("N", "Keep the N most frequent words, or the first N if there are no counts.", "--top", min=1),
    ] = None,
    dim: Annotated[int | None, option("D", "Keep the first D numbers of each vector.", "--dim", min=1)] = None,
    words: Annotated[
        Path | None,
        option(
            "FILE",
            "Keep only the words of this file, one per line; a table's subwords provide vectors for unknown words.",
            "--words",
        ),
    ] = None,
    dtype: Annotated[
        str | None, option("TYPE", "Number format: f32, f16, or i8 with a scale per row.", "--dtype")
    ] = None,
    repair: Annotated[
        bool,
        flag(
            "Skip and report errors in IN: repeated words, rows with NaN or the wrong length, a missing end, a wrong "
            "header.",
            "--repair",
        ),
    ] = False,
    synonyms: SynonymOptions,
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
) -> None:
    """Convert word vectors to another format."""
    from wordstill import formats
    from wordstill.core.text_io import read_word_list
    from wordstill.postprocess.vocabulary_transforms import trim

    # Invalid options are refused before a large file is read.
    if target_format == SYNONYMS:
        export = synonyms.open(target, dtype=dtype, overwrite=overwrite)
    else:
        synonyms.refuse()
        writes = formats.check_target(target, target_format, overwrite=overwrite, dtype=dtype)
    listed = read_word_list(words) if words else None
    start = time.monotonic()
    table = formats.read(
        source, source_format, repair=repair, progress=shows_bar(progress), first=top if words is None else None
    )
    table = trim(table, top=top, dim=dim, words=listed)
    if target_format == SYNONYMS:
        export.write(table, source, progress=shows_bar(progress))
        return
    formats.write(table, target, target_format, overwrite=overwrite, dtype=dtype)
    _report(table, target, writes, time.monotonic() - start)


def _report(table: WordVectors, target: Path, writes: Format, seconds: float) -> None:
    from wordstill.vectors.sentences import has_sentence_lengths

    facts = {"format": writes.name, "words": f"{len(table):,} x {table.dim}"}
    if target.exists():
        facts["size"] = disk_size(target)
    if lost := _lost(table, writes):
        facts["not kept"] = ", ".join(lost)
    weighted = has_sentence_lengths(table)
    if weighted and not writes.records:
        facts["lengths"] = "kept, but not recorded as sentence weights: encode with --weighting mean"
    elif not weighted and writes.keeps_tokenizer:
        facts["lengths"] = "no sentence weights; for better means, first transform --chain sentence-weights"
    typer.echo(f"Converted to {shown(target)} in {time_text(seconds)}.")
    show_facts(facts)
    show_next(("info", shown(target)))


def _lost(table: WordVectors, writes: Format) -> list[str]:
    """Parts of the table that the format cannot store."""
    has = {
        "words": len(table) > 0 and not writes.words,
        "counts": table.counts is not None and not (writes.records or writes.counts),
        "provenance": bool(table.provenance) and not writes.records,
        "subwords": table.subwords is not None and not writes.keeps_subwords(table),
        "tokenizer": table.tokenizer is not None and not writes.keeps_tokenizer,
    }
    return [name for name, lost in has.items() if lost]
