"""Many short texts tokenised in few long ones: a tokenizer takes longer for each text than for its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wordstill.teacher.ragged import offsets_of, owners
from wordstill.teacher.subwords.tokenisation import Pieces, Subwords

TOGETHER = 64


def joining_changes_nothing(subwords: Subwords, texts: Sequence[str]) -> bool:
    """Whether texts have the same sub-words joined as each by itself."""
    one, other = encode_joined(subwords, texts), subwords.encode(texts)
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))


def encode_joined(subwords: Subwords, texts: Sequence[str]) -> Pieces:
    """What `Subwords.encode` gives, for a tokenizer that never joins characters across a blank.

    A text is joined to the one before it where it begins with a blank. A sub-word belongs to the text in
    which it starts; where one without any character starts between two, their run is read text by text.
    """
    apart = np.fromiter((text[:1] != " " for text in texts), dtype=np.bool_, count=len(texts))
    pieces, doubtful = _encode_runs(subwords, texts, apart)
    if doubtful.any():
        pieces, _ = _encode_runs(subwords, texts, apart | doubtful)
    return subwords.with_blank_marks_empty(pieces)


def _encode_runs(
    subwords: Subwords, texts: Sequence[str], apart: NDArray[np.bool_]
) -> tuple[Pieces, NDArray[np.bool_]]:
    """Sub-words of texts, and which texts lie in a run where it is not sure whose they are.

    Args:
        subwords: The tokenizer.
        texts: T texts.
        apart: Which of them are not joined to the one before [T].
    """
    begins = np.flatnonzero(apart | (np.arange(len(texts)) % TOGETHER == 0))
    bounds = np.append(begins, len(texts))
    told = subwords.encode_as_told(["".join(texts[first:last]) for first, last in pairwise(bounds.tolist())])
    characters = offsets_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    run = owners(np.diff(told.offsets))
    first, last = begins[run], bounds[1:][run] - 1
    starts, ends = told.starts + characters[first], told.ends + characters[first]
    owner = np.clip(np.searchsorted(characters, starts, side="right") - 1, first, last)
    lengths = np.bincount(owner, minlength=len(texts))
    doubtful = np.zeros(len(begins), dtype=np.bool_)
    doubtful[run[(starts == ends) & (first < last)]] = True
    pieces = Pieces(told.ids, starts - characters[owner], ends - characters[owner], offsets_of(lengths))
    return pieces, np.repeat(doubtful, np.diff(bounds))
