"""Options of a run in shards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from wordstill.cli.options import flag, option

if TYPE_CHECKING:
    from wordstill.scale import ScaleConfig

SCALE = "Several workers"


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
