"""``wordstill train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli import options
from wordstill.cli.run_report import show_result
from wordstill.errors import MissingExtra

if TYPE_CHECKING:
    from wordstill.baselines import TrainConfig
    from wordstill.corpus import PrepareConfig


EXAMPLES = """\
Example: wordstill train corpus.txt --out vectors

Example: wordstill train store --method glove:window=5 --method sent2vec --dim 300 --out baselines

Example: wordstill train store --method skipgram --workers 8 --seed 1 --out vectors"""


def command(
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            metavar="METHOD",
            help="skipgram (the default), cbow, fasttext, sent2vec or glove, with settings as in "
            "glove:window=5. May be repeated.",
            show_default=False,
        ),
    ] = None,
    dim: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Size of the vectors; by default the method's own.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How often the text is read; by default the method's own."),
    ] = None,
    seed: options.Seed = 0,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Threads of skipgram, cbow and fasttext; only with one are two runs the same.",
        ),
    ] = 1,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="auto, cpu, cuda or cuda:1, for sent2vec and glove.")
    ] = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    min_count: options.MinCount = 5,
    max_vocab: options.MaxVocab = None,
    key: options.Key = "lower",
    words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Words, one on each line, that must be learnt, however rare.",
            rich_help_panel=options.VOCABULARY,
        ),
    ] = None,
    format: options.Format = "auto",
    field: options.Field = "text",
    sentences_per_line: options.SentencesPerLine = False,
    filter: options.Filter = "none",
    language: options.Language = None,
    splitter_language: options.SplitterLanguage = "en",
    errors: options.Errors = "strict",
    encoding: options.Encoding = "utf-8",
) -> None:
    """Train word vectors on text from scratch, without a language model, to compare with.

    INPUT is a prepared text, or any other text, which is prepared first.

    With one method DIR is the table of vectors; with several it holds a folder for each.
    """
    text = options.prepare_config(
        format=format,
        field=field,
        sentences_per_line=sentences_per_line,
        filter=filter,
        language=language,
        splitter_language=splitter_language,
        errors=errors,
        encoding=encoding,
    )
    config = _config(
        [_with_settings(name, dim=dim, epochs=epochs) for name in method or ["skipgram"]],
        vocabulary={"min_count": min_count, "max_size": max_vocab, "key": key},
        training={
            "seed": seed,
            "workers": workers,
            "device": device,
            "progress": options.wants_progress(progress),
        },
        words=words,
        prepare=text,
    )
    _run(inputs, options.output_folder(out), config, overwrite=overwrite)


def _with_settings(method: str, **settings: int | None) -> str:
    """A method as the user wrote it, with the settings that were given beside it."""
    given = [f"{name}={value}" for name, value in settings.items() if value is not None]
    name, _, rest = method.partition(":")
    own = [part for part in rest.split(",") if part.strip()]
    return f"{name}:{','.join([*own, *given])}" if own or given else method


def _config(
    methods: list[str],
    *,
    vocabulary: dict[str, Any],
    training: dict[str, Any],
    words: Path | None,
    prepare: PrepareConfig,
) -> TrainConfig:
    try:
        from wordstill.baselines import TrainConfig, Training
        from wordstill.corpus import Vocabulary, VocabularyConfig
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", "wordstill train") from error
    wanted = Vocabulary.read_word_list(words) if words is not None else ()
    return TrainConfig(
        tuple(methods),
        vocabulary=VocabularyConfig(**vocabulary, words=wanted),
        prepare=prepare,
        training=Training(**training),
    )


def _run(inputs: list[str], out: Path, config: TrainConfig, *, overwrite: bool) -> None:
    from wordstill.baselines import train

    start = time.monotonic()
    tables = train(cast("list[str | Path]", inputs), out, config=config, overwrite=overwrite)
    show_result(tables, out, time.monotonic() - start, verb="Trained")
