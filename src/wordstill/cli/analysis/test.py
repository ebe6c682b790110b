"""``wordstill test``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.open_tables import open_tables
from wordstill.cli.options import AsJson, Overwrite, ReportFile, Seed, argument, flag, option, refuse_report
from wordstill.cli.printing import print_whole, show_facts, show_json, show_next
from wordstill.core.guard import printable
from wordstill.errors import DataError, UsageError

if TYPE_CHECKING:
    from wordstill.analysis.association import Association
    from wordstill.analysis.word_lists import AssociationTest
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill test vectors glove.6B.100d.txt
wordstill test vectors --test weat-6 --statistic sc-weat --each
wordstill test vectors --lists my-lists.toml --two-sided --out associations.json"""
SCHEMA = 1
SHOWN = 10
"""Missing words to show for each list."""


def command(
    tables: Annotated[list[Path] | None, argument("TABLE", "Tables to test side by side, in any format.")] = None,
    tests: Annotated[
        list[str] | None,
        option("NAME", "A test of --lists or a published one, weat-1 to weat-10; may be repeated.", "--test", "-t"),
    ] = None,
    lists: Annotated[
        Path | None, option("FILE", "Your own word lists: .toml, .json, or plain lines of name: word, word.")
    ] = None,
    statistic: Annotated[str, option("NAME", "weat, sc-weat, rnd or projection.", "--statistic", "-s")] = "weat",
    two_sided: Annotated[bool, flag("Two-sided p-values; by default one-sided, as in the paper.", "--two-sided")] = (
        False
    ),
    permutations: Annotated[
        int, option("N", "Maximum number of permutations; if there are fewer, p is exact.", "--permutations", min=1)
    ] = 100_000,
    seed: Seed = 0,
    by_group: Annotated[
        bool, flag("Test each group of a table distilled with --group, side by side.", "--by-group")
    ] = False,
    each: Annotated[bool, flag("Also show the association of each target word.", "--each")] = False,
    as_json: AsJson = False,
    out: ReportFile = None,
    overwrite: Overwrite = False,
    list_tests: Annotated[bool, flag("List the tests with their words and exit.", "--list")] = False,
) -> None:
    """Run association tests (WEAT and others)."""
    from wordstill.analysis.association import associations

    chosen = _chosen(tests or [], lists)
    if list_tests:
        _show_lists(chosen)
        return
    if not tables:
        raise UsageError("No table was named. Name at least one, or use --list to see the tests.")
    refuse_report(out, overwrite=overwrite)
    opened = open_tables(tables)
    groups = _groups(opened) if by_group else {}
    labeled = {label: opened[name].group(group) for label, (name, group) in groups.items()} if by_group else opened
    found = associations(labeled, chosen, statistic, two_sided=two_sided, permutations=permutations, seed=seed)
    report: dict[str, Any] = {"schema": SCHEMA, "seed": seed, "results": [result.to_dict() for result in found]}
    if by_group:
        report["differences"] = _differences(found, {label: name for label, (name, _) in groups.items()})
    if out is not None:
        _write(out, report)
    if as_json:
        show_json(report)
    else:
        _show(found, each=each)
        if by_group and any(result.missing for result in found):
            typer.echo("Groups have vectors of frequent words only; for others, distill with --track FILE.")
        _show_differences(report.get("differences", ()))
    if all(result.effect is None for result in found):
        raise DataError(f"No test could be run: {found[0].problem} (table {found[0].table}, test {found[0].test}).")
    if not as_json and out is None:
        same = [part for name in tests or () for part in ("--test", name)] + (["--lists", str(lists)] if lists else [])
        same += ["--by-group"] if by_group else []
        show_next(("test", *tables, *same, "--statistic", statistic, "--each", "--out", "associations.json"))


def _groups(tables: Mapping[str, WordVectors]) -> dict[str, tuple[str, str]]:
    """The table and group of each label; raises for a table without groups."""
    from wordstill.vectors.folds import with_folds

    several = len(tables) > 1
    return {
        f"{name}: {group}" if several else group: (name, group)
        for name, table in tables.items()
        for group in with_folds(table).groups
    }


def _chosen(names: Sequence[str], lists: Path | None) -> list[AssociationTest]:
    from wordstill.analysis.word_lists import find_test, published_tests, read_tests

    own = read_tests(lists) if lists is not None else {}
    if not names:
        return list((own or published_tests()).values())
    return [own[name] if name in own else find_test(name) for name in names]


def _show_lists(tests: Sequence[AssociationTest]) -> None:
    for test in tests:
        typer.echo(printable(test.name))
        show_facts({one.name: " ".join(one.words) for one in (*test.targets, *test.attributes)})


def _write(out: Path, report: object) -> None:
    import json

    from wordstill.core.files import write_file

    write_file(out, f"{json.dumps(report, ensure_ascii=False, indent=1)}\n")
    typer.echo(f"Written: {out}", err=True)


def _show(found: Sequence[Association], *, each: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    over_texts = ""
    if any(result.text is not None for result in found):
        over_texts = " texts: 95 % interval in another text of the same size, by jackknife over folds of documents."
    sided = "two-sided" if found[0].two_sided else "one-sided"
    shown = Table(
        caption=f"{found[0].statistic} with a 95 % bootstrap interval over the words of all lists; positive: nearer to "
        f"the first attribute.{over_texts} p is {sided}, by permutation: = exact, ~ sampled; (Holm): for all tests "
        "together. Words used of those listed.",
        caption_justify="left",
    )
    tables = list(dict.fromkeys(result.table for result in found))
    published = ["paper"] if any(result.published is not None for result in found) else []
    for number, heading in enumerate(("test", "targets", "attributes", *published, *tables)):
        shown.add_column(escape(printable(heading)), justify="left" if number < 3 else "right", overflow="fold")
    rows: dict[tuple[str, ...], dict[str, Association]] = {}
    for result in found:
        rows.setdefault((result.test, *result.targets), {})[result.table] = result
    for by_table in rows.values():
        some = next(iter(by_table.values()))
        names = [some.test, "\n".join(some.targets), "\n".join(some.attributes)]
        if published:
            names.append("" if some.published is None else f"{some.published:+.2f}")
        cells = [*names, *(_cell(by_table[table], several=len(rows) > 1) for table in tables)]
        shown.add_row(*(escape(printable(cell)) for cell in cells))
    print_whole(shown, names=3 + len(published))
    _show_missing(found)
    if each:
        for result in found:
            _show_words(result)


def _differences(found: Sequence[Association], table_of: Mapping[str, str]) -> list[dict[str, Any]]:
    """The difference of each test's effect between the first group of a table and each later one."""
    from wordstill.analysis.association import difference

    first: dict[tuple[str, ...], Association] = {}
    differences = []
    for later in found:
        before = first.setdefault((table_of[later.table], later.test, *later.targets), later)
        if before is not later and (apart := difference(before, later)) is not None:
            groups = {"from": before.table, "to": later.table}
            differences.append({"test": later.test, "targets": list(later.targets), **groups, **asdict(apart)})
    return differences


def _show_differences(differences: Sequence[Mapping[str, Any]]) -> None:
    if differences:
        typer.echo("\nDifferences between groups, with a 95 % interval over texts of the same size:")
    for one in differences:
        what = f"{one['test']} ({' / '.join(one['targets'])}), {one['to']} - {one['from']}"
        typer.echo(f"{one['value']:+8.3f} [{one['low']:+.3f}, {one['high']:+.3f}]  {printable(what)}")


def _show_missing(found: Sequence[Association]) -> None:
    """Print the missing words of each list once per table, because several tests may share a list."""
    missing = {(result.table, name): words for result in found for name, words in result.missing.items()}
    for (table, name), words in sorted(missing.items(), key=lambda item: item[0][0]):
        more = f" and {len(words) - SHOWN:,} more (--json lists all)" if len(words) > SHOWN + 1 else ""
        some = ", ".join(words if not more else words[:SHOWN])
        typer.echo(f"Not in {printable(table)}: {printable(name)}: {printable(some)}{more}")


def _cell(result: Association, *, several: bool) -> str:
    if result.effect is None:
        return f"none: {result.problem}"
    # Effect sizes are in standard deviations; the others are differences of cosines or distances.
    number = "+.2f" if "weat" in result.statistic else "+.3f"
    if result.interval is None:
        return f"{result.effect:{number}}\n{result.problem}"
    used, listed = (sum(sizes) for sizes in zip(*result.sizes.values()))
    value = f"{result.effect:{number}} [{result.interval.low:{number}}, {result.interval.high:{number}}]"
    if result.text is not None:
        value += f"\ntexts [{result.text.low:{number}}, {result.text.high:{number}}]"
    p_value = f"p {'=' if result.exact else '~'} {result.p_value:.2g}"
    if several:
        p_value += f", {result.p_holm:.2g} (Holm)"
    return f"{value}\n{p_value}\n{used} of {listed} words"


def _show_words(result: Association) -> None:
    typer.echo(f"\n{printable(result.test)} in {printable(result.table)}: {printable(' / '.join(result.targets))}")
    for word, value in sorted(result.words.items(), key=lambda item: -item[1]):
        typer.echo(f"{value:+8.4f}  {printable(word)}")
