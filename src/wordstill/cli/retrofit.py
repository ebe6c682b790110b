"""``wordstill retrofit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wordstill.cli.open_tables import open_table
from wordstill.cli.options import NewTable, Overwrite, TargetFormat, VectorsPath, option, output_folder
from wordstill.cli.printing import count_text, show_facts, show_next
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.postprocess.retrofit import ContextGraph, CounterFit, Faruqui
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill retrofit vectors --lexicon ppdb-xl.txt --out better
wordstill retrofit vectors --lexicon synonyms.csv --antonyms antonyms.csv --out better
wordstill retrofit vectors --lexicon wn:oewn:2024 --out better"""

SETTINGS = "Settings of the method"
MAY_RISE = " (it may rise: the weights change with the vectors)"


def command(
    vectors: VectorsPath,
    lexicon: Annotated[
        list[str],
        option(
            "NAME|FILE|FOLDER|wn:NAME",
            "Which words belong together: ppdb-xl or framenet, a file of words with their neighbors, a .csv or .tsv "
            "file of pairs with weights, the folder of a WordNet database, or a wordnet of the package wn; may be "
            "repeated.",
            "--lexicon",
            "-l",
        ),
    ],
    out: NewTable,
    method: Annotated[
        str,
        option("NAME", "faruqui, context-graph, context-graph-printed or context-graph-released.", "--method", "-m"),
    ] = "context-graph",
    lexicon_format: Annotated[
        str | None,
        option(
            "NAME",
            "neighbours, groups (the words of a line all belong together) or pairs; by default chosen by the file "
            "name.",
            "--lexicon-format",
        ),
    ] = None,
    relations: Annotated[
        list[str] | None,
        option(
            "NAME", "Links of a wordnet to use: synonyms (the default) or hypernyms; may be repeated.", "--relation"
        ),
    ] = None,
    antonyms: Annotated[str | None, option("FILE|FOLDER|wn:NAME", "Antonyms, to push apart in a second step.")] = None,
    passes: Annotated[int, option("N", "Number of passes.", min=0)] = 10,
    order: Annotated[
        str | None,
        option("NAME", "jacobi (all words at once) or gauss-seidel (in the order of the table).", panel=SETTINGS),
    ] = None,
    alpha: Annotated[float | None, option("X", "Weight of a word's own vector.", panel=SETTINGS)] = None,
    beta: Annotated[float | None, option("X", "Weight of its neighbors.", panel=SETTINGS)] = None,
    nu: Annotated[
        float | None, option("X", "Degrees of freedom of the kernel of context-graph.", panel=SETTINGS)
    ] = None,
    sigma: Annotated[float | None, option("X", "Scale of the distances in that kernel.", panel=SETTINGS)] = None,
    least_cosine: Annotated[
        float | None,
        option("X", "Keep each word's cosine with its old vector at least X: protects analogies.", panel=SETTINGS),
    ] = None,
    margin: Annotated[
        float | None, option("X", "Minimum distance between antonyms, as 1 - cosine.", panel=SETTINGS)
    ] = None,
    format: TargetFormat = None,
    overwrite: Overwrite = False,
) -> None:
    """Pull synonyms together and push antonyms apart with a lexicon."""
    from wordstill.formats import check_target
    from wordstill.postprocess.retrofit import Lexicon, open_lexicon, retrofitter

    # Invalid options are refused before anything large is read or computed.
    out = output_folder(out)
    check_target(out, format, overwrite=overwrite)
    if margin is not None and antonyms is None:
        raise UsageError("--margin needs antonyms; name them with --antonyms.")
    if "antonyms" in (relations or ()):
        raise UsageError("Words linked by --relation are pulled together; use --antonyms for opposites.")
    settings: dict[str, Any] = {"order": order, "alpha": alpha, "beta": beta, "nu": nu, "sigma": sigma}
    settings["least_cosine"] = least_cosine
    given = {name: value for name, value in settings.items() if value is not None}
    retrofitter(method, "", passes=passes, **given)
    known = Lexicon.union(
        open_lexicon(lexicon_place(source), format=lexicon_format, relations=relations or ("synonyms",))
        for source in lexicon
    )
    step = retrofitter(method, known, passes=passes, **given)
    further = None if antonyms is None else _counterfit(antonyms, margin, least_cosine)
    before = open_table(vectors)
    after = step.fit_transform(before)
    if further is not None:
        after = further.fit_transform(after)
    after.save(out, format, overwrite=overwrite)
    _show(before, known, step, further, out)
    show_next(("compare", vectors, out), ("evaluate", out))


def lexicon_place(source: str) -> str | Path:
    """The file of a lexicon of the registry; anything else as it was given."""
    from wordstill.evaluation import DATASETS
    from wordstill.evaluation.data.locate import locate

    return locate(source).path if source in DATASETS and not Path(source).exists() else source


def _counterfit(antonyms: str, margin: float | None, least_cosine: float | None) -> CounterFit:
    from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, open_lexicon

    given: dict[str, Any] = {} if margin is None else {"margin": margin}
    opposites = open_lexicon(antonyms, relations=("antonyms",))
    return CounterFit(CounterFitConfig(antonyms=opposites, least_cosine=least_cosine, **given))


def _show(before: WordVectors, known: Any, step: Faruqui | ContextGraph, further: CounterFit | None, out: Path) -> None:
    facts = {
        "lexicon": f"{count_text(len(known), 'link')} between {count_text(len(known.words), 'word')}",
        "moved": f"{step.moved_words:,} of the {count_text(len(before), 'word')} of the table",
        "objective": _objective(step.objective) + ("" if step.config.convex else MAY_RISE),
    }
    if further is not None:
        moved = count_text(further.moved_words, "word")
        facts["antonyms"] = f"{moved} moved, objective {_objective(further.objective)}"
    show_facts({**facts, "written": str(out)})


def _objective(values: tuple[float, ...]) -> str:
    """The objective before the first pass and after the last."""
    return f"from {values[0]:.6g} to {values[-1]:.6g} in {count_text(len(values) - 1, 'step')}"
