"""``wordstill meaning evaluate``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.meaning.meaning_options import EncoderOptions, EncoderPath
from wordstill.cli.options import Overwrite, ReportFile

if TYPE_CHECKING:
    from wordstill.teacher.spans import Unit

EXAMPLES = """\
Example: wordstill meaning evaluate meaning

Example: wordstill meaning evaluate meaning --task usim --task wic --out evaluation.json"""


def command(
    *,
    encoder: EncoderPath,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="usim, wic, cosimlex, scws, sts12 to sts16, paws-wiki or paws-words; may be repeated. By "
            "default all.",
            show_default=False,
        ),
    ] = None,
    unit: Annotated[
        str, typer.Option(metavar="NAME", help="What is averaged for a sentence: subwords or words.")
    ] = "subwords",
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=2, help="Pairs of each sentence task, for a quick look.", show_default=False
        ),
    ] = None,
    out: ReportFile = None,
    options: EncoderOptions,
    overwrite: Overwrite = False,
) -> None:
    """Measure meanings, contexts and the raw layers on words in context, sentences and paraphrases."""
    from wordstill.core.files import atomic_file, refuse_existing

    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    model = options.load(encoder)
    from wordstill.meaning.context_suite import EvaluationConfig, evaluate

    representations = model.representations()
    result = evaluate(
        model.reader, representations, task or None, EvaluationConfig(cast("Unit", unit), limit)
    )
    try:
        if out is not None:
            with atomic_file(out) as handle:
                handle.write(json.dumps(result.as_dict(), indent=2).encode())
            typer.echo(f"Written: {out}", err=True)
    finally:
        typer.echo(result.markdown(), nl=False)
