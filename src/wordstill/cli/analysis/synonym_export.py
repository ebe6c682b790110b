"""``wordstill convert --to synonyms``: options, files and report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.failures import warn
from wordstill.cli.options import option
from wordstill.cli.printing import count_text, show_facts
from wordstill.cli.retrofit import lexicon_place
from wordstill.errors import UsageError, WordstillError

if TYPE_CHECKING:
    from wordstill.analysis.synonyms import Synonyms
    from wordstill.postprocess.retrofit import Lexicon
    from wordstill.vectors import WordVectors

SYNONYMS = "synonyms"
PANEL = "With --to synonyms"


@dataclass(frozen=True)
class SynonymOptions:
    """Options that decide which pairs of words are synonyms."""

    threshold: Annotated[
        float | None, option("X", "Minimum cosine of two synonyms; by default 0.6.", "--threshold", panel=PANEL)
    ] = None
    neighbors: Annotated[
        int | None,
        option("N", "Each must be among the N nearest words of the other; by default 10.", "--neighbors", panel=PANEL),
    ] = None
    lexicon: Annotated[
        str | None,
        option(
            "NAME|FILE|FOLDER|wn:NAME",
            "Synonyms, as for retrofit: if it has both words of a pair, the pair is kept only if it links them.",
            "--lexicon",
            panel=PANEL,
        ),
    ] = None
    antonyms: Annotated[
        str | None,
        option(
            "FILE|FOLDER|wn:NAME",
            "Antonyms to drop; with --lexicon, also drops pairs that differ in the same directions.",
            "--antonyms",
            panel=PANEL,
        ),
    ] = None
    reviewed: Annotated[
        Path | None,
        option("FILE", "Your edited review file; its y and n override everything else.", "--reviewed", panel=PANEL),
    ] = None

    def refuse(self) -> None:
        """Raise a `UsageError` if an option is given; for formats other than synonyms."""
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        if given:
            raise UsageError(f"--{given[0]} is for --to synonyms only.")

    def open(self, target: Path, *, dtype: str | None, overwrite: bool) -> SynonymExport:
        """Check the outputs and read the lexicons."""
        from wordstill.analysis.synonyms import NEIGHBORS, THRESHOLD, read_review
        from wordstill.core.files import refuse_existing

        if dtype is not None:
            raise UsageError("--dtype is for vectors; --to synonyms writes none.")
        review = target.with_name(f"{target.name}.review.tsv")
        for path in (target, review):
            refuse_existing(path, overwrite=overwrite)
            if path.is_dir():
                raise UsageError(f"{path} is a folder, and synonyms are written to a file. Choose another output.")
        return SynonymExport(
            target,
            review,
            THRESHOLD if self.threshold is None else self.threshold,
            NEIGHBORS if self.neighbors is None else self.neighbors,
            None if self.lexicon is None else _open(self.lexicon, "synonyms"),
            None if self.lexicon is None else _hypernyms(self.lexicon),
            None if self.antonyms is None else _open(self.antonyms, "antonyms"),
            {} if self.reviewed is None else read_review(self.reviewed),
        )


@dataclass(frozen=True)
class SynonymExport:
    """An export of synonyms with checked settings."""

    target: Path
    review: Path
    threshold: float
    neighbors: int
    lexicon: Lexicon | None
    relatives: Lexicon | None
    antonyms: Lexicon | None
    reviewed: Mapping[tuple[str, str], bool]

    def write(self, table: WordVectors, source: Path, *, progress: bool) -> None:
        """Find the synonyms of a table, write rules and review, and report."""
        from wordstill.analysis.synonym_rules import rules, write_rules
        from wordstill.analysis.synonyms import find_synonyms, write_review

        found = find_synonyms(
            table,
            threshold=self.threshold,
            neighbors=self.neighbors,
            lexicon=self.lexicon,
            relatives=self.relatives,
            antonyms=self.antonyms,
            reviewed=self.reviewed,
            progress=progress,
        )
        made = rules(found.kept())
        write_review(self.review, found)
        write_rules(self.target, made, f"Synonyms of {source.name}; least cosine {self.threshold:g}")
        typer.echo(f"{count_text(len(made), 'rule')} from {count_text(len(found.kept()), 'pair')}.")
        show_facts(
            _facts(found)
            | {"written": str(self.target), "review": f"{self.review}: every pair, with y or n and the reason"}
        )
        if self.antonyms is None:
            warn("Antonyms, such as hot and cold, are not filtered out: name a lexicon of them with --antonyms.")
        typer.echo(f"\nTo apply your edits of the review, add: --reviewed {shlex.quote(str(self.review))} --overwrite")


def _facts(found: Synonyms) -> dict[str, str]:
    kept, dropped = (Counter(pair.reason for pair in found.pairs if pair.kept is side) for side in (True, False))
    facts = {"kept": _counts(kept), "dropped": _counts(dropped)}
    if found.agreement is not None:
        facts["lexicon"] = f"links {found.agreement:.0%} of the candidate pairs for which it has both words"
    if (learned := found.opposites) is not None:
        facts["opposites"] = (
            f"learned directions drop {learned.caught:.0%} of held-out antonyms and {learned.lost:.0%} of "
            "held-out synonyms"
        )
    if found.skipped:
        facts["skipped"] = f"{count_text(found.skipped, 'word')} without a letter"
    return facts


def _counts(reasons: Counter[str]) -> str:
    return ", ".join(f"{count:,} by {reason}" for reason, count in reasons.most_common()) or "none"


def _open(source: str, relation: str) -> Lexicon:
    from wordstill.postprocess.retrofit import open_lexicon

    return open_lexicon(lexicon_place(source), relations=(relation,))


def _hypernyms(source: str) -> Lexicon | None:
    """The hypernyms of a wordnet, whose words count as known too; None for a file, which has no hypernyms."""
    place = Path(lexicon_place(source))
    if place.is_file():
        return None
    try:
        return _open(source, "hypernyms")
    except WordstillError:
        return None
