"""``wordstill meaning table``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from wordstill.cli.meaning.meaning_options import DEFAULT_KIND, EncoderOptions, EncoderPath, Kind
from wordstill.cli.options import NewFolder, Overwrite, argument, option, output_folder
from wordstill.cli.printing import show_next

EXAMPLES = "Example: wordstill meaning table meaning store --out vectors"


def command(
    *,
    encoder: EncoderPath,
    store: Annotated[Path, argument("STORE", "A prepared text.")],
    out: NewFolder,
    min_count: Annotated[int, option("N", "Drop rarer words.", min=1)] = 5,
    max_vocab: Annotated[int | None, option("N", "Keep only the N most frequent words.", min=1)] = None,
    kind: Kind = DEFAULT_KIND,
    options: EncoderOptions,
    overwrite: Overwrite = False,
) -> None:
    """Make a static table: the mean of the meanings of each word in a text."""
    from wordstill.core.files import refuse_existing
    from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig

    refuse_existing(output_folder(out), overwrite=overwrite)
    corpus = Corpus.open(store)
    model = options.load(encoder, kind)
    from wordstill.meaning import static_table

    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=min_count, max_size=max_vocab))
    vectors = static_table(model, corpus, vocabulary)
    vectors.save(out, overwrite=overwrite)
    typer.echo(f"Made {len(vectors):,} words x {vectors.dim}: {out}")
    place = shlex.quote(str(out))
    show_next(f"wordstill similar {place} {shlex.quote(vectors.words[0])}", f"wordstill evaluate {place}")
