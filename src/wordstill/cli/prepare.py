"""``wordstill prepare``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli import options
from wordstill.cli.failures import needs_models
from wordstill.cli.options import option
from wordstill.cli.printing import count_text, groups_text, show_facts, show_next, time_text
from wordstill.core.object_stores import shown

if TYPE_CHECKING:
    from wordstill.corpus import Corpus

EXAMPLES = """\
wordstill prepare corpus.txt --out store
wordstill prepare 'wiki/*.jsonl.zst' --field text --filter x2static --out store
wordstill prepare speeches.csv --group date --bins decade --out store
zcat big.txt.gz | wordstill prepare - --out store"""


def command(
    *,
    inputs: options.Inputs,
    out: Annotated[Path, option("STORE", "Output folder.", "--out", "-o")],
    workers: Annotated[int | None, option("N", "Number of processes; by default one per core.", min=1)] = None,
    ray: Annotated[
        str | None, option("ADDRESS", "Use the cores of a Ray cluster: its address, or auto; --workers limits them.")
    ] = None,
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    text: options.TextOptions,
) -> None:
    """Read text once and store it, ready for any number of runs.

    Run the same command again to resume an interrupted run.
    """
    from wordstill.corpus import prepare

    run = None
    if ray is not None:
        with needs_models("wordstill prepare --ray"):
            from wordstill.scale.cluster import shards_on_cluster
        run = shards_on_cluster(ray, workers)
    start = time.monotonic()
    corpus = prepare(
        inputs,
        options.output_folder(out),
        text.config(),
        workers=workers,
        overwrite=overwrite,
        progress=options.wants_progress(progress),
        run=run,
    )
    _report(corpus, out, time.monotonic() - start)


def _report(corpus: Corpus, out: Path, seconds: float) -> None:
    counts = corpus.meta["counts"]
    typer.echo(f"Prepared {shown(out)} in {time_text(seconds)}.")
    facts = {
        "paragraphs": f"{counts['paragraphs']:,}",
        "sentences": f"{counts['sentences']:,}",
        "words": f"{counts['words']:,}, including punctuation marks",
        "rate": f"{counts['words'] / max(seconds, 1e-3):,.0f} words/s",
        "hash": corpus.hash,
    }
    if (origins := corpus.meta.get("origins")) is not None:
        facts["documents"] = f"{origins['documents']:,}"
        if corpus.groups is not None:
            facts["groups"] = groups_text(corpus.group_names)
            if origins["ungrouped"]:
                facts["without a group"] = count_text(origins["ungrouped"], "paragraph")
    for rule in ("filter", "language"):
        if dropped := counts[f"dropped_by_{rule}"]:
            facts[f"dropped by {rule}"] = count_text(dropped, "paragraph")
    show_facts(facts)
    show_next(("distill", shown(out), "--out", "vectors"), ("info", shown(out)))
