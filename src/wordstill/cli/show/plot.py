"""``wordstill plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.open_tables import open_tables, table_paths
from wordstill.cli.options import Overwrite, argument, option, refuse_report, words_or_file
from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.evaluation.report.plots import Projection
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill plot map vectors --out map.svg
wordstill plot relation vectors --relation capital --out capital.png
wordstill plot relation vectors --pairs man:woman,king:queen,son:daughter --out pairs.svg
wordstill plot heat vectors --words king,queen,river,lake --out heat.svg
wordstill plot change 1900s 2000s --out change.svg
wordstill plot curve small medium large --set simlex999 --out curve.svg"""

KINDS = ("map", "relation", "heat", "change", "curve")


def command(
    kind: Annotated[str, argument("KIND", f"{', '.join(KINDS[:-1])} or {KINDS[-1]}.")],
    tables: Annotated[list[Path], argument("TABLE", "Folders or files of vectors; change needs two.")],
    out: Annotated[Path, option("FILE", "The figure, .svg or .png.", "--out", "-o")],
    words: Annotated[
        str | None, option("WORDS|FILE", "Words with commas between, or a file of words: of heat; to color map by.")
    ] = None,
    relation: Annotated[
        str, option("NAME", "Of relation: gender, capital or comparative, or your own pairs with --pairs.")
    ] = "gender",
    pairs: Annotated[str | None, option("PAIRS", "Of relation: man:woman,king:queen, three pairs or more.")] = None,
    projection: Annotated[str, option("NAME", "Of relation: pca or tsne.")] = "pca",
    layout: Annotated[str, option("NAME", "Of map: tsne, umap or pca.")] = "tsne",
    labels: Annotated[int, option("N", "Of map: labels at most.", min=0)] = 90,
    dataset: Annotated[str, option("NAME", "Of curve: the set that is scored.", "--set")] = "simlex999",
    seed: Annotated[int, option("N", "Seed.", min=0)] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Draw a figure for a paper: a map, a relation, a heat map, change between tables, a learning curve."""
    from wordstill.evaluation.report.plots import check_projection
    from wordstill.explore import figures

    if kind not in KINDS:
        raise unknown_name("figure", kind, KINDS)
    refuse_report(out, overwrite=overwrite)
    figures.check_suffix(out)
    check_projection(projection)
    opened = open_tables(tables)
    name, table = _first(opened, kind)
    if kind == "map":
        lists = [words_or_file(words)] if words else []
        path = dict(zip(opened, table_paths(tables)))[name]
        figure = figures.map_figure(table, path, lists=lists, layout=layout, labels=labels, seed=seed)
    elif kind == "relation":
        chosen = _pairs(pairs) if pairs else relation
        figure = figures.relation_figure(table, chosen, cast("Projection", projection), seed=seed)
    elif kind == "heat":
        if words is None:
            raise UsageError("A heat map needs words: --words king,queen,river")
        figure = figures.heat_figure(table, words_or_file(words))
    elif kind == "change":
        figure = figures.change_figure(opened, seed=seed)
    else:
        figure = figures.curve_figure(opened, dataset, seed=seed)
    figures.save_figure(figure, out)
    typer.echo(f"Written: {out}", err=True)


def _first(opened: dict[str, WordVectors], kind: str) -> tuple[str, WordVectors]:
    """The one table of a figure that shows one."""
    if kind in ("map", "relation", "heat") and len(opened) > 1:
        raise UsageError(f"{kind} shows one table, got {', '.join(opened)}. Name one of them.")
    return next(iter(opened.items()))


def _pairs(text: str) -> list[tuple[str, str]]:
    split = [tuple(part.strip() for part in pair.split(":")) for pair in text.split(",") if pair.strip()]
    if any(len(pair) != 2 or not all(pair) for pair in split):
        raise UsageError(f"Pairs are written man:woman,king:queen, got {text!r}.")
    return [(pair[0], pair[1]) for pair in split]
