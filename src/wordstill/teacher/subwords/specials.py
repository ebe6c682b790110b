"""Special tokens: which ones stand around a text, and how text that looks like one stays text."""

from __future__ import annotations

import json
from typing import Any

from tokenizers import Tokenizer

from wordstill.errors import TeacherError

HIDDEN = "\U0010ffff"
"""No text has this code point; in front of a special token's name it keeps text from matching it."""


def specials_around(backend: Tokenizer, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ids of the special tokens before and after a text.

    Raises:
        TeacherError: The text itself is not the same with special tokens as without.
    """
    bare = backend.encode("a", add_special_tokens=False).ids
    full = backend.encode("a", add_special_tokens=True)
    before = full.special_tokens_mask.index(0) if 0 in full.special_tokens_mask else len(full)
    after = before + len(bare)
    if full.ids[before:after] != bare:
        raise TeacherError(
            f"The tokenizer of {name} changes a text when it adds special tokens (without them 'a' is "
            f"{bare}, with them {full.ids}); wordstill cannot align its words."
        )
    return tuple(full.ids[:before]), tuple(full.ids[after:])


def read_specials_as_text(plain: Tokenizer) -> Tokenizer:
    """The same tokenizer, but ``</s>`` or ``[SEP]`` in a text is made of ordinary sub-words."""
    plain.encode_special_tokens = True
    definition = json.loads(plain.to_str())
    reachable = _reachable(plain, definition)
    if not reachable:
        return plain
    # Unigram models have the names of special tokens among their sub-words and find them in text themselves.
    for token in definition["added_tokens"]:
        token["content"] = _hidden(token["content"], reachable)
    vocabulary = definition["model"]["vocab"]
    definition["model"]["vocab"] = (
        {_hidden(piece, reachable): number for piece, number in vocabulary.items()}
        if isinstance(vocabulary, dict)
        else [[_hidden(piece, reachable), score] for piece, score in vocabulary]
    )
    reader = Tokenizer.from_str(json.dumps(definition))
    reader.encode_special_tokens = True
    return reader


def _reachable(backend: Tokenizer, definition: dict[str, Any]) -> set[str]:
    """The special tokens, but not the unknown one, that the model gives for a text with their name."""
    model = definition["model"]
    unknown = model.get("unk_id")
    if model.get("unk_token") is not None:
        unknown = backend.token_to_id(model["unk_token"])
    return {
        token["content"]
        for token in definition["added_tokens"]
        if token["special"]
        and token["id"] != unknown
        and token["id"] in backend.encode(token["content"], add_special_tokens=False).ids
    }


def _hidden(piece: str, names: set[str]) -> str:
    return HIDDEN + piece if piece in names else piece
