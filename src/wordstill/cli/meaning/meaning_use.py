"""``wordstill meaning`` encode, similar, table and evaluate: what can be done with a trained encoder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.failures import needs_models, warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import (
    Device,
    Dtype,
    NewFolder,
    Overwrite,
    RayAddress,
    ReportFile,
    ShowProgress,
    Topn,
    WorkerCount,
    argument,
    flag,
    option,
    output_folder,
    refuse_report,
    wants_progress,
)
from wordstill.cli.printing import count_text, example_word, show_next
from wordstill.core.guard import printable, reading
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.evaluation.tasks.in_context import ContextEncoder, Unit
    from wordstill.meaning import MeaningEncoder
    from wordstill.meaning.context_encoder import StateEncoder
    from wordstill.vectors import WordVectors

EncoderPath = Annotated[Path, argument("ENCODER", "A folder written by meaning make or meaning train.")]
DEFAULT_KIND = "meaning-centred"
"""As in ``wordstill.meaning.encoder``, which is slow to import."""
Kind = Annotated[
    str,
    option(
        "NAME",
        "meaning, context or raw (the mean of the layers); meaning-centred, context-centred and raw-centred subtract "
        "the mean over the training words; raw-scaled is the mean of the scaled layers; raw-and-meaning-centred is raw "
        "and meaning-centred side by side.",
        "--kind",
    ),
]


@dataclass(frozen=True)
class EncoderOptions:
    """How a trained encoder is opened."""

    teacher: Annotated[str | None, option("NAME", "Path of the teacher, if it has moved.")] = None
    device: Device = "auto"
    dtype: Dtype = "auto"

    def load(self, path: Path, kind: str = DEFAULT_KIND) -> MeaningEncoder:
        """Open an encoder with its teacher."""
        with needs_models("wordstill meaning"):
            from wordstill.meaning import MeaningEncoder
        return MeaningEncoder.load(path, kind=kind, device=self.device, dtype=self.dtype, teacher=self.teacher)


ENCODE_EXAMPLES = """\
wordstill meaning encode meaning sentences.txt --word bank --word shore --out uses
printf 'They sat on the bank.\\tbank\\n' | wordstill meaning encode meaning - --out uses"""


def encode(
    *,
    encoder: EncoderPath,
    sentences: Annotated[
        str,
        argument(
            "FILE",
            "One sentence per line, to encode every word of it; or a sentence, a tab, and one word: the word itself, "
            "START:END in characters, or its position. - for standard input.",
        ),
    ],
    out: NewFolder,
    word: Annotated[
        list[str] | None, option("WORD", "In lines without a tab, encode only this word; may be repeated.")
    ] = None,
    kind: Kind = DEFAULT_KIND,
    workers: WorkerCount = None,
    ray: RayAddress = None,
    options: EncoderOptions,
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
) -> None:
    """Encode words in sentences, so that you can search them.

    Run the same command again to resume an interrupted run.
    """
    with needs_models("wordstill meaning encode"):
        from wordstill.meaning import Occurrence
        from wordstill.meaning.encode_uses import encode_uses
        from wordstill.meaning.work_blocks import Workers

    output_folder(out)
    lines = list(_lines(sentences))
    all_workers = Workers(workers, ray)
    with all_workers.engaged():
        store = encode_uses(
            options.load(encoder, kind),
            [text if span is None else Occurrence.at(text, read_place(span)) for text, span in lines],
            out,
            word or None,
            workers=all_workers,
            overwrite=overwrite,
            progress=wants_progress(progress),
        )
    typer.echo(f"Encoded {count_text(len(store), 'use')}: {out}")
    show_next(("meaning", "similar", encoder, out, "They sat on the bank.", "bank"))


def _lines(name: str) -> Iterator[tuple[str, str | None]]:
    """The text of each line, and its position if there is one."""
    with reading(name):
        content = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    for line in content.split("\n"):
        if line.strip():
            text, tab, span = line.rstrip("\r").partition("\t")
            yield text, span if tab else None


def read_place(text: str) -> str | tuple[int, int] | int:
    """``16:20`` is a span of characters, ``3`` the position of a word, anything else the word itself."""
    start, colon, end = text.strip().partition(":")
    if not start.isdecimal() or (colon and not end.isdecimal()):
        return text.strip()
    return (int(start), int(end)) if colon else int(start)


SIMILAR_EXAMPLES = "wordstill meaning similar meaning uses 'They sat on the bank.' bank"


def similar(
    *,
    encoder: EncoderPath,
    uses: Annotated[Path, argument("USES", "A folder written by meaning encode.")],
    sentence: Annotated[str, argument("SENTENCE", "Any text.")],
    span: Annotated[str, argument("WORD", "The word itself, START:END in characters, or its position.")],
    topn: Topn = 10,
    kind: Kind = DEFAULT_KIND,
    options: EncoderOptions,
) -> None:
    """Find the encoded uses nearest in meaning to a word in a sentence."""
    with needs_models("wordstill meaning"):
        from wordstill.meaning import Occurrence, OccurrenceStore

    place = read_place(span)
    # A position outside the sentence is refused before a model is loaded.
    Occurrence.at(sentence, place)
    model = options.load(encoder, kind)
    for occurrence, cosine in model.most_similar(sentence, place, OccurrenceStore.load(uses), topn):
        typer.echo(f"{cosine:8.4f}  {printable(occurrence.excerpt())}")


TABLE_EXAMPLES = "wordstill meaning table meaning store --out vectors"


def table(
    *,
    encoder: EncoderPath,
    store: Annotated[Path, argument("STORE", "A prepared text.")],
    out: NewFolder,
    min_count: Annotated[int, option("N", "Drop words that occur fewer times.", min=1)] = 5,
    max_vocab: Annotated[int | None, option("N", "Keep only the N most frequent words.", min=1)] = None,
    kind: Kind = DEFAULT_KIND,
    options: EncoderOptions,
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
) -> None:
    """Average the meanings of each word into a static table."""
    from wordstill.core.files import refuse_existing
    from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig

    refuse_existing(output_folder(out), overwrite=overwrite)
    corpus = Corpus.open(store, verify=True)
    model = options.load(encoder, kind)
    from wordstill.meaning import static_table

    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=min_count, max_size=max_vocab))
    vectors = static_table(model, corpus, vocabulary, progress=wants_progress(progress))
    vectors.save(out, overwrite=overwrite)
    typer.echo(f"Made {len(vectors):,} words x {vectors.dim}: {out}")
    show_next(("similar", out, example_word(vectors)), ("evaluate", out))


EVALUATE_EXAMPLES = """\
wordstill meaning evaluate meaning
wordstill meaning evaluate meaning --task usim --task wic --out evaluation.json
wordstill meaning evaluate meaning --vectors vectors --liu corpus.txt"""


def evaluate(
    *,
    encoder: EncoderPath,
    task: Annotated[
        list[str] | None,
        option(
            "NAME",
            "usim, wic, cosimlex, scws, sts12 to sts16, paws-wiki or paws-words; may be repeated. By default all.",
        ),
    ] = None,
    unit: Annotated[str, option("NAME", "What to average for a sentence: subwords or words.")] = "subwords",
    limit: Annotated[
        int | None, option("N", "Score at most N pairs of each sentence task, for a quick look.", min=2)
    ] = None,
    vectors: Annotated[Path | None, option("VECTORS", "A static table to score too, with one vector per word.")] = None,
    liu: Annotated[
        Path | None,
        option(
            "FILE",
            "With --vectors: also score the transform of Liu et al. 2020, learned from this text with one sentence "
            "per line.",
        ),
    ] = None,
    senses: Annotated[
        bool, flag("With --vectors: also score the senses of a table distilled with --occurrences.", "--senses")
    ] = False,
    out: ReportFile = None,
    options: EncoderOptions,
    overwrite: Overwrite = False,
) -> None:
    """Score an encoder on word-in-context, sentence and paraphrase data."""
    refuse_report(out, overwrite=overwrite)
    wanted = task or _installed_tasks()
    if (liu is not None or senses) and vectors is None:
        what = "--senses are those of a table" if senses else "--liu maps states to a static table"
        raise UsageError(f"{what}: add --vectors.")
    static = None if vectors is None else open_table(vectors)
    model = options.load(encoder)
    from wordstill.evaluation.report.tables import markdown, parts_markdown
    from wordstill.evaluation.suite import evaluate_in_context
    from wordstill.meaning.context_encoder import StateEncoder, WithTables
    from wordstill.meaning.liu import LiuTransform

    found = model.representations()
    # First, so that the others are compared with it.
    representations = {"raw": found.pop("raw"), **found}
    if static is not None and liu is not None:
        lines = [text for text, _ in _lines(str(liu))]
        representations["Liu et al. 2020"] = LiuTransform.fit_texts(model.reader, lines, static)
    rows: ContextEncoder = StateEncoder(model.reader, representations)
    if static is not None and vectors is not None:
        states, tables = StateEncoder(model.reader, representations), {vectors.name: static}
        rows = _with_senses(states, tables, static, vectors.name) if senses else WithTables(states, tables)
    result = evaluate_in_context(rows, wanted, unit=cast("Unit", unit), limit=limit)
    try:
        if out is not None:
            typer.echo(f"Written: {result.save(out, overwrite=overwrite)}", err=True)
    finally:
        typer.echo(markdown(result, published=True))
        typer.echo(parts_markdown(result), nl=False)


def _with_senses(
    states: StateEncoder, tables: Mapping[str, WordVectors], table: WordVectors, name: str
) -> ContextEncoder:
    """Rows of tables, and of the senses of one of them, read by the teacher that it came from."""
    from wordstill.analysis.senses import Senses
    from wordstill.analysis.senses_in_context import SenseReader, WithSenses
    from wordstill.teacher import Teacher
    from wordstill.teacher.loading import recorded_teacher

    found, teacher = Senses(table), states.reader.teacher
    if table.provenance.get("teacher", {}).get("fingerprint") != teacher.fingerprint:
        teacher = Teacher.from_pretrained(recorded_teacher(table) or teacher.config.name)
    return WithSenses(states, tables, SenseReader(found, teacher), name)


def _installed_tasks() -> list[str]:
    """All tasks whose data sets are here; the others are reported."""
    from wordstill.evaluation.data.locate import available
    from wordstill.evaluation.suite import IN_CONTEXT

    present = set(available())
    found = [name for name, row in IN_CONTEXT.items() if row.partition(":")[0] in present]
    if not found:
        raise DataError("None of the data sets is here. Get them with: wordstill data fetch --all")
    if missing := [name for name in IN_CONTEXT if name not in found]:
        warn(f"Not found, so not scored: {', '.join(missing)} (wordstill data list).")
    return found
