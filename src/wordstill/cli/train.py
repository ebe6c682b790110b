"""``wordstill train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from wordstill.cli import options
from wordstill.cli.options import option
from wordstill.cli.printing import show_result
from wordstill.errors import MissingExtra

if TYPE_CHECKING:
    from wordstill.baselines import TrainConfig


EXAMPLES = """\
Example: wordstill train corpus.txt --out vectors

Example: wordstill train store --method glove:window=5 --method sent2vec --dim 300 --out baselines

Example: wordstill train store --method skipgram --workers 8 --seed 1 --out vectors"""


def command(
    *,
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        option(
            "METHOD",
            "skipgram (the default), cbow, fasttext, sent2vec or glove, with settings as in "
            "glove:window=5. May be repeated.",
            "--method",
            "-m",
        ),
    ] = None,
    dim: Annotated[int | None, option("N", "Size of the vectors; by default the method's own.", min=1)] = None,
    epochs: Annotated[
        int | None, option("N", "How often the text is read; by default the method's own.", min=1)
    ] = None,
    seed: options.Seed = 0,
    workers: Annotated[
        int, option("N", "Threads of skipgram, cbow and fasttext; only with one are two runs the same.", min=1)
    ] = 1,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    vocabulary: options.VocabularyOptions,
    text: options.TextOptions,
) -> None:
    """Train word vectors on text from scratch, without a language model, to compare with.

    INPUT is a prepared text, or any other text, which is prepared first.

    With one method DIR is the table of vectors; with several it holds a folder for each.
    """
    config = _config(
        vocabulary,
        text,
        methods=tuple(method or ["skipgram"]),
        dim=dim,
        epochs=epochs,
        training={"seed": seed, "workers": workers, "device": device, "progress": options.wants_progress(progress)},
    )
    _run(inputs, options.output_folder(out), config, overwrite=overwrite)


def _config(
    vocabulary: options.VocabularyOptions, text: options.TextOptions, *, training: dict[str, Any], **settings: Any
) -> TrainConfig:
    try:
        from wordstill.baselines import TrainConfig, Training
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", "wordstill train") from error
    return TrainConfig(vocabulary=vocabulary.config(), prepare=text.config(), training=Training(**training), **settings)


def _run(inputs: list[str], out: Path, config: TrainConfig, *, overwrite: bool) -> None:
    from wordstill.baselines import train

    start = time.monotonic()
    tables = train(cast("list[str | Path]", inputs), out, config=config, overwrite=overwrite)
    show_result(tables, out, time.monotonic() - start, verb="Trained")
