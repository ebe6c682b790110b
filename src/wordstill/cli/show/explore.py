"""``wordstill explore``."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import open_tables, table_paths
from wordstill.cli.options import Overwrite, argument, flag, option, refuse_report
from wordstill.cli.printing import size_text
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.explore.library import Library

EXAMPLES = """\
wordstill explore vectors
wordstill explore vectors glove.txt --text store --words animals.txt
wordstill explore vectors --text store --html page.html"""


def command(
    tables: Annotated[list[Path], argument("TABLE", "Folders or files of vectors.")],
    text: Annotated[Path | None, option("STORE", "The prepared text, to show sentences from.", "--text", "-t")] = None,
    words: Annotated[
        list[Path] | None,
        option("FILE", "A list of words, one per line, to color the map by; may be repeated.", "--words"),
    ] = None,
    scores: Annotated[
        Path | None,
        option("FILE", "An evaluation; by default the evaluation.json found beside the tables.", "--scores"),
    ] = None,
    layout: Annotated[str | None, option("NAME", "Layout of the map: tsne, umap or pca.", "--layout")] = None,
    html: Annotated[Path | None, option("FILE", "Write the page as one offline file instead of serving it.")] = None,
    overwrite: Overwrite = False,
    port: Annotated[int, option("N", "Port; if taken, the next free one is used.", min=1, max=65_535)] = 8484,
    browser: Annotated[bool, flag("Open the page in the browser.", "--browser/--no-browser")] = True,
    seed: Annotated[int, option("N", "Seed of the map and its clusters.", min=0)] = 0,
) -> None:
    """Explore vectors in the browser: map, neighbors, sentences, scores."""
    refuse_report(html, overwrite=overwrite)
    library = _open(tables, text, words or [], scores, layout, seed)
    if html is not None:
        _write(library, html)
        return
    from wordstill.explore.server import bind, make_server

    bound = bind(port)
    taken = bound.getsockname()[1]
    if taken != port:
        warn(f"Port {port} is in use; using {taken}.")
    address = f"http://127.0.0.1:{taken}/"
    server = make_server(library, bound)
    typer.echo(f"The page is at {address} (Ctrl+C stops it)")
    for table in library.tables.values():
        if len(table.maps.rows) < len(table.vectors):
            shown = f"{len(table.maps.rows):,} most frequent of the {len(table.vectors):,} words"
            typer.echo(f"The map shows the {shown} of {table.name}.", err=True)
    threading.Thread(target=library.warm_up, daemon=True).start()
    if browser and not _open_browser(address):
        typer.echo("No browser could be opened; open the address yourself.", err=True)
    server.run(sockets=[bound])


def _open(
    tables: list[Path], text: Path | None, words: list[Path], scores: Path | None, layout: str | None, seed: int
) -> Library:
    from wordstill.core.text_io import read_word_list
    from wordstill.corpus import Corpus, is_store
    from wordstill.explore.library import Library, find_scores, read_scores

    opened = open_tables(tables)
    if text is not None and not is_store(text):
        raise UsageError(f"{text} is not a prepared text. Prepare it first: wordstill prepare {text} --out store")
    found = scores or find_scores(tables)
    return Library(
        opened,
        dict(zip(opened, table_paths(tables))),
        None if text is None else Corpus.open(text),
        None if found is None else read_scores(found),
        {path.stem: read_word_list(path) for path in words},
        method=layout,
        seed=seed,
    )


def _write(library: Library, html: Path) -> None:
    from wordstill.explore.offline import write_page

    typer.echo("Computing the map, senses and groups; this can take minutes for a large table.", err=True)
    written = write_page(library, html)
    for note in written.notes:
        warn(note)
    typer.echo(f"Written: {html} ({size_text(html.stat().st_size)})", err=True)


def _open_browser(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
