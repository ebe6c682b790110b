"""``wordstill evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.data import downloadable
from wordstill.cli.open_tables import TEACHER, Unknown, open_tables, table_paths, with_policies, with_teacher
from wordstill.cli.options import Overwrite, ShowProgress, argument, flag, option, refuse_report, wants_progress
from wordstill.cli.printing import print_whole, show_next
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.evaluation import Evaluation
    from wordstill.evaluation.report.relation_points import Projection
    from wordstill.vectors import WordVectors

RULES, REPORTS = "Rules", "Reports"
ProtocolName = Annotated[str, option("NAME", "Named rules: default, muse, web or official.", "--protocol", panel=RULES)]
ChangedRules = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Change one rule of the protocol, such as oov=backoff, case=lower, max_vocab=200000, "
        "analogy=3cosmul or sentence=sif; may be repeated.",
        "--rule",
        panel=RULES,
    ),
]
BACKOFF_RULE = "oov=backoff"
EXAMPLES = """\
wordstill evaluate vectors
wordstill evaluate vectors glove.txt --suite papers --html report.html
wordstill evaluate vectors --set simlex999 --set my-pairs.tsv --out evaluation.json
wordstill evaluate vectors --unknown teacher"""


@dataclass(frozen=True)
class ReportOptions:
    """The files to write; None for those not requested."""

    out: Annotated[Path | None, option("FILE", "Write everything as JSON.", "--out", "-o", panel=REPORTS)] = None
    html: Annotated[Path | None, option("FILE", "Write one page with tables and plots.", panel=REPORTS)] = None
    words: Annotated[
        list[str] | None,
        option(
            "WORD",
            "Show the neighbors of this word on the page; may be repeated.",
            "--neighbors",
            "--neighbours",
            panel=REPORTS,
        ),
    ] = None
    projection: Annotated[str, option("NAME", "Projection of the plots: pca or tsne.", panel=REPORTS)] = "pca"
    overwrite: Overwrite = False

    def resolved(self) -> ReportOptions:
        """The same with file names in place of folders; files that exist are refused."""
        out, html = _file(self.out, "evaluation.json"), _file(self.html, "evaluation.html")
        if out is not None and html is not None and out.resolve() == html.resolve():
            raise UsageError(f"--out and --html are both {out}. Use two different files.")
        refuse_report(out, overwrite=self.overwrite)
        refuse_report(html, overwrite=self.overwrite)
        return replace(self, out=out, html=html)

    def check(self, tables: Mapping[str, WordVectors]) -> None:
        """Refuse what the page could not show."""
        from wordstill.evaluation.comparison import absent_everywhere
        from wordstill.evaluation.report.relation_points import check_projection

        if self.html is None and self.words:
            raise UsageError("Neighbors are shown on the page: use --html FILE with --neighbors.")
        check_projection(self.projection)
        if absent := absent_everywhere(tables, self.words or ()):
            raise UsageError(f"No table has these words of --neighbors: {', '.join(absent)}.")

    def write(self, evaluation: Evaluation, tables: Mapping[str, WordVectors]) -> None:
        """Write the files."""
        if self.out is not None:
            typer.echo(f"Written: {evaluation.save(self.out, overwrite=self.overwrite)}", err=True)
        if self.html is not None:
            from wordstill.core.files import write_file
            from wordstill.evaluation.report.page import Exhibits, html

            projection = cast("Projection", self.projection)
            exhibits = Exhibits.of(tables, self.words or (), projection, evaluation.seed)
            write_file(self.html, html(evaluation, exhibits))
            typer.echo(f"Written: {self.html}", err=True)


def command(
    *,
    vectors: Annotated[
        list[Path] | None, argument("VECTORS", "Tables to score, or folders with several of them.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        option(
            "NAME|FILE|KIND:FILE",
            "A data set (NAME:KIND for another task on it), or your own file: two words and a score per line, or "
            "another KIND, as in analogy:FILE; may be repeated.",
            "--set",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        option("NAME", "A group of sets: similarity (the default), intrinsic, sentences, papers, trained, probe."),
    ] = None,
    protocol: ProtocolName = "default",
    rules: ChangedRules = None,
    unknown: Unknown = None,
    seed: Annotated[int, option("N", "Seed of bootstrap intervals and trained tasks.", panel=RULES, min=0)] = 0,
    teacher: Annotated[
        str | None,
        option(
            "NAME|FOLDER",
            "The model to fine-tune with --set trec:parent, or to encode words with --unknown teacher; by default the "
            "one that the table was distilled from.",
            panel=RULES,
        ),
    ] = None,
    reports: ReportOptions,
    progress: ShowProgress = None,
    markdown: Annotated[bool, flag("Print the table as Markdown.", "--markdown", panel=REPORTS)] = False,
    latex: Annotated[bool, flag("Print the table as LaTeX.", "--latex", panel=REPORTS)] = False,
    list_sets: Annotated[bool, flag("List the data sets and exit.", "--list")] = False,
) -> None:
    """Score vectors on similarity, analogy, sentence and other benchmarks."""
    if list_sets:
        from wordstill.cli.data import list_sets as show_sets

        show_sets()
        return
    if not vectors:
        raise UsageError("No vectors were named. Name at least one table, or use --list to see the data sets.")
    if markdown and latex:
        raise UsageError("--markdown and --latex cannot be combined: choose one, or --html, which has both.")
    from wordstill.evaluation import evaluate
    from wordstill.evaluation.protocol import changed_protocol

    # Invalid options are refused before hours of training.
    reports = reports.resolved()
    if teacher is not None and TEACHER not in (unknown or []):
        _check_teacher(sets or [])
    rules = _with_backoff(rules or [], unknown)
    tables = open_tables(vectors)
    if unknown:
        places = zip(tables.items(), table_paths(vectors))
        tables = {name: with_policies(table, path, unknown, teacher) for (name, table), path in places}
    reports.check(tables)
    evaluation = evaluate(
        tables if teacher is None else with_teacher(tables, teacher),
        sets or None,
        changed_protocol(protocol, rules),
        seed,
        suite=suite,
        progress=wants_progress(progress),
    )
    form = "markdown" if markdown else "latex" if latex else "table"
    try:
        # Before anything is printed: a reader that goes away, as head does, ends the command.
        reports.write(evaluation, tables)
    finally:
        _show(evaluation, form, published=suite in ("papers", "trained"))
    if all(score.value is None for scores in evaluation.scores.values() for score in scores.values()):
        remedy = "" if unknown else " --unknown teacher gives words that are not in the table a vector."
        raise DataError(f"No data set could be scored; the table gives the reasons.{remedy}")
    if form == "table":
        _show_next(evaluation, vectors, written=(reports.out or reports.html) is not None)


def _show(evaluation: Evaluation, form: str, *, published: bool) -> None:
    """Print an evaluation as ``table``, ``markdown`` or ``latex``, with published scores if asked."""
    from wordstill.evaluation.report import tables as report

    if form != "table":
        make = report.markdown if form == "markdown" else report.latex
        typer.echo(make(evaluation, published=published), nl=False)
        return
    from wordstill.evaluation.studies import layers_if_any, over_seeds

    print_whole(report.table(evaluation, published=published), report.NAMES)
    if (differences := report.difference_table(evaluation)) is not None:
        print_whole(differences, names=1)
    if (study := layers_if_any(evaluation)) is not None:
        print_whole(report.layer_table(study), names=1)
    if seeds := over_seeds(evaluation):
        print_whole(report.seed_table(seeds), names=2)
    typer.echo(f"Protocol: {evaluation.protocol.name}")


def _with_backoff(rules: list[str], unknown: list[str] | None) -> list[str]:
    """The rules, with the one that policies for unknown words need."""
    if not unknown:
        return rules
    if other := [rule for rule in rules if rule.startswith("oov=") and rule != BACKOFF_RULE]:
        raise UsageError(
            f"--unknown gives unknown words a vector, but --rule {other[0]} does without. Choose one of them."
        )
    return rules if BACKOFF_RULE in rules else [*rules, BACKOFF_RULE]


def _check_teacher(sets: list[str]) -> None:
    if not {"parent", "frozen", "states"} & {part for name in sets for part in name.split(":")}:
        raise UsageError(
            "--teacher is the model of the parent row, but no set has one. Add one with --set trec:parent or "
            "--set parent:FILE, or let the model read unknown words with --unknown teacher."
        )


def _show_next(evaluation: Evaluation, vectors: list[Path], *, written: bool) -> None:
    commands: list[tuple[object, ...]] = []
    if wanted := downloadable(evaluation.missing):
        commands.append(("data", "fetch", *wanted))
    if not written:
        reports = "--out", "evaluation.json", "--html", "evaluation.html"
        commands.append(("evaluate", *vectors, "--suite", "papers", *reports))
    if commands:
        show_next(*commands)


def _file(path: Path | None, default: str) -> Path | None:
    return path / default if path is not None and path.is_dir() else path
