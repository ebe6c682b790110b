"""Where batches are made: on the host, or on the device that reads them."""

from __future__ import annotations

import warnings
from typing import Literal

import torch

from wordstill.corpus import Vocabulary
from wordstill.teacher.batches.gathering import Gatherer
from wordstill.teacher.subwords.piece_table import PieceSource
from wordstill.teacher.subwords.pieces import FormPieces
from wordstill.teacher.subwords.tokenisation import Subwords

Place = Literal["auto", "host", "device"]
"""``auto`` is the device where it is a GPU and can make them."""


def gatherer(
    place: Place,
    source: PieceSource,
    vocabulary: Vocabulary,
    subwords: Subwords,
    limit: int,
    device: torch.device,
) -> Gatherer | None:
    """What makes batches on a GPU; None where they are to be made on the host, or can only be made there.

    Args:
        place: Where they are wanted; if that cannot be the device that was asked for, a warning says why.
        source: The sub-words of the text.
        vocabulary: Names the words.
        subwords: Knows the special tokens.
        limit: Longest text in sub-words, special tokens counted.
        device: Where the teacher is.
    """
    if place == "host":
        return None
    if device.type != "cuda":
        reason = f"the teacher is on the {device.type}"
    elif not isinstance(source, FormPieces):
        reason = "words of this text cannot be split into sub-words apart from their neighbours"
    elif len(vocabulary.phrases):
        reason = "phrases have to be found"
    else:
        return Gatherer(source, vocabulary, subwords, limit, device)
    if place == "device":
        warnings.warn(f"Batches are made on the host, not on the device: {reason}.", stacklevel=2)
    return None
