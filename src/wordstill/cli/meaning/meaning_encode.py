"""``wordstill meaning encode``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from wordstill.cli.meaning.meaning_options import DEFAULT_KIND, EncoderOptions, EncoderPath, Kind, read_span
from wordstill.cli.options import NewFolder, Overwrite, argument, option, output_folder
from wordstill.cli.printing import count_text, show_next

EXAMPLES = """\
Example: wordstill meaning encode meaning sentences.txt --word bank --word shore --out uses

Example: printf 'They sat on the bank.\\t16:20\\n' | wordstill meaning encode meaning - --out uses"""


def command(
    *,
    encoder: EncoderPath,
    sentences: Annotated[
        str,
        argument(
            "FILE",
            "A sentence on each line, for every word of it, or a sentence, a tab, and START:END in "
            "characters or the number of a word; - for the standard input.",
        ),
    ],
    out: NewFolder,
    word: Annotated[list[str] | None, option("WORD", "Only this word, in lines without a position.")] = None,
    kind: Kind = DEFAULT_KIND,
    options: EncoderOptions,
    overwrite: Overwrite = False,
) -> None:
    """Encode uses of words into a folder with their vectors, to search in or to read from Python."""
    output_folder(out)
    lines = list(_lines(sentences))
    model = options.load(encoder, kind)
    from wordstill.meaning import Occurrence, OccurrenceStore

    placed = OccurrenceStore.build(
        model, [Occurrence.at(text, read_span(span)) for text, span in lines if span is not None]
    )
    whole = OccurrenceStore.from_texts(model, [text for text, span in lines if span is None], word or None)
    store = placed.followed_by(whole)
    store.save(out, overwrite=overwrite)
    typer.echo(f"Encoded {count_text(len(store), 'use')}: {out}")
    names = f"{shlex.quote(str(encoder))} {shlex.quote(str(out))}"
    show_next(f"wordstill meaning similar {names} 'They sat on the bank.' 16:20")


def _lines(name: str) -> Iterator[tuple[str, str | None]]:
    """The text of each line, and its position if there is one."""
    content = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    for line in content.split("\n"):
        if line.strip():
            text, tab, span = line.rstrip("\r").partition("\t")
            yield text, span if tab else None
