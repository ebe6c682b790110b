"""``wordstill reproduce``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wordstill.cli import options
from wordstill.cli.failures import needs_models, warn
from wordstill.cli.options import argument, flag, option
from wordstill.cli.printing import print_whole, time_text
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.reproduction import MeaningPlan, ReproduceConfig, Reproduction, Row, TablePlan

EXAMPLES = """\
wordstill reproduce --list
wordstill reproduce x2static:table3 --text corpus.txt --out x2static
wordstill reproduce meaning:table3 --text corpus.txt --teacher ./bert --there ./en-fr --back ./fr-en --out meaning
wordstill reproduce context-to-vec:table4 --text corpus.txt --teacher roberta-base --seeds 3 --out table4"""

BASELINES, MEANING = "Baselines and retrofitting", "Tables of meaning"


def command(
    *,
    table: Annotated[
        str | None,
        argument("PAPER[:TABLE]", "x2static, wang, context-to-vec or meaning, with a table, as in x2static:table3."),
    ] = None,
    text: Annotated[
        list[str] | None,
        option("FILE", "Text as for distill, or a prepared text; may be repeated. The papers use Wikipedia."),
    ] = None,
    out: Annotated[Path | None, option("DIR", "Folder for text, vectors and scores.", "--out", "-o")] = None,
    teacher: Annotated[str | None, option("NAME|FOLDER", "The model; by default the paper's.")] = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    seeds: Annotated[int, option("N", "Number of runs of each randomized system.", min=1)] = 1,
    baselines: Annotated[bool, flag("Also train the baselines.", "--baselines/--no-baselines", panel=BASELINES)] = True,
    system: Annotated[
        list[str] | None,
        option("SYSTEM", "Make only this system, named as --dry-run shows it. May be repeated.", panel=BASELINES),
    ] = None,
    own: Annotated[
        list[str] | None,
        option(
            "ROW=TABLE",
            "Also score your own table, such as published vectors, next to a row of the paper. May be repeated.",
            panel=BASELINES,
        ),
    ] = None,
    lexicon: Annotated[str, option("NAME|FILE", "Lexicon for retrofitting.", panel=BASELINES)] = "ppdb-xl",
    workers: Annotated[int, option("N", "Threads for skip-gram, CBOW and fastText.", panel=BASELINES, min=1)] = 1,
    trees: Annotated[
        list[str] | None,
        option(
            "FILE",
            "CoNLL-U files or folders with the dependency trees of the text, for Deps and SynGCN, which need them; by "
            "default the CoNLL-U files of --text. May be repeated.",
            panel=BASELINES,
        ),
    ] = None,
    triples: Annotated[
        int,
        option(
            "N", "Number of words in sentences to make triples from; the paper has a million.", panel=MEANING, min=100
        ),
    ] = 100_000,
    there: Annotated[
        str | None,
        option("NAME", "Translator from the language of the text; without one, words are replaced.", panel=MEANING),
    ] = None,
    back: Annotated[str | None, option("NAME", "Translator back into it.", panel=MEANING)] = None,
    masked: Annotated[
        str | None, option("NAME", "Masked language model, if the teacher is not one.", panel=MEANING)
    ] = None,
    vectors: Annotated[
        Path | None,
        option("TABLE", "Static vectors, fastText in the paper; by default still, from the text.", panel=MEANING),
    ] = None,
    preset: Annotated[str, option("NAME", "How distillers are trained: paper or default.", panel=MEANING)] = "paper",
    dry_run: Annotated[bool, flag("Only show what would be done and how long it would take.", "--dry-run")] = False,
    progress: options.ShowProgress = None,
    list_tables: Annotated[bool, flag("List the tables and exit.", "--list")] = False,
) -> None:
    """Reproduce a paper's results table and print both side by side.

    Filter, case, vocabulary, presets, reading unit and protocol are those of the paper. Run the same command again to
    resume an interrupted run.
    """
    with needs_models("wordstill reproduce"):
        from wordstill.reproduction import find_plan
    if list_tables:
        _list()
        return
    if table is None:
        raise UsageError("No table was named. Name one, such as x2static:table3, or use --list.")
    plan = find_plan(table)
    if not text or out is None:
        raise UsageError(f"{plan.name} needs a text and a folder: add --text FILE and --out DIR.")
    from wordstill.corpus.conllu import is_conllu
    from wordstill.reproduction import ReproduceConfig, reproduce
    from wordstill.reproduction.reproducing import check, expected_seconds, open_text
    from wordstill.teacher import TeacherConfig

    model = TeacherConfig(teacher or plan.teacher, device, dtype)
    config = ReproduceConfig(
        model,
        seeds,
        baselines,
        tuple(system or ()),
        lexicon,
        workers,
        tuple(map(_own, own or ())),
        tuple(trees or filter(is_conllu, text)),
        triples,
        there,
        back,
        masked,
        None if vectors is None else str(vectors),
        cast("Any", preset),
    )
    show = options.wants_progress(progress)
    inputs = cast("list[str | Path]", text)
    _show_plan(plan, model.name, config)
    check(plan, options.output_folder(out), config)
    corpus = open_text(plan, inputs, out, progress=show)
    if corpus.meta["settings"]["filter"] != plan.text:
        warn(f"{corpus.path} was prepared with the filter {corpus.meta['settings']['filter']}, not {plan.text}.")
    seconds = expected_seconds(plan, corpus, config, out)
    what = "Making triples" if plan.paper == "meaning" else "Distilling"
    taken = f"{what} takes about {time_text(seconds)}" if seconds else f"{what} is done"
    typer.echo(f"{taken}; training and scoring come on top.")
    if dry_run:
        typer.echo("Only the text was prepared. Run without --dry-run to start.")
        return
    start = time.monotonic()
    found = reproduce(plan, inputs, out, config, progress=show, say=lambda line: typer.echo(line, err=True))
    _show(found)
    typer.echo(f"{time_text(time.monotonic() - start)}; all of it is in {out}.")


def _own(text: str) -> tuple[str, str]:
    row, equals, path = text.rpartition("=")
    if not (row and equals and path):
        raise UsageError(f"--own {text!r} is not a row and a table: write ROW=TABLE, as GloVe=glove.txt.")
    return row, path


def _list() -> None:
    from wordstill.evaluation.report.published import PAPERS
    from wordstill.reproduction import plan_names

    for name in plan_names():
        typer.echo(f"{name:<24}  {PAPERS[name.partition(':')[0]]}")


def _show_plan(plan: TablePlan | MeaningPlan, teacher: str, config: ReproduceConfig) -> None:
    from wordstill.reproduction import TablePlan

    if isinstance(plan, TablePlan):
        _show_tables(plan, teacher, config)
    else:
        how = f"round trips by {config.there} and {config.back}" if config.there else "replaced words"
        typer.echo(f"{plan.name}: teacher {teacher}, masked words by {config.masked or teacher}, sentences of 15 to 50")
        typer.echo(
            f"  words, {config.triples:,} targets, positives by {how}, preset {config.preset}, seeds {config.seeds},"
        )
        typer.echo(f"  with and without negatives; tasks {', '.join(plan.tasks)}")
    if plan.lacks:
        typer.echo(f"  Not made: {plan.lacks}.")


def _show_tables(plan: TablePlan, teacher: str, config: ReproduceConfig) -> None:
    from wordstill.reproduction.reproducing import chosen_systems

    size = "all words" if plan.max_size is None else f"at most {plan.max_size:,} words"
    seen = f" seen {plan.min_count} times or more" if plan.min_count > 1 else ""
    typer.echo(f"{plan.name}: teacher {teacher}, text filter {plan.text}, {size}{seen},")
    typer.echo(f"  protocol {plan.protocol}, seeds {config.seeds}, sets {', '.join(plan.sets)}")
    groups: dict[str, list[str]] = {}
    for system in chosen_systems(plan, config):
        origin = {"distilled": f" from {system.unit}s", "retrofitted": f" from {system.source}"}.get(system.made, "")
        specs = groups.setdefault(f"{system.made}{origin}", [])
        if system.spec not in specs:
            specs.append(system.spec)
    for made, specs in groups.items():
        typer.echo(f"  {made}: {'; '.join(specs)}")
    untreed = [system.spec for system in plan.systems if system.needs_trees and not config.trees]
    if untreed and config.baselines:
        typer.echo(f"  Not made: {' and '.join(untreed)}, which need a parsed text (--trees).")


def _show(found: Reproduction) -> None:
    from itertools import groupby

    from rich.table import Table

    typer.echo(f"{found.plan.name}, teacher {found.teacher}, protocol {found.plan.protocol}: ours next to the paper's.")
    for (system, model), rows in groupby(found.rows, key=lambda row: (row.system, row.printed_row)):
        shown = Table(title=f"{system} (in the paper: {model or 'no such row'})", title_justify="left")
        for heading in ("set", "ours", "95 % interval", "coverage", "printed"):
            shown.add_column(heading)
        for row in rows:
            shown.add_row(*_cells(row))
        print_whole(shown, names=1)
    problems: dict[str, list[str]] = {}
    for row in found.rows:
        if row.problem:
            problems.setdefault(f"{row.dataset}: {row.problem}", []).append(row.system)
    for problem, systems in problems.items():
        typer.echo(f"No score on {problem} ({len(systems)} of the systems above).")
    if found.missing:
        typer.echo(f"Not found: {', '.join(found.missing)}. Get them with wordstill data fetch.")


def _cells(row: Row) -> list[str]:
    deviation = "" if row.deviation is None else f" ± {row.deviation:.1f}"
    layer = "" if row.layer is None else f" (layer {row.layer})"
    return [
        row.dataset,
        "–" if row.ours is None else f"{row.ours:.1f}{deviation}{layer}",
        "–" if row.interval is None else f"{row.interval.low:.1f} to {row.interval.high:.1f}",
        f"{row.used:,} of {row.total:,}",
        "–" if row.printed is None else f"{row.printed:.1f}",
    ]
