"""``wordstill meaning similar``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordstill.cli.meaning.meaning_options import DEFAULT_KIND, EncoderOptions, EncoderPath, Kind, read_span
from wordstill.cli.options import Topn, argument

EXAMPLES = "Example: wordstill meaning similar meaning uses 'They sat on the bank.' 16:20"


def command(
    *,
    encoder: EncoderPath,
    uses: Annotated[Path, argument("USES", "A folder that meaning encode made.")],
    sentence: Annotated[str, argument("SENTENCE", "Any text.")],
    span: Annotated[str, argument("PLACE", "START:END in characters, or the number of a word.")],
    topn: Topn = 10,
    kind: Kind = DEFAULT_KIND,
    options: EncoderOptions,
) -> None:
    """Show the uses with the nearest meanings to that of a word in a sentence."""
    place = read_span(span)
    model = options.load(encoder, kind)
    from wordstill.meaning import OccurrenceStore

    for occurrence, cosine in model.most_similar(sentence, place, OccurrenceStore.load(uses), topn):
        typer.echo(f"{cosine:8.4f}  {occurrence.excerpt()}")
