"""``wordstill expand``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.failures import warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Overwrite, Topn, argument, flag, option, words_or_file
from wordstill.cli.printing import count_text, show_facts, show_json, show_next
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.analysis.expansion import Candidate, Expansion, Ranking

EXAMPLES = """\
wordstill expand profit,revenue,earnings --table vectors
wordstill expand seeds.txt --table vectors --ask --decisions decisions.tsv --out list.txt
wordstill expand seeds.txt --table vectors --decisions decisions.tsv --propose 100"""
ANSWERS = "y accepts, n rejects, u undoes the last answer, q quits; every answer is saved"


def command(
    seeds: Annotated[str, argument("SEEDS", "Comma-separated words, or a file with one per line.")],
    table: Annotated[Path, option("TABLE", "A folder or file of word vectors, in any format.", "--table")],
    ranking: Annotated[
        str,
        option(
            "NAME",
            "centroid: nearest to the mean of the accepted words; maximum: nearest to any of them. Both move away "
            "from rejected words.",
            "--ranking",
        ),
    ] = "centroid",
    topn: Topn = 20,
    ask: Annotated[bool, flag("Ask about candidates one by one: y, n, u (undo), q (quit).", "--ask")] = False,
    propose: Annotated[
        int | None,
        option("N", "Add N candidates to the decisions file as ?, to decide in an editor.", "--propose", min=1),
    ] = None,
    decisions: Annotated[
        Path | None,
        option(
            "FILE", "Lines of y, n or ?, a tab and a word. Read if it exists; answers are saved here.", "--decisions"
        ),
    ] = None,
    out: Annotated[Path | None, option("FILE", "Write seeds and accepted words, one per line.", "--out", "-o")] = (
        None
    ),
    as_json: AsJson = False,
    overwrite: Overwrite = False,
) -> None:
    """Grow a word list from seed words."""
    from wordstill.analysis.expansion import Expansion, read_decisions, write_decisions

    if (ask or propose) and decisions is None:
        raise UsageError("--ask and --propose need --decisions FILE, to save the answers.")
    if ask and (as_json or propose):
        raise UsageError("--ask cannot be combined with --json or --propose: each has its own output.")
    made = read_decisions(decisions) if decisions is not None and decisions.exists() else {}
    words = words_or_file(seeds)
    state = Expansion(open_table(table), words, cast("Ranking", ranking), made)
    _refuse_foreign(out, state, overwrite=overwrite)
    for word in state.unknown:
        warn(f"The seed {word!r} is not in the table.")
    if ask and decisions is not None:
        _loop(state, decisions)
    elif propose is not None and decisions is not None:
        from wordstill.analysis.expansion import Decision

        new = [found for found in state.candidates(propose + len(made)) if found.word not in made][:propose]
        state.decisions.update({found.word: Decision(None, found.score) for found in new})
        write_decisions(decisions, state.decisions)
        typer.echo(f"Written: {decisions}. Change ? to y or n, then run expand again with --out.", err=True)
    if out is not None:
        _write(out, state)
    if ask or propose:
        _summary(state)
        return
    found = state.candidates(topn)
    if as_json:
        show_json([candidate._asdict() for candidate in found])
        return
    _show(found)
    if out is None:
        show_next(("expand", seeds, "--table", table, "--ask", "--decisions", "decisions.tsv", "--out", "list.txt"))


def _loop(state: Expansion, decisions: Path) -> None:
    """Ask until the user quits, the input ends, or no candidate is left."""
    from wordstill.analysis.expansion import write_decisions

    typer.echo(f"{ANSWERS[0].upper()}{ANSWERS[1:]}.", err=True)
    while found := state.candidates(1):
        word, score, near = found[0]
        shown = f"{score:7.4f}  {printable(word)}  (near {printable(near)})  y/n/u/q? "
        typer.echo(shown, nl=False, err=True)
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if not sys.stdin.isatty():
            typer.echo(answer, err=True)
        if not line or answer in ("q", "quit"):
            return
        if answer in ("u", "undo"):
            undone = state.undo()
            typer.echo("There is nothing to undo." if undone is None else f"Undone: {printable(undone)}", err=True)
        elif answer in ("y", "yes", "n", "no"):
            state.decide(word, answer[0] == "y", score)
        else:
            typer.echo(f"Not an answer: {ANSWERS}.", err=True)
            continue
        write_decisions(decisions, state.decisions)


def _list_text(state: Expansion) -> bytes:
    return "".join(f"{word}\n" for word in state.words).encode()


def _refuse_foreign(out: Path | None, state: Expansion, *, overwrite: bool) -> None:
    """Refuse an existing output, unless it is an earlier result of these decisions."""
    from wordstill.core.files import refuse_existing

    if out is not None and not (out.is_file() and out.read_bytes() == _list_text(state)):
        refuse_existing(out, overwrite=overwrite)


def _write(out: Path, state: Expansion) -> None:
    from wordstill.core.files import write_file

    write_file(out, _list_text(state))
    typer.echo(f"Written: {out}  {count_text(len(state.words), 'word')}", err=True)


def _summary(state: Expansion) -> None:
    decided = [decision.accepted for decision in state.decisions.values()]
    show_facts(
        {
            "seeds": f"{len(state.seeds):,}",
            "accepted": f"{decided.count(True):,}",
            "rejected": f"{decided.count(False):,}",
            "open": f"{decided.count(None):,}",
        }
    )


def _show(found: list[Candidate]) -> None:
    width = max((len(candidate.word) for candidate in found), default=0)
    for candidate in found:
        typer.echo(f"{candidate.score:8.4f}  {printable(candidate.word):<{width}}  near {printable(candidate.near)}")
