"""How long a text a teacher can read, in sub-words."""

from __future__ import annotations

from typing import Any

from wordstill.errors import UsageError
from wordstill.teacher.subwords.tokenisation import Subwords

USUAL_LIMIT = 512


def text_limit(model: Any, tokenizer: Any, subwords: Subwords, wanted: int | None) -> int:
    """Longest text, special tokens counted: what was asked for, or what suits the model, at most 512.

    Raises:
        UsageError: What was asked for is more than the model has positions, or leaves no room for text.
    """
    positions = _positions(model)
    if wanted is None:
        limit = min(int(tokenizer.model_max_length), positions or USUAL_LIMIT, USUAL_LIMIT)
    elif positions is not None and wanted > positions:
        raise UsageError(
            f"max_length {wanted} is more than the {positions} positions of {subwords.name}. "
            f"Use at most {positions}, or leave it out."
        )
    else:
        limit = wanted
    room_beside_specials(limit, subwords)
    return limit


def room_beside_specials(limit: int, subwords: Subwords) -> int:
    """How many sub-words of text fit into a limit beside the special tokens."""
    specials = len(subwords.prefix) + len(subwords.suffix)
    if limit <= specials:
        raise UsageError(
            f"A limit of {limit} sub-words leaves no room for text beside the {specials} special tokens of "
            f"{subwords.name}. Use a max_length of {specials + 1} or more."
        )
    return limit - specials


def first_position(model: Any) -> int:
    """Number of a text's first position: RoBERTa and its kin count from the padding id on."""
    embeddings = getattr(getattr(model, "base_model", model), "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


def _positions(model: Any) -> int | None:
    declared = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return int(declared) - first_position(model) if declared else None
