"""Options that several commands of ``wordstill meaning`` have, and the loading of what they need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from wordstill.cli.failures import needs_models
from wordstill.cli.options import Device, Dtype, argument, option
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.meaning import MeaningEncoder

EncoderPath = Annotated[Path, argument("ENCODER", "A folder that meaning train made.")]
DEFAULT_KIND = "meaning-centred"
"""As in ``wordstill.meaning.encoder``, which is slow to import."""
Kind = Annotated[
    str,
    option(
        "NAME",
        "meaning, context or raw (the mean of the layers); each also centred, as in meaning-centred, "
        "without the mean vector of the training; raw-scaled is the mean of the layers as the distillers see "
        "them.",
        "--kind",
    ),
]


@dataclass(frozen=True)
class EncoderOptions:
    """How a trained encoder is opened."""

    teacher: Annotated[str | None, option("NAME", "Path of the teacher, if it has moved.")] = None
    device: Device = "auto"
    dtype: Dtype = "auto"

    def load(self, path: Path, kind: str = DEFAULT_KIND) -> MeaningEncoder:
        """Open an encoder with its teacher."""
        with needs_models("wordstill meaning"):
            from wordstill.meaning import MeaningEncoder
        return MeaningEncoder.load(path, kind=kind, device=self.device, dtype=self.dtype, teacher=self.teacher)


def read_span(text: str) -> tuple[int, int] | int:
    """``16:20`` is a span of characters, ``3`` the number of a word."""
    start, colon, end = text.partition(":")
    try:
        return (int(start), int(end)) if colon else int(start)
    except ValueError:
        raise UsageError(
            f"The span {text!r} cannot be read. Expected START:END in characters, such as 16:20, or the "
            "number "
            "of a word, counted from 0."
        ) from None
