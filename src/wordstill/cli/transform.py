"""``wordstill transform``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wordstill.cli.open_tables import open_table
from wordstill.cli.options import NewTable, Overwrite, TargetFormat, VectorsPath, option, output_folder
from wordstill.cli.printing import example_word, show_facts, show_next, size_text
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.postprocess import Pipeline
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill transform vectors --chain center,whiten:exponent=0.3,pca:dim=200 --out smaller
wordstill transform vectors --chain concatenate:table=glove.txt,weight=0.5 --out both
wordstill transform other --apply smaller.transforms --out like-smaller"""

BESIDE = ".transforms"


def command(
    vectors: VectorsPath,
    out: NewTable,
    chain: Annotated[
        str | None,
        option(
            "SPEC",
            "Transforms with their settings, in order: center, unit, sentence-weights, abtt, whiten, pca, uncovec, "
            "quantize, pq, subwords, trim, merge-case, concatenate, average, faruqui, context-graph, counterfit.",
            "--chain",
            "-c",
        ),
    ] = None,
    apply: Annotated[Path | None, option("FILE", "Apply transforms learned from another table.")] = None,
    format: TargetFormat = None,
    overwrite: Overwrite = False,
) -> None:
    """Center, whiten, reduce, trim, join or quantize vectors."""
    from wordstill.core.files import refuse_existing

    if (chain is None) == (apply is None):
        raise UsageError("Use exactly one of --chain and --apply.")
    out = output_folder(out)
    refuse_existing(out, overwrite=overwrite)
    beside = out.with_name(out.name + BESIDE)
    refuse_existing(beside, overwrite=overwrite)
    before = open_table(vectors)
    after, pipeline = _result(before, chain, apply, vectors.with_name(vectors.name + BESIDE))
    after.save(out, format, overwrite=overwrite)
    pipeline.save(beside, overwrite=overwrite)
    _show(before, after, out, beside, pipeline)


def _result(table: WordVectors, chain: str | None, apply: Path | None, learned: Path) -> tuple[WordVectors, Pipeline]:
    from wordstill.postprocess import Pipeline

    pipeline = Pipeline.from_spec(chain) if chain is not None else Pipeline.load(str(apply))
    after = pipeline.fit_transform(table) if chain is not None else pipeline.transform(table)
    earlier = Pipeline.load(learned) if learned.is_file() else Pipeline([])
    return after, Pipeline([*earlier, *pipeline]) if earlier.made(table) else pipeline


def _show(before: WordVectors, after: WordVectors, out: Path, beside: Path, pipeline: Pipeline) -> None:
    facts = {
        "before": f"{len(before):,} words x {before.dim}",
        "after": f"{len(after):,} words x {after.dim}, {size_text(after.nbytes)}",
        "written": str(out),
        "steps": ", ".join(step.short_name for step in pipeline),
        "learned": str(beside),
    }
    show_facts(facts)
    show_next(("similar", out, example_word(after)), ("evaluate", out))
