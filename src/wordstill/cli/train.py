"""``wordstill train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, cast

import typer

from wordstill.cli import options
from wordstill.cli.failures import needs_models
from wordstill.cli.options import option
from wordstill.cli.printing import count_text, show_result, time_text

EXAMPLES = """\
wordstill train corpus.txt --out vectors
wordstill train store --method glove:window=5 --method sent2vec --dim 300 --out baselines
wordstill train store --method skipgram --workers 8 --seed 1 --out vectors
wordstill train store --method 'skipgram:window=5|10,negatives=5|15' --development pairs.tsv --out search
wordstill train parsed.conllu --method deps --method syngcn --out vectors"""


TRAINING = "Training"


def command(
    *,
    inputs: options.Inputs,
    out: options.NewFolder,
    method: Annotated[
        list[str] | None,
        option(
            "METHOD",
            "skipgram (the default), cbow, fasttext, sent2vec, glove, context2vec, deps or syngcn, with settings as in "
            "glove:window=5; glove:window=5|10 trains one for each. May be repeated.",
            "--method",
            "-m",
        ),
    ] = None,
    dim: Annotated[int | None, option("N", "Size of the vectors; by default the method's own.", min=1)] = None,
    epochs: Annotated[int | None, option("N", "Passes over the text; by default the method's own.", min=1)] = None,
    trees: Annotated[
        list[str] | None,
        option(
            "FILE",
            "CoNLL-U files or folders with the dependency trees of the text, for deps and syngcn; not needed where "
            "INPUT is CoNLL-U. May be repeated.",
            panel=TRAINING,
        ),
    ] = None,
    development: Annotated[
        Path | None,
        option(
            "FILE",
            "Word pairs with human ratings: rank all tables by their scores on them. Test sets are refused.",
            panel=TRAINING,
        ),
    ] = None,
    seed: options.Seed = 0,
    workers: Annotated[
        int,
        option(
            "N",
            "Threads for skipgram, cbow and fasttext; only runs with one thread are reproducible.",
            panel=TRAINING,
            min=1,
        ),
    ] = 1,
    device: options.Device = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    vocabulary: options.VocabularyOptions,
    text: options.TextOptions,
) -> None:
    """Train word2vec, fastText, GloVe and other baselines from scratch.

    INPUT is a prepared store, or any text, which is then prepared first.

    With one method, DIR is the table of vectors; with several, it has a folder for each.
    """
    with needs_models("wordstill train"):
        from wordstill.baselines import TrainConfig, Training, train
    from wordstill.evaluation.development import DevelopmentPairs

    config = TrainConfig(
        methods=tuple(method or ["skipgram"]),
        dim=dim,
        epochs=epochs,
        vocabulary=vocabulary.config(),
        prepare=text.config(),
        trees=tuple(trees or ()),
        training=Training(seed=seed, workers=workers, device=device, progress=options.wants_progress(progress)),
    )
    pairs = None if development is None else DevelopmentPairs(development)
    options.output_folder(out)
    start = time.monotonic()
    tables = train(cast("list[str | Path]", inputs), out, config=config, overwrite=overwrite)
    done = f"Trained {count_text(len(tables), 'table')} in {time_text(time.monotonic() - start)}."
    show_result(tables, out, done)
    if pairs is not None:
        scores = {label: pairs.score(table) for label, table in tables.items()}
        typer.echo(f"\nScores on {development}, the best first:")
        for label in sorted(scores, key=lambda label: -scores[label]):
            typer.echo(f"  {scores[label]:5.1f}  {label}")
