"""``wordstill meaning evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.meaning.meaning_options import EncoderOptions, EncoderPath
from wordstill.cli.options import Overwrite, ReportFile, option

if TYPE_CHECKING:
    from wordstill.evaluation.tasks.in_context import Unit

EXAMPLES = """\
Example: wordstill meaning evaluate meaning

Example: wordstill meaning evaluate meaning --task usim --task wic --out evaluation.json"""


def command(
    *,
    encoder: EncoderPath,
    task: Annotated[
        list[str] | None,
        option(
            "NAME",
            "usim, wic, cosimlex, scws, sts12 to sts16, paws-wiki or paws-words; may be repeated. By default all.",
        ),
    ] = None,
    unit: Annotated[str, option("NAME", "What is averaged for a sentence: subwords or words.")] = "subwords",
    limit: Annotated[int | None, option("N", "Pairs of each sentence task, for a quick look.", min=2)] = None,
    out: ReportFile = None,
    options: EncoderOptions,
    overwrite: Overwrite = False,
) -> None:
    """Measure meanings, contexts and the raw layers on words in context, sentences and paraphrases."""
    from wordstill.core.files import refuse_existing

    if out is not None:
        refuse_existing(out, overwrite=overwrite)
    model = options.load(encoder)
    from wordstill.evaluation.report.tables import markdown, parts_markdown
    from wordstill.evaluation.suite import evaluate_in_context
    from wordstill.meaning.context_encoder import StateEncoder

    found = model.representations()
    # First, so that the others are compared with it.
    representations = {"raw": found.pop("raw"), **found}
    result = evaluate_in_context(
        StateEncoder(model.reader, representations), task or None, unit=cast("Unit", unit), limit=limit
    )
    try:
        if out is not None:
            typer.echo(f"Written: {result.save(out, overwrite=overwrite)}", err=True)
    finally:
        typer.echo(markdown(result, published=True))
        typer.echo(parts_markdown(result), nl=False)
