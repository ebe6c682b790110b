"""Options of a run in shards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.options import flag, option
from wordstill.cli.printing import count_text, show_facts, size_text, time_text

if TYPE_CHECKING:
    from wordstill.distillation.estimate import Estimate
    from wordstill.distillation.recipe import Recipe
    from wordstill.scale import ScaleConfig

SCALE = "Several workers"


def show_shards(recipe: Recipe, estimate: Estimate, scale: ScaleConfig) -> None:
    """Show how a run is divided, and what that costs each worker."""
    from wordstill.scale.partition import shard_size

    text = [step for step in estimate.steps if step.title.startswith("text")]
    words, seconds = sum(step.words for step in text), sum(step.seconds for step in text)
    size = min(shard_size(recipe, words, scale.shard_words), max(words, 1))
    shards, workers = -(-words // size), scale.workers or 1
    typer.echo(f"\n{SCALE}")
    facts = {"shards": f"about {count_text(shards, 'shard')} of {size:,} words, for {count_text(workers, 'worker')}"}
    on_gpu = recipe.teacher["device"] == "cuda"
    share = seconds / workers if on_gpu else seconds
    # Workers without a GPU share the cores that one process would use.
    facts["each worker"] = f"about {count_text(-(-shards // workers), 'shard')}, {time_text(share)}"
    if estimate.memory is not None:
        facts["memory"] = f"{size_text(estimate.memory)} for each worker, and as much for the driver"
    facts["parts on disk"] = f"up to {size_text(min(shards, 8) * estimate.checkpoint)}"
    show_facts(facts)


@dataclass(frozen=True)
class ScaleOptions:
    """Who does the work."""

    workers: Annotated[
        int | None,
        option(
            "N", "Read the text in N processes of this machine, one for each GPU or group of cores.", panel=SCALE, min=1
        ),
    ] = None
    ray: Annotated[
        str | None, option("ADDRESS", "Read the text on a Ray cluster: its address, or auto.", panel=SCALE)
    ] = None
    join: Annotated[
        bool, flag("Work on this run together with other machines that share the folder of DIR.", "--join", panel=SCALE)
    ] = False
    keep_sums: Annotated[
        bool, flag("Keep the sums beside the table, for wordstill add, remove and merge.", "--keep-sums", panel=SCALE)
    ] = False
    skip_bad: Annotated[
        bool, flag("Leave out shards of the text that fail three times.", "--skip-bad", panel=SCALE)
    ] = False
    shard_words: Annotated[
        int | None, option("N", "Words of a shard; by default about a minute of work.", panel=SCALE, min=1)
    ] = None

    def config(self) -> ScaleConfig:
        """The settings, checked by their room."""
        from wordstill.scale import ScaleConfig

        return ScaleConfig(**asdict(self))
