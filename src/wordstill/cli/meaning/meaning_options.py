"""Options that several commands of ``wordstill meaning`` have, and the loading of what they need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from wordstill.meaning import MeaningEncoder

Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
Precision = Annotated[
    str, typer.Option("--dtype", metavar="NAME", help="auto, float32, bfloat16 or float16.")
]
EncoderPath = Annotated[
    Path, typer.Argument(metavar="ENCODER", help="A folder that meaning train made.", show_default=False)
]
TeacherPlace = Annotated[
    str | None,
    typer.Option(
        "--teacher",
        metavar="NAME",
        help="Where the teacher is now; by default where it was.",
        show_default=False,
    ),
]
DEFAULT_KIND = "meaning-centred"
"""As in ``wordstill.meaning.encoder``, which is slow to import."""
Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        metavar="NAME",
        help="meaning, context or raw, the mean of the layers; each also as in meaning-centred, without the "
        "mean vector of the training; raw-scaled is the mean of layers as the distillers take them.",
    ),
]


@contextmanager
def needs_models(feature: str) -> Iterator[None]:
    """Say which extra is wanted where torch or transformers are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "distill", feature) from error


def load_encoder(path: Path, teacher: str | None, device: str, dtype: str, kind: str) -> MeaningEncoder:
    """Open an encoder with its teacher."""
    with needs_models("wordstill meaning"):
        from wordstill.meaning import MeaningEncoder
    return MeaningEncoder.load(path, kind=kind, device=device, dtype=dtype, teacher=teacher)


def read_span(text: str) -> tuple[int, int] | int:
    """``16:20`` is a span of characters, ``3`` the number of a word."""
    start, colon, end = text.partition(":")
    try:
        return (int(start), int(end)) if colon else int(start)
    except ValueError:
        raise UsageError(
            f"The span {text!r} cannot be read. Give START:END in characters, such as 16:20, or the number "
            "of a word, counted from 0."
        ) from None
