"""``wordstill meaning make``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, cast

from wordstill.cli import options
from wordstill.cli.failures import needs_models
from wordstill.cli.meaning.meaning_train import show_trained
from wordstill.cli.options import option

EXAMPLES = """\
wordstill meaning make corpus.txt --masked distilbert/distilbert-base-uncased --out meaning
wordstill meaning make store --masked ./my-bert --triples 5000 --out meaning"""


def command(
    *,
    inputs: options.Inputs,
    masked: Annotated[str, option("NAME", "Masked language model, a name on the Hub or a folder.")],
    out: options.NewFolder,
    triples: Annotated[int, option("N", "Words in sentences to learn from; fewer are faster.", min=20)] = 20_000,
    min_words: Annotated[int, option("N", "Words of the shortest sentence that is used.", min=1)] = 8,
    epochs: Annotated[int, option("N", "Most epochs of training; it stops earlier if it can.", min=1)] = 20,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
) -> None:
    """Make an encoder of meanings from text in one command.

    It does what prepare, distill, meaning pairs and meaning train do, with settings for a first look. The same
    command resumes a run that was stopped.
    """
    with needs_models("wordstill meaning make"):
        from wordstill.meaning.ready_encoder import ReadyConfig, make_encoder

    options.output_folder(out)
    start = time.monotonic()
    _, trained = make_encoder(
        cast("list[str | Path]", inputs),
        out,
        masked,
        ReadyConfig(triples, min_words, epochs, seed),
        device=device,
        dtype=dtype,
        overwrite=overwrite,
        progress=options.wants_progress(progress),
    )
    show_trained(trained, out, time.monotonic() - start)
