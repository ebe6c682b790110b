"""``wordstill senses``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.failures import needs_models, warn
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import AsJson, Overwrite, Seed, ShowProgress, argument, option, output_folder, wants_progress
from wordstill.cli.printing import count_text, show_facts, show_json, show_next
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.analysis.senses import Senses, WordSenses
    from wordstill.corpus import Corpus

EXAMPLES = """\
wordstill senses vectors bank mouse --text store
wordstill senses vectors --in 'They sat on the bank of the river.' --word bank
wordstill senses vectors --out senses"""
RULE, CONTEXT = "Number of senses", "One sentence"
NEIGHBORS = 6


@dataclass(frozen=True)
class RuleOptions:
    """Options for splitting the uses of a word into senses."""

    strength: Annotated[
        float,
        option(
            "X",
            "Minimum prediction strength for splitting uses into two senses; 0.5 is chance, 1 perfect agreement.",
            panel=RULE,
            min=0,
            max=1,
        ),
    ] = 0.7
    least: Annotated[
        int, option("N", "Minimum uses per sense; nothing with fewer than 4 N uses is split.", panel=RULE, min=2)
    ] = 5
    most: Annotated[int, option("N", "Maximum number of senses per word.", panel=RULE, min=1)] = 8


def command(
    *,
    table: Annotated[Path, argument("TABLE", "Vectors distilled with --occurrences.")],
    words: Annotated[
        list[str] | None, argument("WORD", "Words; without any, those with the clearest senses are shown.")
    ] = None,
    text: Annotated[
        Path | None, option("STORE", "The prepared text, to show sentences and senses by group.", "--text")
    ] = None,
    sentences: Annotated[int, option("N", "Sentences to show per sense, with --text.", min=1)] = 1,
    topn: Annotated[int, option("N", "How many words to show if none are given.", "--topn", "-n", min=1)] = 20,
    out: Annotated[
        Path | None, option("DIR", "Write a table with an extra row per sense, such as bank|river.", "--out", "-o")
    ] = None,
    sentence: Annotated[
        str | None, option("SENTENCE", "Which sense does a word have in this sentence?", "--in", panel=CONTEXT)
    ] = None,
    word: Annotated[
        str | None,
        option("WORD", "With --in: the word, its character span START:END, or its position.", "--word", panel=CONTEXT),
    ] = None,
    teacher: Annotated[str | None, option("NAME", "With --in: the model, if it has moved.", panel=CONTEXT)] = None,
    rule: RuleOptions,
    seed: Seed = 0,
    as_json: AsJson = False,
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
) -> None:
    """Show the senses of a word, with typical sentences.

    Occurrences of a word that distill kept are clustered: one sense unless there is evidence for more.
    """
    _refuse_mixed(words, out, sentence, word, text)
    from wordstill.analysis.senses import SenseConfig, Senses, refuse_other_text
    from wordstill.corpus import Corpus

    if out is not None:
        from wordstill.core.files import refuse_existing

        refuse_existing(output_folder(out), overwrite=overwrite)
    config = SenseConfig(rule.strength, rule.least, rule.most, seed=seed)
    found = Senses(open_table(table), config)
    if sentence is not None and word is not None:
        _show_in_context(found, sentence, word, teacher, as_json=as_json)
        return
    corpus = None if text is None else Corpus.open(text)
    if corpus is not None:
        refuse_other_text(found.table, corpus)
    _warn_if_unsound(found)
    shows = wants_progress(progress)
    if out is not None:
        _write(found, words, out, overwrite=overwrite, progress=shows)
        return
    chosen = [found.of(each) for each in _kept(found, words)] if words else found.clearest(topn, progress=shows)
    if as_json:
        show_json([_plain(found, senses, corpus, sentences) for senses in chosen])
    else:
        _show_all(found, chosen, corpus, sentences)


def _kept(found: Senses, words: Sequence[str]) -> list[str]:
    """The words with kept occurrences; others are skipped with a warning. All words if none has any."""
    kept = [word for word in words if found.find(word) is not None]
    if kept and (lost := [word for word in words if word not in kept]):
        warn(f"Skipped, because no occurrences of them were kept: {', '.join(lost)}.")
    return kept or list(words)


def _write(found: Senses, words: Sequence[str] | None, out: Path, *, overwrite: bool, progress: bool) -> None:
    made = found.make_table(_kept(found, words) if words else None, progress=progress)
    made.save(out, "wordstill", overwrite=overwrite)
    rows = made.provenance["senses"]["rows"]
    typer.echo(f"Written: {out}  {len(made):,} rows x {made.dim}, {rows:,} of them senses")
    if rows:
        show_next(("similar", out, made.words[-1]), ("convert", out, "senses.txt"))


def _show_all(found: Senses, chosen: Sequence[WordSenses], corpus: Corpus | None, sentences: int) -> None:
    if not chosen:
        typer.echo("No word has more than one sense with these settings.")
    for number, senses in enumerate(chosen):
        if number:
            typer.echo()
        _show(found, senses, corpus, sentences)
    if corpus is None and chosen:
        typer.echo("\nAdd --text STORE to see sentences.", err=True)


def _refuse_mixed(
    words: Sequence[str] | None, out: Path | None, sentence: str | None, word: str | None, text: Path | None
) -> None:
    if (sentence is None) != (word is None):
        raise UsageError("--in and --word go together: --in 'They sat on the bank.' --word bank")
    if sentence is not None and (words or out is not None or text is not None):
        raise UsageError("--in looks one word up in one sentence: leave out WORD, --out and --text.")


def _warn_if_unsound(found: Senses) -> None:
    from wordstill.analysis.state_projection import SOUND

    if found.map.cosine < SOUND:
        warn(
            f"The kept occurrences fit this table badly (cosine {found.map.cosine:.2f} on held-out words), so "
            "neighbors and vectors of senses are unreliable. Use more text, keep occurrences of more words, or use a "
            "table of still or ase."
        )


def _show(found: Senses, senses: WordSenses, corpus: Corpus | None, each: int) -> None:
    uses = f"{count_text(len(senses.kept), 'use')} of {senses.kept.total:,}"
    typer.echo(f"{printable(senses.word)}  {uses}, {_verdict(found, senses)}")
    sentences = found.sentences(senses, corpus, each) if corpus is not None else [[] for _ in senses.senses]
    for sense, lines in zip(senses.senses, sentences):
        near = ", ".join(word for word, _ in sense.neighbors[:NEIGHBORS])
        typer.echo(f"  {sense.share:4.0%}  {printable(sense.label)}: {printable(near)}")
        for line in lines:
            typer.echo(f"        {printable(line.excerpt(90))}")
    if corpus is not None and len(senses) > 1 and (groups := senses.by_group(corpus)):
        show_facts({name: _shares(counts) for name, counts in groups.items()})


def _verdict(found: Senses, senses: WordSenses) -> str:
    from wordstill.analysis.clusters import NEEDED

    if not senses.enough:
        return f"too few to look for senses ({NEEDED * found.config.least} needed)"
    what = f"{count_text(len(senses), 'sense')}, prediction strength {senses.strength:.2f}"
    return what if len(senses) > 1 else f"{what} (below {found.config.strength:g})"


def _shares(counts: Sequence[int]) -> str:
    total = sum(counts)
    if not total:
        return "no kept uses"
    return "  ".join(f"{count / total:4.0%}" for count in counts) + f"  of {count_text(total, 'use')}"


def _plain(found: Senses, senses: WordSenses, corpus: Corpus | None, each: int) -> dict[str, Any]:
    """The senses of a word for JSON."""
    sentences = found.sentences(senses, corpus, each) if corpus is not None else [[] for _ in senses.senses]
    plain: dict[str, Any] = {
        "word": senses.word,
        "total": senses.kept.total,
        "kept": len(senses.kept),
        "enough": senses.enough,
        "strength": round(senses.strength, 4),
        "senses": [
            {
                "label": sense.label,
                "share": round(sense.share, 4),
                "neighbors": [{"word": word, "score": round(score, 6)} for word, score in sense.neighbors],
                "sentences": [{"text": one.text, "start": one.start, "end": one.end} for one in lines],
            }
            for sense, lines in zip(senses.senses, sentences)
        ],
    }
    if corpus is not None and (groups := senses.by_group(corpus)):
        plain["groups"] = groups
    return plain


def _show_in_context(found: Senses, sentence: str, word: str, teacher: str | None, *, as_json: bool) -> None:
    from wordstill.cli.meaning.meaning_use import read_place
    from wordstill.meaning.occurrence import Occurrence

    place = read_place(word)
    # Raises for bad positions and words without occurrences before a model is loaded.
    senses = found.of(Occurrence.at(sentence, place).word)
    with needs_models("wordstill senses --in"):
        from wordstill.analysis.senses_in_context import SenseReader
        from wordstill.teacher import Teacher
        from wordstill.teacher.loading import recorded_teacher
    name = teacher or recorded_teacher(found.table)
    if name is None:
        raise UsageError("The table does not record which model it came from. Name it with --teacher.")
    answer = SenseReader(found, Teacher.from_pretrained(name)).lookup(sentence, place)
    if as_json:
        scored = dict(zip(answer.labels, (round(each, 6) for each in answer.probabilities)))
        show_json({"word": answer.word, "sense": answer.label, "enough": senses.enough, "senses": scored})
        return
    for label, probability in sorted(zip(answer.labels, answer.probabilities), key=lambda pair: -pair[1]):
        typer.echo(f"{probability:8.4f}  {printable(label)}")
    if len(senses) == 1:
        typer.echo(f"{printable(answer.word)}: {_verdict(found, senses)}.", err=True)
