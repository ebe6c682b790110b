"""``wordstill plot``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.open_tables import open_tables, table_paths
from wordstill.cli.options import Overwrite, argument, option, refuse_report, words_or_file
from wordstill.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.evaluation.report.relation_points import Projection
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill plot map vectors --out map.svg
wordstill plot relation vectors --relation capital --out capital.png
wordstill plot relation vectors --pairs man:woman,king:queen,son:daughter --out pairs.svg
wordstill plot heat vectors --words king,queen,river,lake --out heat.svg
wordstill plot change 1900s 2000s --out change.svg
wordstill plot timeline vectors --words mouse,tablet --out timeline.svg
wordstill plot relation vectors --pairs pairs.tsv --projection tsne --dimensions 3 --out space.svg
wordstill plot curve sizes --set simlex999 --out curve.svg
wordstill plot curve windows --set simlex999 --over window --out windows.svg
wordstill plot training attended pairwise --out training.svg
wordstill plot attention vectors --sentence "The king spoke to his people." --out attention.svg"""

KINDS = ("map", "relation", "heat", "change", "timeline", "curve", "training", "attention")
ONE_TABLE = ("map", "relation", "heat", "timeline", "attention")


def command(
    kind: Annotated[str, argument("KIND", f"{', '.join(KINDS[:-1])} or {KINDS[-1]}.")],
    tables: Annotated[list[Path], argument("TABLE", "Folders or files of vectors; change needs two.")],
    out: Annotated[Path, option("FILE", "The figure, .svg or .png.", "--out", "-o")],
    words: Annotated[
        str | None,
        option("WORDS|FILE", "heat, timeline: words to draw; map: words to color. Comma-separated, or a file."),
    ] = None,
    relation: Annotated[
        str, option("NAME", "relation: gender, capital or comparative, or your own pairs with --pairs.")
    ] = "gender",
    pairs: Annotated[
        str | None,
        option(
            "PAIRS|FILE",
            "relation: at least three pairs, as in man:woman,king:queen, or a file with two words per line.",
        ),
    ] = None,
    projection: Annotated[str, option("NAME", "relation: pca or tsne.")] = "pca",
    dimensions: Annotated[int, option("N", "relation: 2 for a plane, 3 for space.", min=2, max=3)] = 2,
    layout: Annotated[str, option("NAME", "map: tsne, umap or pca.")] = "tsne",
    labels: Annotated[int, option("N", "map: maximum number of labels.", min=0)] = 90,
    dataset: Annotated[str, option("NAME", "curve: the data set to score.", "--set")] = "simlex999",
    over: Annotated[
        str, option("NAME", "curve: words of the text, layer, or a setting of the method, such as window or dim.")
    ] = "words",
    sentence: Annotated[str | None, option("TEXT", "attention: the sentence.")] = None,
    teacher: Annotated[str | None, option("NAME|FOLDER", "attention: the model, if it has moved.")] = None,
    seed: Annotated[int, option("N", "Seed.", min=0)] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Draw a figure for a paper, as SVG or PNG."""
    from wordstill.evaluation.report.relation_points import check_projection
    from wordstill.explore import figures

    if kind not in KINDS:
        raise unknown_name("figure", kind, KINDS)
    refuse_report(out, overwrite=overwrite)
    figures.check_suffix(out)
    check_projection(projection)
    opened = open_tables(tables)
    name, table = _first(opened, kind)
    path = dict(zip(opened, table_paths(tables)))[name]
    chosen = words_or_file(words) if words else []
    drawn: dict[str, Callable[[], str]] = {
        "map": lambda: figures.map_figure(
            table, path, lists=[chosen] if chosen else [], layout=layout, labels=labels, seed=seed
        ),
        "relation": lambda: figures.relation_figure(
            table,
            _pairs(pairs) if pairs else relation,
            cast("Projection", projection),
            dimensions=dimensions,
            seed=seed,
        ),
        "heat": lambda: figures.heat_figure(table, chosen),
        "timeline": lambda: figures.timeline_figure(table, chosen, seed=seed),
        "change": lambda: figures.change_figure(opened, seed=seed),
        "curve": lambda: figures.curve_figure(opened, dataset, over=over, seed=seed),
        "training": lambda: figures.training_figure(opened),
        "attention": lambda: _attention(table, path, sentence, teacher),
    }
    figures.save_figure(drawn[kind](), out)
    typer.echo(f"Written: {out}", err=True)


def _attention(table: WordVectors, path: Path, sentence: str | None, teacher: str | None) -> str:
    if sentence is None:
        raise UsageError('A figure of attention needs a sentence: --sentence "The king spoke to his people."')
    from wordstill.cli.failures import needs_models
    from wordstill.explore.figures import attention_figure

    with needs_models("wordstill plot attention"):
        from wordstill.explore.sentence_attention import attend

    return attention_figure(attend(table, path, sentence, teacher))


def _first(opened: dict[str, WordVectors], kind: str) -> tuple[str, WordVectors]:
    """The one table of a figure that shows one."""
    if kind in ONE_TABLE and len(opened) > 1:
        raise UsageError(f"{kind} shows one table, got {', '.join(opened)}. Name one of them.")
    return next(iter(opened.items()))


def _pairs(text: str) -> list[tuple[str, str]]:
    from wordstill.core.text_io import read_word_list
    from wordstill.evaluation.report.relation_points import read_pairs

    if Path(text).is_file():
        lines = [line.split() for line in read_word_list(Path(text))]
        if wrong := [line for line in lines if len(line) != 2]:
            raise DataError(f"{text}: a line of pairs has two words, got {' '.join(wrong[0])!r}.")
        return [(line[0], line[1]) for line in lines]
    return read_pairs(text)
